"""What a shell is offered: values from what is on disk, and nothing from a network."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.shell_completion import ShellComplete

from tests.called import called
from tests.datasets import NEW, OLD, folder, row
from tests.recorded import FAIL, recorded
from trnui.catalog import saved_views, watch
from trnui.catalog.query import Query
from trnui.cli.main import cli


@pytest.fixture
def data(tmp_path: Path) -> str:
    path = tmp_path / "data"
    folder(path, row("Org/Iris-8B", "PASS", OLD), row("org/Elm-1B", "PASS", NEW))
    return str(path)


def offered(*words: str) -> list[str]:
    """What stands there for the last word."""
    completer = ShellComplete(cli, {}, "trnui", "_TRNUI_COMPLETE")
    return [item.value for item in completer.get_completions(list(words[:-1]), words[-1])]


def test_models_stacks_and_versions(data: str) -> None:
    for command in ("show", "script", "packages", "run", "cache", "watch"):
        assert offered("--dataset", data, command, "org/i") == ["Org/Iris-8B"], command
    assert offered("--dataset", data, "list", "--model", "org/e") == ["org/Elm-1B"]
    assert offered("--dataset", data, "compare", "2.2") == ["2.29.5.0/5.24.0", "2.28.100.0/5.24.0"]
    assert offered("--dataset", data, "compare", "2.28.100.0", "2.29") == ["2.29.5.0/5.24.0"]
    assert offered("--dataset", data, "list", "--neuronx-cc", "") == ["latest", "all", "2.29.5.0", "2.28.100.0"]


def test_words_of_several_parts() -> None:
    assert offered("list", "--sort", "wall") == ["wall_s"]
    assert offered("list", "--sort", "wall_s:") == ["wall_s:asc", "wall_s:desc"]
    assert offered("list", "--view", "trending", "--sort", "down") == ["downloads"]
    assert offered("list", "--columns", "model_id,else") == ["model_id,elsewhere"]
    assert "shown" in offered("list", "--columns", "")
    assert offered("list", "--result", "PASS,f") == ["PASS,FAIL"]
    assert offered("compare", "--change", "newly-failing,newly-p") == ["newly-failing,newly-passing"]
    assert offered("list", "--host", "trn2.3") == ["trn2.3xlarge"]
    assert offered("list", "--view", "t") == ["trending"]
    assert "watch" in offered("wa")


def test_runs_saved_views_and_watched_models() -> None:
    recorded(FAIL)
    for command in ("attach", "stop", "report"):
        assert offered(command, FAIL[:6]) == [FAIL], command
        assert offered(command, "la") == ["last"]
    saved_views.save("weekly", saved_views.SavedView(Query(text="x")))
    assert offered("list", "--saved", "w") == offered("views", "--remove", "w") == ["weekly"]
    watch.add(["Org/Iris-8B"])
    assert offered("watch", "--remove", "org") == ["Org/Iris-8B"]


def test_what_is_not_there_offers_nothing(tmp_path: Path) -> None:
    assert offered("--dataset", str(tmp_path / "none"), "show", "o") == []
    assert offered("--dataset", str(tmp_path), "compare", "2") == []
    assert offered("report", "") == ["last"]


@pytest.mark.parametrize(
    ("args", "hint"),
    [
        (("lst",), "Did you mean list?"),
        (("compar",), "Did you mean compare?"),
        (("list", "--view", "selectd"), "Did you mean selected?"),
        (("list", "--result", "PASSED"), "Did you mean PASS?"),
        (("list", "--sort", "wall"), "Did you mean wall_s?"),
        (("list", "--task", "text-genration"), "Did you mean text-generation?"),
        (("list", "--format", "jsn"), "Did you mean json"),
        (("list", "--host", "trn2.3xlrge"), "Did you mean trn2.3xlarge?"),
        (("compare", "a", "b", "--fail-on", "newly-faling"), "Did you mean newly-failing?"),
        (("compare", "a", "b", "-o", "x.jsn"), "Did you mean .json?"),
        (("list", "--serch", "x"), "--search"),
        (("sql", "SELECT 1", "-o", "x.xlsx"), "no .xlsx file"),
    ],
    ids=str,
)
def test_a_misspelled_word_is_answered_with_the_nearest(args: tuple[str, ...], hint: str) -> None:
    done = called("--dataset", "sample", *args)
    assert done.code == 2
    assert hint in done.err
    assert done.out == ""
