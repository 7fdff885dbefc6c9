"""Six cells of the table (all of it: `python tests/e2e/matrix.py`), a failure among ranks, and a check that finds one."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.cells import Cell, run
from tests.trainium.fixture import standin_host as standin_host  # a fixture
from tests.trainium.host import Host
from trnui_runner.run_folder.recipe import PROMPT

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(240)]
CONTINUED = " a program for the device, and this first step takes most of the time."


@pytest.fixture
def python(request: pytest.FixtureRequest) -> Callable[[str], Path | None]:
    """The stand-in's interpreter, with its host around this process; None for the CPU: this process's own."""

    def find(device: str) -> Path | None:
        if device == "cpu":
            return None
        host: Host = request.getfixturevalue("standin_host")()
        return host.python

    return find


@pytest.mark.parametrize(
    "cell",
    [
        Cell("recites", "1 core", "cpu"),
        Cell("qwen3", "1 core", "stand-in"),
        Cell("recites", "2 ranks TP", "stand-in"),
        Cell("recites-moe", "2 ranks EP", "cpu"),
        Cell("recites-picture", "1 core", "stand-in"),
        Cell("mamba", "1 core", "cpu"),
    ],
    ids=lambda c: f"{c.model}-{c.way}-{c.device}".replace(" ", "-"),
)
def test_cell_passes_with_at_most_two_graphs_a_rank(cell: Cell, python: Callable[[str], Path | None]) -> None:
    done = run(cell, python(cell.device))
    result = done.result
    assert result is not None, done.refused
    assert (result.outcome, result.reason) == ("PASS", result.reason)
    assert result.kind == ("cpu-match" if cell.way == "1 core" else "english")
    assert result.device == cell.device
    assert result.graphs is not None
    assert 1 <= result.graphs <= 2  # the prompt and the step; one a token would be the sliding-window trap
    assert done.new_ids is not None
    assert len(done.new_ids) == 32
    assert result.row is not None
    assert result.row["result"] == f"PASS ({'CPU' if cell.device == 'cpu' else 'stand-in'})"
    assert result.row["hbm_peak_gb"] is None
    if cell.device == "stand-in":  # no figure of it may pass for a Trainium's
        assert all("stand-in" in m["source"] for m in result.memory if m["source"] != "host"), result.memory
    if cell.model in ("recites", "recites-moe"):
        assert result.tokens is not None
        assert result.tokens["text"].startswith(CONTINUED)


def test_heads_that_do_not_divide_fail_with_the_ranks_own_error() -> None:
    done = run(Cell("odd-heads", "2 ranks TP", "cpu"), force=True)
    assert done.result is not None
    assert done.result.outcome == "FAIL"
    assert done.result.reason.startswith("rank ")
    assert "is invalid for input of size" in done.result.reason
    assert "Connection" not in done.result.reason
    assert done.result.row is not None
    assert "is invalid for input of size" in done.result.row["error"]


def test_model_that_a_static_cache_changes_is_found_out_and_no_fault_of_the_device() -> None:
    done = run(Cell("electra", "1 core", "cpu"))
    assert done.result is not None
    assert (done.result.outcome, done.result.kind) == ("UNCHECKED", "cpu-match")
    assert "not the device: with it the CPU gives the same tokens as the run" in done.result.reason
    assert done.result.tokens is not None
    assert done.result.tokens["first_difference"] == 0
    assert done.result.tokens["gap"] > 0.4


def test_tokens_come_one_by_one_and_a_warm_run_compiles_nothing() -> None:
    done = run(Cell("recites", "1 core", "cpu"), warm=True, max_new_tokens=8, prompt="You can look for a name,")
    assert done.result is not None
    assert done.result.outcome == "UNCHECKED"  # equal, but too few for a PASS
    assert done.result.reason.startswith(
        "only 8 new tokens, and no end token: the protocol has 32 (8 of 8 tokens equal"
    )
    assert done.run is not None
    events = [line.raw for line in done.run.events()]
    tokens = [e for e in events if e["event"] == "token"]
    assert [t["n"] for t in tokens[:8]] == [*range(1, 9)]
    assert "".join(t["text"] for t in tokens[:8]) == done.result.tokens["text"]
    [warm] = [e for e in events if e["event"] == "warm"]
    assert (warm["new_graphs"], warm["same_tokens"], warm["tokens"]) == (0, True, 8)
    assert "not the protocol: 8 new tokens instead of 32" in done.result.notes
    recipe = done.run.recipe()
    assert recipe is not None
    assert recipe.prompt != PROMPT


def test_prompt_of_no_tokens_is_refused_by_the_script(tmp_path: Path) -> None:
    """A folder without tokenizer files loads a tokenizer of one entry: the prompt becomes nothing."""
    from trnui.sample.models import folder_of
    from trnui_runner.request.prepare import prepare
    from trnui_runner.request.request import RunRequest

    whole = folder_of("trnui-sample/qwen3")
    assert whole is not None
    for name in ("config.json", "generation_config.json", "model.safetensors"):
        os.link(whole / name, tmp_path / name)
    from tests.e2e.cells import quiet, wait
    from trnui_runner.supervise import launcher

    made = prepare(RunRequest(str(tmp_path), dtype="float32", device="cpu"))
    result = wait(launcher.start(made.recipe, made.script, made.steps, made.supervision, environ=quiet()))
    assert result.outcome == "UNCHECKED"
    assert result.reason.startswith("the checkpoint's tokenizer is missing: ")
    assert "encodes to 0 tokens" in result.reason
