"""One for the app: the views say how many runs go on, and a line says which has ended, whatever screen is on top."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from trnui.tui.runs.run_monitor import RunMonitor, RunsNow, ended_words, signal_for

if TYPE_CHECKING:
    from trnui.tui.context import AppContext

SEEN: Final = "runs_seen"  # in the session: when somebody last saw how the runs ended (UTC epoch seconds)


class RunsController:
    def __init__(self, context: AppContext, send: Callable[[str], None]) -> None:
        """`send` writes to the terminal past the screen (a bell, a notification)."""
        self._context, self._send = context, send
        self.going = 0
        since = context.session.extra.get(SEEN)
        known = float(since) if isinstance(since, int | float) else None
        self._monitor = RunMonitor(lambda now: context.call_later(self._changed, now), known)
        self._monitor.start()

    def close(self) -> None:
        self._context.remember_extra(SEEN, time.time())
        self._monitor.close()

    def _changed(self, now: RunsNow) -> None:
        context, self.going = self._context, now.going
        for screen in context.app_screens():
            screen.show_views()
        if now.ended:
            words = ended_words(now, context.key_of("app.runs"))
            context.say(words)
            context.load_own()
            if not now.first:
                self._send(signal_for(context.settings.run_ended, words))
