"""`result.json`: what came out of a run, written once by its supervisor, when nothing of the run is alive any more."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Final

from trnui_runner.run_folder.fields import Fields
from trnui_runner.run_folder.outcome import OUTCOMES, Outcome

VERSION: Final = 1
NAME: Final = "result.json"
MOST: Final = 16 << 20  # bytes
DEVICES: Final = ("neuron", "cpu", "stand-in")
KINDS: Final = ("cpu-match", "english")
VERDICTS: Final = ("REPRODUCED", "DIFFERS", "NOT COMPARABLE")


@dataclass(frozen=True)
class Result:
    """Sizes in bytes, times in seconds, times of day UTC epoch seconds.

    tokens: {new_ids, text, reference_ids, reference_text, first_difference, margin}; judge: {name, nll, surface};
    stages: {name: seconds}; memory: [{scope, source, peak, capacity}]; neff: {hits, misses, new};
    verdict: "REPRODUCED", "DIFFERS", "NOT COMPARABLE" or None (nothing to compare with), `differences` says in what;
    row: the run as one row of the dataset's own 24 columns.
    """

    outcome: str
    reason: str = ""
    kind: str | None = None  # "cpu-match" or "english"
    device: str = ""
    verdict: str | None = None
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
        return cls(
            outcome=Outcome(given.word("outcome", OUTCOMES)),
            reason=given.text("reason"),
            kind=given.word("kind", KINDS) if given.has("kind") else None,
            device=given.word("device", ("", *DEVICES), ""),
            verdict=given.word("verdict", VERDICTS) if given.has("verdict") else None,
            differences=given.lines("differences"),
            tokens=given.mapping("tokens"),
            judge=given.mapping("judge"),
            stages=given.figures("stages"),
            graphs=given.whole("graphs"),
            compile_s=given.number("compile_s"),
            wall_s=given.number("wall_s"),
            memory=given.mappings("memory"),
            neff=given.mapping("neff"),
            stack=given.mapping("stack") or {},
            diagnosis=given.mapping("diagnosis"),
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


def _short(value: Any) -> Any:
    if isinstance(value, str):
        return value if len(value) <= 2000 else value[:2000] + "…"
    if isinstance(value, dict):
        return {k: _short(v) for k, v in value.items()}
    return tuple(_short(v) for v in value[:256]) if isinstance(value, list | tuple) else value
