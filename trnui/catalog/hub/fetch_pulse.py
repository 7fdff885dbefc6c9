"""What the fetching child says on stdout, and its end when nothing moves any more."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any, Final

from trnui.catalog.dataset import snapshot
from trnui.catalog.hub import hub_errors
from trnui.catalog.hub.hub_errors import HubError
from trnui_runner.common.files import write_json

_EVERY: Final = 0.1  # seconds between two progress lines
_WORTH: Final = 4096  # bytes that count as a sign of life


class Pulse:
    """Says what happens, and ends the process when nothing has for too long: no call of the client library can outlast that."""

    def __init__(self, limit: float) -> None:
        self.limit, self.at = limit, ""
        self._met: HubError | None = None
        self.dataset: str | None = None  # whose fetch would have failed
        self._seen = time.monotonic()
        self._counting = True
        self._lock = threading.Lock()
        self._told = 0.0
        self.files = self.bytes = self._counted = 0

    def start(self) -> None:
        threading.Thread(target=self._watch, daemon=True, name="pulse").start()

    def beat(self) -> None:
        self._seen = time.monotonic()

    @contextlib.contextmanager
    def pause(self) -> Iterator[None]:
        """Work of our own, not the Hub's."""
        self._counting = False
        try:
            yield
        finally:
            self.beat()
            self._counting = True

    def say(self, event: str, **fields: Any) -> None:
        line = json.dumps({"event": event, **fields}) + "\n"
        with self._lock:
            try:
                sys.stdout.write(line)
                sys.stdout.flush()
            except OSError:  # the reader is gone
                os._exit(1)

    def moved(self, count: int = 0, file: str | None = None) -> None:
        """Bytes have come, or a file is complete. Called from the download threads."""
        with self._lock:
            self.bytes += count
            self.files += file is not None
            if file is not None or self.bytes - self._counted > _WORTH:
                self._counted, self._met = self.bytes, None
                self.beat()
            now = time.monotonic()
            quiet = file is None and now - self._told < _EVERY
            self._told = self._told if quiet else now
        if not quiet:
            self.say("progress", files=self.files, bytes=self.bytes, at=file or self.at)

    def broke(self, error: HubError) -> None:
        """A file was broken off and will be taken up again; if nothing comes of that, this is why."""
        self._met = error

    def _watch(self) -> None:
        while True:
            time.sleep(0.1)
            if self._counting and time.monotonic() - self._seen > self.limit:
                error = self._met or hub_errors.silent(snapshot.endpoint(), self.limit, self.at)
                if self.dataset:
                    remember_failure(self.dataset, error.message)
                self.say("gave-up", **failed(error))
                os._exit(3)


def failed(error: HubError) -> dict[str, str]:
    return {"state": "failed", "kind": error.kind, "words": error.message, "remedy": error.remedy}


def remember_failure(dataset: str, words: str) -> None:
    """Notes why a dataset is not as fresh as it could be; the next fetch that goes well takes it away."""
    with contextlib.suppress(OSError):
        write_json(snapshot.attempt_path(dataset), {"t": time.time(), "words": words})
