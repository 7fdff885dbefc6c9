"""Follow a run from any process, any number at once: what is new in its folder since the last look, and nothing else.

A look costs a few system calls, reads bounded pieces, and touches nothing of the run. A log of any size opens at its end.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from trnui_runner.run_folder.event_reading import read_event
from trnui_runner.run_folder.events import Event
from trnui_runner.run_folder.folder import Result, RunFolder, State
from trnui_runner.run_folder.outcome import GOING, Going, Outcome
from trnui_runner.run_folder.progress import Progress

PIECE = 1 << 20  # at most so much of the log, and of the events, in one look
TAIL = 256 << 10
LOOK_S = 1.0  # between two looks at the lock


@dataclass(frozen=True)
class Update:
    """What one look found. `log` begins at byte `offset` of output.log; `skipped` bytes before it were left out.

    outcome: "queued", "running" or the end's word (LOST too, when nobody holds the run any more). more: look again at once.
    """

    events: tuple[Event, ...]
    log: bytes
    offset: int
    skipped: int
    state: State | None
    result: Result | None
    outcome: Outcome | Going
    more: bool

    @property
    def over(self) -> bool:
        """Nothing will come any more, and all of it was read."""
        return self.outcome not in GOING and not self.more


class Piecewise:
    """A growing file, read on from where the last piece ended."""

    def __init__(self, path: Path, offset: int = 0) -> None:
        self.path, self.offset = path, offset
        self._fd = -1

    def size(self) -> int:
        if self._fd < 0:
            try:
                self._fd = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW)
            except OSError:
                return 0
        return os.fstat(self._fd).st_size

    def read(self, most: int, *, lines: bool = False) -> bytes:
        """The next piece; with `lines` up to its last line end (a line longer than `most` comes in pieces all the same)."""
        if self.size() <= self.offset:
            return b""
        data = os.pread(self._fd, most, self.offset)
        if lines:
            end = data.rfind(b"\n") + 1
            data = data[:end] if end or len(data) < most else data
        self.offset += len(data)
        return data

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


class Follower:
    """`poll` as often as you like. `tail`: begin so many bytes before the log's end, None at its beginning.

    With `tail` a log that grows faster than it is read is skipped ahead, and the update says by how much.
    """

    def __init__(self, run: RunFolder, tail: int | None = TAIL, piece: int = PIECE) -> None:
        self.run, self.piece = run, piece
        self.progress = Progress()
        self.state: State | None = None
        self.result: Result | None = None
        self.bad = 0  # lines of events.jsonl that were none
        self._tail = tail
        self._log, self._events = Piecewise(run.path / "output.log"), Piecewise(run.path / "events.jsonl")
        self._outcome: Outcome | Going = "queued"
        self._looked = float("-inf")
        self._stamp: tuple[int, int] | None = None
        self._seen = time.monotonic()

    def elapsed(self) -> float | None:
        """The run's own seconds: its `elapsed` as last written plus the time since; the wall time of one that has ended."""
        if self.result is not None and self.result.wall_s is not None:
            return self.result.wall_s
        if self.state is None:
            return None
        going = self._outcome == "running"
        return self.state.elapsed + (min(time.monotonic() - self._seen, 5.0) if going else 0.0)

    def poll(self) -> Update:
        outcome = self._look()  # before the files: what is there when the run is over is all there is
        self._read_state()
        raw = self._events.read(self.piece, lines=True)
        events = tuple(self._parsed(raw))
        for event in events:
            self.progress.add(event)
        skipped = self._skip()
        offset = self._log.offset
        log = self._log.read(self.piece)
        if log and outcome == "running":
            self.progress.output(self.elapsed() or 0.0)
        more = (self._events.size() > self._events.offset and bool(raw)) or self._log.size() > self._log.offset
        return Update(events, log, offset, skipped, self.state, self.result, outcome, more)

    def close(self) -> None:
        self._log.close()
        self._events.close()

    def __enter__(self) -> Follower:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _look(self) -> Outcome | Going:
        now = time.monotonic()
        if self._outcome in GOING and (now - self._looked >= LOOK_S or (self.run.path / "result.json").exists()):
            self._outcome, self._looked = self.run.outcome(), now
            if self._outcome not in GOING:
                self.result = self.run.result()
        return self._outcome

    def _read_state(self) -> None:
        try:
            info = os.stat(self.run.path / "state.json")
        except OSError:
            return
        stamp = (info.st_mtime_ns, info.st_ino)
        if stamp != self._stamp:
            state = self.run.state()
            if state is not None:
                self.state, self._stamp, self._seen = state, stamp, time.monotonic()

    def _parsed(self, raw: bytes) -> Iterator[Event]:
        for line in raw.split(b"\n"):
            event = read_event(line) if line else None
            if event is not None:
                yield event
            elif line:
                self.bad += 1

    def _skip(self) -> int:
        """Moves ahead to the last `tail` bytes when more than that waits, to the beginning of a line if there is one."""
        waiting = self._log.size() - self._log.offset
        if self._tail is None or waiting <= max(self._tail, 4 * self.piece if self._log.offset else 0):
            return 0
        before = self._log.offset
        self._log.offset += waiting - self._tail
        start = self._log.offset
        head = self._log.read(4096)
        self._log.offset = start + head.find(b"\n") + 1
        return self._log.offset - before
