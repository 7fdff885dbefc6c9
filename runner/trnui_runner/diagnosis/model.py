"""What diagnosis takes and gives: the classes, rules as data, the host's and catalog's facts, and the answer. No logic of its own."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import IntEnum
from functools import cached_property
from typing import Any, Final

FAIL, WARN, WAIT, INFO, OK = "fail", "warn", "wait", "info", "ok"

# class → (group, severity). Groups are the headings under which the views gather failures.
CLASSES: Final[dict[str, tuple[str, str]]] = {
    "ok": ("result", OK),
    "in_progress": ("result", INFO),
    "excluded": ("result", INFO),
    "numerical_mismatch": ("result", FAIL),
    "eager_fallback": ("result", WARN),
    "compiler_failure": ("compile", FAIL),
    "unsupported_op": ("compile", FAIL),
    "unsupported_dtype": ("compile", FAIL),
    "graph_capture": ("compile", FAIL),
    "graph_too_large": ("compile", FAIL),
    "hbm_oom_compile": ("memory", FAIL),
    "hbm_oom": ("memory", FAIL),
    "host_oom": ("memory", FAIL),
    "disk_full": ("memory", FAIL),
    "no_device": ("device", FAIL),
    "driver_mismatch": ("device", FAIL),
    "cores_busy": ("device", FAIL),
    "core_count": ("device", FAIL),
    "hw_error": ("device", FAIL),
    "index_oob": ("device", FAIL),
    "cache_lock_wait": ("cache", WAIT),
    "cache_failed_entry": ("cache", FAIL),
    "cache_version_mismatch": ("cache", FAIL),
    "cache_miss": ("cache", INFO),
    "hub_gated": ("hub", FAIL),
    "hub_not_found": ("hub", FAIL),
    "hub_rate_limit": ("hub", FAIL),
    "hub_network": ("hub", FAIL),
    "hub_offline": ("hub", FAIL),
    "hub_lock_wait": ("hub", WAIT),
    "remote_code": ("model", FAIL),
    "tokenizer": ("model", FAIL),
    "model_unknown": ("model", FAIL),
    "sharding": ("model", FAIL),
    "version_mismatch": ("environment", FAIL),
    "python_version": ("environment", FAIL),
    "distributed_comm": ("process", FAIL),
    "timeout_hang": ("process", FAIL),
    "interrupted": ("process", INFO),
    "data_schema": ("data", WARN),
    "file_lock": ("data", FAIL),
    "empty": ("data", FAIL),
    "unknown": ("data", FAIL),
}
PHASES: Final = ("prepare", "download", "load", "compile", "generate", "check", "done")


class LineWeight(IntEnum):
    """What a line that a rule knows is worth. Higher decides over lower, except that only time orders the faults."""

    NOISE = 0  # never decides and hides nothing
    PROGRESS = 1  # work moves; `phase` says which
    RESULT = 2  # the run's own verdict
    WARNING = 3  # it went on, with less than was asked for
    WAITING = 4  # nothing is broken, something is waited for
    AFTER = 5  # what another failure leaves behind: counts only when nothing else explains the end
    FAULT = 6


@dataclass(frozen=True)
class Rule:
    """One line shape. A line counts when one of `any` is in it and `pattern` (if given) is found; named groups become facts.

    any: case-sensitive literals, the prefilter that makes 100,000 lines a second possible.
    but: literals that take the line out again.
    table: the class by the value of the group `key` (a code, a status, an exit code); what it lacks gets `cls`,
        and an empty `cls` leaves the line to other rules.
    tier: of a fault, how much it explains: 3 a code or message that names the cause, 2 an exception or text that does so
        as a rule, 1 generic words and exit codes. Within a tier the first in time wins.
    alone: counts only in a line of which no other rule says what went wrong.
    near: counts only with a line of this rule just before it.
    phases: counts only while the run is in one of these; empty: always.
    passing: a warning or a retry, got over when the run moves on afterwards (a raised exception is not).
    """

    id: str
    cls: str
    kind: LineWeight
    any: tuple[str, ...]
    reason: str  # why a line of this shape means this class
    source: str  # where the shape is documented or was seen
    pattern: str = ""
    but: tuple[str, ...] = ()
    table: Mapping[str, str] = field(default_factory=dict)
    key: str = ""
    tier: int = 3
    phase: str = ""
    phases: frozenset[str] = frozenset()
    alone: bool = False
    near: str = ""
    passing: bool = False
    say: str = ""  # a summary of its own, filled with the facts; else the class's
    hint: str = ""  # a way out of its own; else the class's
    onward: bool = True  # of progress: says that a wait or a retry before it is over
    asks: str = ""  # a command of the user's whose answer, a number on the next line, is the fact of this name
    counts: str = ""  # this many lines are a fact of this name: "compiled", "cached", "misses"

    @cached_property
    def match(self) -> re.Pattern[str] | None:
        """`pattern`, compiled when a line first needs it: all of them would cost a command 0.1 s."""
        return re.compile(self.pattern) if self.pattern else None


@dataclass(frozen=True)
class Holder:
    """A process that holds cores, a lock or a port."""

    pid: int
    command: str = ""
    age_s: float | None = None
    ours: bool = False  # a leftover of an earlier run of this tool
    cores: tuple[int, ...] = ()


@dataclass(frozen=True)
class Facts:
    """What is known besides the text, for hints: this host (None: not asked) and the catalog. Values only."""

    cores_total: int | None = None
    cores_free: tuple[int, ...] | None = None
    holders: tuple[Holder, ...] = ()  # of cores
    compilers_alive: int | None = None
    lock_path: str | None = None
    hbm_per_core: int | None = None  # bytes
    hbm_need: int | None = None  # bytes a core, as planned or as a row says
    disk_free: int | None = None  # bytes where the checkpoint goes
    disk_need: int | None = None
    ram_total: int | None = None
    token: bool | None = None  # a Hub token is set
    offline: bool | None = None
    versions: Mapping[str, str] = field(default_factory=dict)  # installed here, by distribution
    row_versions: Mapping[str, str] = field(default_factory=dict)  # of the row
    model: str = ""
    cores_asked: int | None = None
    same_code: int | None = None  # other rows with this code
    passes_on: str = ""  # newest stack on which this model passes, as words
    siblings: tuple[str, ...] = ()  # models of the family that pass on this stack
    usual_s: float | None = None  # how long this model took in the table


@dataclass(frozen=True)
class Diagnosis:
    """The answer. `evidence` are whole lines of the input (control sequences taken out), long ones cut around the find."""

    cls: str
    severity: str
    summary: str
    hint: str
    evidence: tuple[str, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)
    rule: str = ""

    @property
    def group(self) -> str:
        return CLASSES[self.cls][0]

    def to_json(self) -> dict[str, Any]:
        return {
            "class": self.cls,
            "severity": self.severity,
            "summary": self.summary,
            "hint": self.hint,
            "evidence": list(self.evidence),
            "facts": dict(self.facts),
        }

    def with_hint(self, hint: str) -> Diagnosis:
        return replace(self, hint=hint)


@dataclass(frozen=True)
class LiveStatus:
    """A live run at one moment."""

    diagnosis: Diagnosis
    phase: str
    compiles_done: int
    silent_for: float
    holder_alive: bool | None = None  # of the lock that is waited for; None: nobody waits, or nobody can know
    offer_remove: bool = False  # the lock is left over, and nothing that could hold it lives
