"""A host in simulated time, as an engine: rows take made durations on real blocks of cores; nothing sleeps."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from trnui_runner.batch.batch_file import BatchRow
from trnui_runner.batch.engines.engine import NoHostError
from trnui_runner.batch.journal import RowEvent, RowState
from trnui_runner.host.core_blocks import choose


class SimulatedHost:
    """durations and ends (events' fields) by row; what a row lacks there takes 10 s and passes. `began` outlives an engine,
    as runs outlive their keeper: hand it to the next one."""

    words = "a simulated host"

    def __init__(
        self,
        cores: int = 64,
        durations: Mapping[int, float] | None = None,
        ends: Mapping[int, list[dict[str, object]]] | None = None,
        stages: Mapping[int, str] | None = None,
    ) -> None:
        self.now = 0.0
        self.ids = tuple(range(cores))
        self.durations, self.ends = dict(durations or {}), {n: list(e) for n, e in (ends or {}).items()}
        self.fixed_stages = dict(stages or {})
        self.going: dict[int, tuple[float, tuple[int, ...], int]] = {}
        self.starts: list[tuple[int, float, tuple[int, ...]]] = []
        self.finished: dict[int, RowEvent] = {}
        self.foreign: set[int] = set()  # cores that a run by hand holds
        self.no_host = ""

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    def held(self) -> set[int]:
        return {core for _, cores, _ in self.going.values() for core in cores} | self.foreign

    # -- the engine

    def survey(self) -> list[RowEvent]:
        self.follow_once()
        found = [
            RowEvent(self.now, n, RowState.GOING, a, "h", f"run-{n}-{a}", c) for n, (_, c, a) in self.going.items()
        ]
        return [*self.finished.values(), *found]

    def fits(self, row: BatchRow) -> bool:
        return choose(row.cores, self.ids, self.held()) is not None

    def start(self, row: BatchRow, attempt: int, oldest: int) -> RowEvent | None:
        if self.no_host:
            raise NoHostError(self.no_host)
        cores = choose(row.cores, self.ids, self.held())
        if cores is None:
            return None
        assert row.n not in self.going, "started twice"
        self.going[row.n] = (self.now + self.durations.get(row.n, 10.0), cores, attempt)
        self.starts.append((row.n, self.now, cores))
        return RowEvent(self.now, row.n, RowState.GOING, attempt, "h", f"run-{row.n}-{attempt}", cores)

    def follow_once(self) -> list[RowEvent]:
        over = [n for n, (end, _, _) in self.going.items() if end <= self.now]
        events = []
        for n in over:
            _, cores, attempt = self.going.pop(n)
            fields = self.ends[n].pop(0) if self.ends.get(n) else {"outcome": "PASS"}
            state = RowState.LOST if fields.get("outcome") == "LOST" else RowState.DONE
            values = {
                "t": self.now,
                "n": n,
                "state": state,
                "attempt": attempt,
                "host": "h",
                "run": f"run-{n}-{attempt}",
                "cores": cores,
            }
            self.finished[n] = RowEvent(**(values | fields))  # type: ignore[arg-type]
            events.append(self.finished[n])
        return events

    def follow(self) -> list[RowEvent]:
        return self.follow_once()

    def stages(self) -> Mapping[int, str]:
        return {n: self.fixed_stages.get(n, "generating") for n in self.going}

    def stop(self, rows: Iterable[int]) -> list[str]:
        for n in rows:
            _, cores, attempt = self.going[n]
            self.ends[n] = [{"outcome": "CANCELLED"}]
            self.going[n] = (self.now, cores, attempt)
        return []

    def fetch_log(self, n: int) -> None: ...

    def close(self) -> None: ...
