"""How far a batch is: time left as a range, cost so far, and the exit code that its results mean. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from trnui_runner.batch.batch_file import BatchRow
from trnui_runner.batch.journal import RowState
from trnui_runner.batch.planning.estimates import quartiles
from trnui_runner.batch.planning.packing import Packed, jobs_of, pack
from trnui_runner.batch.status import USER_STOP, BatchStatus, RowStatus
from trnui_runner.common.errors import Exit
from trnui_runner.common.text import seconds

MOST_LOOKED_THROUGH = 500  # waiting rows
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
    about = _rest(status, now)
    if about is None:
        return None
    spread = quartiles([b.held_s / a.expected_s for a, b in status.pairs() if a.expected_s and b.held_s])
    return (
        TimeLeft(about.makespan, *(factor * about.makespan for factor in spread))
        if spread
        else TimeLeft(about.makespan)
    )


def starts_in(status: BatchStatus, now: float) -> dict[int, float]:
    """Seconds until a waiting row is likely to start; empty for a batch that is too long to be looked through often."""
    waiting = sum(at.state is RowState.WAITING for at in status.rows)
    rest = _rest(status, now) if 0 < waiting <= MOST_LOOKED_THROUGH else None
    return {n: when for n, when, _ in rest.starts} if rest is not None else {}


def _rest(status: BatchStatus, now: float) -> Packed | None:
    """The rest of the batch, simulated."""
    ids = range(status.batch.host_cores)
    going, waiting = list[tuple[tuple[int, ...], float]](), list[BatchRow]()
    for row, at in status.pairs():
        if at.state in (RowState.GOING, RowState.SENT):
            cores = at.cores or (ids[len(going) % len(ids)],)  # on the CPU a place, not a core
            going.append((cores, max(0.0, (row.expected_s or 0.0) - (now - at.since))))
        elif not at.state.over:
            waiting.append(row)
    if not (waiting or going) or not any(row.expected_s for row in status.batch.rows):
        return None
    return pack(
        jobs_of((r.n, 1 if r.device == "cpu" else r.cores, r.expected_s, "") for r in waiting), ids, going=going
    )


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
    unlike = (
        published == at.outcome == "FAIL" and not at.comparable
    )  # another device or script: not the published failure
    return at.of_the_host or unlike or (at.word not in ("PASS", "FAIL") and at.word != published)


def failed(fail_on: str, published: str, at: RowStatus) -> bool:
    """Whether a row speaks against the stack. newly-failing: a FAIL (or TIMEOUT) where the published result is another."""
    if at.state is not RowState.DONE or at.outcome not in ("FAIL", "TIMEOUT") or at.of_the_host:
        return False
    if fail_on == "any-fail":
        return True
    return published != "FAIL"
