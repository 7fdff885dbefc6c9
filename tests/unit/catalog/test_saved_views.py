"""Saved views, and the command line equal to a Query: what is written comes back."""

from __future__ import annotations

import itertools
import shlex
from pathlib import Path

import pytest

from tests.called import called
from tests.datasets import NEW, OLD, folder, row
from trnui.catalog import saved_views
from trnui.catalog.list_line import list_line, list_words
from trnui.catalog.query import ALL, Query, View
from trnui.catalog.saved_views import SavedView
from trnui.cli.list_query import query_of
from trnui_runner.common.errors import UsageError, UserError

QUERIES = (
    Query(),
    Query(view=View.TRENDING, task="text-generation"),
    Query(text="Qwen 3", anywhere="it's; rm -rf ~", results=("FAIL", "OTHER"), max_cores=4),
    Query(text="-x", neuronx_cc=(ALL,), library="diffusers", library_version=("5.24.0", "5.9.0"), sort="wall_s", descending=True, limit=0),
    Query(models=("o/a", "o/b, c"), sort="model_id"),
)  # fmt: skip


@pytest.mark.parametrize(("query", "columns"), list(itertools.product(QUERIES, ("", "model_id,tp"))))
def test_a_view_comes_back_as_it_was_saved(query: Query, columns: str) -> None:
    name = "weekly look-2"
    assert not saved_views.save(name, SavedView(query, columns))
    assert saved_views.load() == ({name: SavedView(query, columns)}, ())
    assert saved_views.save(name, SavedView(Query()))
    saved_views.remove(name)
    assert saved_views.load() == ({}, ())


@pytest.mark.parametrize("query", QUERIES)
def test_the_line_means_the_query(query: Query, monkeypatch: pytest.MonkeyPatch) -> None:
    """Read by the command's own parser, as a shell would hand it over."""
    from trnui.cli.commands.list_ import command

    words = shlex.split(list_line(query))
    assert words == list_words(query)
    context = command.make_context("list", words[2:])
    p = context.params
    monkeypatch.setattr(
        "trnui.cli.list_query.typed", lambda name: bool(context.get_parameter_source(name)) and p[name] is not None
    )
    found = query_of(
        None, view=p["view"], task=p["task"], search=p["search"], anywhere=p["anywhere"], result=p["result_"], max_cores=p["max_cores"],
        models=p["model"], sort=p["sort"], limit=p["limit"],
    )  # fmt: skip
    stack = {"neuronx_cc": p["neuronx_cc"], "library": p["library"], "library_version": p["library_version"]}
    assert found.but(**stack) == query


def test_the_usual_dataset_is_not_named() -> None:
    assert list_line(Query(), dataset="aws-neuron/torch-neuronx-model-support") == "trnui list"
    assert list_line(Query(), dataset="/a b", columns="all") == "trnui --dataset '/a b' list --columns all"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x = [", "views.toml"),
        ("x = 3", "[x]: is not a table"),
        ("[x]\ntxt = 'a'", "did you mean text"),
        ("[x]\nmax_cores = 'four'", "max_cores takes a whole number"),
        ("[x]\nmax_cores = true", "max_cores takes a whole number"),
        ("[x]\nresults = 'FAIL'", "results takes a list"),
        ("[x]\nview = 'odd'", "view takes one of"),
        ("[x]\ndescending = 1", "descending takes true or false"),
        ("[x]\ncolumns = 1", "columns takes text"),
        ("[x]\nidentities = [1]", "unknown key"),
    ],
)
def test_a_file_edited_wrongly_names_view_and_key_and_loses_nothing(text: str, words: str, home: Path) -> None:
    saved_views.save("good", SavedView(Query(text="a")))
    file = saved_views.path()
    file.write_text(file.read_text() + text if text.startswith("[") else f"{text}\n{file.read_text()}")
    _, problems = saved_views.load()
    assert len(problems) == 1
    assert words in problems[0]
    before = file.read_text()
    with pytest.raises(UserError, match=r"views\.toml"):
        saved_views.save("new", SavedView(Query()))
    assert file.read_text() == before


@pytest.mark.parametrize("name", ["", " x", "a\nb", "x" * 61, "a]b", "\x1b"])
def test_names(name: str) -> None:
    with pytest.raises(UsageError):
        saved_views.save(name, SavedView(Query()))


def test_saved_and_listed_from_the_command_line(tmp_path: Path) -> None:
    path = tmp_path / "data"
    folder(path, row("o/a", "PASS", NEW), row("o/b", "FAIL", NEW, error="zorp"), row("o/c", "FAIL", OLD, error="x"))
    data = ("--dataset", path, "list")
    done = called(*data, "--result", "FAIL", "--neuronx-cc", "all", "--columns", "model_id", "--save", "red")
    assert done.out.split() == ["model_id", "o/b", "o/c"]
    assert "saved view red" in done.err
    assert called(*data, "--saved", "red").out == done.out
    assert called(*data, "--saved", "red", "--search", "c").out.split() == ["model_id", "o/c"]
    assert called(*data, "--saved", "red", "--result", "PASS").out.split() == ["model_id", "o/a"]
    wrong = called(*data, "--saved", "rde")
    assert (wrong.code, "Did you mean red?" in wrong.err) == (2, True)
    assert called("views").out == "red\ttrnui list --result FAIL --neuronx-cc all --columns model_id\n"
    assert called("views", "--remove", "red").code == 0
    assert called("views").out == ""
    assert called("views", "--remove", "red").code == 2
