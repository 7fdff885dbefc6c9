"""The keeper of a batch: starts rows as their turn comes, writes down what became of them, tries again what says nothing.

Everything it knows is in the journal and in the run folders, so it may be killed at any moment; the next one asks its
engine what has begun and goes on from there. While the disk takes no line it starts nothing.
"""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable

from trnui_runner.batch.batch_file import BatchRow
from trnui_runner.batch.engines.engine import Engine, NoHostError
from trnui_runner.batch.folder import BatchFolder
from trnui_runner.batch.journal import BATCH, RowEvent, RowState
from trnui_runner.batch.planning.checkpoints import Checkpoints
from trnui_runner.batch.planning.limits import (
    COMPILED,
    UNLOADED,
    Use,
    compilers_allowed,
    lacks_disk,
    memory_of,
    why_not,
)
from trnui_runner.batch.planning.packing import Job, Queue, jobs_of
from trnui_runner.batch.retry import HostFault
from trnui_runner.batch.status import USER_STOP, WITH_BATCH, BatchStatus
from trnui_runner.common.text import size
from trnui_runner.host.system_info import host_memory
from trnui_runner.run_folder.folder import all_runs

LOOK_S = 2.0
BACK_OFF, MISSES = 8, 2  # looks that such a row waits; such rows in one look, after which the next look goes on
DEEP = 20  # rows of one size that are looked at for one that may start


class Keeper:
    """One to a batch: the caller holds the batch's lock."""

    def __init__(
        self,
        folder: BatchFolder,
        engine: Engine,
        checkpoints: Checkpoints,
        *,
        look_s: float = LOOK_S,
        sleep: Callable[[float], None] = time.sleep,
        memory: Callable[[], int | None] = host_memory,
        compilers: int | None = None,
    ) -> None:
        self.batch = folder.batch()
        self._folder, self._engine, self._checkpoints = folder, engine, checkpoints
        self._look_s, self._sleep, self._memory = look_s, sleep, memory
        self._compilers = compilers or compilers_allowed(self.batch.limits.compiling, os.cpu_count() or 1)
        self._journal = folder.journal()
        self._own: deque[RowEvent] = deque()  # written by us, not read back yet
        self.status = BatchStatus(self.batch)
        rows = ((row.n, row.cores, row.expected_s, row.family) for row in self.batch.rows)
        self._jobs: dict[int, Job] = {job.n: job for job in jobs_of(rows)}
        self._queue = Queue()
        self._fault = HostFault()
        self._stages: dict[int, str] = {}
        self._looks = 0
        self._later: dict[
            int, int
        ] = {}  # rows whose cores were not free after all → the look at which they are tried again

    # -- the whole of it

    def run(self) -> None:
        """Until every row is over or the batch is stopped. Always leaves the journal saying which."""
        try:
            self._begin()
            while not self._look():
                self._sleep(self._look_s)
        except NoHostError as error:
            self._end(f"no host left: {error}")
        while self._journal.pending and not self._journal.add():
            self._sleep(self._look_s)
        self._checkpoints.close()
        self._engine.close()

    def _begin(self) -> None:
        self.status.take(self._journal.news())
        self._tell(RowEvent(time.time(), BATCH, RowState.GOING, why=self._engine.words))
        for event in self._engine.survey():
            row = self.status.rows[event.n] if event.n < len(self.status.rows) else None
            if row is None or row.state.over or event.attempt < row.attempt:
                continue
            self._take(event)
        for n, row in enumerate(self.status.rows):
            if row.state is RowState.GOING and n not in self._engine.stages():
                self._take(
                    RowEvent(time.time(), n, RowState.LOST, row.attempt, row.host, row.run, why="no run of it is left")
                )
            elif row.state in (RowState.WAITING, RowState.SENT, RowState.LOST):
                self._queue.put(self._jobs[n])

    def _look(self) -> bool:
        """One look around; whether the keeper's work is over."""
        self._looks += 1
        self._hear()
        for event in self._engine.follow():
            self._take(event)
        self._stages = dict(self._engine.stages())
        stop = self._folder.stop_asked()
        if stop == "now" and self._stages:
            unreached = self._engine.stop(tuple(self._stages))
            if unreached:
                where = f"on each of them: trnui batch stop {self.batch.id} --now"
                return self._end(f"{USER_STOP}; not reached, so their runs go on: {', '.join(unreached)} ({where})")
            return False  # the next look takes their ends
        if stop:
            return not self._stages and self._end(USER_STOP)
        if self.status.stopped:
            return not self._stages
        if self.status.over:
            return True
        for n in self._folder.logs_asked():
            self._engine.fetch_log(n)
        if self._journal.add():
            self._start_what_fits()
            self._fetch_ahead()
        return False

    # -- words

    def _tell(self, event: RowEvent) -> None:
        self._own.append(event)
        self.status.take((event,))
        self._journal.add(event)

    def _hear(self) -> None:
        """What others have written: rows that somebody wants to have tried again."""
        for event in self._journal.news():
            if self._own and event == self._own[0]:
                self._own.popleft()
                continue
            self.status.take((event,))
            if event.n in self._jobs and event.state is RowState.WAITING:
                self._queue.put(self._jobs[event.n])

    def _end(self, why: str) -> bool:
        self._tell(RowEvent(time.time(), BATCH, RowState.STOPPED, why=why))
        return True

    # -- ends

    def _take(self, event: RowEvent) -> None:
        """An event of the engine: written down, and what follows from it."""
        row = self.batch.rows[event.n]
        if self._folder.stop_asked() == "now" and event.outcome == "CANCELLED":
            event = RowEvent(event.t, event.n, RowState.WAITING, event.attempt + 1, why=WITH_BATCH)
        self._tell(event)
        if event.state in (RowState.GOING, RowState.SENT):
            self._queue.take(event.n)
            return
        if event.state is RowState.LOST:
            self._again(event)
        elif event.state is RowState.WAITING:
            self._queue.put(self._jobs[event.n])
        if event.state.over:
            self._queue.take(event.n)
        if event.state.over or event.state is RowState.LOST:
            self._tidy(row)
            why = self._fault.take(event)
            if why and not self.status.stopped:
                self._tell(RowEvent(time.time(), BATCH, RowState.STOPPED, why=why))

    def _again(self, event: RowEvent) -> None:
        losses = self.status.rows[event.n].losses
        if losses >= self.batch.limits.attempts:
            why = f"{losses} attempts, the last: {event.why}"
            self._tell(RowEvent(time.time(), event.n, RowState.GIVEN_UP, event.attempt, event.host, event.run, why=why))
            self._queue.take(event.n)
        else:
            self._tell(RowEvent(time.time(), event.n, RowState.WAITING, event.attempt + 1, why=event.why))
            self._queue.put(self._jobs[event.n])

    def _tidy(self, row: BatchRow) -> None:
        """Its checkpoint goes, unless a row that is not over, or another run here, needs it."""
        used = {a.repo for a, b in self.status.pairs() if not b.state.over}
        self._checkpoints.release(row.repo, used | self._checkpoints_in_use())

    def _checkpoints_in_use(self) -> set[str]:
        recipes = (run.recipe() for run in all_runs()[:200] if not run.ended())
        return {recipe.model for recipe in recipes if recipe is not None}

    # -- starts

    def _start_what_fits(self) -> None:
        use, too_large, full = self._use(), list[BatchRow](), set[tuple[str, int]]()
        for job in self._queue.heads(DEEP):
            row = self.batch.rows[job.n]
            shape = (row.device, row.cores)
            if shape not in full and not self._engine.fits(row):
                full.add(shape)
            to_fetch = 0 if self._checkpoints.at_hand(row.repo) else row.weights or 0
            if lacks_disk(use, to_fetch):
                too_large.append(row)
            if shape in full or self._later.get(row.n, 0) > self._looks or why_not(row, use, to_fetch):
                continue
            if not self._checkpoints.claim(row.repo):
                return  # the disk takes no note
            at = self.status.rows[job.n]
            event = self._engine.start(row, at.attempt, at.oldest)
            if event is None:  # somebody was quicker, or its script takes the first cores and no others
                self._later[row.n] = self._looks + BACK_OFF
                if len([n for n, look in self._later.items() if look == self._looks + BACK_OFF]) >= MISSES:
                    return
                continue
            self._take(event)
            if event.state is RowState.GOING:
                self._stages[row.n] = "queued"
                use = self._use()
                if not self._engine.fits(row):
                    full.add(shape)
            if not self._journal.add():
                return
        if not use.going and not self._checkpoints.fetching:  # nothing will end and make room
            for row in too_large:
                self._take(self._no_room(row, use))

    def _no_room(self, row: BatchRow, use: Use) -> RowEvent:
        why = f"its checkpoint takes {size(row.weights)} of disk, there is room for {size(max(0, use.disk or 0))}"
        return RowEvent(time.time(), row.n, RowState.REFUSED, self.status.rows[row.n].attempt, why=why)

    def _use(self) -> Use:
        rows = self.batch.rows
        going = [(rows[n], stage) for n, stage in self._stages.items()]
        early = [row for row, stage in going if stage not in COMPILED]
        unloaded = [row for row, stage in going if stage in UNLOADED]
        coming = {row.repo: row.weights or 0 for row in unloaded if not self._checkpoints.at_hand(row.repo)}
        ahead = self._checkpoints.fetching
        if ahead:
            coming[ahead] = next((row.weights or 0 for row in rows if row.repo == ahead), 0)
        memory = self._memory()
        return Use(
            going=len(going),
            compiling=len(early),
            compilers=self._compilers,
            memory=None if memory is None else memory - sum(memory_of(row) for row in unloaded),
            disk=self._checkpoints.room(coming.items()),
            families={row.family for row in early if row.family},
            fetching=coming.keys(),
        )

    def _fetch_ahead(self) -> None:
        """The checkpoints of the rows that are next, one after the other, while they fit the disk."""
        if not self.batch.limits.ahead or self._checkpoints.fetching:
            return
        room = self._checkpoints.room()
        for job in self._queue.heads(self.batch.limits.ahead)[: self.batch.limits.ahead]:
            row = self.batch.rows[job.n]
            if row.repo and row.weights and (room is None or row.weights <= room) and self._checkpoints.fetch(row.repo):
                return
