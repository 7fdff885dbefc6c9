"""What a run's output means while it goes on: a source of `diagnosis` events. It sleeps until a line looks like trouble, so that
a run without any costs a look at each piece of output and nothing else."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Final

from trnui_runner.common.text import clean
from trnui_runner.run_folder.events import Body, DiagnosisEvent
from trnui_runner.run_folder.folder import RunFolder

if TYPE_CHECKING:
    from trnui_runner.diagnosis import Stream

EVERY_S: Final = 1.0
PIECE: Final = 256 << 10  # bytes read in one look
BEHIND: Final = 8 << 20  # further behind than this the output is skipped: the end has its own diagnosis
# What most lines that mean something have in them; all others wait unread until one of these turns up.
_TROUBLE: Final = re.compile(
    rb"rror|RROR|xception|Killed|No space|WARN|NRT_|NCC_|waiting|been waiting|acquire lock|alling back|FAIL|\^C|ignal|etrying|ould not reach"
)
_TOLD: Final = ("fail", "warn", "wait")


class Meaning:
    """An EventSource (trnui_runner.supervise.event_sources): follows output.log and tells a class when it changes."""

    def __init__(self, run: RunFolder) -> None:
        self._path = run.path / "output.log"
        self._at = 0
        self._next = float("-inf")
        self._kept = b""  # read, but not looked into yet
        self._stream: Stream | None = None
        self._last = ""

    def poll(self, now: float) -> list[Body]:
        if now < self._next:
            return []
        self._next = now + EVERY_S
        data = self._read()
        if not data:
            return []
        if self._stream is None:
            self._kept = (self._kept + data)[-PIECE:]
            if not _TROUBLE.search(data):
                return []
            from trnui_runner.diagnosis import Stream

            self._stream, data, self._kept = Stream(), self._kept, b""
        self._stream.feed(data, now)
        return self._tell()

    def last(self) -> list[Body]:
        """The rest of a step's output, once the step has ended."""
        self._next = float("-inf")
        return self.poll(0.0)

    def close(self) -> None:
        self._stream = None

    def _read(self) -> bytes:
        try:
            with open(self._path, "rb") as file:
                size = os.fstat(file.fileno()).st_size
                if size - self._at > BEHIND:
                    self._at = size - PIECE
                file.seek(self._at)
                data = file.read(PIECE)
        except OSError:
            return b""
        self._at += len(data)
        return data

    def _tell(self) -> list[Body]:
        assert self._stream is not None
        found = self._stream.answer().diagnosis
        if found.severity not in _TOLD or found.cls in (self._last, "unknown", "empty"):
            return []
        self._last = found.cls
        return [DiagnosisEvent(clean(found.cls), clean(found.severity), clean(found.summary), clean(found.hint))]
