"""Tokens against the reference's: equal, nearly tied, truly different; in one sequence or several."""

from __future__ import annotations

import json
from typing import Any

import pytest

from trnui_runner.payload.compare import compare


def logits(*steps: dict[int, float]) -> list[list[list[float]]]:
    return [[[step.get(n, -9.0) for n in range(10)]] for step in steps]


def one(new: list[int], wanted: list[int], scores: Any, dtype: str, text: Any = str) -> dict[str, Any]:
    return compare((tuple(new),), [wanted], scores, dtype, text)  # as the probe's and torch's come


def test_equal_tokens_pass() -> None:
    found = one([1, 2, 3], [1, 2, 3], logits({1: 5}, {2: 5}, {3: 5}), "bfloat16")
    assert (found["outcome"], found["reason"]) == ("PASS", "3 of 3 tokens equal to the CPU run")
    assert found["tokens"]["first_difference"] is None


def test_difference_where_the_reference_is_nearly_tied_is_no_verdict() -> None:
    found = one([1, 7, 3], [1, 2, 3], logits({1: 5}, {2: 8.0, 7: 7.969}, {3: 5}), "bfloat16")
    assert found["outcome"] == "UNCHECKED"
    assert found["reason"].startswith(
        "1 of 3 tokens equal, then a near tie: the CPU run prefers its own token by 0.031 only"
    )
    assert (found["tokens"]["first_difference"], found["tokens"]["margin"]) == (1, 0.031)


def test_the_same_margin_in_float32_is_a_difference() -> None:
    found = one([1, 7], [1, 2], logits({1: 5}, {2: 8.0, 7: 7.969}), "float32", lambda n: f"t{n}")
    assert found["outcome"] == "FAIL"
    assert (
        found["reason"]
        == "token 1 is 't7', not 't2', which the CPU run prefers by 0.031 (float32): no near tie, which ends at 8e-05"
    )


def test_a_tie_between_two_other_tokens_excuses_nothing() -> None:
    found = one([9], [2], logits({2: 8.0, 7: 7.999, 9: -3.0}), "bfloat16")
    assert found["outcome"] == "FAIL"
    assert found["tokens"]["gap"] == 11.0


def test_clear_difference_fails_in_bfloat16_too() -> None:
    assert one([7], [2], logits({2: 3.0, 7: 2.53}), "bfloat16")["outcome"] == "FAIL"


def test_one_token_again_and_again_is_called_what_nan_gives() -> None:
    found = one([0] * 8, [1, 2, 3, 4, 5, 6, 7, 8], logits(*[{n: 9.0} for n in range(1, 9)]), "float32")
    assert "one token 8 times, as NaN would" in found["reason"]


def test_fewer_tokens_than_the_reference_fail() -> None:
    found = one([1, 2], [1, 2, 3], logits({1: 5}, {2: 5}, {3: 5}), "float32")
    assert (found["outcome"], found["reason"]) == ("FAIL", "2 tokens instead of the CPU run's 3")


def test_token_that_an_option_rules_out_is_told_in_json() -> None:
    found = one([7], [2], [[[float("-inf")] * 2 + [5.0] + [float("-inf")] * 7]], "float32")
    assert found["outcome"] == "FAIL"
    assert found["tokens"]["gap"] is None
    json.dumps(found, allow_nan=False)


@pytest.mark.parametrize(
    ("second", "outcome", "words"),
    [
        ([2], "PASS", "2 of 2 tokens of 2 sequences equal to the CPU run"),
        ([7], "FAIL", "sequence 2 of 2: token 0 is '7', not '2'"),
        ([3], "UNCHECKED", "sequence 2 of 2: 0 of 1 tokens equal, then a near tie"),
    ],
)
def test_every_sequence_of_a_batch_counts(second: list[int], outcome: str, words: str) -> None:
    row = [0.0, 0.0, 8.0, 7.99, 0.0, 0.0, 0.0, 1.0]
    found = compare([[2], second], [[2], [2]], [[row, row]], "bfloat16")
    assert found["outcome"] == outcome
    assert found["reason"].startswith(words)


def test_sequences_that_were_not_kept_are_not_compared() -> None:
    assert (
        compare([[2]], [[2], [5]], logits({2: 1.0}), "float32")["outcome"] == "PASS"
    )  # conditions.py says what is missing
    assert compare([[2], [3]], [[2]], logits({2: 1.0}), "float32")["outcome"] == "UNCHECKED"
