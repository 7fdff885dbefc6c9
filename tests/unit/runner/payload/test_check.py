"""The check as a whole: one event, whatever happens; a judge that is not at hand; the script's own prompt."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from trnui_runner.payload import check, fluency, judge
from trnui_runner.payload.generation import Generation, read_events
from trnui_runner.payload.judge import Likelihood

FLUENT = " a program for the device, and this first step takes most of the time. A graph that was compiled before can be used again"
NOISE = "ere wordsenouellsrunells\x1a\ufffdellsells\x1aha9ellsIt\x1ael\x1a9ng co"
RECIPE = {"device": "cpu", "model": "m", "task": "text-generation", "dtype": "auto", "prompt": "x", "options": {}}


class Tokenizer:
    def __init__(self, text: str) -> None:
        self.text = text

    def decode(self, ids: list[int], skip_special_tokens: bool = False) -> str:
        return self.text


def judged(
    monkeypatch: pytest.MonkeyPatch, text: str, ids: tuple[int, ...] = tuple(range(32)), **recipe: Any
) -> dict[str, Any]:
    monkeypatch.setattr(fluency, "tokenizer_of", lambda recipe: Tokenizer(text))
    return fluency.fluency({**RECIPE, "judge": None, **recipe}, Generation({}, {}, (ids,)))


def test_judge_that_is_not_at_hand_leaves_the_run_unchecked(monkeypatch: pytest.MonkeyPatch) -> None:
    absent = "a judge that nobody has"

    def not_at_hand(*_: object) -> None:
        raise judge.NotAtHand("not cached")

    monkeypatch.setattr(judge, "likelihood", not_at_hand)
    found = judged(monkeypatch, FLUENT, judge=absent)
    assert (found["outcome"], found["reason"]) == ("UNCHECKED", f"the judge {absent} is not at hand (not cached)")
    assert found["judge"]["surface"]["ok"]
    assert judged(monkeypatch, NOISE, judge=absent)["outcome"] == "FAIL"  # no judge could pass this
    assert judged(monkeypatch, " the" * 32, judge=absent)["outcome"] == "UNCHECKED"  # a loop that may be likely


def test_word_order_judges_the_sample_and_no_trainium(monkeypatch: pytest.MonkeyPatch) -> None:
    assert judged(monkeypatch, FLUENT, judge=judge.WORD_ORDER)["outcome"] == "PASS"
    assert judged(monkeypatch, NOISE, judge=judge.WORD_ORDER)["outcome"] == "FAIL"
    found = judged(monkeypatch, FLUENT, judge=judge.WORD_ORDER, device="neuron")
    assert found["outcome"] == "UNCHECKED"
    assert "no judge of a Trainium run" in found["reason"]


def test_judges_figure_and_commit_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    for nats, outcome in ((2.0, "PASS"), (7.0, "FAIL")):
        monkeypatch.setattr(judge, "likelihood", lambda *_, nats=nats: Likelihood(nats, nats, "abc"))
        found = judged(monkeypatch, FLUENT, judge="owner/judge")
        assert found["outcome"] == outcome
        assert (found["judge"]["nll"], found["judge"]["commit"]) == (nats, "abc")
        assert found["reason"].endswith(", by owner/judge")


def test_short_answer_is_unchecked_whatever_was_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    found = judged(monkeypatch, " The answer is 42.", (1, 2, 3, 4, 5), judge=judge.WORD_ORDER)
    assert found["outcome"] == "UNCHECKED"
    assert found["tokens"]["text"] == " The answer is 42."


def test_token_that_prints_nothing_is_a_loop_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judge, "likelihood", lambda *_: Likelihood(2.0, 3.0))
    found = judged(monkeypatch, FLUENT, (*range(24), *[9] * 8), judge="owner/judge")
    assert found["outcome"] == "UNCHECKED"
    assert "the token 9 again and again" in found["reason"]


def test_worst_sequence_of_a_batch_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = iter((FLUENT, NOISE, FLUENT))
    monkeypatch.setattr(
        fluency, "tokenizer_of", lambda recipe: type("T", (), {"decode": lambda *_, **__: next(texts)})()
    )
    rows = (tuple(range(32)),) * 3
    found = fluency.fluency({**RECIPE, "judge": judge.WORD_ORDER}, Generation({}, {}, rows))
    assert found["outcome"] == "FAIL"
    assert "sequence 2 of 3" in found["reason"]


def test_check_speaks_by_one_event_also_when_it_cannot_check(tmp_path: Path) -> None:
    (tmp_path / "events").mkdir()
    (tmp_path / "recipe.json").write_text(json.dumps(RECIPE))
    assert check.main(str(tmp_path)) == 0
    [event] = read_events(str(tmp_path / "events"))
    assert (event["event"], event["kind"], event["outcome"]) == ("check", "cpu-match", "UNCHECKED")
    assert event["reason"] == "run.py never called generate()"
    assert event["stack"]["python"]


def test_check_runs_by_its_path_beside_files_of_the_same_names(tmp_path: Path) -> None:
    (tmp_path / "events").mkdir()
    (tmp_path / "recipe.json").write_text(json.dumps(RECIPE))
    for name in ("judge", "compare", "check", "generation"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('not mine')\n")
    done = subprocess.run([sys.executable, check.__file__, "."], cwd=tmp_path, capture_output=True, text=True, timeout=60,
                          env={"PYTHONPATH": str(tmp_path), "PATH": ""})  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "check (cpu-match): UNCHECKED: run.py never called generate()\n"


def written(folder: Path, *events: dict[str, Any]) -> None:
    (folder / "events").mkdir()
    (folder / "recipe.json").write_text(json.dumps(RECIPE))
    lines = [json.dumps({"t": 1.0, "pid": 7, **event}) for event in events]
    (folder / "events" / "7.jsonl").write_text("\n".join(lines) + "\n")


def told(folder: Path) -> dict[str, Any]:
    return next(e for e in read_events(str(folder / "events")) if e["event"] == "check")


def test_several_ranks_are_judged_by_their_english_one_by_its_tokens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(check, "check", lambda folder, recipe, events, kind: {"outcome": "PASS", "reason": kind})
    for size, kind in ((1, "cpu-match"), (2, "english")):
        folder = tmp_path / str(size)
        folder.mkdir()
        written(folder, {"event": "group", "rank": 0, "world_size": size})
        assert check.main(str(folder)) == 0
        event = told(folder)
        assert (event["kind"], event["outcome"], event["reason"]) == (kind, "PASS", kind)
        assert 0 <= event["seconds"] < 60
        assert capsys.readouterr().out == f"check ({kind}): PASS: {kind}\n"


def test_a_check_that_breaks_is_unchecked_and_says_how(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*_: object) -> None:
        raise KeyError("odd" * 200)

    monkeypatch.setattr(check, "check", broken)
    written(tmp_path)
    assert check.main(str(tmp_path)) == 0
    event = told(tmp_path)
    assert event["outcome"] == "UNCHECKED"
    assert event["reason"].startswith("the check itself failed: KeyError: 'oddodd")
    assert len(event["reason"]) < 350
    assert "Traceback" in capsys.readouterr().err


@pytest.mark.parametrize(("kind", "used"), [("english", "fluency"), ("cpu-match", "reference")])
def test_each_kind_has_its_own_way_and_the_conditions_weigh_both(
    monkeypatch: pytest.MonkeyPatch, kind: str, used: str
) -> None:
    from trnui_runner.payload import conditions, generation, reference

    monkeypatch.setattr(generation, "generation", lambda folder, recipe, events: "one")
    monkeypatch.setattr(fluency, "fluency", lambda recipe, one: {"by": "fluency"})
    monkeypatch.setattr(reference, "against_cpu", lambda recipe, events, one: {"by": "reference"})
    monkeypatch.setattr(conditions, "weights", lambda events, one: "weights")
    monkeypatch.setattr(conditions, "protocol", lambda recipe, events, one: ("protocol",))
    monkeypatch.setattr(conditions, "weighed", lambda found, weights, protocol: {**found, "w": (weights, protocol)})
    assert check.check("f", RECIPE, [], kind) == {"by": used, "w": ("weights", ("protocol",))}


def test_versions_are_those_of_this_interpreter_under_the_datasets_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    import importlib.metadata

    installed = {"torch": "2.13", "torch-neuronx": "2.14", "neuronx-cc": "2.28", "nki": "0.7", "transformers": "5.24"}

    def version(name: str) -> str:
        if name not in installed:
            raise importlib.metadata.PackageNotFoundError(name)
        return installed[name]

    monkeypatch.setattr(importlib.metadata, "version", version)
    found = check.stack()
    assert found.pop("python") == sys.version.split()[0]
    assert found == {
        "torch": "2.13",
        "torch_neuronx": "2.14",
        "neuronx_cc": "2.28",
        "nki": "0.7",
        "transformers": "5.24",
    }


def test_alone_leaves_out_the_probe_this_folder_and_the_device(monkeypatch: pytest.MonkeyPatch) -> None:
    finder = type("Finder", (), {"__module__": "sitecustomize"})()
    monkeypatch.setattr(sys, "meta_path", [finder, *sys.meta_path])
    monkeypatch.setattr(sys, "path", ["", check.HERE, *sys.path])
    monkeypatch.setenv("TORCH_DEVICE_BACKEND_AUTOLOAD", "1")  # so that it is put back afterwards
    check.alone()
    assert finder not in sys.meta_path
    assert len(sys.meta_path) > 1
    assert check.HERE not in sys.path
    assert "" in sys.path
    assert os.environ["TORCH_DEVICE_BACKEND_AUTOLOAD"] == "0"


def test_as_package_is_this_folder_whatever_else_has_its_names(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "judge.py").write_text("raise SystemExit('not mine')\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in [n for n in sys.modules if n.split(".")[0] == check.PACKAGE]:
        monkeypatch.delitem(sys.modules, name)
    found = check.as_package()
    try:
        assert found.__name__ == f"{check.PACKAGE}.check"
        assert found.__file__ == check.__file__
    finally:
        for name in [n for n in sys.modules if n.split(".")[0] == check.PACKAGE]:
            del sys.modules[name]
