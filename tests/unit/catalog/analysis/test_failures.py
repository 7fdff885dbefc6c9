"""Failures by cause."""

from __future__ import annotations

from pathlib import Path

from tests.datasets import NEW, OLD, database, row
from trnui.catalog.analysis.failures import group, same_error, table
from trnui.catalog.engine.lookups import records
from trnui.catalog.query import Query

ALL = Query(neuronx_cc=("all",), library_version=("all",))
TRACE = "Traceback (most recent call last):\n" + '  File "m.py", line 1, in f\n' * 30 + "torch.OutOfMemoryError: boo"


def test_rows_of_one_code_stand_together_over_models_and_stacks(tmp_path: Path) -> None:
    error = "[NCC_EVRF001] An unsupported operator was used: {}"
    db = database(
        tmp_path,
        row("o/a", "FAIL", OLD, error=error.format("erfinv")), row("o/b", "FAIL", OLD, error=error.format("erf")),
        row("o/a", "FAIL", NEW, error=error.format("erfinv")), row("o/c", "PASS", NEW), row("o/d", None, NEW, exclusion="NCC_EVRF001"),
    )  # fmt: skip
    (cause,) = group(db, ALL)
    assert (cause.label, cause.cls, cause.rows, cause.models) == ("NCC_EVRF001", "unsupported_op", 3, ("o/a", "o/b"))
    assert cause.stacks == ((OLD, 2), (NEW, 1))
    assert table([cause], names=False)[0][:5] == (
        "NCC_EVRF001",
        "unsupported_op",
        3,
        2,
        "2.28.100.0/5.24.0 2, 2.29.5.0/5.24.0 1",
    )


def test_only_the_stack_that_is_asked_for(tmp_path: Path) -> None:
    db = database(
        tmp_path, row("o/a", "FAIL", OLD, error="ValueError: 1"), row("o/b", "FAIL", NEW, error="ValueError: 2")
    )
    assert [c.models for c in group(db, Query())] == [("o/b",)]


def test_the_end_of_a_long_traceback_decides(tmp_path: Path) -> None:
    (cause,) = group(database(tmp_path, row("o/a", "FAIL", OLD, error=TRACE)), ALL)
    assert cause.cls == "hbm_oom"
    assert cause.error == "torch.OutOfMemoryError: boo"


def test_what_no_rule_knows_is_grouped_by_its_words_without_numbers(tmp_path: Path) -> None:
    rows = [row(f"o/{n}", "FAIL", OLD, error=f"the flux of {n} gadgets is off") for n in range(3)]
    (cause,) = group(database(tmp_path, *rows), ALL)
    assert (cause.label, cause.cls, cause.rows) == ("the flux of # gadgets is off", "unknown", 3)


def test_a_row_without_error_is_judged_by_its_check(tmp_path: Path) -> None:
    rows = (row("o/a", "FAIL", OLD, cpu_match="7/32"), row("o/b", "FAIL", OLD, cpu_match=None))
    assert {c.cls: c.models for c in group(database(tmp_path, *rows), ALL)} == {
        "numerical_mismatch": ("o/a",),
        "empty": ("o/b",),
    }


def test_no_failures_no_causes(tmp_path: Path) -> None:
    assert group(database(tmp_path, row("o/a")), ALL) == ()


def test_a_cause_names_its_own_rows_and_no_others_of_its_models(tmp_path: Path) -> None:
    one, other = "[NCC_EVRF001] An unsupported operator was used", "ValueError: no such thing"
    db = database(
        tmp_path,
        *(row(f"o/{n}", "FAIL", OLD, error=one + " " * (400 * (n == 0))) for n in range(3)),
        *(row(f"o/{n}", "FAIL", NEW, error=other) for n in range(2)),
    )
    causes = {cause.label: cause for cause in group(db, ALL)}
    assert causes["NCC_EVRF001"].rows == len(causes["NCC_EVRF001"].identities) == 3
    (five,) = (c for c in causes.values() if c.label != "NCC_EVRF001")
    assert len(five.identities) == 2
    rows, label = same_error(db, causes["NCC_EVRF001"].identities[0])
    assert label == "NCC_EVRF001"
    assert {r["identity"] for r in rows} == set(causes["NCC_EVRF001"].identities[1:])


def test_the_same_error_is_that_of_the_last_line_however_the_traceback_begins(tmp_path: Path) -> None:
    head = "Traceback (most recent call last):\n" + '  File "m.py", line 1, in f\n' * 30
    errors = [head + "ValueError: one", head + "KeyError: 'two'", head + "ValueError: one"]
    db = database(tmp_path, *(row(f"o/{n}", "FAIL", OLD, error=e) for n, e in enumerate(errors)))
    found = {str(r["model_id"]): int(str(r["identity"])) for r in records(db, ALL)}
    rows, _ = same_error(db, found["o/0"])
    assert [r["model_id"] for r in rows] == ["o/2"]
    assert same_error(db, found["o/1"])[0] == ()
