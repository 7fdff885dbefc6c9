"""First start, refresh and sample: what is fetched is said, the rows are never swapped without a word, the cursor stays on its model."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import pytest

from tests.fakehub import FakeHub
from tests.unit.catalog.hub.test_sync import DATASET, FILES, NEWER
from tests.visit import PLAIN, Visit
from trnui.settings import load
from trnui.tui.app import Explorer
from trnui.tui.session_state import SessionState
from trnui.tui.widgets.result_table import ResultTable


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeHub]:
    with FakeHub() as found:
        found.add_repo("datasets", DATASET, FILES)
        monkeypatch.delenv("HF_HUB_OFFLINE")
        monkeypatch.setenv("HF_ENDPOINT", found.url)
        yield found


@asynccontextmanager
async def online(size: tuple[int, int] = (160, 30)) -> AsyncIterator[Visit]:
    """The app as it starts by itself, with a Hub."""
    app = Explorer(load({"dataset": DATASET}), session=SessionState(), term=PLAIN, background=True)
    async with app.run_test(size=size) as pilot:
        yield Visit(app, pilot)


async def test_a_first_start_shows_the_sample_and_says_when_the_dataset_is_here(hub: FakeHub) -> None:
    async with online() as v:
        await v.shows("SAMPLE", f"in place of {DATASET}")
        await v.shows("is here now: S shows it", seconds=60)
        assert "trnui-sample/" in v.text, "the sample was swapped without a word"
        await v.press("S")
        await v.shows("o/m0", "commit", seconds=30)
        assert "SAMPLE" not in v.text
        await v.press("S")
        await v.shows("SAMPLE", "trnui-sample/recites")


async def test_a_refresh_says_what_changed_and_the_cursor_stays_on_its_model(hub: FakeHub) -> None:
    async with online() as v:
        await v.shows("is here now", seconds=60)
        await v.press("S")
        await v.shows("o/m0")
        await v.until(lambda: v.app.loaded.done == 1)
        await v.press("a", "j", "j")
        table = v.app.screen.query_one(ResultTable)
        await v.until(lambda: table.record is not None and table.record["model_id"] == "o/m2")
        hub.repos["datasets", DATASET].commit(NEWER)
        await v.press("ctrl+r")
        await v.shows("changed result", seconds=60)
        await v.until(lambda: table.count == 5)
        await v.until(lambda: table.record is not None and table.record["model_id"] == "o/m2")


async def test_without_a_network_the_sample_stays_and_the_reason_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HF_HUB_OFFLINE")
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    async with online() as v:
        await v.shows("SAMPLE")
        await v.shows("not refreshed: 127.0.0.1:9 refuses the connection", seconds=60)
