"""`B` on the list: the look ahead of the marked rows or the view, and a start after one yes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.visit import visit
from trnui.tui.batch.batch_screen import BatchScreen
from trnui.tui.batch.batch_start_screen import BatchStartScreen
from trnui_runner.batch import keeper_process
from trnui_runner.batch.folder import BatchFolder, all_batches


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Ids of batches that would have got a keeper."""
    found: list[str] = []

    def start(folder: BatchFolder) -> bool:
        found.append(folder.id)
        return True

    monkeypatch.setattr(keeper_process, "start_keeper", start)
    return found


@pytest.mark.parametrize("size", [(160, 45), (80, 24)])
async def test_marked_rows_become_a_batch_after_one_yes(started: list[str], size: tuple[int, int]) -> None:
    async with visit("sample", size=size) as here:
        await here.shows("trnui-sample/gpt2")
        await here.press("space", "space", "B")
        await here.until(lambda: isinstance(here.app.screen, BatchStartScreen))
        await here.shows("2 rows: 2 marked rows", "same model: 2", "y starts it", seconds=60)
        assert all_batches() == []
        await here.press("y")
        await here.until(lambda: isinstance(here.app.screen, BatchScreen))
        await here.shows("0 of 2")
    assert started == [b.id for b in all_batches()]
    assert len(started) == 1


async def test_without_marks_it_is_the_view_and_esc_starts_nothing(started: list[str]) -> None:
    async with visit("sample", size=(160, 45)) as here:
        await here.shows("trnui-sample/gpt2")
        await here.press("B")
        await here.shows("12 rows: view selected", "cores", seconds=60)  # builds a dozen checkpoints
        await here.press("escape")
        await here.shows("trnui-sample/gpt2")
    assert started == []
    assert all_batches() == []


async def test_what_this_host_cannot_run_is_said_and_y_repeats_it(dataset: Path, started: list[str]) -> None:
    async with visit(dataset, size=(160, 45)) as here:
        await here.press("B")
        await here.shows("There is nothing that this host could run.", "there is no Neuron device here", seconds=60)
        await here.press("y")
        await here.shows("nothing that this host could run")
    assert started == []
