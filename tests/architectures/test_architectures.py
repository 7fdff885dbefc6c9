"""Outcomes of tiny checkpoints of Transformers' architectures are the true ones. All of them with --slow: half an hour and more."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

TOKENS, OTHER = {"tokens": [1, 2, 3]}, {"tokens": [1, 2, 4]}
ERROR = {"error": "ValueError: no"}


@pytest.mark.parametrize(
    ("outcome", "values", "untrue"),
    [
        ("PASS", {}, ""),
        ("PASS", {"new_ids": [1, 2, 4]}, "other tokens"),
        ("PASS", {"graphs": 0}, "nothing was compiled"),
        ("PASS", {"missing": ["lm_head.weight"]}, "drawn at random"),
        ("FAIL", {}, "with the plain run's tokens"),
        ("FAIL", {"new_ids": [1, 2, 4]}, ""),
        ("FAIL", {"new_ids": [1, 2, 4], "static": OTHER}, "static cache makes of it"),
        ("FAIL", {"new_ids": None, "static": ERROR}, ""),
        ("FAIL", {"new_ids": None, "graphs": 0}, "works uncompiled"),
        ("FAIL", {"new_ids": None, "plain": ERROR}, "the plain run fails, too"),
        ("UNCHECKED", {}, "though compiled and equal"),
        ("UNCHECKED", {"graphs": 0}, ""),
        ("UNCHECKED", {"new_ids": [1, 2, 4]}, ""),
        ("refused", {"new_ids": None}, "though the plain run works"),
        ("refused", {"new_ids": None, "plain": {}, "encoder_decoder": True}, ""),
    ],
)
def test_truth_is_told_by_the_plain_runs(outcome: str, values: dict[str, Any], untrue: str) -> None:
    from tests.architectures.table import Row

    row = Row(
        "kind", "Class", outcome, "", **{"graphs": 2, "new_ids": [1, 2, 3], "plain": TOKENS, "static": TOKENS, **values}
    )
    assert untrue in row.untrue if untrue else row.untrue == ""


def test_document_counts_and_contradicts() -> None:
    from tests.architectures.table import Row, document

    rows = [
        Row("a", "A", "PASS", "x", 2, [1, 2, 3], plain=TOKENS),
        Row("b", "B", "FAIL", "y|z", 0, None, plain=TOKENS, static=ERROR),
    ]
    text = document(rows, {"c": "too large"}, ["d"])
    assert "2 tiny checkpoints" in text
    assert "1 PASS, 1 FAIL; outcomes that contradict the plain run: 0." in text
    assert "| b | FAIL | 0 | – | y\\|z; with a static cache it fails in Transformers alone, too |" in text
    assert "Made, and not run for this table (1): d." in text


@pytest.mark.slow
@pytest.mark.e2e
@pytest.mark.timeout(10_800)
def test_every_outcome_is_the_true_one(tmp_path: Path) -> None:
    from tests.architectures.table import table

    subprocess.run([sys.executable, "-m", "tests.architectures.tiny", str(tmp_path)], check=True)
    rows = table(tmp_path, [])
    assert len(rows) >= 60
    assert [f"{row.kind}: {row.untrue}" for row in rows if row.untrue] == []
