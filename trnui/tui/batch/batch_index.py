"""The batches of this host as lines of view 4: read again only when their journal has grown. No Textual."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from typing import Final

from trnui_runner.batch.folder import BatchFolder, all_batches
from trnui_runner.batch.lines import against_words, batch_state, counts_words
from trnui_runner.batch.status import NEWLY_FAILING, BatchStatus
from trnui_runner.common.errors import UserError

PREFIX: Final = "batch/"  # of a line's identity: a run's is its id
BAR: Final = 8  # cells


@dataclass(frozen=True)
class BatchEntry:
    """One batch. state: going, stopping, done, stopped, idle, or unreadable. seconds: of its work so far."""

    folder: BatchFolder
    state: str
    ended: int = 0
    rows: int = 0
    device: str = ""
    newly_failing: int = 0
    compared: bool = False
    began: float | None = None
    seconds: float | None = None
    words: str = ""

    @property
    def going(self) -> bool:
        return self.state in ("going", "stopping")

    @property
    def id(self) -> str:
        return self.folder.id

    def row(self) -> tuple[object, ...]:
        """Identity, then the values of run_index.NAMES."""
        against = f"{self.newly_failing} new FAIL" if self.newly_failing else "as published" if self.compared else None
        what = f"{bar(self.ended, self.rows)} {self.ended}/{self.rows} {self.id}"
        return (
            f"{PREFIX}{self.id}",
            self.state,
            what,
            self.device,
            against,
            self.seconds,
            self.began,
            "batch",
            None,
            self.id,
        )

    def matches(self, text: str) -> bool:
        hay = f"batch {self.id} {self.state} {self.device} {self.words}".lower()
        return all(word in hay for word in text.lower().split())


def bar(done: int, of: int, cells: int = BAR) -> str:
    """`███·····`: full only when everything is done."""
    full = cells if done >= of > 0 else min(cells - 1, done * cells // max(1, of))
    return "█" * full + "·" * (cells - full)


class BatchIndex:
    """`look` gives every batch, newest first."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[tuple[int, bool], BatchEntry]] = {}

    def look(self) -> tuple[BatchEntry, ...]:
        found = [self._entry(folder) for folder in all_batches()]
        self._known = {e.id: self._known[e.id] for e in found}
        return tuple(found)

    def _entry(self, folder: BatchFolder) -> BatchEntry:
        key = (_size(folder), folder.kept())
        known = self._known.get(folder.id)
        if known is None or known[0] != key or known[1].going:
            entry = known[1] if known is not None and known[0] == key else read(folder, key[1])
            self._known[folder.id] = (key, _aged(entry))
        return self._known[folder.id][1]


def _size(folder: BatchFolder) -> int:
    try:
        return os.stat(folder.path / "rows.jsonl").st_size
    except OSError:
        return 0


def read(folder: BatchFolder, kept: bool) -> BatchEntry:
    try:
        status = folder.status()
    except UserError as error:
        return BatchEntry(folder, "unreadable", words=error.message)
    against = status.against()
    return BatchEntry(
        folder=folder,
        state=batch_state(status, kept),
        ended=status.ended,
        rows=len(status.rows),
        device=device_of(status),
        newly_failing=against[NEWLY_FAILING],
        compared=bool(against_words(status)),
        began=status.began,
        seconds=status.last - status.began if status.began is not None and status.last is not None else None,
        words=counts_words(status),
    )


def device_of(status: BatchStatus) -> str:
    """The one device of all its rows; the marked one where they differ, so that nobody takes it for a Trainium's."""
    devices = {row.device for row in status.batch.rows}
    return next((d for d in ("cpu", "stand-in") if d in devices), "neuron")


def _aged(entry: BatchEntry) -> BatchEntry:
    """What goes on gets older, seen in steps that do not redraw the line every second."""
    from dataclasses import replace

    if not entry.going or entry.began is None:
        return entry
    return replace(entry, seconds=(time.time() - entry.began) // 10 * 10)
