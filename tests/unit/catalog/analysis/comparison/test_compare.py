"""Two stacks side by side."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.datasets import NEW, OLD, database, row
from trnui.catalog.analysis.comparison.causes import explained
from trnui.catalog.analysis.comparison.choice import choose, kinds
from trnui.catalog.analysis.comparison.compare import Comparison, Side, What, classify, compare
from trnui.catalog.analysis.comparison.tables import short, table
from trnui.catalog.query import Stack
from trnui_runner.common.errors import UsageError


def found(comparison: Comparison) -> dict[str, list[str]]:
    return {
        what.value: [c.model_id for c in comparison.changes if c.what is what]
        for what, count in comparison.counts
        if count
    }


def test_what_passes_what_fails_and_what_only_one_has(tmp_path: Path) -> None:
    db = database(
        tmp_path,
        row("o/mended", "FAIL", OLD), row("o/mended", "PASS", NEW),
        row("o/broken", "PASS", OLD), row("o/broken", "FAIL", NEW, error="[NCC_EVRF001] no"),
        row("o/left-out", "PASS", OLD), row("o/left-out", None, NEW, exclusion="low priority"),
        row("o/gone", "PASS", OLD), row("o/come", "PASS", NEW),
        row("o/same", "PASS", OLD), row("o/same", "PASS", NEW),
        row("o/wider", "PASS", OLD), row("o/wider", "PASS", NEW, tp=4, english="yes", cpu_match=None, wall_s=900),
    )  # fmt: skip
    comparison = compare(db, OLD, NEW)
    assert found(comparison) == {
        "newly passing": ["o/mended"],
        "newly failing": ["o/broken"],
        "not tested now": ["o/left-out"],
        "changed cores": ["o/wider"],
        "changed check": ["o/wider"],
        "only in A": ["o/gone"],
        "only in B": ["o/come"],
    }
    assert (comparison.models_a, comparison.models_b, comparison.both, comparison.same) == (6, 6, 5, 1)
    assert comparison.words.startswith("1 newly failing, 1 newly passing, 1 not tested now")
    assert (
        "newly failing",
        "o/broken",
        "PASS → FAIL",
        "cpu-match → –",
        1,
        100,
        4.0,
        None,
        None,
        "[NCC_EVRF001] no",
    ) in short(comparison)
    left_out = next(line for line in table(comparison) if line[1] == "o/left-out")
    assert left_out[2:4] == ("PASS", "EXCLUDED")
    assert left_out[-1] == "low priority"


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ("PASS", "FAIL", What.FAILING),
        ("FAIL", "PASS", What.PASSING),
        ("EXCLUDED", "FAIL", What.TESTED),  # it never passed, so nothing broke
        ("EXCLUDED", "PASS", What.TESTED),
        ("UNTESTED", "PASS", What.TESTED),
        ("PASS", "EXCLUDED", What.UNTESTED),
        ("FAIL", "EXCLUDED", What.UNTESTED),
        ("OTHER", "FAIL", What.RESULT),
        ("PASS", "OTHER", What.RESULT),
        ("EXCLUDED", "OTHER", What.RESULT),
    ],
)
def test_only_what_passed_breaks_and_only_what_failed_is_mended(a: str, b: str, expected: What) -> None:
    assert classify(Side(a), Side(b)) == (expected,)


def test_the_newly_failing_have_causes_and_kinds_can_be_chosen(tmp_path: Path) -> None:
    db = database(
        tmp_path,
        row("o/code", "PASS", OLD), row("o/code", "FAIL", NEW, tp=2, error="x" * 900 + "\n[NCC_EVRF001] no"),
        row("o/odd", "PASS", OLD), row("o/odd", "FAIL", NEW, error="zorp 17"),
        row("o/never", None, OLD, exclusion="big"), row("o/never", "FAIL", NEW, error="[NCC_EVRF001] no"),
        row("o/same", "PASS", OLD), row("o/same", "PASS", NEW),
    )  # fmt: skip
    whole = compare(db, OLD, NEW)
    assert (whole.changed, whole.same, whole.both) == (3, 1, 4)  # o/code changed twice and counts once
    chosen = explained(whole.only(kinds(["Newly-Failing"])), db)
    assert [(c.model_id, c.cause) for c in chosen.changes] == [("o/code", "NCC_EVRF001"), ("o/odd", "zorp #")]
    assert chosen.counts == whole.counts
    assert {c.cause for c in explained(whole, db).changes if c.what is not What.FAILING} == {None}
    with pytest.raises(UsageError, match="no such kind") as error:
        kinds(["newly"])
    assert "newly-failing" in error.value.remedy


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        (100, 131, (What.SLOWER,)),
        (100, 130, ()),  # 30 s is noise
        (1000, 1200, ()),  # so is 20 %
        (1000, 1201, (What.SLOWER,)),
        (1200, 1000, ()),
        (1201, 1000, (What.FASTER,)),
        (None, 1000, ()),
    ],
)
def test_time_changes_only_beyond_noise(a: int | None, b: int | None, expected: tuple[What, ...]) -> None:
    one, other = (Side("PASS", "PASS", "cpu-match", 1, wall) for wall in (a, b))
    assert classify(one, other) == expected


def test_a_and_b_may_change_places() -> None:
    """Whatever is slower or takes more one way is faster or takes less the other way: probes/asym."""
    turned = {What.SLOWER: What.FASTER, What.MORE_MEMORY: What.LESS_MEMORY}
    turned |= {b: a for a, b in turned.items()}
    for wall in range(100, 2000, 37):
        for more in range(0, 700, 13):
            one = Side("PASS", "PASS", "cpu-match", 1, wall, wall / 50)
            other = Side("PASS", "PASS", "cpu-match", 1, wall + more, (wall + more) / 50)
            assert classify(other, one) == tuple(turned[what] for what in classify(one, other))


def test_words_alone_change_nothing_where_they_mean_the_same() -> None:
    assert classify(Side("PASS", "PASS"), Side("PASS", "passed")) == ()
    assert classify(Side("OTHER", "maybe"), Side("OTHER", "perhaps")) == (What.RESULT,)
    assert classify(Side("OTHER", "maybe"), Side("OTHER", "maybe")) == ()
    assert classify(Side("PASS", kind="cpu-match"), Side("PASS", kind=None)) == ()


def test_the_counts_say_how_many_changes_are_shown(tmp_path: Path) -> None:
    db = database(
        tmp_path,
        row("o/broken", "PASS", OLD), row("o/broken", "FAIL", NEW, tp=2), row("o/mended", "FAIL", OLD), row("o/mended", "PASS", NEW),
    )  # fmt: skip
    whole = compare(db, OLD, NEW)
    assert whole.shown == "3 changes"  # o/broken also takes other cores
    assert whole.only((What.FAILING,)).shown == "1 of 3 changes shown"
    assert [c.what for c in whole.changes][:2] == [What.FAILING, What.PASSING]
    assert whole.count(What.FAILING) == 1


def test_an_old_error_is_marked_as_as(tmp_path: Path) -> None:
    db = database(
        tmp_path,
        row("o/mended", "FAIL", OLD, error="old trouble"), row("o/mended", "PASS", NEW),
        row("o/moved", "FAIL", OLD, error="old trouble"), row("o/moved", "FAIL", NEW, error="new trouble", tp=2),
        row("o/out", "FAIL", OLD, error="gone"),
        row("o/steady", "FAIL", OLD, error="same"), row("o/steady", "FAIL", NEW, error="same", tp=2),
    )  # fmt: skip
    whys = {line[1]: line[-1] for line in short(compare(db, OLD, NEW))}
    assert whys == {
        "o/mended": "A: old trouble", "o/moved": "B: new trouble · A: old trouble", "o/out": "gone", "o/steady": "same",
    }  # fmt: skip


def test_one_model_spelled_in_two_ways_is_one_model(tmp_path: Path) -> None:
    db = database(tmp_path, row("Org/Model", "PASS", OLD), row("org/model", "FAIL", NEW))
    comparison = compare(db, OLD, NEW)
    assert found(comparison) == {"newly failing": ["org/model"]}
    assert (comparison.both, comparison.models_a, comparison.models_b) == (1, 1, 1)


def test_sides_of_rows_that_only_one_stack_has(tmp_path: Path) -> None:
    db = database(tmp_path, row("o/a", None, OLD, exclusion="low priority"), row("o/b", "PASS", NEW))
    lines = {line[1]: line for line in short(compare(db, OLD, NEW))}
    assert lines["o/a"][:3] == ("only in A", "o/a", "EXCLUDED")
    assert lines["o/b"][:3] == ("only in B", "o/b", "PASS")
    assert short(compare(db, OLD, NEW), "->")[0][0] == "only in A"


def test_memory_changes_only_beyond_noise() -> None:
    def side(gb: float) -> Side:
        return Side("PASS", "PASS", "cpu-match", 1, 100, gb)

    assert classify(side(4.0), side(4.5)) == ()
    assert classify(side(20.0), side(21.9)) == ()
    assert classify(side(4.0), side(4.6)) == (What.MORE_MEMORY,)
    assert classify(side(20.0), side(10.0)) == (What.LESS_MEMORY,)


def test_times_on_other_cores_or_of_failures_are_not_compared() -> None:
    assert classify(Side("PASS", tp=1, wall_s=10), Side("PASS", tp=2, wall_s=900)) == (What.CORES,)
    assert classify(Side("FAIL", tp=1, wall_s=10), Side("FAIL", tp=1, wall_s=900)) == ()


def test_the_newest_of_several_rows_counts(tmp_path: Path) -> None:
    from datetime import UTC, datetime

    late = datetime(2026, 12, 1, tzinfo=UTC)
    db = database(tmp_path, row("o/m", "PASS", OLD, tested_at=late), row("o/m", "FAIL", OLD), row("o/m", "FAIL", NEW))
    assert found(compare(db, OLD, NEW)) == {"newly failing": ["o/m"]}


STACKS = (
    Stack("2.28.7631.0+a", "5.20.2"), Stack("2.28.7631.0+a", "5.9.0"), Stack("2.29.1.0+b", "5.20.2"),
    Stack("2.29.1.0+b", "5.25.0.dev0"), Stack("2.9.0.0+c", "5.9.0"),
)  # fmt: skip


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ("2.28.7631.0/5.9.0", "2.29.1.0/5.20.2", (STACKS[1], STACKS[2])),
        ("2.28", "2.29", (STACKS[0], STACKS[2])),  # the newest library version that both have
        ("2.28.7631.0+a", "latest", (STACKS[0], STACKS[2])),
        ("2.9", "2.28", (STACKS[4], STACKS[1])),
        ("2.9", "2.29", (STACKS[4], STACKS[2])),  # none in common: each its newest
        ("2.28/5.9.0", "2.28/latest", (STACKS[1], STACKS[0])),
        ("2.28/5.20.2", "2.29", (STACKS[0], STACKS[2])),
        ("5.9.0", "5.20.2", (STACKS[1], STACKS[0])),  # library versions alone: on the newest compiler that has both
        ("/5.9.0", "2.29", (STACKS[1], STACKS[2])),
    ],
)
def test_stacks_are_named_by_what_is_needed(a: str, b: str, expected: tuple[Stack, Stack]) -> None:
    assert choose(STACKS, a, b) == expected


def test_an_unknown_stack_names_those_that_exist() -> None:
    with pytest.raises(UsageError, match=r"2\.30: no such stack here") as error:
        choose(STACKS, "2.30", "2.28")
    assert "2.29.1.0/5.25.0.dev0" in error.value.remedy


def test_a_kind_of_change_that_is_misspelled_gets_the_nearest() -> None:
    with pytest.raises(UsageError) as error:
        kinds(["newly-faling"])
    assert error.value.remedy.startswith("Did you mean newly-failing?")


def test_the_main_library_comes_before_a_newer_other_one() -> None:
    stacks = (*STACKS, Stack("2.28.7631.0+a", "0.30.0", "diffusers"), Stack("2.29.1.0+b", "0.30.0", "diffusers"))
    assert choose(stacks, "2.28", "2.29") == (STACKS[0], STACKS[2])
    assert choose(stacks, "2.28", "2.29", "diffusers") == (stacks[-2], stacks[-1])
    with pytest.raises(UsageError, match="no such stack"):
        choose(stacks, "2.28/9.9.9", "2.29")
