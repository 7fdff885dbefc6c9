"""Batches in view 4 and on their own screen: what is seen first, what keys do, and what they say when they cannot."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from tests.recorded import FAIL, PASS, recorded
from tests.unit.runner.batch.builders import a_folder, event
from tests.visit import Visit, visit
from trnui.tui.batch.batch_index import bar
from trnui.tui.batch.batch_lines import device_strip
from trnui.tui.batch.batch_screen import BatchScreen
from trnui.tui.run.run_screen import RunScreen
from trnui_runner.batch.batch_file import Batch, BatchRow, Price
from trnui_runner.batch.folder import BatchFolder
from trnui_runner.batch.journal import RowState


@pytest.fixture
def batch(home: Path) -> BatchFolder:
    """Six rows: newly failing, as published, newly passing, going on, lost, waiting."""
    recorded(PASS)
    recorded(FAIL)
    words = ("PASS", "PASS", "FAIL", "PASS", "PASS", "")
    rows = tuple(BatchRow(n, f"org/model-{n}", 4, "neuron", 60.0 + n, published=word) for n, word in enumerate(words))
    folder = a_folder(
        Batch("20261201-2.28", 0.0, "newly failing from 2.27 to 2.28", rows, host_cores=16, price=Price(36.0, "a list"))
    )
    now = time.time()
    folder.journal().add(
        event(0, "going", now - 600, cores=(0, 1, 2, 3)), event(0, "done", now - 500, outcome="FAIL", run=FAIL, cls="hbm_oom_compile"),
        event(1, "done", now - 400, outcome="PASS", run=PASS, kind="english", beside=3), event(2, "done", now - 300, outcome="PASS"),
        event(3, "going", now - 200, run="20261201-gone", cores=(4, 5, 6, 7)), event(4, "given up", now - 100, why="3 attempts, the last: lost"),
    )  # fmt: skip
    return folder


def row(here: Visit, name: str) -> str:
    return next(line for line in here.lines if name in line)


async def opened(here: Visit) -> None:
    await here.press("4")
    await here.shows("1 batch · 2 runs")
    await here.press("enter")
    await here.until(lambda: isinstance(here.app.screen, BatchScreen))
    await here.shows("org/model-5")


async def test_view_4_has_batches_on_top_with_a_bar_and_what_newly_fails(dataset: Path, batch: BatchFolder) -> None:
    async with visit(dataset, size=(160, 45)) as here:
        await here.press("4")
        await here.shows("1 batch · 2 runs")
        line = row(here, "20261201-2.28")
        assert here.lines.index(line) < here.lines.index(row(here, PASS))
        assert "█████···" in line or "████····" in line
        assert "4/6" in line
        assert "1 new FAIL" in line
        assert line.split()[0] == "idle"


@pytest.mark.parametrize("size", [(160, 45), (80, 24)])
async def test_what_needs_eyes_comes_first(dataset: Path, batch: BatchFolder, size: tuple[int, int]) -> None:
    async with visit(dataset, size=size) as here:
        await opened(here)
        order = [int(line.partition("org/model-")[2][0]) for line in here.lines if "org/model-" in line]
        assert order == [0, 3, 4, 2, 5, 1]
        assert "NEWLY FAILING" in row(here, "model-0")
        assert "NEWLY PASSING" in row(here, "model-2")
        assert "4 of 6 · 2 PASS 1 FAIL 1 given up · 1 going" in here.text
        assert "$" in here.text
        if size[0] == 160:
            assert "beside 3 other runs" in row(here, "model-1")
            assert "starts" in row(here, "model-5")
            assert "newly failing 1, newly passing 1, same 1" in here.text


async def test_enter_opens_a_rows_run_and_l_its_log(dataset: Path, batch: BatchFolder) -> None:
    async with visit(dataset, size=(160, 45)) as here:
        await opened(here)
        await here.press("enter")
        await here.until(lambda: isinstance(here.app.screen, RunScreen))
        await here.press("escape")
        await here.until(lambda: isinstance(here.app.screen, BatchScreen))
        await here.press("l")
        await here.until(lambda: isinstance(here.app.screen, RunScreen))
        assert here.app.screen.has_class("-log")


async def test_keys_that_can_do_nothing_say_why(dataset: Path, batch: BatchFolder) -> None:
    async with visit(dataset, size=(160, 45)) as here:
        await opened(here)
        await here.press("s")
        await here.shows("this batch is idle; there is nothing to stop")
        await here.press("j", "l")
        await here.shows("the folder of run 20261201-gone is not there any more")
        await here.press("r")
        await here.shows("this row is going; only one that has ended is run again")
        await here.press("G", "k", "enter")
        await here.shows("this row has not begun")


async def test_stop_asks_and_is_kept_for_the_keeper(dataset: Path, batch: BatchFolder) -> None:
    held = batch.lock()
    assert held is not None
    async with visit(dataset, size=(80, 24)) as here:
        await opened(here)
        await here.shows("going")
        await here.press("s")
        await here.shows("Stop batch 20261201-2.28?")
        await here.press("enter")  # "let it go on" is under the cursor
        assert batch.stop_asked() == ""
        await here.press("s")
        await here.shows("Stop batch")
        await here.press("l")
        await here.until(lambda: batch.stop_asked() == "later")
    os.close(held)


async def test_it_follows_the_journal_and_keeps_the_row_under_the_cursor(dataset: Path, batch: BatchFolder) -> None:
    async with visit(dataset, size=(160, 45)) as here:
        await opened(here)
        await here.press("G", "k")  # model-5, waiting
        batch.journal().add(
            event(5, "going", time.time(), cores=(8, 9, 10, 11)), event(3, "done", time.time(), outcome="FAIL")
        )
        await here.shows("2 FAIL")
        assert isinstance(here.app.screen, BatchScreen)
        record = here.app.screen._table.record
        assert record is not None
        assert record["model"] == "org/model-5"
        assert record["state"] == RowState.GOING


async def test_a_batch_that_cannot_be_read_says_so_and_shows_the_rest(dataset: Path, batch: BatchFolder) -> None:
    (batch.path / "batch.json").write_text('{"id": "x", "rows": 3}')
    async with visit(dataset, size=(160, 45)) as here:
        await here.press("4")
        await here.shows("unreadable", "2 runs")
        await here.press("enter")
        await here.shows("rows takes a list")


def test_a_bar_is_full_only_at_the_end() -> None:
    assert [bar(done, 100, 4) for done in (0, 24, 26, 99, 100)] == ["····", "····", "█···", "███·", "████"]
    assert bar(0, 0, 2) == "··"


def test_the_devices_strip_gives_way_to_a_count() -> None:
    assert device_strip(frozenset({0, 1, 2, 3, 5}), 8, 20) == "████ ·█··"
    assert device_strip(frozenset({1}), 64, 40) == "1 of 64 cores held by its rows"
