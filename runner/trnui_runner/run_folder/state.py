"""`state.json`: where a run is, written by its supervisor at least every second."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from trnui_runner.run_folder.fields import Damaged, Fields
from trnui_runner.run_folder.outcome import OUTCOMES, STAGES, Outcome

VERSION: Final = 2  # since 2 with result_sha256
NAME: Final = "state.json"
MOST: Final = 256 << 10  # bytes


@dataclass(frozen=True)
class State:
    """Times are UTC epoch seconds. silent_since: the last sign of life (output, an event) of a run that is going on.

    outcome and result_sha256 (of result.json) stand there once the run has ended and no process of it is left.
    """

    stage: str = "queued"
    outcome: Outcome | None = None
    started: float = 0.0
    updated: float = 0.0
    elapsed: float = 0.0  # seconds since the start by a clock that never jumps
    pid: int = 0
    guard_pid: int = 0
    grace_s: float = 0.0
    cores_held: tuple[int, ...] = ()
    silent_since: float | None = None
    message: str = ""
    result_sha256: str | None = None
    v: int = VERSION

    @classmethod
    def from_json(cls, value: object) -> State:
        """Raises Damaged."""
        fields = Fields(NAME, value)
        pid, guard = fields.whole("pid") or 0, fields.whole("guard_pid") or 0
        if pid < 0 or guard < 0:
            raise Damaged(f"{NAME}: a pid is negative")
        return cls(
            stage=fields.word("stage", STAGES) or "queued",
            outcome=fields.word("outcome", OUTCOMES),
            started=fields.number("started") or 0.0,
            updated=fields.number("updated") or 0.0,
            elapsed=max(0.0, fields.number("elapsed") or 0.0),
            pid=pid,
            guard_pid=guard,
            grace_s=min(max(0.0, fields.number("grace_s") or 0.0), 3600.0),
            cores_held=fields.numbers("cores_held"),
            silent_since=fields.number("silent_since"),
            message=fields.text("message"),
            result_sha256=fields.maybe("result_sha256"),
            v=fields.whole("v") or 1,
        )
