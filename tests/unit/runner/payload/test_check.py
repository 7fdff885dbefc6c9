"""The check as a whole: one event, whatever happens; a judge that is not at hand; the script's own prompt."""

from __future__ import annotations

import json
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
