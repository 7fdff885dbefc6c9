"""The next question: what works instead, my models, a list as a command line and under a name, watched models."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.visit import Visit, visit
from trnui.catalog import saved_views, watch
from trnui.tui.explore.watching import news_words
from trnui.tui.model.model_screen import ModelScreen
from trnui.tui.widgets.result_table import ResultTable


async def to_failing(v: Visit) -> str:
    """The cursor on the first row that fails."""
    await v.press("s", "j", "space", "enter")
    await v.until(lambda: " FAIL" in v.text)
    table = v.app.screen.query_one(ResultTable)
    await v.until(lambda: table.record is not None and table.record["status"] == "FAIL")
    assert table.record is not None
    return str(table.record["model_id"])


async def test_a_failing_row_offers_what_works_to_run_to_open_and_to_copy(dataset: Path) -> None:
    async with visit(dataset) as v:
        model = await to_failing(v)
        await v.press("b")
        await v.shows("What works", "PASS on neuronx-cc")
        await v.press("enter")
        await v.shows("run it on this host", "copy the command", "trnui")
        await v.press("o")
        await v.until(lambda: isinstance(v.app.screen, ModelScreen))
        assert model.split("/")[0]


async def test_the_page_of_a_failing_row_says_what_works(dataset: Path) -> None:
    async with visit(dataset, size=(160, 45)) as v:
        await to_failing(v)
        await v.press("enter")
        await v.shows(" b Works: ", "PASS on neuronx-cc")
        await v.press("b")
        await v.shows("What works", "run it, open it, copy its command")


async def test_the_list_is_copied_as_the_command_that_shows_the_same(
    dataset: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with visit(dataset) as v:
        copied: list[str] = []
        monkeypatch.setattr(v.app, "copy", lambda text, what: copied.append(text))
        await v.press("slash")
        await v.type("fern")
        await v.press("enter", "L")
        assert copied == [f"trnui --dataset {dataset} list --search fern"]


async def test_a_view_is_saved_under_a_name_and_opened_from_the_palette(dataset: Path, home: Path) -> None:
    async with visit(dataset) as v:
        await v.press("slash")
        await v.type("fern")
        await v.press("enter", "V")
        await v.type("ferns")
        await v.press("enter")
        await v.shows("saved as ferns")
        assert saved_views.named("ferns").query.text == "fern"
        await v.press("escape")
        await v.until(lambda: "fern" not in v.app.explore.query_now.text)
        await v.press("colon")
        await v.type("ferns")
        await v.shows("View ferns")
        await v.press("enter")
        await v.until(lambda: v.app.explore.query_now.text == "fern")


async def test_a_model_is_watched_and_no_more_by_one_key(dataset: Path, home: Path) -> None:
    async with visit(dataset) as v:
        record = v.app.screen.query_one(ResultTable).record
        assert record is not None
        await v.press("*")
        await v.shows("watching ", "1 watched")
        assert list(watch.load().models) == [record["model_id"]]
        await v.press("*")
        await v.shows("is no longer watched")
        assert watch.load().models == {}


def test_many_changes_of_watched_models_are_counted() -> None:
    from trnui.catalog.query import Stack

    stack = Stack("2.28", "5.20", "transformers")
    one = watch.WatchChange("a/b", stack, "FAIL", "PASS")
    assert news_words(()) == ""
    assert news_words([one]) == "watched: a/b began to pass on 2.28/5.20 (FAIL before)"
    assert news_words([one] * 3).startswith("watched: 3 results of 1 model changed (3 passing)")


async def test_my_models_are_those_in_the_hubs_cache_with_their_best_result(
    dataset: Path, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with visit(dataset, size=(160, 45)) as v:
        record = v.app.screen.query_one(ResultTable).record
        assert record is not None
        name = str(record["model_id"])
        cache = tmp_path / "hub"
        (cache / f"models--{name.replace('/', '--')}" / "snapshots" / ("0" * 40)).mkdir(parents=True)
        monkeypatch.setenv("HF_HUB_CACHE", str(cache))
        await v.press("M")
        await v.shows("1 checkpoint", name, "stacks passed")
        await v.press("enter")
        await v.until(lambda: isinstance(v.app.screen, ModelScreen))
