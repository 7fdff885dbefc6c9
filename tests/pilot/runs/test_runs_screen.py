"""View 4: the runs of this host as a list that lives; open, stop, delete, filter, and what their keys say when they cannot."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.recorded import CANCELLED, FAIL, FOLDER, GOING_ON, PASS, going_on, recorded
from tests.snapshot import check_screen
from tests.visit import Visit, visit
from trnui.tui.app import Explorer
from trnui.tui.run.run_screen import RunScreen
from trnui.tui.runs.runs_screen import RunsScreen
from trnui_runner.run_folder.folder import RunFolder
from trnui_runner.run_folder.run_index import RunIndex


@pytest.fixture
def four() -> Iterator[RunFolder]:
    """Three that ended and one that goes on (yielded)."""
    for name in (PASS, FAIL, CANCELLED):
        recorded(name)
    with going_on() as run:
        path = run.path / "state.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | {"updated": time.time()}))
        yield run


def row(here: Visit, name: str) -> str:
    return next(line for line in here.lines if name in line)


async def test_every_run_is_there_newest_first_and_the_live_one_says_its_stage(dataset: Path, four: RunFolder) -> None:
    async with visit(dataset, size=(160, 45)) as here:
        await here.press("4")
        await here.shows("4 runs · 1 going on")
        ids = [line.split()[-1] for line in here.lines if "20261130-" in line]
        assert ids == sorted(ids, reverse=True)
        assert len(ids) == 4
        assert row(here, "recites-moe").split()[0] == "compiling"
        assert "REPRODUCED" in row(here, "trnui-sample/bloom")
        assert "CPU" in row(here, PASS)


async def test_every_screen_says_how_many_runs_go_on(dataset: Path, four: RunFolder) -> None:
    async with visit(dataset, size=(80, 24), background=True) as here:
        await here.shows("4 Runs ●1  5 Compare", "7 SQL")
        await here.press("enter")
        await here.shows("4 Runs ●1")


async def test_it_follows_what_happens_meanwhile(dataset: Path, four: RunFolder, home: Path) -> None:
    async with visit(dataset, size=(160, 45)) as here:
        await here.press("4")
        await here.shows("4 runs · 1 going on")
        await here.press("j")  # the cursor's run stays under it
        assert isinstance(here.app.screen, RunsScreen)
        under = here.app.screen.entry
        later = json.loads((FOLDER / PASS / "recipe.json").read_text()) | {
            "id": "20261130-235900-later-0000",
            "model": "someone/later",
        }
        folder = home / "state" / "runs" / "20261130-235900-later-0000"
        folder.mkdir()
        (folder / "recipe.json").write_text(json.dumps(later))
        await here.shows("5 runs · 2 going on", "someone/later")
        assert "queued" in row(here, "someone/later")
        assert here.app.screen.entry is not None
        assert under is not None
        assert here.app.screen.entry.run.id == under.run.id


async def test_enter_follows_a_run_that_was_started_elsewhere_and_esc_comes_back(
    dataset: Path, four: RunFolder
) -> None:
    async with visit(dataset, size=(80, 24)) as here:
        await here.press("4")
        await here.shows("1 going on")
        await here.press("j", "enter")
        await here.until(lambda: isinstance(here.app.screen, RunScreen))
        await here.shows("COMPILING")
        await here.press("escape")
        await here.until(lambda: isinstance(here.app.screen, RunsScreen))


async def test_filter_by_words_of_model_outcome_and_device(dataset: Path, four: RunFolder) -> None:
    async with visit(dataset, size=(160, 45)) as here:
        await here.press("4")
        await here.shows("4 runs")
        await here.press("slash")
        await here.type("fail")
        await here.shows("1 of 4 runs", "trnui-sample/bloom")
        await here.type(" cpu 1215")
        await here.shows("1 of 4 runs")
        await here.type("x")
        await here.shows("No run has")
        await here.press("escape")
        await here.shows("4 runs · 1 going on")


async def test_delete_asks_and_never_takes_a_run_that_goes_on(dataset: Path, four: RunFolder) -> None:
    async with visit(dataset, size=(100, 30)) as here:
        await here.press("4")
        await here.shows("4 runs")
        await here.press("j", "D")
        await here.shows("this run is going on; stop it first")
        await here.press("k", "D")
        await here.shows(f"Delete {CANCELLED}")
        await here.press("n")
        assert (four.path.parent / CANCELLED).exists()
        await here.press("D", "y")
        await here.shows("3 runs · 1 going on")
        assert not (four.path.parent / CANCELLED).exists()
        assert four.path.exists()


async def test_stop_is_refused_for_what_has_ended(dataset: Path, four: RunFolder) -> None:
    async with visit(dataset, size=(100, 30)) as here:
        await here.press("4")
        await here.shows("4 runs")
        await here.press("s")
        await here.shows("this run has ended; there is nothing to stop")


async def test_no_run_yet_says_what_to_do(dataset: Path) -> None:
    async with visit(dataset, size=(80, 24)) as here:
        await here.press("4")
        await here.shows("No run on this host yet", "press r")


async def test_a_damaged_folder_harms_nothing(dataset: Path, home: Path) -> None:
    recorded(PASS)
    bad = home / "state" / "runs" / "20261130-999999-bad-0000"
    bad.mkdir()
    (bad / "recipe.json").write_bytes(b"\xff{")
    async with visit(dataset, size=(80, 24)) as here:
        await here.press("4")
        await here.shows("2 runs", "trnui-sample/recites", "DAMAGED", "(recipe.json is no JSON")


def test_ended_runs_are_read_once(four: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    shelf = RunIndex()
    assert len(shelf.look()) == 4
    read: list[str] = []
    before = RunFolder.result
    monkeypatch.setattr(RunFolder, "result", lambda self: read.append(self.id) or before(self))
    assert [e.run.id for e in shelf.look()] == [CANCELLED, GOING_ON, FAIL, PASS]
    assert set(read) <= {GOING_ON}


def test_a_thousand_runs_are_listed_quickly(home: Path) -> None:
    recipe, result = ((FOLDER / PASS / f"{n}.json").read_bytes() for n in ("recipe", "result"))
    for n in range(1000):
        folder = home / "state" / "runs" / f"20261130-{n:06d}-many-0000"
        os.makedirs(folder)
        (folder / "recipe.json").write_bytes(recipe)
        (folder / "result.json").write_bytes(result)
    shelf = RunIndex()
    assert len(shelf.look()) == 1000
    begun = time.process_time()
    shelf.look()
    assert time.process_time() - begun < 0.1


@pytest.mark.parametrize("size", [(80, 24), (160, 45)])
async def test_the_list_looks_as_it_did(
    dataset: Path, four: RunFolder, size: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Explorer, "source_line", lambda self: ((" a source", "muted"),))
    monkeypatch.setattr("trnui_runner.run_folder.run_index.time.time", lambda: 1796042400.0 + 1860)
    async with visit(dataset, size=size) as here:
        await here.press("4")
        await here.shows("4 runs · 1 going on")
        check_screen(here.app, f"runs-{size[0]}x{size[1]}")
