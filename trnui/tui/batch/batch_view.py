"""One batch as its screen sees it: a thread reads its journal and the stages of what goes on, and hands over frozen views."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from trnui.tui.batch.batch_index import device_of
from trnui_runner.batch.batch_file import BatchRow
from trnui_runner.batch.folder import BatchFolder
from trnui_runner.batch.journal import RowState
from trnui_runner.batch.keeper_process import engine_words
from trnui_runner.batch.lines import (
    against_words,
    batch_state,
    change_of,
    counts_words,
    outcome_word,
    row_words,
    time_words,
)
from trnui_runner.batch.planning.packing import in_order, jobs_of
from trnui_runner.batch.progress import starts_in
from trnui_runner.batch.status import NEWLY_FAILING, NEWLY_PASSING, SAME, BatchStatus, RowStatus
from trnui_runner.common.errors import UserError
from trnui_runner.common.text import one_line, seconds

LOOK_S: Final = 2.0
NAMES: Final = (
    "result",
    "model",
    "cores",
    "ids",
    "host",
    "published",
    "time",
    "expected",
    "what",
    "state",
    "change",
    "kind",
    "device",
    "run",
)


@dataclass(frozen=True)
class BatchView:
    """What is drawn. rows: identity (n), then the values of NAMES, in the order of the list. held: cores of rows that go on."""

    id: str
    state: str = "…"
    counts: str = ""
    against: str = ""
    times: str = ""
    stopped: str = ""
    source: str = ""
    where: str = ""
    device: str = "neuron"
    ended: int = 0
    host_cores: int = 0
    held: frozenset[int] = frozenset()
    rows: tuple[tuple[object, ...], ...] = ()
    problem: str = ""

    @property
    def kept(self) -> bool:
        return self.state in ("going", "stopping")


def view_of(folder: BatchFolder, status: BatchStatus, now: float) -> BatchView:
    stages = {n: _stage(folder, at) for n, at in enumerate(status.rows) if at.state is RowState.GOING}
    turns = {
        job.n: turn
        for turn, job in enumerate(in_order(jobs_of((r.n, r.cores, r.expected_s, "") for r in status.batch.rows)))
    }
    starts = starts_in(status, now)
    ordered = sorted(status.pairs(), key=lambda pair: (_rank(*pair), turns[pair[0].n]))
    return BatchView(
        id=folder.id,
        state=batch_state(status, folder.kept()),
        counts=counts_words(status),
        against=against_words(status),
        times=time_words(status, now),
        stopped=status.stopped,
        source=one_line(status.batch.source, 120),
        where=engine_words(folder),
        device=device_of(status),
        ended=status.ended,
        host_cores=status.batch.host_cores,
        held=frozenset(core for at in status.rows if at.state is RowState.GOING for core in at.cores),
        rows=tuple(_row(row, at, stages.get(row.n, ""), starts.get(row.n), now) for row, at in ordered),
    )


def _rank(row: BatchRow, at: RowStatus) -> int:
    """What needs eyes first: newly failing, going, other failures, what was lost, newly passing, waiting, the rest."""
    change = change_of(row, at)
    if change == NEWLY_FAILING:
        return 0
    if at.state in (RowState.GOING, RowState.SENT):
        return 1
    if at.outcome in ("FAIL", "TIMEOUT") and at.state is RowState.DONE and change != SAME:
        return 2
    if at.state in (RowState.LOST, RowState.GIVEN_UP, RowState.REFUSED):
        return 3
    if change == NEWLY_PASSING:
        return 4
    return 5 if at.state is RowState.WAITING else 6


def _row(row: BatchRow, at: RowStatus, stage: str, starts: float | None, now: float) -> tuple[object, ...]:
    word = stage if at.state is RowState.GOING else outcome_word(row, at)
    took = (
        at.wall_s
        if at.state is RowState.DONE
        else (now - at.since) // 10 * 10 or None
        if at.state is RowState.GOING
        else None
    )
    return (row.n, word, row.model, row.cores, _ids(at.cores), at.host, row.published, took, row.expected_s, _what(row, at, starts),
            at.state.value, change_of(row, at), at.kind, row.device, at.run)  # fmt: skip


def _what(row: BatchRow, at: RowStatus, starts: float | None) -> str:
    """Of a row that goes on what it is expected to take, of one that waits when it is likely to start, else its outcome's words."""
    if at.state is RowState.GOING:
        return f"of about {seconds(row.expected_s)}" if row.expected_s else ""
    if at.state is RowState.WAITING and starts is not None:
        again = f"; before: {at.why}" if at.why else ""
        return (f"starts in about {seconds(starts)}" if starts >= 1 else "starts next") + again
    return row_words(row, at)


def _ids(cores: tuple[int, ...]) -> str:
    return "" if not cores else str(cores[0]) if len(cores) == 1 else f"{cores[0]}-{cores[-1]}"


def _stage(folder: BatchFolder, at: RowStatus) -> str:
    run = folder.run(at.run)
    state = run.state() if run is not None else None
    return state.stage if state is not None else "queued"


class BatchWatcher:
    """Looks every two seconds in a thread; `tell` is called from it with a view that differs from the last."""

    def __init__(self, folder: BatchFolder, tell: Callable[[BatchView], object]) -> None:
        self._folder, self._tell = folder, tell
        self._ended, self._wake = threading.Event(), threading.Event()
        self._paused = False
        self._thread = threading.Thread(target=self._run, name=f"batch {folder.id}", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def pause(self, on: bool) -> None:
        """Nobody looks at it: nothing is read for it."""
        self._paused = on
        if not on:
            self._wake.set()

    def look_now(self) -> None:
        self._wake.set()

    def close(self) -> None:
        self._ended.set()
        self._wake.set()

    def _run(self) -> None:
        try:
            status, journal = BatchStatus(self._folder.batch()), self._folder.journal()
        except UserError as error:
            self._tell(BatchView(self._folder.id, "unreadable", problem=f"{error.message}. {error.remedy}"))
            return
        before: BatchView | None = None
        while not self._ended.is_set():
            if not self._paused:
                status.take(journal.news())
                view = view_of(self._folder, status, time.time() // 10 * 10)
                if view != before and not self._ended.is_set():
                    before = view
                    self._tell(view)
            self._wake.wait(LOOK_S)
            self._wake.clear()
