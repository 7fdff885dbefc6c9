"""What the pickers offer, and what a choice does to a query."""

from __future__ import annotations

from trnui.catalog.query import ALL, Query, Stack
from trnui.tui.explore import picker_choices

NEW, OLD, OTHER = Stack("2.28.1+a", "5.20"), Stack("2.27.9+b", "5.22"), Stack("2.28.1+a", "0.35", "diffusers")
STACKS = (NEW, OTHER, OLD)


def test_compilers_are_offered_once_each_with_what_they_were_tested_with() -> None:
    offered = picker_choices.compilers(STACKS, NEW)
    assert [c.value for c in offered] == ["", ALL, "2.28.1+a", "2.27.9+b"]
    assert offered[2].note == "with 5.20, 0.35"


def test_a_compiler_alone_means_it_with_every_library_version() -> None:
    query = picker_choices.take_compilers(Query(), ["2.27.9+b"])
    assert (query.neuronx_cc, query.library_version) == (("2.27.9+b",), (ALL,))


def test_the_default_takes_both_halves_back() -> None:
    query = picker_choices.take_compilers(Query(neuronx_cc=("x",), library_version=(ALL,)), [""])
    assert (query.neuronx_cc, query.library_version) == ((), ())


def test_versions_of_one_library_name_it_and_of_two_do_not() -> None:
    one = picker_choices.take_versions(Query(), ["transformers\n5.20"])
    assert (one.library, one.library_version, one.neuronx_cc) == ("transformers", ("5.20",), (ALL,))
    two = picker_choices.take_versions(Query(), ["transformers\n5.20", "diffusers\n0.35"])
    assert (two.library, two.library_version) == (None, ("5.20", "0.35"))
    assert picker_choices.chosen_versions(one, STACKS) == ("transformers\n5.20",)


def test_filters_go_one_by_one_and_all_at_once() -> None:
    query = Query(text="a", results=("FAIL",), neuronx_cc=(ALL,), library_version=(ALL,), sort="tp")
    names = [c.value for c in picker_choices.filters(query)]
    assert names == ["text", "results", "neuronx_cc", "library_version", "*"]
    assert picker_choices.cleared(query, "text").narrowed() == ("results", "neuronx_cc", "library_version")
    assert picker_choices.cleared(query, "neuronx_cc").narrowed() == ("text", "results")
    assert picker_choices.cleared(query, "*") == Query(sort="tp")


def test_this_host_can_be_chosen_only_where_there_is_a_device() -> None:
    assert [c.why_not for c in picker_choices.fits(None) if c.label == "this host"] == ["no Neuron device here"]
    assert [c.value for c in picker_choices.fits(8) if c.label == "this host"] == ["8"]
