"""One question has one answer, whoever asks: list, rankings, compare, matrix, model page and `show` agree about a model's row."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.datasets import NEW, OLD, database, folder, row
from trnui.catalog.analysis.comparison.compare import compare, sides
from trnui.catalog.analysis.stack_matrix import matrices
from trnui.catalog.dataset.versions import default_stack, newest_first
from trnui.catalog.engine.catalog import Catalog
from trnui.catalog.engine.lookups import model_rows, records
from trnui.catalog.query import ALL, Query, Stack, View
from trnui.tui.model.matrix_view import grid

EARLY, LATE = datetime(2026, 11, 1, tzinfo=UTC), datetime(2026, 11, 2, tzinfo=UTC)
EVERY = Query(neuronx_cc=(ALL,), library_version=(ALL,))


@pytest.mark.parametrize(
    ("times", "wanted"),
    [
        ((LATE, EARLY), "FAIL"),
        ((EARLY, LATE), "PASS"),
        ((EARLY, EARLY), "PASS"),  # of equally new ones the last in the file
        ((None, None), "PASS"),
        ((EARLY, None), "FAIL"),  # one without a time is older than any
    ],
)
def test_of_two_rows_on_one_stack_everybody_takes_the_same(
    tmp_path: Path, times: tuple[datetime | None, datetime | None], wanted: str
) -> None:
    rows = [row("o/m", result, tested_at=when) for result, when in zip(("FAIL", "PASS"), times, strict=True)]
    catalog = Catalog(folder(tmp_path, *rows, row("o/other")))
    db = catalog.database
    db.set_rankings([("trending", "text-generation", 1, "O/M", 5, 1.0, None, None)])
    (ranked,) = records(db, Query(view=View.TRENDING))
    (matrix,) = matrices(catalog.rows_of("o/m", ("status", "result", "kind", "device", "tp", "tested_at", "neuronx_cc", "library_version", "library")).records())  # fmt: skip
    cells = grid(model_rows(db, "o/m").rows, lambda v: v).cells
    chosen = catalog.detail(catalog.choose("o/m", Query()))
    assert {
        "rankings": ranked["status"],
        "compare": sides(db, OLD)["o/m"][1].status,
        "show's grid": next(iter(matrix.cells.values())).status,
        "the page's grid": next(iter(cells.values()))[0]["status"],
        "show": chosen.derived["status"],
    } == dict.fromkeys(("rankings", "compare", "show's grid", "the page's grid", "show"), wanted)
    assert ranked["model_id"] == "o/m"  # as the dataset spells it


def test_names_are_one_name_in_any_case(tmp_path: Path) -> None:
    catalog = Catalog(folder(tmp_path, row("Qwen/Qwen3-0.6B", "PASS", OLD), row("qwen/qwen3-0.6b", "FAIL", NEW)))
    db = catalog.database
    found = compare(db, OLD, NEW)
    assert (found.both, [c.what.value for c in found.changes]) == (1, ["newly failing"])
    assert len(records(db, EVERY.but(models=("QWEN/qwen3-0.6B",)))) == 2
    assert len(catalog.rows_of("qwen/QWEN3-0.6b").rows) == 2
    assert catalog.find("qwen/qwen3-0.6b") == "qwen/qwen3-0.6b"
    assert catalog.find("QWEN/QWEN3-0.6B") in ("Qwen/Qwen3-0.6B", "qwen/qwen3-0.6b")
    db.set_rankings([("downloads", "text-generation", 1, "qwen/Qwen3-0.6B", 5, None, None, None)])
    (ranked,) = records(db, Query(view=View.DOWNLOADS))
    assert ranked["status"] == "FAIL"


def test_a_model_has_one_line_a_place_however_many_rows_it_has(tmp_path: Path) -> None:
    db = database(tmp_path, *(row("o/m", "PASS", OLD, wall_s=n) for n in range(3)), row("o/n", "PASS", OLD))
    db.set_rankings(
        [("trending", "text-generation", n, f"o/{name}", 5, 1.0, None, None) for n, name in ((1, "m"), (2, "n"))]
    )
    assert [r["model_id"] for r in records(db, Query(view=View.TRENDING))] == ["o/m", "o/n"]


def test_versions_have_one_order_whatever_their_spelling() -> None:
    stacks = [Stack("2.28", v) for v in ("5.20", "5.20.0", "5.20.0+a", "v5.20")]
    orders = {newest_first(frozenset(stacks[n:] + stacks[:n])) for n in range(len(stacks))}
    assert len(orders) == 1
    assert {default_stack(stacks[n:] + stacks[:n]) for n in range(4)} == {next(iter(orders))[0]}


def test_the_digits_of_a_commit_are_no_version() -> None:
    stacks = [Stack(cc, "5.20.2") for cc in ("60180947", "2.28.7631.0", "6f180f47")]
    assert default_stack(stacks) == stacks[1]


@pytest.mark.parametrize(
    "word", ["None", "nan", "NaN", "null", "-", "–", "n/a", "no", "False", "<NA>", " none ", "0", ""]
)
def test_an_exclusion_that_says_nothing_excludes_nothing(tmp_path: Path, word: str) -> None:
    db = database(tmp_path, row("o/a", "PASS", exclusion=word), row("o/b", "FAIL", exclusion=word, error="boom"), row("o/c", None, exclusion="low priority"))  # fmt: skip
    assert [(r["status"], r["reason"]) for r in records(db, EVERY)] == [
        ("PASS", None),
        ("FAIL", "boom"),
        ("EXCLUDED", "low priority"),
    ]


@pytest.mark.parametrize("column", ["error", "notes", "english", "cpu_match", "nki", "neuron_driver"])
@pytest.mark.parametrize("word", ["None", "nan", "NULL", "<NA>", "n/a", "-"])
def test_a_word_for_nothing_is_nothing(tmp_path: Path, column: str, word: str) -> None:
    catalog = Catalog(folder(tmp_path, row("o/a", "PASS", **{"cpu_match": None, "error": None, column: word})))
    detail = catalog.detail(0)
    assert detail.values[column] is None
    assert detail.derived["kind"] is None


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_what_is_no_number_is_absent_everywhere(tmp_path: Path, value: float) -> None:
    rows = [
        row("o/a", "PASS", OLD, hbm_peak_gb=value),
        row("o/a", "PASS", NEW, hbm_peak_gb=1.5),
        row("o/b", "PASS", OLD, hbm_peak_gb=9.5),
    ]
    catalog = Catalog(folder(tmp_path, *rows))
    found = catalog.rows(EVERY.but(sort="hbm_peak_gb", descending=True), ("hbm_peak_gb",)).rows
    assert [r[0] for r in found] == [9.5, 1.5, None]
    assert compare(catalog.database, OLD, NEW).count("less memory") == 0  # type: ignore[arg-type]  # a StrEnum is its text
    said = [p.words for p in catalog.problems]
    assert said == ([] if value != value else ["1 infinite value of hbm_peak_gb, taken as absent"])


@pytest.mark.parametrize(
    ("result", "status"),
    [("PASS\n", "PASS"), ("\tPASS", "PASS"), ("PASS\u00a0", "PASS"), ("Fail\r\n", "FAIL"), ("✅ PASS", "PASS"), ("pass.", "PASS"),
     ("NOT  TESTED", "UNTESTED"), ("nan", "UNTESTED"), (" ", "UNTESTED"), ("PASS (warm)", "OTHER"), ("PASS?", "OTHER"), ("合格", "OTHER")],
)  # fmt: skip
def test_blanks_around_a_word_change_nothing(tmp_path: Path, result: str, status: str) -> None:
    (found,) = records(database(tmp_path, row("o/a", result)), EVERY)
    assert (found["status"], found["device"]) == (status, None if status == "UNTESTED" else "neuron")


def test_status_sorts_alike_in_every_view(tmp_path: Path) -> None:
    db = database(
        tmp_path, row("o/a", "FAIL"), row("o/b", "PASS"), row("o/c", None, exclusion="x"), row("o/d", "MAYBE")
    )
    db.set_rankings(
        [("trending", "text-generation", n, f"o/{name}", 5, 1.0, None, None) for n, name in enumerate("abcde")]
    )
    listed = [r["status"] for r in records(db, Query(sort="status"))]
    ranked = [r["status"] for r in records(db, Query(view=View.TRENDING, sort="status"))]
    assert listed == ["PASS", "FAIL", "OTHER", "EXCLUDED"]
    assert ranked == ["PASS", "FAIL", "OTHER", "UNTESTED", "EXCLUDED"]
