"""The thread behind a log view: it indexes and searches what has been written, and says at most so often that there is news.
No Textual in here."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

from trnui.tui.log.index import LineIndex, LogFile
from trnui.tui.log.search import ERROR, Matcher, Search


class LogReader:
    """`news` is called from the thread, at most once each `interval` seconds and only after `heard()` for the call before."""

    def __init__(self, path: Path, news: Callable[[], None], interval: float = 0.1) -> None:
        self.index = LineIndex(LogFile(path))
        self.interval = interval
        self.search: Search | None = None
        self.errors: Search | None = None  # begun when they are first asked for
        self._news = news
        self._wake = threading.Event()
        self._ended = threading.Event()
        self._waiting = False  # told, not heard yet
        self._thread = threading.Thread(target=self._run, name="log-reader", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        self._ended.set()
        self._wake.set()
        if self._thread.is_alive():
            self._thread.join(1)
        self.index.file.close()

    def heard(self) -> None:
        self._waiting = False

    def look_for(self, text: str) -> Search | None:
        """Begins another search; an empty text ends it."""
        self.search = Search(self.index, Matcher(text)) if text else None
        self._wake.set()
        return self.search

    def look_for_errors(self) -> Search:
        if self.errors is None:
            self.errors = Search(self.index, Matcher(pattern=ERROR))
            self._wake.set()
        return self.errors

    @property
    def busy(self) -> bool:
        """More is known to be there than has been indexed or searched."""
        if self.index.end < self.index.file.size():
            return True
        return any(s is not None and s.share < 1 for s in (self.search, self.errors))

    def _run(self) -> None:
        told, changed = 0.0, False
        while not self._ended.is_set():
            did = self.index.advance()
            for search in (self.search, self.errors):
                if search is not None:
                    did = search.advance() or did
            changed = changed or did
            now = time.monotonic()
            if changed and not self._waiting and now - told >= self.interval:
                self._waiting, changed, told = True, False, now
                self._news()
            if not did:
                self._wake.wait(self.interval)
                self._wake.clear()
