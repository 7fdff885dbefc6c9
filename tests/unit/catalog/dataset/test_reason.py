"""The reason of a row: one rule, the same in SQL and in Python."""

from __future__ import annotations

import duckdb
import pytest

from trnui.catalog.dataset.reason import LENGTH, reason_line, reason_sql

TRACE = "Traceback (most recent call last):\n" + '  File "m.py", line 1, in f\n' * 30
TEXTS = {
    "ValueError: x\nmore": "ValueError: x",
    "\n  \n first \r\nsecond": "first",
    TRACE + "torch.OutOfMemoryError: boo\n\n": "torch.OutOfMemoryError: boo",
    "[rank0]: noise\n" + TRACE + "KeyError: 'a'": "KeyError: 'a'",
    TRACE + "ValueError: a\n\nDuring handling of the above exception, another exception occurred:\n\n" + TRACE + "RuntimeError: b": "RuntimeError: b",
    "": "",
    " \n\t ": "",
    "one line": "one line",
}  # fmt: skip


@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
def test_python_and_sql_give_the_same_line(text: str) -> None:
    found = duckdb.execute(f"SELECT {reason_sql('t')} FROM (SELECT ?::VARCHAR AS t)", [text]).fetchall()[0][0]
    assert reason_line(text) == TEXTS[text]
    assert (found or "") == TEXTS[text]


def test_a_long_reason_says_that_it_was_cut() -> None:
    (found,) = duckdb.execute(f"SELECT {reason_sql('t')} FROM (SELECT repeat('x', 5000) AS t)").fetchall()[0]
    assert len(found) == LENGTH
    assert found.endswith("x…")


def test_absent_stays_absent() -> None:
    assert duckdb.execute(f"SELECT {reason_sql('t')} FROM (SELECT NULL::VARCHAR AS t)").fetchall() == [(None,)]
