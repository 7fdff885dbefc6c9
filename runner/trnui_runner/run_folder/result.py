"""`result.json`: what came out of a run, written once by its supervisor, when nothing of the run is alive any more."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Final

from trnui_runner.common.dataset_schema import Kind
from trnui_runner.run_folder.fields import ENTRIES, Damaged, Fields
from trnui_runner.run_folder.outcome import KINDS, OUTCOMES, VERDICTS, Outcome, Verdict

VERSION: Final = 1
NAME: Final = "result.json"
MOST: Final = 16 << 20  # bytes
DEVICES: Final = ("neuron", "cpu", "stand-in")


@dataclass(frozen=True)
class Result:
    """Sizes in bytes, times in seconds, times of day UTC epoch seconds.

    tokens: {new_ids, text, reference_ids, reference_text, first_difference, margin}; judge: {name, nll, surface};
    stages: {name: seconds}; memory: [{scope, source, peak, capacity}]; neff: {hits, misses, new};
    verdict: "REPRODUCED", "DIFFERS", "NOT COMPARABLE" or None (nothing to compare with), `differences` says in what;
    row: the run as one row of the dataset's own 24 columns.
    """

    outcome: Outcome
    reason: str = ""
    kind: Kind | None = None
    device: str = ""
    verdict: Verdict | None = None
    differences: tuple[str, ...] = ()
    tokens: dict[str, Any] | None = None
    judge: dict[str, Any] | None = None
    stages: dict[str, float] = field(default_factory=dict)
    graphs: int | None = None
    compile_s: float | None = None
    wall_s: float | None = None
    memory: tuple[dict[str, Any], ...] = ()
    neff: dict[str, Any] | None = None
    stack: dict[str, Any] = field(default_factory=dict)
    diagnosis: dict[str, Any] | None = None
    exit_code: int | None = None
    row: dict[str, Any] | None = None
    notes: tuple[str, ...] = ()  # what else a reader must know: log cut, processes that would not end, not the protocol
    v: int = VERSION

    @classmethod
    def from_json(cls, value: object) -> Result:
        """Raises Damaged. Every text but the row's is clean."""
        given = Fields(NAME, value)
        outcome = given.word("outcome", OUTCOMES)
        if outcome is None:
            raise Damaged(f"{NAME} has no outcome")
        return cls(
            outcome=outcome,
            reason=given.text("reason"),
            kind=given.word("kind", KINDS),
            device=given.word("device", ("", *DEVICES)) or "",
            verdict=given.word("verdict", VERDICTS),
            differences=given.lines("differences"),
            tokens=_tokens(given),
            judge=given.mapping("judge"),
            stages=given.figures("stages"),
            graphs=given.whole("graphs"),
            compile_s=given.number("compile_s"),
            wall_s=given.number("wall_s"),
            memory=tuple(_memory(m) for m in given.items("memory")[:ENTRIES]),
            neff=given.counts("neff"),
            stack=given.mapping("stack") or {},
            diagnosis=_diagnosis(given),
            exit_code=given.whole("exit_code"),
            row=given.row("row"),
            notes=given.lines("notes"),
            v=given.whole("v") or VERSION,
        )

    def encoded(self) -> bytes:
        return json.dumps(asdict(self), indent=1, ensure_ascii=False, default=str).encode("utf-8", "surrogatepass")

    def shortened(self) -> Result:
        """The same without long texts: for a disk that has only the reserved room left."""
        return Result(**{f.name: _short(getattr(self, f.name)) for f in fields(self)})


def _tokens(given: Fields) -> dict[str, Any] | None:
    found = given.mapping("tokens")
    if found is None:
        return None
    inner = Fields(f"{NAME}: tokens", found)
    for name in ("new_ids", "reference_ids"):
        inner.numbers(name)
    for name in ("text", "reference_text"):
        inner.maybe(name)
    for name in ("first_difference", "margin", "gap", "tie_limit"):
        inner.number(name)
    return found


def _memory(value: object) -> dict[str, Any]:
    given = Fields(f"{NAME}: memory", value)
    return {
        "scope": given.line("scope"),
        "source": given.line("source"),
        "peak": given.whole("peak"),
        "capacity": given.whole("capacity"),
    }


def _diagnosis(given: Fields) -> dict[str, Any] | None:
    found = given.mapping("diagnosis")
    if found is None:
        return None
    inner = Fields(f"{NAME}: diagnosis", found)
    for name in ("class", "severity", "summary", "hint"):
        inner.maybe(name)
    inner.lines("evidence")
    return found


def _short(value: Any) -> Any:
    if isinstance(value, str):
        return value if len(value) <= 2000 else value[:2000] + "…"
    if isinstance(value, dict):
        return {k: _short(v) for k, v in value.items()}
    return tuple(_short(v) for v in value[:256]) if isinstance(value, list | tuple) else value
