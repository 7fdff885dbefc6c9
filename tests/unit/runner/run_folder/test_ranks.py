"""How the bundled script starts its ranks, gives them cores, and finds the one at fault. No torch in here."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from trnui_runner.request import join_template

GONE = "Connection closed by peer [127.0.0.1]:4242"


@pytest.fixture
def run_py() -> ModuleType:
    spec = importlib.util.spec_from_file_location("run_py", join_template.FOLDER / join_template.BASE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.CORES = 4  # type: ignore[attr-defined]
    return module


@pytest.mark.parametrize(
    ("value", "cores"),
    [("", []), ("4-7", [4, 5, 6, 7]), ("0,2,4,6", [0, 2, 4, 6]), ("0-1,8-9", [0, 1, 8, 9])],
)
def test_each_rank_gets_one_of_the_visible_cores(
    run_py: ModuleType, monkeypatch: pytest.MonkeyPatch, value: str, cores: list[int]
) -> None:
    monkeypatch.setenv("NEURON_RT_VISIBLE_CORES", value)
    assert run_py.visible_cores() == cores


def test_too_few_visible_cores_are_refused(run_py: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NEURON_RT_VISIBLE_CORES", "0-2")
    with pytest.raises(SystemExit, match="names 3 cores, this run needs 4"):
        run_py.visible_cores()


def test_cause_comes_first_though_another_rank_ended_before(
    run_py: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = {0: ("RuntimeError", GONE, 1.0), 2: ("ValueError", "shape is invalid", 5.0)}
    for rank, (kind, text, t) in said.items():
        (tmp_path / f"{rank}.json").write_text(json.dumps({"rank": rank, "t": t, "class": kind, "text": text}))
    assert run_py.report([1, -9, 1, 0], str(tmp_path)) == 1
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "rank 2 of 4: ValueError: shape is invalid"
    assert lines[1].startswith("rank 0 of 4: RuntimeError: Connection closed")
    assert "follows from another rank's end" in lines[1]


def test_rank_killed_from_outside_is_named_though_only_echoes_spoke(
    run_py: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "1.json").write_text(json.dumps({"rank": 1, "t": 1.0, "class": "RuntimeError", "text": GONE}))
    run_py.report([-9, 1, 1, 1], str(tmp_path))
    assert capsys.readouterr().err.startswith("rank 0 of 4: RankLost: ended by SIGKILL without an error of its own")


def test_first_error_is_told_to_the_watcher(
    run_py: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "events").mkdir()
    monkeypatch.setenv("TRNUI_RUN_DIR", str(tmp_path))
    run_py.report([0, -11, 0, 0], str(tmp_path))
    [file] = (tmp_path / "events").iterdir()
    event = json.loads(file.read_text())
    assert (event["event"], event["class"], event["text"], event["rank"]) == (
        "error",
        "Signal",
        "ended by SIGSEGV",
        1,
    )


def test_the_others_are_given_a_moment_then_not_waited_for(run_py: ModuleType) -> None:
    run_py.GRACE_S = 0.2
    ranks = [
        subprocess.Popen([sys.executable, "-c", code])
        for code in ("import time; time.sleep(60)", "raise SystemExit(3)")
    ]
    try:
        run_py.wait(ranks)
        assert ranks[1].poll() == 3
        assert ranks[0].poll() is None
    finally:
        ranks[0].kill()
        ranks[0].wait()


def test_sliding_window_is_left_alone_when_the_tokens_do_not_fit(run_py: ModuleType) -> None:
    class Config:
        layer_types, sliding_window, num_hidden_layers = ("sliding_attention", "full_attention"), 16, 2

        def get_text_config(self, decoder: bool) -> Config:
            return self

    class Model:
        config = Config()

    assert run_py.cache_options(Model(), 40) == {"cache_implementation": "static"}


@pytest.mark.parametrize(
    ("cores", "error", "again"),
    [
        (1, ValueError("Cannot use prefill chunking without a cache"), True),
        (1, RuntimeError("index_copy_(): Source/destination tensor must have same slice shapes"), True),
        (1, AttributeError("'X' object has no attribute 'cache'"), True),
        (1, RuntimeError("the model's own fault, perhaps"), True),  # the second try tells
        (1, RuntimeError("Command failed (neuronx-cc compilation) with exit code 70: [NCC_IBCG901]"), False),
        (1, RuntimeError("NRT allocation failed for size 4 (OOM)"), False),
        (4, ValueError("Cannot use prefill chunking without a cache"), True),
        (4, RuntimeError("the model's own fault, perhaps"), False),  # another rank may be of another mind
        (4, RuntimeError("Connection reset by peer"), False),
    ],
)
def test_chunked_prefill_is_given_up_only_where_it_may_be_what_failed(
    run_py: ModuleType, cores: int, error: Exception, again: bool
) -> None:
    run_py.CORES = cores  # type: ignore[attr-defined]
    assert run_py.of_the_chunk(error) is again


def test_what_greedy_decoding_has_no_use_for_is_set_aside(run_py: ModuleType) -> None:
    config = SimpleNamespace(
        num_return_sequences=2, stop_strings=["x"], dola_layers="low", penalty_alpha=0.6, guidance_scale=1.0
    )
    assert run_py.set_aside(SimpleNamespace(generation_config=config)) == {
        "num_return_sequences": 1, "stop_strings": None, "dola_layers": None, "penalty_alpha": None,
    }  # fmt: skip
    assert run_py.set_aside(SimpleNamespace(generation_config=SimpleNamespace(repetition_penalty=1.1))) == {}
