"""A batch in words: its state, its rows, what has changed. Used by commands, screens and reports alike."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from trnui_runner.batch.batch_file import BatchRow
from trnui_runner.batch.folder import BatchFolder
from trnui_runner.batch.journal import RowState
from trnui_runner.batch.progress import cost_so_far, time_left
from trnui_runner.batch.status import NEWLY_FAILING, NEWLY_PASSING, SAME, UNLIKE, BatchStatus, RowStatus, turn
from trnui_runner.common.dataset_schema import MARKS
from trnui_runner.common.text import clock, one_line, seconds

Mark = tuple[RowState, str, int]
_ORDER: Final = ("PASS", "FAIL", "UNCHECKED", "TIMEOUT", "CANCELLED", "refused", "given up")


def batch_state(status: BatchStatus, kept: bool) -> str:
    """One word: going, stopping, done, stopped, or idle where nobody works on it though rows are left."""
    if status.over:
        return "done"
    if kept:
        return "stopping" if status.stopped else "going"
    return "stopped" if status.stopped else "idle"


def outcome_word(row: BatchRow, at: RowStatus) -> str:
    """`PASS`, `PASS (CPU)`, or the state while there is no outcome."""
    return at.word + MARKS.get(row.device, "") if at.state is RowState.DONE else at.word


def counts_words(status: BatchStatus) -> str:
    """`118 of 200 · 96 PASS 19 FAIL 3 UNCHECKED · 14 going · 68 waiting`."""
    counts = status.counts()
    ended = " ".join(f"{counts[word]} {word}" for word in _ORDER if counts[word])
    going = counts["going"] + counts["sent"]
    parts = [f"{status.ended} of {len(status.rows)}", ended, f"{going} going" if going else ""]
    waiting = counts["waiting"] + counts["lost"]
    return " · ".join([p for p in (*parts, f"{waiting} waiting" if waiting else "") if p])


def against_words(status: BatchStatus) -> str:
    """`newly failing 7, newly passing 12, same 99`; empty while nothing can be compared."""
    found = status.against()
    return ", ".join(f"{name} {found[name]}" for name in (NEWLY_FAILING, NEWLY_PASSING, SAME) if found[name])


def time_words(status: BatchStatus, now: float) -> str:
    """`41 min, about 1 h 25 min left · $24 so far`."""
    if status.began is None:
        return "nothing has begun"
    end = now if not (status.over or status.stopped) or status.last is None else status.last
    words = seconds(max(0.0, end - status.began))
    left = None if status.over or status.stopped else time_left(status, now)
    cost = cost_so_far(status, now)
    return words + (f", {left.words}" if left else "") + (f" · ${cost:,.2f} so far" if cost is not None else "")


def row_words(row: BatchRow, at: RowStatus, stage: str = "", now: float = 0.0) -> str:
    """What there is to say of a row: its stage and time of the expected, or its outcome and why."""
    if at.state is RowState.GOING and now:
        expected = f" of about {seconds(row.expected_s)}" if row.expected_s else ""
        return f"{stage or 'going'} {clock(max(0.0, now - at.since))}{expected}"
    if at.state is RowState.DONE:
        beside = f"beside {at.beside} other run{'s' * (at.beside != 1)}" if at.beside else ""
        return "; ".join(w for w in (at.cls, one_line(at.why, 160), beside) if w)
    return one_line(at.why, 200)


def change_of(row: BatchRow, at: RowStatus) -> str:
    """`NEWLY FAILING` and so on; empty where nothing can be compared."""
    if not at.comparable:
        return ""
    found = turn(row.published, at.outcome)
    return "" if found == UNLIKE else found


def told(status: BatchStatus, before: Sequence[Mark]) -> Iterator[str]:
    """A line for each row that has changed since `before` (see `marks`)."""
    for (row, at), was in zip(status.pairs(), before, strict=True):
        if mark(at) == was:
            continue
        cores = (
            f"cores {at.cores[0]}-{at.cores[-1]}" if len(at.cores) > 1 else f"core {at.cores[0]}" if at.cores else ""
        )
        where = " ".join(w for w in (at.host, cores) if w)
        change = change_of(row, at)
        parts = [
            outcome_word(row, at),
            one_line(row.model, 80),
            where,
            change if change != SAME else "",
            row_words(row, at),
        ]
        yield "  ".join(p for p in parts if p)


def mark(at: RowStatus) -> Mark:
    """By which a change of a row is seen."""
    return at.state, at.run, at.attempt


def marks(status: BatchStatus) -> list[Mark]:
    return [mark(at) for at in status.rows]


def batch_json(folder: BatchFolder, status: BatchStatus, now: float) -> dict[str, object]:
    """One batch as JSON: counts, against the published results, every row."""
    cost = cost_so_far(status, now)
    return {
        "id": folder.id,
        "state": batch_state(status, folder.kept()),
        "source": status.batch.source,
        "created": status.batch.created,
        "counts": dict(status.counts()),
        "against": dict(status.against()),
        "stopped": status.stopped or None,
        "cost": cost,
        "rows": [row_json(row, at) for row, at in status.pairs()],
    }


def row_json(row: BatchRow, at: RowStatus) -> dict[str, object]:
    return {
        "n": row.n,
        "model_id": row.model,
        "tp": row.cores,
        "device": row.device,
        "state": at.state.value,
        "outcome": at.outcome or None,
        "published": row.published or None,
        "change": change_of(row, at) or None,
        "kind": at.kind or None,
        "verdict": at.verdict or None,
        "class": at.cls or None,
        "wall_s": at.wall_s,
        "expected_s": row.expected_s,
        "beside": at.beside,
        "attempt": at.attempt,
        "host": at.host or None,
        "cores": list(at.cores),
        "run": at.run or None,
        "why": at.why or None,
    }
