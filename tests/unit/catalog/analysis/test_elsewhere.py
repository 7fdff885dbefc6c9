"""How a model stands on the other stacks, and what a filter without a match would match there."""

from __future__ import annotations

import csv
import io
import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.called import called
from tests.datasets import database, folder, row
from trnui.catalog.analysis.elsewhere import matches_elsewhere
from trnui.catalog.dataset.versions import short_names
from trnui.catalog.engine.elsewhere import elsewhere_of
from trnui.catalog.query import ALL, Query, Stack

A, B, C = (Stack(f"2.{n}.0.0+x", "5.24.0") for n in (26, 27, 28))


@pytest.mark.parametrize(
    ("others", "expected"),
    [
        (("PASS",), "PASS on 2.27/5.24.0"),
        (("FAIL", "PASS", "EXCLUDED", "PASS"), "PASS on 2.30/5.24.0 +1 · FAIL on 1 other · EXCLUDED on 1 other"),
        (("FAIL",), "FAIL on 1 stack"),
        (("FAIL", "FAIL", "EXCLUDED", "EXCLUDED"), "FAIL on 2 stacks · EXCLUDED on 2 others"),
        (("MAYBE",), None),
        ((), None),
    ],
)
def test_words(tmp_path: Path, others: tuple[str, ...], expected: str | None) -> None:
    stacks = [Stack(f"2.{n}.0.0+x", "5.24.0") for n in range(27, 31)]
    rows = [
        row("o/m", None if word == "EXCLUDED" else word, stack, exclusion="x" if word == "EXCLUDED" else None)
        for word, stack in zip(others, stacks, strict=False)
    ]
    db = database(tmp_path, row("o/m", "PASS", A), *rows)
    assert elsewhere_of(db.connection, "O/M", (A.neuronx_cc, A.library, A.library_version)) == expected


def test_two_compilers_that_begin_alike_are_named_in_full() -> None:
    stacks = (
        Stack("2.28.1.0+a", "5.24.0"),
        Stack("2.28.9.0+b", "5.24.0"),
        Stack("2.9.0.0", "0.3", "diffusers"),
        Stack("", "5.0"),
    )
    assert list(short_names(stacks).values()) == [
        "2.28.1.0/5.24.0",
        "2.28.9.0/5.24.0",
        "2.9/0.3 diffusers",
        "transformers 5.0",
    ]


def test_the_row_looked_at_does_not_count_and_the_newest_of_a_stack_does(tmp_path: Path) -> None:
    late = datetime(2026, 12, 1, tzinfo=UTC)
    db = database(
        tmp_path,
        row("O/M", "PASS", A), row("o/m", "FAIL", A, tested_at=late), row("o/m", "PASS", B), row("o/m", "FAIL", C),
        row("o/x", None, B, exclusion="low priority"), row("o/only", "PASS", C),
    )  # fmt: skip
    pairs = {stack: (stack.neuronx_cc, stack.library, stack.library_version) for stack in (A, B, C)}
    assert elsewhere_of(db.connection, "o/m", pairs[C]) == "PASS on 2.27/5.24.0 · FAIL on 1 other"
    assert elsewhere_of(db.connection, "o/m", pairs[B]) == "FAIL on 2 stacks"
    assert elsewhere_of(db.connection, "o/m") == "PASS on 2.27/5.24.0 · FAIL on 2 others"
    assert elsewhere_of(db.connection, "o/none") is None
    assert elsewhere_of(db.connection, "o/x") == "EXCLUDED on 1 stack"
    assert elsewhere_of(db.connection, "o/only", pairs[C]) is None


def test_a_filter_without_a_match_counts_those_on_other_stacks(tmp_path: Path) -> None:
    db = database(tmp_path, row("o/old", "PASS", A), row("o/old", "PASS", B), row("o/new", "PASS", C))
    assert matches_elsewhere(db, Query(text="old")) == 2
    assert matches_elsewhere(db, Query(text="old", results=("FAIL",))) == 0
    assert matches_elsewhere(db, Query(text="new")) == 0
    assert matches_elsewhere(db, Query(text="zorp", neuronx_cc=(ALL,), library_version=(ALL,))) == 0


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "data"
    folder(path, row("o/old", "PASS", A), row("o/both", "PASS", A), row("o/both", "FAIL", C), row("o/new", "PASS", C))
    return path


def test_list_says_it_on_stderr(data: Path) -> None:
    done = called("--dataset", data, "list", "--search", "old")
    assert (done.code, len(done.out.splitlines())) == (0, 1)
    assert "1 row on other stacks: --neuronx-cc all --library-version all shows it" in done.err
    assert "on other stacks" not in called("--dataset", data, "list", "--search", "zorp").err
    assert "on other stacks" not in called("--dataset", data, "list", "--search", "both").err


def test_list_has_it_as_a_column(data: Path) -> None:
    lines = called("--dataset", data, "list", "--sort", "model_id").out.splitlines()
    assert "elsewhere" in lines[0]
    assert "PASS on 2.26/5.24.0" in lines[1]
    found = json.loads(called("--dataset", data, "list", "--format", "json").out)
    assert {r["model_id"]: r["elsewhere"] for r in found} == {"o/both": "PASS on 2.26/5.24.0", "o/new": None}
    named = called("--dataset", data, "list", "--columns", "elsewhere,model_id", "--format", "csv").out
    assert sorted(csv.reader(io.StringIO(named))) == [
        ["", "o/new"],
        ["PASS on 2.26/5.24.0", "o/both"],
        ["elsewhere", "model_id"],
    ]
    head = called("--dataset", data, "list", "--format", "csv").out.splitlines()[0]
    assert head.split(",")[-2:] == ["reason", "tested_at"]
