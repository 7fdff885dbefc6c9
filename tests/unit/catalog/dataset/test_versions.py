"""Versions as versions, and which stacks a query means."""

from __future__ import annotations

import random

import pytest

from trnui.catalog.dataset.versions import (
    begins,
    default_stack,
    is_dev,
    key,
    matching,
    named,
    newest_first,
    resolve,
    same,
)
from trnui.catalog.query import Query, Stack, View

ORDER = [
    None, "nightly-2026", "5.9.0", "5.20.0.dev0", "5.20.0rc1", "5.20.0", "5.20.2", "5.24.0", "5.25.0.dev0",
]  # fmt: skip
A, B, C = "2.26.6360.0+6f18", "2.27.5334.0+f702", "2.28.7631.0+0a1b"


def stacks(*pairs: tuple[str, str]) -> tuple[Stack, ...]:
    return tuple(Stack(*p) for p in pairs)


ALL = stacks(
    (A, "5.9.0"),
    (A, "5.20.2"),
    (B, "5.9.0"),
    (B, "5.20.2"),
    (B, "5.24.0"),
    (C, "5.9.0"),
    (C, "5.20.2"),
    (C, "5.25.0.dev0"),
)


def test_versions_sort_as_versions() -> None:
    mixed = ORDER[:]
    random.Random(1).shuffle(mixed)
    assert sorted(mixed, key=key) == ORDER
    assert key("2.28.7631.0") < key("2.28.7631.0+0a1b") < key("2.28.9000.0+0000")
    assert key("2.9.0.0") < key("2.28.0.0")
    assert [is_dev(v) for v in ("5.25.0.dev0", "5.20.0rc1", "5.20.0", "odd", None)] == [True, True, False, False, False]


def test_the_default_is_the_newest_pair_that_exists_and_no_development_version() -> None:
    assert default_stack(ALL) == Stack(C, "5.20.2")  # not C with 5.24.0, which nobody tested
    assert default_stack(stacks((C, "5.25.0.dev0"))) == Stack(C, "5.25.0.dev0")
    assert default_stack(()) is None
    assert default_stack([*ALL, Stack("9.0", "1.0", "diffusers")]) == Stack(C, "5.20.2")
    assert default_stack([*ALL, Stack("9.0", "1.0", "diffusers")], library="diffusers") == Stack(
        "9.0", "1.0", "diffusers"
    )


def test_the_default_is_this_hosts_pair_if_the_dataset_has_it() -> None:
    assert default_stack(ALL, Stack("2.26.6360.0", "5.9.0")) == Stack(A, "5.9.0")
    assert default_stack(ALL, Stack("2.26.6360.0+other", "5.9.0")) == Stack(A, "5.9.0")
    assert default_stack(ALL, Stack("2.26.6360.0", "5.8.0")) == Stack(C, "5.20.2")


@pytest.mark.parametrize(
    ("cc", "library", "expected"),
    [
        ((), (), [(C, "5.20.2")]),
        (("all",), ("all",), None),
        ((A,), (), [(A, "5.20.2")]),
        (("2.26.6360.0",), ("all",), [(A, "5.20.2"), (A, "5.9.0")]),
        (("all",), (), [(C, "5.20.2"), (B, "5.20.2"), (A, "5.20.2")]),
        ((), ("all",), [(C, "5.25.0.dev0"), (C, "5.20.2"), (C, "5.9.0")]),
        ((), ("5.24.0",), [(B, "5.24.0")]),  # the default compiler has no such pair: the newest that has
        (("latest",), ("5.24.0",), [(B, "5.24.0")]),
        (("latest",), ("latest",), [(C, "5.20.2")]),
        ((B,), ("latest",), [(B, "5.24.0")]),
        (("2.26.6360.0", B), ("5.9.0",), [(B, "5.9.0"), (A, "5.9.0")]),
        (("2.27",), (), [(B, "5.20.2")]),  # first parts
        (("2.27.5334.0",), ("5.2",), []),  # at the dots
        ((), ("5",), [(C, "5.25.0.dev0"), (C, "5.20.2"), (C, "5.9.0")]),
        (("2",), ("5.24",), [(B, "5.24.0")]),
        (("2.2",), (), []),
        (("2.",), (), []),
        (("2.27.5334.0+",), (), []),
        (("2.27.5334.0+0000",), (), []),
    ],
)
def test_which_stacks_a_query_means(
    cc: tuple[str, ...], library: tuple[str, ...], expected: list[tuple[str, str]] | None
) -> None:
    found = resolve(ALL, Query(neuronx_cc=cc, library_version=library))
    assert found == (None if expected is None else stacks(*expected))


def test_a_version_itself_comes_before_those_that_begin_with_it() -> None:
    there = ("2.27", "2.27.1", "2.27.2+a", "2.270.1", "5.25.0.dev0")
    assert named(there, "2.27") == {"2.27"}
    assert named(there[1:], "2.27") == {"2.27.1", "2.27.2+a"}
    assert named(there, "5.25.0") == set()  # a development version is not on the way to its release
    assert named(there, "5.25") == {"5.25.0.dev0"}


def test_own_runs_are_limited_only_by_what_is_asked() -> None:
    assert resolve(ALL, Query(view=View.RUNS)) is None
    assert resolve(ALL, Query(view=View.RUNS, neuronx_cc=(A,), library_version=("all",))) == stacks(
        (A, "5.20.2"), (A, "5.9.0")
    )


def test_no_stack_no_default() -> None:
    assert resolve((), Query()) == ()
    assert matching((), ("latest",)) == set()
    assert newest_first([]) == ()


def test_what_is_no_version_is_sorted_piece_by_piece() -> None:
    assert sorted(["nightly-2026", "nightly-9", "nightly-10a", "main"], key=key) == [
        "main",
        "nightly-9",
        "nightly-10a",
        "nightly-2026",
    ]
    assert key("²x") < key("1.0")  # a digit that is no ASCII is a letter like others


def test_a_build_that_only_one_side_names_is_no_difference() -> None:
    assert same("2.27.5334.0+f702", "2.27.5334.0")
    assert not same("2.27.5334.0", "2.27.5334.0+f702")
    assert not same("2.27.5334.0+f702", "2.27.5334.0+")
    assert begins("2.27.5334.0+f702", "2.27")
    assert not begins("2.27.5334.0+f702", "2.27.5334.0")


def test_a_library_that_is_asked_for_keeps_the_others_out() -> None:
    pool = (*stacks((C, "5.20.2")), Stack(C, "0.30.0", "diffusers"))
    assert resolve(pool, Query(library="diffusers")) == (Stack(C, "0.30.0", "diffusers"),)
    assert resolve(pool, Query(library="transformers", neuronx_cc=("all",))) == stacks((C, "5.20.2"))
    assert resolve(pool, Query(library="peft")) == ()
