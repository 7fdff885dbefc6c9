"""The run screen over recorded run folders: going on, ended in each way, lost, replayed event by event; and what its keys do."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.recorded import CANCELLED, FAIL, FOLDER, GOING_ON, PASS, going_on, recorded
from tests.snapshot import check_screen, painted, styles_of
from trnui.settings import load
from trnui.tui.app import Explorer
from trnui.tui.run.run_screen import RunScreen
from trnui_runner.run_folder.folder import RunFolder
from trnui_runner.run_folder.follower import Follower

SIZES = {"80x24": (80, 24), "160x45": (160, 45)}


@asynccontextmanager
async def shown(run: RunFolder, size: tuple[int, int]) -> AsyncIterator[tuple[Explorer, Any]]:
    """The app on the sample, with the run's screen on top."""
    recipe = run.recipe()
    assert recipe is not None
    app = Explorer(load({"dataset": "sample"}), offline=True, background=False)
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        await app.push_screen(RunScreen(run, recipe))
        await pilot.pause(0.3)
        yield app, pilot


async def until(app: Explorer, pilot: Any, words: str, seconds: float = 5.0) -> None:
    for _ in range(int(seconds / 0.05)):
        if any(words in line for line in painted(app)):
            await pilot.pause()
            return
        await pilot.pause(0.05)
    raise AssertionError(f"no {words!r} on\n" + "\n".join(painted(app)))


@pytest.fixture(autouse=True)
def one_source(monkeypatch: pytest.MonkeyPatch) -> None:
    """The line about the rows' source changes with the sample; these screens do not."""
    monkeypatch.setattr(Explorer, "source_line", lambda self: ((" SAMPLE ", "warn"), ("bundled sample", "muted")))


@pytest.fixture
def held() -> Iterator[RunFolder]:
    """A run that goes on, freshly written by its supervisor."""
    with going_on(GOING_ON) as run:
        fresh(run)
        yield run


def fresh(run: RunFolder, **changes: Any) -> None:
    path = run.path / "state.json"
    state = json.loads(path.read_text()) | {"updated": time.time()} | changes
    path.write_text(json.dumps(state))


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(("name", "file"), [(PASS, "pass"), (FAIL, "fail"), (CANCELLED, "cancelled")])
async def test_ended_runs_look_as_they_did(name: str, file: str, size: str) -> None:
    async with shown(recorded(name), SIZES[size]) as (app, pilot):
        await until(app, pilot, "goes to the verdict")
        await until(app, pilot, "end of the log")
        check_screen(app, f"run-{file}-{size}")


@pytest.mark.parametrize("size", SIZES)
async def test_a_run_going_on_looks_as_it_did(held: RunFolder, size: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Follower, "elapsed", lambda self: 13.0)
    async with shown(held, SIZES[size]) as (app, pilot):
        await until(app, pilot, "COMPILING")
        await until(app, pilot, "4 lines")
        check_screen(app, f"run-going-on-{size}")


async def test_a_run_is_followed_from_its_first_event_to_its_verdict(home: Path) -> None:
    """The recorded PASS, written again line by line while the screen looks."""
    source = FOLDER / PASS
    target = home / "state" / "runs" / PASS
    target.mkdir(parents=True)
    for name in ("recipe.json", "run.py"):
        shutil.copy(source / name, target / name)
    run = RunFolder(target)
    lock = run.lock()
    assert lock is not None
    events = (source / "events.jsonl").read_bytes().splitlines(keepends=True)
    state = json.loads((source / "state.json").read_text()) | {"outcome": None, "stage": "preparing"}

    def write(upto: float) -> None:
        """All that had happened `upto` seconds after the start."""
        happened = [line for line in events if json.loads(line)["s"] <= upto]
        (target / "events.jsonl").write_bytes(b"".join(happened))
        (target / "state.json").write_text(json.dumps(state | {"elapsed": upto, "updated": time.time()}))

    async with shown(run, (80, 24)) as (app, pilot):
        write(3.0)
        await until(app, pilot, "PREPARING")
        assert any("the row took 0:24, incl. compilation" in line for line in painted(app))
        write(9.0)
        await until(app, pilot, "COMPILING")
        await until(app, pilot, "graph 0/0, 173 nodes, going on for")
        write(12.5)
        await until(app, pilot, "GENERATING")
        await until(app, pilot, "2 graphs done")
        await until(app, pilot, "13 of 32")
        await until(app, pilot, "a program that the chip can run. It reads the whole graph, joins")
        write(15.0)
        await until(app, pilot, "CHECKING")
        write(99.0)
        shutil.copy(source / "output.log", target / "output.log")
        shutil.copy(source / "result.json", target / "result.json")
        import os

        os.close(lock)
        await until(app, pilot, "PASS on CPU, not on Trainium · REPRODUCED")
        await until(app, pilot, "all 32 equal to the reference")
        await until(app, pilot, "prompt: The compiler turns every graph into")


async def test_cpu_and_stand_in_are_loud_and_never_green(home: Path) -> None:
    async with shown(recorded(PASS), (160, 45)) as (app, pilot):
        await until(app, pilot, "REPRODUCED")
        assert app.theme == "trnui-dark"
        assert styles_of(app, "CPU, NOT TRAINIUM") == {"#d7af5f"}
        assert styles_of(app, "PASS").isdisjoint({"#87af5f"})
        assert styles_of(app, "REPRODUCED").isdisjoint({"#87af5f"})


async def test_a_run_that_lost_both_watchers_says_so(home: Path) -> None:
    run = recorded(GOING_ON)  # nobody holds it, no result
    async with shown(run, (80, 24)) as (app, pilot):
        await until(app, pilot, "LOST")
        await until(app, pilot, "both killed, or the host went down")


async def test_a_frozen_supervisor_and_silence_are_said(held: RunFolder) -> None:
    fresh(held, updated=time.time() - 40)
    async with shown(held, (80, 24)) as (app, pilot):
        await until(app, pilot, "it may be frozen")


async def test_queued_says_what_it_waits_for(held: RunFolder) -> None:
    (held.path / "events.jsonl").unlink()
    fresh(held, stage="queued", elapsed=0.0, message="waits for NeuronCore 0, held by 20261130-110000-other-aaaa")
    async with shown(held, (160, 45)) as (app, pilot):
        await until(app, pilot, "waits for NeuronCore 0, held by 20261130-110000-other-aaaa")


async def test_sixteen_ranks_stay_on_the_screen(held: RunFolder) -> None:
    with (held.path / "events.jsonl").open("a") as file:
        for rank in range(16):
            event = {"t": 1796042413.0, "s": 13.0, "src": "rank", "rank": rank, "pid": 912 + rank, "event": "memory"}
            file.write(
                json.dumps(
                    event | {"source": "torch", "now": (rank + 1) << 30, "peak": (rank + 1) << 30, "capacity": 24 << 30}
                )
                + "\n"
            )
    for size in SIZES.values():
        async with shown(held, size) as (app, pilot):
            await until(app, pilot, "device memory as torch counts it")
            assert any("rank 15" in line and "16.0 GiB" in line for line in painted(app))
            await until(app, pilot, "host memory, not device memory")


async def test_foreign_text_stays_text(held: RunFolder) -> None:
    nasty = "\x1b]0;owned\x07[bold]\u202egnp.exe\x00" + "x" * 5000
    with (held.path / "events.jsonl").open("a") as file:
        base = {"t": 1796042413.1, "s": 13.1, "src": "rank", "rank": 0, "pid": 912}
        file.write(json.dumps(base | {"event": "token", "text": nasty, "n": 2}) + "\n")
        file.write(json.dumps(base | {"event": "error", "class": nasty, "text": nasty}) + "\n")
        file.write(json.dumps(base | {"event": "memory", "scope": nasty, "source": nasty, "now": 1, "peak": 1}) + "\n")
        file.write("no json at all\n")
    async with shown(held, (80, 24)) as (app, pilot):
        await until(app, pilot, "[bold]gnp.exe")
        everything = "".join(painted(app))
        assert "\x1b" not in everything
        assert "\u202e" not in everything


async def test_esc_goes_back_one_step_at_a_time_and_the_run_goes_on(held: RunFolder) -> None:
    async with shown(held, (80, 24)) as (app, pilot):
        await until(app, pilot, "4 lines")
        await pilot.press("enter")  # the log alone
        await until(app, pilot, "4 lines")
        assert not any("memory" in line for line in painted(app))
        await pilot.press("slash", *"prompt", "enter")
        assert any("/prompt" in line for line in painted(app))
        await pilot.press("escape")
        assert not any("/prompt" in line for line in painted(app))
        await pilot.press("escape")
        await until(app, pilot, "memory")
        await pilot.press("escape")
        await until(app, pilot, "the run goes on")
        assert not isinstance(app.screen, RunScreen)
    assert held.outcome() == "running"
    assert not held.stop_asked()


async def test_a_key_that_cannot_work_says_why(held: RunFolder) -> None:
    async with shown(held, (80, 24)) as (app, pilot):
        await until(app, pilot, "COMPILING")
        await pilot.press("r")
        await until(app, pilot, "still going on; s stops it")
    shutil.rmtree(held.path.parent / PASS, ignore_errors=True)
    async with shown(recorded(PASS), (80, 24)) as (app, pilot):
        await until(app, pilot, "REPRODUCED")
        await pilot.press("s")
        await until(app, pilot, "has ended; there is nothing to stop")


async def test_stop_asks_first_and_enter_alone_stops_nothing(held: RunFolder) -> None:
    async with shown(held, (80, 24)) as (app, pilot):
        await until(app, pilot, "COMPILING")
        await pilot.press("s")
        await until(app, pilot, "Stop the run of trnui-sample/recites-moe?")
        await pilot.press("enter")
        await pilot.pause(0.1)
        assert not held.stop_asked()
        await pilot.press("s", "y")
        for _ in range(100):
            if held.stop_asked():
                break
            await pilot.pause(0.02)
        assert held.stop_asked()
        held.ask_stop()


async def test_the_command_is_copied(held: RunFolder) -> None:
    async with shown(held, (80, 24)) as (app, pilot):
        sent: list[str] = []
        app.copy = lambda text, what: sent.append(text)  # type: ignore[method-assign,assignment]
        await until(app, pilot, "COMPILING")
        await pilot.press("c")
        assert sent == [
            "trnui run trnui-sample/recites-moe --script bundled --device cpu --cores 2 --parallelism tp --task text-generation --dtype bfloat16 --timeout 7200 --python /usr/bin/python3"
        ]
