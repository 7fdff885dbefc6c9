"""Keys that come all at once (a slow line, a paste, a macro) do what they do one by one."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from textual import events

from tests.visit import Visit, visit
from trnui.tui import key_queue

SEQUENCES = [
    "slash i r i s 2 enter",
    "slash i r i s 2 enter enter",
    "slash e l m enter j j enter",
    "slash e l m enter j j enter tab tab escape",
    "slash c 1 r 2 s escape",
    "slash i escape slash e l m enter G enter escape",
    "w e r f enter",
    "s j space enter j enter",
    "c j space enter",
    "a slash f e r n enter G k enter",
    "j j j space j space equals_sign",
    "question_mark j j escape j j enter",
    "6 j j escape 5 1 slash e l m enter",
    "7 escape 1 j enter",
    "2 slash r 1 enter 1 j enter",
    "enter tab tab tab slash p r i n t enter n",
    "i escape j j space o o O",
    "colon e x p o r t escape enter",
    "colon c o m p a r e enter slash e l m enter",
    "y escape c j space enter j",
    "colon escape slash q q q enter X j",
]


async def burst(v: Visit, keys: str) -> None:
    """All keys in one go, before anything else has a turn; returns when the last one has had its turn."""
    for key in keys.split():
        v.app.post_message(events.Key(key, key if len(key) == 1 else "/" if key == "slash" else None))
    await v.pilot.pause()
    await v.until(lambda: v.app.key_queue.idle)


async def settled(v: Visit) -> list[str]:
    """The screen, once threads have brought what it waits for and nothing on it changes any more."""
    before: list[str] = []
    same = 0
    while same < 6:
        await asyncio.sleep(0.04)
        await v.pilot.pause()
        same = same + 1 if before == v.lines and getattr(v.app.screen, "settled", True) else 0
        before = v.lines
    return before


@pytest.mark.slow  # its waits are not steady yet on a busy machine
@pytest.mark.parametrize("keys", SEQUENCES)
async def test_keys_at_once_do_what_they_do_one_by_one(dataset: Path, keys: str) -> None:
    async with visit(dataset) as slow:
        for key in keys.split():
            await slow.press(key)
            await slow.until(lambda: slow.app.key_queue.idle and getattr(slow.app.screen, "settled", True))
        wanted, wanted_screens = await settled(slow), [type(s).__name__ for s in slow.app.screen_stack]
    async with visit(dataset) as quick:
        await burst(quick, keys)
        found = await settled(quick)
        assert [type(s).__name__ for s in quick.app.screen_stack] == wanted_screens
        assert found[2:-1] == wanted[2:-1]  # the source has an age, and the foot says messages for some seconds


async def test_a_key_behind_a_filter_waits_for_its_rows(dataset: Path) -> None:
    async with visit(dataset) as v:
        await burst(v, "slash e l m enter enter")
        await v.shows("rows on", "Elm")


async def test_a_key_does_not_wait_for_ever(dataset: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(key_queue, "LONGEST", 0.05)
    async with visit(dataset) as v:
        v.app.explore._answered = -1  # an answer that never comes
        await burst(v, "question_mark")
        await v.shows("List of models  (here)")


@pytest.mark.parametrize("view", ["5", "6", "4"])
async def test_a_filter_typed_before_there_are_rows_is_kept(dataset: Path, view: str) -> None:
    async with visit(dataset, wait=False) as v:
        await v.press(view, "slash", "e", "l")
        await v.until(lambda: v.app.key_queue.idle)
        assert " el" in v.lines[2]
