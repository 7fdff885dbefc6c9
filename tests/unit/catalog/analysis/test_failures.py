"""Failures by cause."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.datasets import NEW, OLD, database, row
from trnui.catalog.analysis import failures
from trnui.catalog.analysis.failures import group, label_of, same_error, table
from trnui.catalog.engine.lookups import records
from trnui.catalog.query import Query, Stack
from trnui_runner.diagnosis import Diagnosis

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


def test_the_last_code_of_an_error_that_no_rule_knows_names_its_cause(tmp_path: Path) -> None:
    error = "first NCC_XXXX001 was seen\nthen the odd NCC_YYYY002 too"
    (cause,) = group(database(tmp_path, row("o/a", "FAIL", OLD, error=error)), ALL)
    assert cause.label in ("NCC_YYYY002", "NCC_XXXX001")
    assert label_of(error, None) == "NCC_YYYY002"
    assert label_of("ValueError: 1\nthe end", None) == "ValueError"
    assert label_of("nothing that has a name", None) == "other"


def test_an_error_of_numbers_or_of_nothing_has_a_label_all_the_same() -> None:
    unknown = Diagnosis("unknown", "data", "", "")
    assert label_of("", unknown) == "no error text"
    assert label_of("0x1f 42", unknown) == "# #"
    assert len(label_of("word " * 100, unknown)) <= 80


def test_beyond_the_diagnosed_errors_words_stand_for_the_meaning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(failures, "DIAGNOSED", 1)
    frequent = [
        row(f"o/{n}", "FAIL", OLD, error="[NCC_EVRF001] An unsupported operator was used: erf") for n in range(2)
    ]
    db = database(tmp_path, *frequent, row("o/x", "FAIL", OLD, error="KeyError: 'experts'"))
    first, second = group(db, ALL)
    assert (first.label, first.cls, bool(first.hint)) == ("NCC_EVRF001", "unsupported_op", True)
    assert (second.label, second.cls, second.group) == ("KeyError", "unknown", "data")
    assert (second.summary, second.hint) == ("KeyError: 'experts'", "")


def test_an_error_outweighs_what_a_check_says_and_sharded_rows_stand_apart(tmp_path: Path) -> None:
    long = "x" * 2000 + "\nValueError: the odd one"
    rows = [
        row("o/a", "FAIL", OLD, error=long, cpu_match="7/32"),
        row("o/b", "FAIL", OLD, error=long, cpu_match=None),
        row("o/c", "FAIL", OLD, error=long, tp=2),
        row("o/d", "FAIL", OLD, error=long, tp=None),
    ]
    found = {models for c in group(database(tmp_path, *rows), ALL) for models in [c.models]}
    assert {m for models in found for m in models} == {"o/a", "o/b", "o/c", "o/d"}
    one = next(c for c in group(database(tmp_path, *rows), ALL) if "o/a" in c.models)
    assert {"o/a", "o/b", "o/d"} <= set(one.models)


def test_a_sharded_error_is_diagnosed_as_one_of_several_ranks(tmp_path: Path) -> None:
    error = (
        "shape '[1, 24, -1, 128]' is invalid for input of size 26624\n"
        + "x" * 2000
        + "\nRuntimeError: shape '[1, 24, -1, 128]' is invalid for input of size 26624"
    )
    rows = [row("o/one", "FAIL", OLD, error=error, tp=1), row("o/two", "FAIL", OLD, error=error, tp=2)]
    assert {c.models: c.cls for c in group(database(tmp_path, *rows), ALL)}[("o/two",)] == "sharding"


def test_more_than_three_stacks_are_counted_beyond_the_third(tmp_path: Path) -> None:
    stacks = [Stack(f"2.{n}.0", "5.24.0") for n in range(4)]
    rows = [row("o/a", "FAIL", s, error="KeyError: 'x'") for s in stacks for _ in range(1)]
    db = database(tmp_path, *rows)
    (cause,) = group(db, ALL)
    shown = table([cause], names=False)[0][4]
    assert str(shown).count("/5.24.0") == 3
    assert str(shown).endswith(" and 1 more")
    (three,) = group(database(tmp_path / "three", *rows[:3]), ALL)
    assert "more" not in str(table([three], names=False)[0][4])
    assert table([cause], names=True)[0][4] == {f"2.{n}.0/5.24.0": 1 for n in range(4)}
