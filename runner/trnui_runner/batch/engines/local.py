"""This host as a batch's engine: rows are detached runs of its own, leases decide who has a core, also towards runs by hand."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, Final

from trnui_runner.batch.batch_file import BatchRow
from trnui_runner.batch.engines.engine import NoHostError
from trnui_runner.batch.journal import RowEvent, RowState
from trnui_runner.batch.retry import end_of
from trnui_runner.common.errors import DeviceError, UserError
from trnui_runner.common.text import one_line
from trnui_runner.host import core_leases
from trnui_runner.host.core_blocks import choose
from trnui_runner.host.devices import Devices, devices
from trnui_runner.preflight import consent
from trnui_runner.request.prepare import prepare
from trnui_runner.request.request import PreparedRun, RunRequest
from trnui_runner.run_folder.folder import RunFolder, all_runs
from trnui_runner.supervise import launcher

TAG: Final = "batch"  # in a recipe's options: {"id", "n", "attempt"}, by which a run is found again
OTHERS_S: Final = 60.0  # between two looks at cores that programs of others hold
MOST_BUSY: Final = (
    5  # starts that failed one after the other, with nothing going, after which there is nothing to wait for
)
LOST_S: Final = 10.0  # between two looks whether a run's watchers are alive


def tag_of(run: RunFolder, batch_id: str) -> tuple[int, int] | None:
    """(n, attempt) of a run that belongs to the batch."""
    recipe = run.recipe()
    tag = recipe.options.get(TAG) if recipe is not None else None
    if not isinstance(tag, Mapping) or tag.get("id") != batch_id:
        return None
    n, attempt = tag.get("n"), tag.get("attempt", 1)
    return (n, attempt) if isinstance(n, int) and isinstance(attempt, int) else None


def begun_here(batch_id: str) -> dict[int, tuple[int, RunFolder]]:
    """Rows of a batch that have begun on this host: n → (attempt, run), the last attempt of each."""
    found: dict[int, tuple[int, RunFolder]] = {}
    for run in all_runs():
        tag = tag_of(run, batch_id)
        if tag is not None and tag[1] > found.get(tag[0], (0, run))[0]:
            found[tag[0]] = (tag[1], run)
    return found


class LocalEngine:
    """`request_of` gives a row's run request; prepare and devices are there to be replaced by tests."""

    def __init__(
        self,
        batch_id: str,
        request_of: Callable[[int], RunRequest],
        *,
        host: str = "",
        ask_consent: bool = True,
        prepare: Callable[[RunRequest], PreparedRun] = prepare,
        devices: Callable[[], Devices] = devices,
        clock: Callable[[], float] = time.monotonic,
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        self._batch_id, self._request_of, self._host = batch_id, request_of, host
        self._ask_consent = ask_consent
        self._prepare, self._devices, self._clock, self._environ = prepare, devices, clock, environ
        self._going: dict[int, _Going] = {}
        self._here = Devices()
        self._others: frozenset[int] = frozenset()
        self._leases: Mapping[int, str] = {}
        self._looked_at_others = self._looked_for_lost = float("-inf")
        self._refused = 0

    @property
    def words(self) -> str:
        self._look_at_others()
        return f"this host, {self._here.words}"

    # -- what has begun

    def survey(self) -> list[RowEvent]:
        return [self.adopt(n, attempt, run) for n, (attempt, run) in sorted(begun_here(self._batch_id).items())]

    def adopt(self, n: int, attempt: int, run: RunFolder) -> RowEvent:
        """A run that has begun before is this row's: going on, or how it ended."""
        state = run.state()
        self._going[n] = _Going(run, attempt, state.cores_held if state else ())
        ended = self._ended(n, look_for_lost=True)
        if ended is not None:
            del self._going[n]
            return ended
        return RowEvent(
            time.time(), n, RowState.GOING, attempt, self._host, run.id, self._going[n].cores, why="found going on"
        )

    # -- room and start

    def fits(self, row: BatchRow) -> bool:
        if row.device == "cpu":
            return sum(not g.cores for g in self._going.values()) < max(1, (os.cpu_count() or 1) // 4)
        ids = self._ids
        if ids and choose(row.cores, ids, self._leases) is None:
            return False
        self._look_at_others()
        return not self._ids or choose(row.cores, self._ids, {*self._leases, *self._others}) is not None

    @property
    def _ids(self) -> tuple[int, ...]:
        return tuple(core.id for core in self._here.cores)

    def _look_at_others(self, *, now: bool = False) -> None:
        """neuron-ls takes a process of its own: once a minute, and when cores were not free after all."""
        if now or self._clock() - self._looked_at_others >= OTHERS_S:
            self._looked_at_others = self._clock()
            self._here = self._devices()
            self._others = frozenset(core.id for core in self._here.cores if core.owners and core.lease is None)
            self._leases = core_leases.holders()

    def start(self, row: BatchRow, attempt: int, oldest: int) -> RowEvent | None:
        now = time.time()
        try:
            prepared = self._prepared(row, attempt)
        except DeviceError as error:
            self._not_now(error)
            return None
        except UserError as error:
            return RowEvent(now, row.n, RowState.REFUSED, attempt, self._host, why=one_line(error.message, 400))
        try:
            run = launcher.start(
                prepared.recipe, prepared.script, prepared.steps, prepared.supervision, environ=self._environ
            )
        except UserError as error:  # cores taken, a full disk, a host too busy: nothing that the row could help
            self._not_now(error)
            return None
        self._refused = 0
        self._leases = core_leases.holders()  # its cores were chosen as it started
        cores = tuple(sorted(core for core, holder in self._leases.items() if holder == run.id))
        self._going[row.n] = _Going(run, attempt, cores)
        return RowEvent(now, row.n, RowState.GOING, attempt, self._host, run.id, cores)

    def _prepared(self, row: BatchRow, attempt: int) -> PreparedRun:
        prepared = self._prepare(self._request_of(row.n))
        if self._ask_consent and consent.allowed(prepared.recipe, prepared.script) is None:
            raise UserError("its script is not approved, or the approval was revoked")
        tag: dict[str, Any] = {"id": self._batch_id, "n": row.n, "attempt": attempt}
        recipe = replace(prepared.recipe, options={**prepared.recipe.options, TAG: tag})
        return replace(prepared, recipe=recipe, supervision=replace(prepared.supervision, wait=False))

    def _not_now(self, error: UserError) -> None:
        """Somebody was quicker, cores are held by programs that leases know nothing of, or the host cannot start a run now."""
        self._look_at_others(now=True)
        self._refused += 1
        if self._refused >= MOST_BUSY and not self._going:
            raise NoHostError(one_line(error.message, 300))

    # -- what goes on

    def follow(self) -> list[RowEvent]:
        self._leases = core_leases.holders()
        look_for_lost = self._clock() - self._looked_for_lost >= LOST_S
        if look_for_lost:
            self._looked_for_lost = self._clock()
        ended = []
        for n in tuple(self._going):
            self._see_neighbours(n)
            event = self._ended(n, look_for_lost=look_for_lost)
            if event is not None:
                ended.append(event)
        for event in ended:
            del self._going[event.n]
        return ended

    def _see_neighbours(self, n: int) -> None:
        going = self._going[n]
        others = set(self._leases.values()) if going.cores else {g.run.id for g in self._going.values()}
        going.beside |= others - {going.run.id}

    def _ended(self, n: int, *, look_for_lost: bool) -> RowEvent | None:
        going = self._going[n]
        if look_for_lost and not going.run.ended() and going.run.outcome() == "LOST":
            launcher.sweep(going.run)
        if not going.run.ended():
            if going.run.path.is_dir():
                return None
            why = "its run folder is gone"
            return RowEvent(
                time.time(), n, RowState.LOST, going.attempt, self._host, going.run.id, going.cores, why=why
            )
        result = going.run.result()
        if result is None:
            return None  # being written
        where: dict[str, Any] = {"host": self._host, "cores": going.cores, "beside": len(going.beside)}
        return end_of(n, going.attempt, going.run.id, result, time.time(), **where)

    def stages(self) -> Mapping[int, str]:
        found = {}
        for n, going in self._going.items():
            state = going.run.state()
            found[n] = state.stage if state is not None else "queued"
        return found

    def stop(self, rows: Iterable[int]) -> list[str]:
        wanted = [self._going[n].run for n in rows if n in self._going]
        for run in wanted:
            run.ask_stop()  # all at once; then wait for each
        for run in wanted:
            launcher.stop(run)
        return []

    def fetch_log(self, n: int) -> None:
        """It lies here already."""

    def close(self) -> None:
        """Runs go on: they are detached."""


class _Going:
    __slots__ = ("attempt", "beside", "cores", "run")

    def __init__(self, run: RunFolder, attempt: int, cores: tuple[int, ...]) -> None:
        self.run, self.attempt, self.cores = run, attempt, cores
        self.beside: set[str] = set()
