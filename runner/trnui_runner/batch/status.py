"""Where a batch stands: its journal folded into one status a row, and the counts that every surface shows. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from trnui_runner.batch.batch_file import Batch, BatchRow
from trnui_runner.batch.journal import BATCH, RowEvent, RowState
from trnui_runner.result.no_fault import OF_THE_HOST
from trnui_runner.result.verdict import NOT_COMPARABLE

NEWLY_FAILING, NEWLY_PASSING, SAME, UNLIKE = "newly failing", "newly passing", "same", "not comparable"
USER_STOP: Final = "stopped by request"
WITH_BATCH: Final = "stopped with the batch"
BY_HAND: Final = "tried again by hand"
OUTCOMES: Final = ("PASS", "FAIL", "UNCHECKED", "TIMEOUT", "CANCELLED", "LOST")


@dataclass(slots=True)
class RowStatus:
    """The last that is known of a row. since: when it came into this state, UTC epoch seconds."""

    state: RowState = RowState.WAITING
    attempt: int = 1
    since: float = 0.0
    started: float = 0.0  # of this attempt's run
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
    losses: int = 0  # attempts that said nothing, since the last try by hand
    last_lost: int = 0
    oldest: int = (
        1  # a run of an earlier attempt is no run of this try: the row was put back by hand, or stopped with its batch
    )

    @property
    def of_the_host(self) -> bool:
        """It ended by a fault of the host, and says nothing about the model."""
        return self.outcome != "PASS" and self.cls in OF_THE_HOST

    @property
    def comparable(self) -> bool:
        """Its outcome may be held against the published one: the same device and script, and no fault of the host."""
        return self.state is RowState.DONE and self.verdict != NOT_COMPARABLE and not self.of_the_host

    @property
    def held_s(self) -> float | None:
        """Seconds for which it held its cores, the check of its tokens included; None where its start is not known."""
        return self.since - self.started if self.state is RowState.DONE and self.started else None

    @property
    def word(self) -> str:
        return self.outcome if self.state is RowState.DONE else self.state.value


@dataclass
class BatchStatus:
    """`rows` by n. `stopped`: why no more rows are started, empty while they are. `began`: of the first row, None before it."""

    batch: Batch
    rows: list[RowStatus] = field(default_factory=list)
    stopped: str = ""
    began: float | None = None
    last: float | None = None

    def __post_init__(self) -> None:
        self.rows = self.rows or [RowStatus() for _ in self.batch.rows]

    def take(self, events: Iterable[RowEvent]) -> None:
        for event in events:
            self.last = event.t
            if event.n == BATCH:
                self.stopped = event.why if event.state is RowState.STOPPED else ""
            elif 0 <= event.n < len(self.rows):
                self._row(self.rows[event.n], event)

    def _row(self, row: RowStatus, event: RowEvent) -> None:
        if row.state.over and event.state is not RowState.WAITING:
            return  # it counts once, whatever a second teller says
        if event.attempt < row.attempt:
            return
        if self.began is None and event.state in (RowState.GOING, RowState.SENT):
            self.began = event.t
        if row.state is not event.state or row.run != event.run:
            row.since = event.t
        if event.state is RowState.GOING and row.state is not RowState.GOING:
            row.started = event.t
        row.state, row.attempt = event.state, event.attempt
        if event.state is RowState.WAITING:  # a new attempt: nothing of the old one holds
            row.host = row.run = row.outcome = row.verdict = row.kind = row.cls = ""
            row.cores, row.wall_s, row.beside, row.why = (), None, 0, event.why
            if event.why in (BY_HAND, WITH_BATCH):
                row.losses, row.oldest = 0, event.attempt
            return
        if event.state is RowState.LOST and event.attempt > row.last_lost:
            row.losses, row.last_lost = row.losses + 1, event.attempt
        for name in ("host", "run", "cores", "outcome", "verdict", "kind", "cls", "wall_s", "beside"):
            value = getattr(event, name)
            if value:
                setattr(row, name, value)
        row.why = event.why

    # -- what surfaces ask

    def pairs(self) -> Iterator[tuple[BatchRow, RowStatus]]:
        return zip(self.batch.rows, self.rows, strict=True)

    def counts(self) -> Counter[str]:
        """By outcome for what is done, by state for the rest."""
        return Counter(row.word for row in self.rows)

    @property
    def over(self) -> bool:
        """No row is left that could still run."""
        return all(row.state.over for row in self.rows)

    @property
    def ended(self) -> int:
        return sum(row.state.over for row in self.rows)

    def against(self) -> Counter[str]:
        """Rows that are done, against the published ones that they repeat."""
        done = ((a, b) for a, b in self.pairs() if b.state is RowState.DONE)
        return Counter(turn(a.published, b.outcome) if b.comparable else UNLIKE for a, b in done)


def turn(published: str, outcome: str) -> str:
    """What became of a published result. Only PASS and FAIL can be compared."""
    if published not in ("PASS", "FAIL") or outcome not in ("PASS", "FAIL"):
        return UNLIKE
    if published == outcome:
        return SAME
    return NEWLY_PASSING if outcome == "PASS" else NEWLY_FAILING


def fold(batch: Batch, events: Iterable[RowEvent]) -> BatchStatus:
    status = BatchStatus(batch)
    status.take(events)
    return status
