"""One key after the other: a key is handed on when the one before has done all it does, and what it acts on is on screen.

Textual hands each key at once to the widget that has the focus, and looks for its binding only after the key has bubbled through
four message queues. Over a slow line several keys come in one packet: without turns the `i` of `/iris` is still the list's, and
an Enter behind a filter opens the row of the list before.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Final

from textual import events
from textual.app import App
from textual.dom import DOMNode

LONGEST: Final = 0.6  # seconds after which the next key has its turn, whatever holds it up
AGAIN: Final = 0.01  # seconds between two looks at a screen that a key waits for


class KeyQueue:
    """`hand_on` is what Textual does with a key; `ready` whether what is on screen is what the next key is meant for."""

    def __init__(
        self, app: App[int], hand_on: Callable[[events.Key], Awaitable[None]], ready: Callable[[], bool]
    ) -> None:
        self._app, self._hand_on, self._ready = app, hand_on, ready
        self._waiting: deque[events.Key] = deque()
        self._turn = 0  # counts keys and looks, so that only the newest of what was set going counts
        self._busy = False  # a key has its turn, or one waits for the screen

    @property
    def idle(self) -> bool:
        return not (self._busy or self._waiting)

    async def take(self, key: events.Key) -> None:
        self._waiting.append(key)
        if not self._busy:
            await self._next(time.monotonic() + LONGEST)

    async def _next(self, end: float) -> None:
        self._busy = bool(self._waiting)
        self._turn += 1
        if not self._busy:
            return
        turn = self._turn

        async def go_on(end: float | None = None) -> None:
            if turn == self._turn:
                timer.stop()
                await self._next(end or time.monotonic() + LONGEST)

        if not self._ready() and time.monotonic() < end:
            timer = self._app.set_timer(AGAIN, lambda: go_on(end))
            return
        node = self._app.focused or self._app.screen
        timer = self._app.set_timer(LONGEST, go_on)  # a widget that is taken away meanwhile takes its queue with it
        await self._hand_on(self._waiting.popleft())
        # The key bubbles from queue to queue up to the app, which runs its action; that may post messages which bubble the same way.
        _behind((*node.ancestors_with_self, *node.ancestors_with_self), go_on)


def _behind(queues: tuple[DOMNode, ...], then: Callable[[], Awaitable[None]]) -> None:
    """Calls `then` when everything that lies in these queues now has passed through all of them, one after the other."""

    async def step(at: int) -> None:
        while at < len(queues):
            if queues[at].call_later(step, at + 1):
                return
            at += 1  # closed
        await then()

    queues[0].call_later(step, 1)
