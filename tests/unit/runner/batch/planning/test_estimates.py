"""What a row is expected to take comes from the nearest figures that there are, and says which."""

from __future__ import annotations

from collections import Counter

import pytest

from trnui_runner.batch.planning.estimates import (
    ALL_ROWS,
    SAME_CORES,
    SAME_FAMILY,
    SAME_MODEL,
    Estimates,
    Observation,
    basis_words,
)


def test_the_same_model_on_its_newest_stack_comes_first() -> None:
    found = Estimates(
        [Observation("a/m", "m", 1, 100, age=1), Observation("a/m", "m", 1, 80, age=0), Observation("a/n", "m", 1, 5)]
    )
    estimate = found.of("a/m", "m", 1)
    assert estimate is not None
    assert (estimate.seconds, estimate.basis) == (80, SAME_MODEL)
    assert estimate.low is estimate.high is None  # one pair of stacks is no range


def test_then_family_then_cores_then_everything() -> None:
    found = Estimates([Observation("a/m", "f", 2, 10), Observation("a/n", "f", 2, 30), Observation("a/o", "", 4, 50)])
    assert (e := found.of("x", "f", 2)) is not None
    assert (e.seconds, e.basis) == (20, SAME_FAMILY)
    assert (e := found.of("x", "", 4)) is not None
    assert (e.seconds, e.basis) == (50, SAME_CORES)
    assert (e := found.of("x", "f", 16)) is not None
    assert (e.seconds, e.basis) == (30, ALL_ROWS)
    assert Estimates([]).of("x", "", 1) is None


def test_quartiles_of_how_times_repeat_make_the_range_of_the_same_model() -> None:
    rows = [Observation(f"m{n}", "", 1, 100 + 10 * (n - 5), age=0) for n in range(11)]
    rows += [Observation(f"m{n}", "", 1, 100, age=1) for n in range(11)]
    estimate = Estimates(rows).of("m5", "", 1)
    assert estimate is not None
    assert estimate.low == pytest.approx(75)
    assert estimate.high == pytest.approx(125)


def test_other_cores_or_the_same_stack_tell_nothing_about_repeating() -> None:
    rows = [Observation(f"m{n}", "", 1, 100, age=0) for n in range(20)] + [
        Observation(f"m{n}", "", 2, 900, age=1) for n in range(20)
    ]
    assert Estimates(rows).repeat is None


def test_words_name_every_source() -> None:
    words = basis_words(Counter({SAME_MODEL: 171, SAME_FAMILY: 29, "": 2}))
    assert words == "wall_s of the same model: 171, same family and cores: 29, nothing known: 2"
