"""Two spellings of one version are one version, wherever they are compared."""

from __future__ import annotations

import pytest

from trnui.catalog.dataset.versions import same
from trnui_runner.common.versions import Gap, gap, release
from trnui_runner.host.stack import compare

PAIRS = [
    ("5.24", "5.24.0", Gap.NONE),
    ("5.24.0", "5.24.0", Gap.NONE),
    ("2.28.7631.0", "2.28.7631.0+6f180f47", Gap.NONE),
    ("2.13.0", "2.13.0+cpu", Gap.NONE),
    ("2.28.7631.0+6f180f47", "2.28.7631.0+abc", Gap.BUILD),
    ("5.25.0.dev0", "5.25.0", Gap.BUILD),
    ("5.25.0rc1", "5.25.0rc2", Gap.BUILD),
    ("5.25.0.rc1", "5.25.0rc1", Gap.NONE),
    ("5.24.0", "5.24.1", Gap.VERSION),
    ("5.2.0", "5.20.0", Gap.VERSION),
    ("main", "5.24.0", Gap.VERSION),
    ("main", "main", Gap.NONE),
    ("2.31.7.0-1", "2.31.7.0-2", Gap.BUILD),
]


@pytest.mark.parametrize(("a", "b", "wanted"), PAIRS)
def test_the_gap_is_the_same_from_both_sides(a: str, b: str, wanted: Gap) -> None:
    assert gap(a, b) is gap(b, a) is wanted


@pytest.mark.parametrize(("a", "b", "wanted"), PAIRS)
def test_explorer_and_runner_agree(a: str, b: str, wanted: Gap) -> None:
    assert (compare(a, b)[0] == "same") == (wanted is Gap.NONE)
    assert (same(a, b) or same(b, a)) == (wanted is Gap.NONE)


def test_a_build_that_is_asked_for_must_be_there() -> None:
    assert same("2.28.7631.0+6f180f47", "2.28.7631.0")
    assert not same("2.28.7631.0", "2.28.7631.0+6f180f47")


def test_release_is_the_numbers_at_the_beginning() -> None:
    assert release("2.11.3.0.19138+4dee388.dev") == (2, 11, 3, 0, 19138)
    assert release("none") == ()
