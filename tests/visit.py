"""A visit to the app without a terminal: what a user presses, and what the screen then shows."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from textual.pilot import Pilot

from trnui.settings import load
from trnui.tui.app import Explorer
from trnui.tui.session_state import SessionState
from trnui.tui.terminal import Terminal

PLAIN = Terminal(why_plain=None, mouse=False, ascii=False, clipboard="osc52")


def make_dataset(folder: Path, *options: str) -> Path:
    """Invented rows in the dataset's layout (tests/make_dataset.py)."""
    script = Path(__file__).with_name("make_dataset.py")
    subprocess.run([sys.executable, str(script), str(folder), *options], check=True)
    return folder


class Visit:
    """`press` names keys as Textual does; `type` sends text key by key."""

    def __init__(self, app: Explorer, pilot: Pilot[Any]) -> None:
        self.app, self.pilot = app, pilot

    async def press(self, *keys: str) -> Visit:
        await self.pilot.press(*keys)
        await self.pilot.pause()
        return self

    async def type(self, text: str) -> Visit:
        return await self.press(*({" ": "space"}.get(c, c) for c in text))

    @property
    def lines(self) -> list[str]:
        return ["".join(s.text for s in strip).rstrip() for strip in self.app.screen._compositor.render_strips()]

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    @property
    def foot(self) -> str:
        return self.lines[-1]

    async def until(self, true: Callable[[], object], seconds: float = 10.0) -> None:
        """Waits for what a thread brings. Fails with the screen."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            await self.pilot.pause()
            if true():
                return
            await asyncio.sleep(0.02)
        raise AssertionError(f"not seen in {seconds} s:\n{self.text}\nproblems: {self.app.problems}")

    async def shows(self, *words: str, seconds: float = 10.0) -> None:
        await self.until(lambda: all(w in self.text for w in words), seconds)

    @property
    def ids(self) -> list[tuple[str, str, str]]:
        """Model and stack of every row of the list on screen, in order; the table must have all its pages."""
        from trnui.tui.widgets.result_table import ResultTable

        table = self.app.screen.query_one(ResultTable)
        records = table.records()
        assert len(records) == table.count, "not every page is here"
        return [(str(r["model_id"]), str(r.get("neuronx_cc")), str(r.get("library_version"))) for r in records]


@asynccontextmanager
async def visit(
    dataset: Path | str,
    *,
    size: tuple[int, int] = (120, 32),
    session: SessionState | None = None,
    wait: bool = True,
    background: bool = False,
    **flags: Any,
) -> AsyncIterator[Visit]:
    """The app on a folder, offline, with a fresh session; `wait` until every file is in; `background` watches the runs."""
    settings = load({"dataset": str(dataset), **flags})
    app = Explorer(settings, offline=True, session=session or SessionState(), term=PLAIN, background=background)
    async with app.run_test(size=size) as pilot:
        here = Visit(app, pilot)
        if wait:
            await here.until(lambda: here.app.loaded.files and here.app.loaded.done == here.app.loaded.files)
            await here.until(lambda: "loading" not in here.text)
        yield here
