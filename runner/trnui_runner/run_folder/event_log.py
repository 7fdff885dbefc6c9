"""Writing a run's log and events: `output.log`, and every process's `events/<pid>.jsonl` merged into `events.jsonl`.

Anyone inside a run may tell events: append one JSON object a line, in one write, with at least "event" (and "t", UTC epoch
seconds; "m", time.monotonic(), if at hand) to $TRNUI_RUN_DIR/events/<own pid>.jsonl, when that variable is set. The probe,
the bundled scripts and check.py do so. What is found there is text from outside: bounded, parsed, never trusted.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import stat
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from trnui_runner.common.files import open_private
from trnui_runner.common.text import Safe
from trnui_runner.run_folder.event_reading import event_of
from trnui_runner.run_folder.events import Body, Event, NoticeEvent, as_json

LINE, PIECE = 64 << 10, 256 << 10  # longest line taken, most read of one file in one look
LOOK_BYTES, LOOK_EVENTS = 4 << 20, 20_000  # most of all files in one look: the supervisor has other things to do
RUN_BYTES, RUN_EVENTS = 256 << 20, 500_000  # most of a run
FILES, BAD = 1024, 1000  # processes that may tell, lines that are no event before a file is left alone
_LINES = re.compile(rb"[^\n]+")
OWN = frozenset(
    {"step", "cores", "result", "check", "diagnosis", "compilers", "environment"}
)  # not any process's to tell
_FILE = re.compile(r"(\d{1,10})\.jsonl")

Raw = dict[str, Any]  # one line's object on its way into the file


class Appender:
    """Append bytes; on a full disk count what is lost, say so in the file once there is room again, never raise.

    notes: the gap is told by a line of words; without, a line end closes the torn line (for JSON lines).
    """

    def __init__(self, path: Path, limit: int | None = None, *, notes: bool = True) -> None:
        self.limit, self.notes = limit, notes
        self.path, self.fd = path, -1
        self.size, self.lost, self.why = 0, 0, ""
        self.kept = 0  # bytes in the file, notes of ours included
        self._gap, self._full = 0, False
        self.open()

    def open(self) -> None:
        """Anew, where the file under this name may be another one by now."""
        self.close()
        try:
            self.fd = open_private(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        except OSError as error:
            self.why = error.strerror or str(error)

    def write(self, data: bytes) -> None:
        room = len(data) if self.limit is None else max(0, min(len(data), self.limit - self.size))
        self._put(data[:room])
        if room < len(data):
            if not self._full and self.notes:
                self._put(
                    f"\n[trnui: limit of {self.limit} bytes reached, the rest is not kept]\n".encode(), count=False
                )
            self._full = True
            self._miss(len(data) - room, f"limit of {self.limit} bytes")

    def _put(self, data: bytes, *, count: bool = True) -> None:
        rest = memoryview(data)
        try:
            if rest and self._gap:
                mark = f"\n[trnui: {self._gap} bytes not kept here: {self.why}]\n" if self.notes else "\n"
                self.kept += os.write(self.fd, mark.encode())
                self._gap = 0
            while rest:
                n = os.write(self.fd, rest)
                self.kept += n
                self.size, rest = self.size + (n if count else 0), rest[n:]
        except OSError as error:
            self._gap += len(rest)
            self._miss(len(rest), error.strerror or str(error))

    def _miss(self, n: int, why: str) -> None:
        self.lost, self.why = self.lost + n, why

    def close(self) -> None:
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1


class Merger:
    """All events of one run in one file, in order, each with `s`: seconds since `began` by a clock that never jumps.

    judge: the pid that may tell a `check` (the check step's); others' are turned into notices, as are events that are ours.
    """

    def __init__(self, folder: Path, began: float) -> None:
        self.folder, self.began = folder / "events", began
        self.out = Appender(folder / "events.jsonl", notes=False)
        self.judge: int | None = None
        self.bad = 0  # lines that were no event
        self.more = False  # the last look left something for the next
        self._read_bytes = self._told = 0
        self._bad: Counter[str] = Counter()
        self._full = ""
        self._folder = os.fspath(self.folder)
        self._done: dict[str, int] = {}
        self._last = 0.0

    def tell(self, body: Body) -> Event:
        """One event of the supervisor's own."""
        return self.tell_all([body])[0]

    def tell_all(self, bodies: Sequence[Body]) -> list[Event]:
        """Events of the supervisor's sources, which may name the process they are about."""
        told = [self._own(body) for body in bodies]
        self._write(told)
        return [event_of(raw) for raw in told]

    def _own(self, body: Body) -> Raw:
        self._last = max(self._last, time.monotonic() - self.began)
        head = {
            "t": round(time.time(), 4),
            "s": round(self._last, 4),
            "src": "supervisor",
            "rank": None,
            "pid": os.getpid(),
        }
        return {**head, **as_json(body)}

    def merge(self) -> list[Event]:
        """What the processes have told since the last time."""
        found: list[Raw] = []
        self.more = False
        now, budget = time.monotonic() - self.began, LOOK_BYTES
        for name, pid in self._grown():
            if budget <= 0 or len(found) >= LOOK_EVENTS:
                self.more = True
                break
            before = self._done.get(name, 0)
            found += self._read(name, pid, now)
            budget -= self._done.get(name, 0) - before
            self.more = self.more or self._done.get(name, 0) - before >= PIECE - LINE
        self._read_bytes += LOOK_BYTES - budget
        self._told += len(found)
        self._limit(found, now)
        found.sort(key=lambda e: float(e["s"]))
        for event in found:  # a process that told late does not turn time back
            self._last = event["s"] = round(max(self._last, event["s"]), 4)
        self._write(found)
        return [event_of(raw) for raw in found]

    def _grown(self) -> list[tuple[str, int]]:
        """(file, pid) of those that have more to tell, the least read first."""
        if self._full:
            return []
        found = []
        try:
            with os.scandir(self._folder) as entries:
                for n, entry in enumerate(entries):
                    if n >= FILES:
                        break
                    match = _FILE.fullmatch(entry.name)
                    done = self._done.get(entry.name, 0)
                    if match and entry.stat(follow_symlinks=False).st_size > done and self._bad[entry.name] <= BAD:
                        found.append((done, entry.name, int(match[1])))
        except OSError:
            return []
        return [(name, pid) for _, name, pid in sorted(found)]

    def _limit(self, found: list[Raw], now: float) -> None:
        """Says so, once, when a run has told more than anybody reads."""
        if self._full or (self._read_bytes < RUN_BYTES and self._told < RUN_EVENTS):
            return
        self._full = f"more than {RUN_EVENTS:,} events or {RUN_BYTES >> 20} MiB of them: the rest is not read"
        found.append({**self._own(NoticeEvent(Safe(self._full), Safe("limit"))), "s": now})

    def _read(self, name: str, pid: int, now: float) -> list[Raw]:
        start = self._done.get(name, 0)
        try:
            fd = os.open(f"{self._folder}/{name}", os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            return []
        try:
            info = os.fstat(fd)
            if not stat.S_ISREG(info.st_mode) or info.st_size <= start:
                return []
            data = os.pread(fd, PIECE, start)
        finally:
            os.close(fd)
        end = data.rfind(b"\n") + 1
        if not end and len(data) == PIECE:  # one endless line: skipped piece by piece
            end, data = PIECE, b""
            self.bad += 1
            self._bad[name] += 1
        self._done[name] = start + end
        end = min(end, len(data))
        found, last = list[Raw](), 0.0
        for match in _LINES.finditer(data, 0, end):
            event = self._parsed(match[0], pid, now)
            if event is None:
                self._bad[name] += 1
                if self._bad[name] > BAD:
                    break
            else:  # a process tells in order, whatever its clocks say
                last = event["s"] = max(last, event["s"])
                found.append(event)
        return found

    def _parsed(self, line: bytes, pid: int, now: float) -> Raw | None:
        with contextlib.suppress(ValueError, KeyError, TypeError, RecursionError, OverflowError):
            if len(line) <= LINE:
                value = json.loads(line)
                name, t = str(value["event"])[:40], float(value.get("t") or time.time())
                stamp = value.pop("m", None)
                s = float(stamp) - self.began if isinstance(stamp, int | float) else now - (time.time() - t)
                told = {**value, "event": name, "t": round(t, 4), "src": "rank", "pid": pid}
                told["s"] = min(max(s, 0.0), now) if s == s else now
                if name in OWN and not (name == "check" and pid == self.judge):
                    told = {k: told[k] for k in ("t", "s", "src", "pid")} | {
                        "event": "notice",
                        "text": f"a process told {name!r}",
                    }
                told.setdefault("rank", None)
                return told
        self.bad += 1
        return None

    def _write(self, events: list[Raw]) -> None:
        if events:
            lines = "".join(json.dumps(e, separators=(",", ":"), default=repr) + "\n" for e in events)
            self.out.write(lines.encode("utf-8", "replace"))
