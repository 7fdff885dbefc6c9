"""Pass rate and median wall time by release, and the packages that differ."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.datasets import NEW, OLD, database, row
from trnui.catalog.analysis.comparison.releases import bar, between, percent, releases, short, table
from trnui.catalog.analysis.comparison.stack_difference import PackageDifference, stack_difference
from trnui.catalog.query import Stack


def test_one_line_a_stack_oldest_first(tmp_path: Path) -> None:
    from datetime import UTC, datetime

    late = datetime(2026, 12, 1, tzinfo=UTC)
    db = database(
        tmp_path,
        row("o/a", "PASS", OLD, wall_s=100), row("o/b", "PASS", OLD, wall_s=300), row("o/c", "FAIL", OLD, wall_s=9000),
        row("o/d", None, OLD, exclusion="low priority"), row("o/e", "PASS (CPU)", OLD),
        row("o/a", "FAIL", NEW), row("O/A", "PASS", NEW, tested_at=late, wall_s=None), row("o/c", "FAIL", NEW),
        row("o/f", "", NEW),
    )  # fmt: skip
    old, new = releases(db)
    assert (old.stack, old.passed, old.failed, old.excluded, old.other, old.untested) == (OLD, 2, 1, 1, 1, 0)
    assert (old.tested, old.rate, old.median_wall_s) == (3, pytest.approx(2 / 3), 200)
    assert (new.passed, new.failed, new.untested, new.rate, new.median_wall_s) == (1, 1, 1, 0.5, None)
    # o/a and o/c alone are tested on both
    assert (old.common, old.common_passed, new.common, new.common_passed) == (2, 1, 2, 1)
    assert table((old, new))[0][3:11] == (3, 2, 1, 1, 1, 0, 0.6667, 0.5)
    assert short((new,), ascii_only=True) == [
        (NEW.short, "50.0 %", "#" * 10 + "." * 10, 2, 1, 1, 0, "50.0 % of 2", None)
    ]
    assert [r.stack for r in releases(db, [NEW])] == [NEW]
    assert releases(db, [NEW])[0].common == 2


def test_a_stack_on_which_nothing_was_tested_has_no_rate_and_no_bar(tmp_path: Path) -> None:
    (only,) = releases(database(tmp_path, row("o/a", None, OLD, exclusion="big")))
    assert (only.rate, only.bar(), only.common_rate, short((only,))[0][1:3]) == (None, "", None, (None, None))


@pytest.mark.parametrize(
    ("share", "blocks", "ascii_"),
    [
        (0.0, "····", "...."),
        (1.0, "████", "####"),
        (0.5, "██··", "##.."),
        (1 / 32, "▏···", "...."),
        (31 / 32, "███▉", "####"),
        (0.7, "██▊·", "###."),
    ],
)
def test_bars_have_their_width(share: float, blocks: str, ascii_: str) -> None:
    assert (bar(share, 4), bar(share, 4, ascii_only=True)) == (blocks, ascii_)


@pytest.mark.parametrize(
    ("rate", "expected"),
    [(None, None), (0.0, "0.0 %"), (1.0, "100.0 %"), (0.9999, "99.9 %"), (0.0001, "0.1 %"), (0.719, "71.9 %")],
)
def test_no_rounding_makes_all_or_nothing(rate: float | None, expected: str | None) -> None:
    assert percent(rate) == expected


def test_between_two_stacks_are_those_of_their_library() -> None:
    a, b, c = (Stack(f"2.{n}.0.0", "5.24.0") for n in (9, 27, 28))
    other = Stack("2.27.0.0", "0.30.0", "diffusers")
    assert between((c, other, b, a), c, a) == (c, b, a)
    assert between((c, other, b, a), b, c) == (c, b)


def test_the_packages_that_differ(tmp_path: Path) -> None:
    db = database(
        tmp_path,
        row("o/a", "PASS", OLD, torch="2.9.0", nki="0.6.0", transformers="5.24.0"),
        row("o/b", "PASS", OLD, torch="2.10.0", nki="0.6.0", transformers="5.24.0"),
        row("o/a", "PASS", NEW, torch="2.10.0", nki="0.6.0", transformers="5.24.0", accelerate="1.15.0"),
    )  # fmt: skip
    assert stack_difference(db, OLD, NEW) == (
        PackageDifference("neuronx_cc", (OLD.neuronx_cc,), (NEW.neuronx_cc,)),
        PackageDifference("accelerate", (), ("1.15.0",)),
        PackageDifference("torch", ("2.9.0", "2.10.0"), ("2.10.0",)),
    )
    assert stack_difference(db, OLD, OLD) == ()
