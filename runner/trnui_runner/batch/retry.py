"""What a row's end means for the batch: an answer about the model, another try, or a host that is at fault. Pure."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any, Final

from trnui_runner.batch.journal import RowEvent, RowState
from trnui_runner.common.text import one_line
from trnui_runner.result.verdict import nothing_tested
from trnui_runner.run_folder.folder import Result

# Classes of the diagnosis after which the same row may end otherwise. What a user has to mend (a licence, a name) is not here.
PASSING: Final = frozenset(
    {"hub_rate_limit", "hub_network", "hub_lock_wait", "disk_full", "cores_busy", "file_lock", "cache_lock_wait"}
)
# Classes that every row of a host would end with.
HOSTS_FAULT: Final = frozenset({"no_device", "driver_mismatch", "hw_error", "disk_full"})
IN_A_ROW: Final = 8
EARLY: Final = (3, 5)  # so many of the first so many


def class_of(diagnosis: Mapping[str, Any] | None) -> str:
    return str((diagnosis or {}).get("class") or "")


def lost(result: Result) -> str:
    """Why this end says nothing about the model and may be tried again, in words; empty for an answer.

    FAIL, TIMEOUT and a device out of memory are answers: a compiler's fault is not paid for three times.
    """
    if result.outcome == "LOST":
        return result.reason or "the run was lost"
    cls = class_of(result.diagnosis)
    if result.outcome == "UNCHECKED" and nothing_tested(result) and cls in PASSING:
        return f"{cls}: {one_line(result.reason, 200)}"
    return ""


def end_of(n: int, attempt: int, run: str, result: Result, t: float, **where: Any) -> RowEvent:
    """The event of a run that has ended: DONE or LOST."""
    why = lost(result)
    return RowEvent(
        t=t,
        n=n,
        state=RowState.LOST if why else RowState.DONE,
        attempt=attempt,
        run=run,
        outcome=result.outcome,
        verdict=result.verdict or "",
        kind=result.kind or "",
        cls=class_of(result.diagnosis),
        wall_s=result.wall_s,
        why=why or one_line(result.reason, 300),
        **where,
    )


class HostFault:
    """Watches the ends of rows, in the order in which they come: `take` says why the whole batch should stop, once it should."""

    def __init__(self) -> None:
        self._last: deque[str] = deque(maxlen=IN_A_ROW)
        self._first: list[str] = []

    def take(self, event: RowEvent) -> str:
        cause = self._cause(event)
        self._last.append(cause)
        some, of = EARLY
        if len(self._first) < of:
            self._first.append(cause)
            if cause and self._first.count(cause) >= some:
                return f"{some} of the first {len(self._first)} rows ended with {cause}: the host, not the models"
        if cause and len(self._last) == IN_A_ROW and set(self._last) == {cause}:
            return f"{IN_A_ROW} rows in a row ended with {cause}: the host, not the models"
        return ""

    @staticmethod
    def _cause(event: RowEvent) -> str:
        if event.state is RowState.REFUSED:
            return one_line(event.why, 120)
        return event.cls if event.cls in HOSTS_FAULT and event.outcome != "PASS" else ""
