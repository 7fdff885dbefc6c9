"""How far a batch is: time left as a range, cost so far, and the exit code that its results mean. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from trnui_runner.batch.batch_file import BatchRow
from trnui_runner.batch.estimates import quartiles
from trnui_runner.batch.journal import RowState
from trnui_runner.batch.packing import jobs_of, pack
from trnui_runner.batch.status import USER_STOP, BatchStatus, RowStatus
from trnui_runner.common.errors import Exit
from trnui_runner.common.text import seconds

FAIL_ON = ("newly-failing", "any-fail")


@dataclass(frozen=True)
class TimeLeft:
    """Seconds. low, high: by the quartiles of actual over expected of the rows done so far, from the tenth on."""

    about: float
    low: float | None = None
    high: float | None = None

    @property
    def words(self) -> str:
        if self.low is None or self.high is None or seconds(self.low) == seconds(self.high):
            return f"about {seconds(self.about)} left"
        return f"{seconds(self.low)} to {seconds(self.high)} left"


def time_left(status: BatchStatus, now: float) -> TimeLeft | None:
    """On the host that the batch was made for. None when it is over, or when nothing is known of how long its rows take."""
    ids = range(status.batch.host_cores)
    going, waiting = list[tuple[tuple[int, ...], float]](), list[BatchRow]()
    spare = iter(range(10_000_000, 10_000_000 + len(status.rows)))  # rows without cores of their own: on the CPU
    for row, at in status.pairs():
        if at.state in (RowState.GOING, RowState.SENT):
            going.append((at.cores or (next(spare),), max(0.0, (row.expected_s or 0.0) - (now - at.since))))
        elif not at.state.over:
            waiting.append(row)
    if not waiting and not going:
        return None
    if not any(row.expected_s for row in status.batch.rows):
        return None
    cpu = all(row.device == "cpu" for row in status.batch.rows)
    jobs = jobs_of((r.n, 1 if cpu else r.cores, r.expected_s, "") for r in waiting)
    if cpu:
        going = [((ids[n % len(ids)],), left) for n, (_, left) in enumerate(going)]
    about = pack(jobs, ids, going=going).makespan
    spread = quartiles(
        [b.wall_s / a.expected_s for a, b in status.pairs() if _measured(a, b) and a.expected_s and b.wall_s]
    )
    return TimeLeft(about, *(factor * about for factor in spread)) if spread else TimeLeft(about)


def _measured(row: BatchRow, at: RowStatus) -> bool:
    return at.state is RowState.DONE and bool(row.expected_s) and at.wall_s is not None


def cost_so_far(status: BatchStatus, now: float) -> float | None:
    """Dollars of one host since the first row began, until now or the last event; None without a price."""
    if status.batch.price is None or status.began is None:
        return None
    end = status.last if (status.over or status.stopped) and status.last is not None else now
    return max(0.0, end - status.began) / 3600 * status.batch.price.per_hour


def exit_code(status: BatchStatus) -> Exit:
    """0: all as published, or PASS; 1: something newly failing; 5: only UNCHECKED besides; 4: no host left; 130: stopped."""
    bad = any(failed(status.batch.fail_on, row.published, at) for row, at in status.pairs())
    if status.stopped and not status.over:
        return Exit.INTERRUPTED if status.stopped.startswith(USER_STOP) else Exit.NO_DEVICE
    if bad:
        return Exit.FAILED
    vague = any(_says_nothing(row.published, at) for row, at in status.pairs())
    return Exit.UNCHECKED if vague else Exit.OK


def _says_nothing(published: str, at: RowStatus) -> bool:
    return at.of_the_host or (at.word not in ("PASS", "FAIL") and at.word != published)


def failed(fail_on: str, published: str, at: RowStatus) -> bool:
    """Whether a row speaks against the stack. newly-failing: a FAIL (or TIMEOUT) where the published result is another."""
    if at.state is not RowState.DONE or at.outcome not in ("FAIL", "TIMEOUT") or at.of_the_host:
        return False
    if fail_on == "any-fail":
        return True
    return published != "FAIL"
