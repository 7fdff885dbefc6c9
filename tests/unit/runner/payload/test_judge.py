"""The judge's verdict from surface and likelihood, each kind; and all recorded texts within what was promised of it."""

from __future__ import annotations

import json

import pytest

from tests.benchmarks.judge import DOCS, TEXTS, counts, document, judged
from trnui_runner.payload.judge import Likelihood, by_likelihood, by_order, without
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
