"""The judge's verdict from surface and likelihood, each kind; and all recorded texts within what was promised of it."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
import torch
import transformers

from tests.benchmarks.judge import DOCS, TEXTS, counts, document, judged
from trnui_runner.payload.judge import (
    WORD_ORDER,
    Likelihood,
    NotAtHand,
    by_likelihood,
    by_order,
    judge,
    likelihood,
    too_short,
    without,
)
from trnui_runner.payload.surface import surface

PROSE = (
    " the birds begin to sing. It is a beautiful morning, and the people of the village are getting ready for the day."
)
CODE = "\n    if n <= 1:\n        return n\n    return fib(n - 1) + fib(n - 2)\n\nprint(fib(10))"
LOOP = " I'm not sure what to do with him." * 4


@pytest.mark.parametrize(
    ("text", "mean", "worst", "outcome", "why"),
    [
        (PROSE, 2.0, 4.0, "PASS", "fluent English: 2.00 nats a token (limit 5)"),
        (PROSE, 7.0, 9.0, "FAIL", "no fluent English: 7.00 nats a token"),
        (PROSE, 5.5, 7.0, "UNCHECKED", "unusual English or none: 5.50 nats a token"),
        (PROSE, 4.5, 14.0, "FAIL", "14.0 nats a token in its worst 8 tokens"),
        (LOOP, 0.8, 2.0, "UNCHECKED", "as a healthy model may give, too"),
        (LOOP, 2.5, 5.0, "FAIL", "a loop"),
        (CODE, 1.0, 3.0, "UNCHECKED", "is code"),
        (CODE, 6.5, 9.0, "FAIL", "no fluent English"),
        (
            " Das ist nicht die Art, wie man mit den Leuten auf der Straße spricht.",
            4.0,
            6.0,
            "UNCHECKED",
            "not English",
        ),
        (" a day \ufffd\ufffd of the week and it is the last", 2.0, 4.0, "FAIL", "broken characters"),
    ],
)
def test_both_parts_have_a_say(text: str, mean: float, worst: float, outcome: str, why: str) -> None:
    found, reason = by_likelihood(surface(text), Likelihood(mean, worst), 32)
    assert found == outcome
    assert why in reason


def test_short_answer_is_no_failure() -> None:
    for text, tokens in ((" Paris.", 3), (" The answer is 42.", 7), ("", 1)):
        found, why = by_likelihood(surface(text), Likelihood(0.5, 0.5), tokens)
        assert found == "UNCHECKED"
        assert f"{tokens} tokens are too few to judge" in why
        assert by_order(surface(text), 0.0, tokens)[0] == "UNCHECKED"
    assert by_likelihood(surface(""), None, 32) == ("FAIL", "no text at all in 32 tokens")


def test_worst_window_and_mean_of_a_text() -> None:
    assert Likelihood.of([1.0] * 24 + [15.0] * 8) == Likelihood(4.5, 15.0)
    assert Likelihood.of([2.0, 4.0]) == Likelihood(3.0, 3.0)


def test_surface_alone_fails_only_what_any_judge_would() -> None:
    assert without(surface(PROSE), 32) is None
    assert without(surface(LOOP), 32) is None
    assert without(surface(" a day \ufffd of the week and it is the last"), 32) is not None


def test_recorded_texts_are_judged_within_the_promised_errors() -> None:
    """425 texts; the likelihoods are recorded ones of SmolLM2-135M-Instruct (see tests/benchmarks/judge.py)."""
    found = judged(json.loads(TEXTS.read_text(encoding="utf-8")))
    table = counts(found, "kind")
    for kind in ("a real English", "b healthy model output"):
        row = table[kind]
        assert row["FAIL"] <= 0.05 * row.total()
        assert row["PASS"] >= 0.85 * row.total()  # UNCHECKED is no way out
    assert table["c synthetic broken text"]["PASS"] <= 0.02 * table["c synthetic broken text"].total()
    assert table["d other languages and code"]["PASS"] == 0
    by_domain = counts(found, "domain")
    for name, row in by_domain.items():
        if "one token repeated" in name or name.startswith("loop"):
            assert row["PASS"] == 0, name
    healthy_loops = [one for one in found if one.group == "b" and "loop" in one.reason]
    assert healthy_loops
    assert {one.outcome for one in healthy_loops} == {"UNCHECKED"}


def test_documented_table_is_todays() -> None:
    assert DOCS.read_text(encoding="utf-8") == document(judged(json.loads(TEXTS.read_text(encoding="utf-8"))))


@pytest.mark.parametrize(
    ("text", "mean", "worst", "reason"),
    [
        (" a day \ufffd\ufffd of the week and it is the last", 2.0, 4.0, "no fluent English: broken characters (2.00 nats a token)"),
        (CODE, 6.5, 9.0, "no fluent English: 6.50 nats a token, fluent is below 5; 100% of it is code, only 9% common words"),
        (PROSE, 6.5, 9.0, "no fluent English: 6.50 nats a token, fluent is below 5"),
        (PROSE, 5.5, 7.0, "unusual English or none: 5.50 nats a token, fluent is below 5, broken from 6 on"),
        (PROSE, 4.5, 14.0, "no fluent English: 14.0 nats a token in its worst 8 tokens (4.50 nats a token in all)"),
    ],
)  # fmt: skip
def test_reasons_are_whole_sentences_with_their_figures(text: str, mean: float, worst: float, reason: str) -> None:
    assert by_likelihood(surface(text), Likelihood(mean, worst), 32)[1] == reason


def test_a_loop_names_itself_and_its_figure() -> None:
    found, reason = by_likelihood(surface(LOOP), Likelihood(2.5, 5.0), 32)
    assert found == "FAIL"
    assert reason.startswith("a loop: ")
    assert reason.endswith(" (2.50 nats a token)")


def test_several_faults_of_a_surface_are_listed() -> None:
    both = replace(surface(PROSE), wrong=("few letters", "broken characters"), kind="broken")
    assert without(both, 32) == ("FAIL", "no fluent English: few letters, broken characters")
    assert by_order(both, 9.0, 32)[1].endswith("(PASS above 2.5); few letters, broken characters")
    assert (
        by_likelihood(both, Likelihood(2.0, 2.0), 32)[1]
        == "no fluent English: few letters, broken characters (2.00 nats a token)"
    )


def test_word_order_says_its_figure_and_limit() -> None:
    assert by_order(surface(PROSE), 7.3, 32) == (
        "PASS",
        "fluent English: word-order score 7.3 (PASS above 2.5)",
    )
    assert by_order(surface(PROSE), 2.5, 32) == (
        "FAIL",
        "no fluent English: word-order score 2.5 (PASS above 2.5)",
    )


def test_sixteen_tokens_are_enough_and_fifteen_are_not() -> None:
    assert too_short(surface(PROSE), 16) == ""
    assert too_short(surface(PROSE), 15) == "15 tokens are too few to judge: 16 or more are needed"


def test_a_judgement_names_its_judge() -> None:
    found = judge(WORD_ORDER, "x", PROSE, 32)
    assert (found["name"], found["limit"], found["outcome"]) == (WORD_ORDER, 2.5, "PASS")
    assert found["surface"]["ok"]


class Words:
    """A tokenizer of letters, with and without special tokens."""

    bos_token_id: int | None = 7

    def __call__(self, text: str, return_tensors: str = "pt", add_special_tokens: bool = True) -> Any:
        ids = torch.tensor([[ord(c) % 8 for c in text]], dtype=torch.long).reshape(1, -1)
        return SimpleNamespace(input_ids=ids)


class Uniform:
    """A model that holds each of 8 tokens equally likely, and keeps what it was asked."""

    config = SimpleNamespace(_commit_hash="c0ffee")

    def eval(self) -> Uniform:
        return self

    def __call__(self, ids: Any) -> Any:
        self.asked = ids
        return SimpleNamespace(logits=torch.zeros(1, ids.shape[1], 8))


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Uniform:
    found = Uniform()
    monkeypatch.setattr(transformers.AutoTokenizer, "from_pretrained", lambda name, **how: Words())
    monkeypatch.setattr(transformers.AutoModelForCausalLM, "from_pretrained", lambda name, **how: found)
    return found


def test_likelihood_is_of_the_text_after_the_prompt(model: Uniform) -> None:
    found = likelihood("owner/judge", "abc", "defgh", False)
    assert found is not None
    assert found.mean == pytest.approx(math.log(8))
    assert found.commit == "c0ffee"
    assert model.asked.shape == (1, 8)
    assert likelihood("owner/judge", "abc", "", False) is None


@pytest.mark.parametrize(("bos", "first"), [(7, 7), (None, 0)])
def test_without_a_prompt_the_text_follows_its_beginning(
    model: Uniform, monkeypatch: pytest.MonkeyPatch, bos: int | None, first: int
) -> None:
    monkeypatch.setattr(Words, "bos_token_id", bos)
    assert likelihood("owner/judge", "", "abc", False) is not None
    assert model.asked[0].tolist() == [first, 1, 2, 3]


def test_a_judge_that_cannot_be_had_says_why_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: dict[str, Any] = {}

    def absent(name: str, **how: Any) -> None:
        asked.update(how)
        raise OSError("we could not find it\nmore words")

    monkeypatch.setattr(transformers.AutoTokenizer, "from_pretrained", absent)
    with pytest.raises(NotAtHand, match=r"^we could not find it$"):
        likelihood("owner/judge", "", "abc", False)
    assert asked == {"local_files_only": True, "trust_remote_code": False}
    with pytest.raises(NotAtHand):
        likelihood("owner/judge", "", "abc", True)
    assert asked["local_files_only"] is False
