"""`rows.jsonl`: what has happened to a batch's rows, one line an event, appended and synced. It is the only truth about a batch.

A line is written whole or not at all: what a full disk cut off is taken back, and the event waits in memory for the next try.
"""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

BATCH: Final = -1  # `n` of an event about the whole batch


class RowState(StrEnum):
    """Where a row is. `waiting` begins another attempt; done, refused and given up are ends."""

    WAITING = "waiting"
    SENT = "sent"  # handed to an engine that chooses the host by itself
    GOING = "going"
    DONE = "done"  # its run folder is at home, with a result
    LOST = "lost"  # this attempt says nothing about the model
    GIVEN_UP = "given up"  # lost as often as is allowed
    REFUSED = "refused"  # cannot run here; why says the reason
    STOPPED = "stopped"  # of the whole batch alone

    @property
    def over(self) -> bool:
        return self in (RowState.DONE, RowState.GIVEN_UP, RowState.REFUSED)


@dataclass(frozen=True, slots=True)
class RowEvent:
    """t: UTC epoch seconds. attempt counts from 1. outcome, verdict, kind, cls (of the diagnosis) and wall_s: of a run that
    is done. beside: how many other runs shared the host with it. Of the whole batch (n = BATCH) only state and why count."""

    t: float
    n: int
    state: RowState
    attempt: int = 1
    host: str = ""
    run: str = ""
    cores: tuple[int, ...] = ()
    outcome: str = ""
    verdict: str = ""
    kind: str = ""
    cls: str = ""
    wall_s: float | None = None
    beside: int = 0
    why: str = ""

    def line(self) -> bytes:
        """Empty values are left out."""
        values = {
            k: v for k, v in dataclasses.asdict(self).items() if k in ("t", "n", "state") or v not in ("", None, 0, ())
        }
        return json.dumps(values, ensure_ascii=False).encode("utf-8", "surrogatepass") + b"\n"


_NAMES: Final = frozenset(f.name for f in dataclasses.fields(RowEvent))
_TEXTS: Final = ("host", "run", "outcome", "verdict", "kind", "cls", "why")


def parse_event(line: bytes) -> RowEvent | None:
    """None for a line that is none: torn by a crash, or of a newer version."""
    try:
        value = json.loads(line)
        if not isinstance(value, dict):
            return None
        return _event(value)
    except (ValueError, TypeError, KeyError, RecursionError):
        return None


def _event(value: Mapping[str, Any]) -> RowEvent:
    known = {k: v for k, v in value.items() if k in _NAMES}
    known["state"] = RowState(known["state"])
    for name in ("t", "n", "attempt", "beside", "wall_s"):
        if name in known and (isinstance(known[name], bool) or not isinstance(known[name], int | float)):
            raise ValueError(name)
    if any(not isinstance(known.get(name, ""), str) for name in _TEXTS):
        raise ValueError("a text is none")
    known["cores"] = tuple(int(c) for c in known.get("cores", ()))
    known["n"], known["attempt"] = int(known["n"]), int(known.get("attempt", 1))
    return RowEvent(**known)


class Journal:
    """Append by any process (one write an event); read what has come since the last look."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.bad = 0  # lines that were none
        self._read = 0  # bytes read so far
        self._pending: list[RowEvent] = []

    @property
    def pending(self) -> tuple[RowEvent, ...]:
        """Events that the disk would not take yet."""
        return tuple(self._pending)

    def add(self, *events: RowEvent) -> bool:
        """Whether everything, also what had been waiting, is on the disk now."""
        self._pending.extend(events)
        while self._pending:
            count = min(len(self._pending), 500)
            if not self._write(b"".join(e.line() for e in self._pending[:count])):
                return False
            del self._pending[:count]
        return True

    def _write(self, data: bytes) -> bool:
        try:
            fd = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError:
            return False
        try:
            size = os.fstat(fd).st_size
            if size and os.pread(fd, 1, size - 1) != b"\n":  # torn by a crash: the next line begins anew
                data = b"\n" + data
            try:
                whole = os.write(fd, data) == len(data)
                os.fsync(fd)
            except OSError:
                whole = False
            if not whole:
                os.ftruncate(fd, size)
            return whole
        except OSError:
            return False
        finally:
            os.close(fd)

    def news(self) -> list[RowEvent]:
        """The events since the last call, also those that others have written."""
        try:
            with open(self.path, "rb") as file:
                if os.fstat(file.fileno()).st_size <= self._read:
                    return []
                file.seek(self._read)
                data = file.read()
        except OSError:
            return []
        whole = data[: data.rfind(b"\n") + 1]
        self._read += len(whole)
        found = []
        for line in whole.splitlines():
            event = parse_event(line)
            if event is not None:
                found.append(event)
            elif line.strip():
                self.bad += 1
        return found
