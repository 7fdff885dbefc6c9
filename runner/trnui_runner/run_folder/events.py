"""What may happen in a run, one frozen value for each kind of event: `events.jsonl` in types. Writers build these, `read_event`
(event_reading.py) makes them of a line, and `Progress` adds them up. Texts are clean, sizes in bytes, times in seconds.

A field without a default always stands in the file, as null where it is None; one with a default only when it is not None.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from typing import Any, ClassVar, Literal, NamedTuple

from trnui_runner.common.dataset_schema import Kind
from trnui_runner.common.text import Safe
from trnui_runner.run_folder.outcome import Outcome, Stage, Verdict
from trnui_runner.run_folder.progress_types import number

KEYS = {"cls": "class"}  # fields that have another name in the file
NONE = Safe("")


@dataclass(frozen=True, slots=True)
class StageEvent:
    """A script says where it is."""

    event: ClassVar = "stage"
    name: Stage | None  # None: none of ours


@dataclass(frozen=True, slots=True)
class StepStart:
    event: ClassVar = "step"
    name: Safe
    stage: Stage | None
    child: int | None
    state: Literal["start"] = "start"


@dataclass(frozen=True, slots=True)
class StepEnd:
    event: ClassVar = "step"
    name: Safe
    code: int | None
    cpu_s: float | None = None
    left: tuple[int, ...] = ()
    state: Literal["end"] = "end"


@dataclass(frozen=True, slots=True)
class EnvironmentEvent:
    """The variables that count of a step's environment."""

    event: ClassVar = "environment"
    step: Safe
    values: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class CoresEvent:
    event: ClassVar = "cores"
    ids: tuple[int, ...]
    visible: Safe


@dataclass(frozen=True, slots=True)
class ProcessEvent:
    """A process of the run has started; `versions` of what it runs on."""

    event: ClassVar = "process"
    versions: Mapping[str, Safe]


@dataclass(frozen=True, slots=True)
class ErrorEvent:
    event: ClassVar = "error"
    cls: Safe = NONE
    text: Safe = NONE
    where: Safe = NONE


@dataclass(frozen=True, slots=True)
class GroupEvent:
    """A process group has formed; `error`: it could not."""

    event: ClassVar = "group"
    world_size: int | None
    backend: Safe | None
    state: Safe
    error: ErrorEvent | None = None


@dataclass(frozen=True, slots=True)
class LoadedEvent:
    """A checkpoint has been loaded; `error`: it could not."""

    event: ClassVar = "loaded"
    model_class: Safe | None
    bytes: int | None
    seconds: float | None
    error: ErrorEvent | None = None


@dataclass(frozen=True, slots=True)
class DynamoEvent:
    event: ClassVar = "dynamo"
    start: bool
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class CompileEvent:
    """A graph on its way through a backend; `error` when state is "failed"."""

    event: ClassVar = "compile"
    state: Literal["start", "end", "failed"]
    graph: Safe | None
    name: Safe | None
    nodes: int | None
    backend: Safe | None
    seconds: float | None = None
    error: ErrorEvent | None = None


@dataclass(frozen=True, slots=True)
class CompilersEvent:
    """Compiler processes alive; `cpu`: percent of one CPU since the last look."""

    event: ClassVar = "compilers"
    alive: int
    oldest_s: float | None = None
    cpu_s: float | None = None
    cpu: float | None = None


@dataclass(frozen=True, slots=True)
class NeffEvent:
    """The NEFF cache: `kind` tells of `n` more, the others are totals so far."""

    event: ClassVar = "neff"
    kind: Literal["hit", "miss", "new"] | None = None
    key: Safe | None = None
    n: int | None = None
    hits: int | None = None
    misses: int | None = None
    new: int | None = None


@dataclass(frozen=True, slots=True)
class LockStart:
    """Processes `waiting` for a compile lock that `holder` (a pid) has."""

    event: ClassVar = "lock"
    key: Safe
    holder: int | None
    waiting: tuple[int, ...]
    holder_command: Safe | None
    age_s: float | None
    state: Literal["start"] = "start"


@dataclass(frozen=True, slots=True)
class LockEnd:
    event: ClassVar = "lock"
    key: Safe
    state: Literal["end"] = "end"


@dataclass(frozen=True, slots=True)
class GenerateStart:
    """`n` None: the script does not count its calls."""

    event: ClassVar = "generate"
    n: int | None
    device: Safe
    prompt_tokens: int | None
    prefill_chunk: int | None


@dataclass(frozen=True, slots=True)
class GenerateEnd:
    """`error`: it failed."""

    event: ClassVar = "generate"
    n: int | None
    device: Safe
    seconds: float | None
    first_s: float | None
    median_s: float | None
    forwards: int | None
    new_ids: tuple[int, ...] | None
    text: Safe | None
    graphs: int | None
    error: ErrorEvent | None = None


@dataclass(frozen=True, slots=True)
class TokenEvent:
    event: ClassVar = "token"
    n: int | None
    text: Safe


@dataclass(frozen=True, slots=True)
class ForwardEvent:
    event: ClassVar = "forward"
    n: int


@dataclass(frozen=True, slots=True)
class WarmEvent:
    """A second `generate`, with everything compiled."""

    event: ClassVar = "warm"
    seconds: float | None
    tokens: int | None
    new_graphs: int | None
    same_tokens: bool | None


@dataclass(frozen=True, slots=True)
class MemoryEvent:
    """Bytes in use of one scope, core or process. parts: what a core's memory is used for; busy: percent of it in use."""

    event: ClassVar = "memory"
    source: Safe
    now: int | None = None
    peak: int | None = None
    capacity: int | None = None
    scope: Safe | None = None
    core: int | None = None
    process: int | None = None
    name: Safe | None = None
    parts: Mapping[str, int] | None = None
    busy: float | None = None


@dataclass(frozen=True, slots=True)
class DownloadEvent:
    event: ClassVar = "download"
    file: Safe
    blob: Safe | None = None
    state: Literal["start", "end", "failed"] | None = None
    done: int | None = None
    total: int | None = None


@dataclass(frozen=True, slots=True)
class DiskEvent:
    event: ClassVar = "disk"
    place: Safe
    free: int
    capacity: int | None = None


@dataclass(frozen=True, slots=True)
class NoticeEvent:
    event: ClassVar = "notice"
    text: Safe
    kind: Safe | None = None


@dataclass(frozen=True, slots=True)
class ExitEvent:
    """A process of the run ends."""

    event: ClassVar = "exit"
    code: int | None


@dataclass(frozen=True, slots=True)
class CheckEvent:
    """What the check found, as it stands in result.json."""

    event: ClassVar = "check"
    outcome: Outcome | None
    reason: Safe
    kind: Kind | None
    tokens: Mapping[str, Any] | None = None
    judge: Mapping[str, Any] | None = None
    stack: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class DiagnosisEvent:
    """What the log means so far."""

    event: ClassVar = "diagnosis"
    cls: Safe
    severity: Safe
    summary: Safe
    hint: Safe


@dataclass(frozen=True, slots=True)
class ResultEvent:
    event: ClassVar = "result"
    outcome: Outcome
    kind: Kind | None
    device: Safe
    verdict: Verdict | None
    reason: Safe
    watch_cpu_s: float | None = None


@dataclass(frozen=True, slots=True)
class OtherEvent:
    """None of the kinds above (`wrong` False), or one that does not have its shape."""

    event: ClassVar = ""
    name: Safe
    wrong: bool = False


Body = (
    StageEvent | StepStart | StepEnd | EnvironmentEvent | CoresEvent | ProcessEvent | ErrorEvent | GroupEvent | LoadedEvent
    | DynamoEvent | CompileEvent | CompilersEvent | NeffEvent | LockStart | LockEnd | GenerateStart | GenerateEnd | TokenEvent
    | ForwardEvent | WarmEvent | MemoryEvent | DownloadEvent | DiskEvent | NoticeEvent | ExitEvent | CheckEvent | DiagnosisEvent
    | ResultEvent | OtherEvent
)  # fmt: skip


class Event(NamedTuple):  # a tuple is made in a third of a frozen dataclass's time, and there is one a line
    """One line of events.jsonl. `s`: the run's own seconds, None where it was told without; `raw`: the line's object,
    with whatever else stood in it."""

    body: Body
    s: float | None
    pid: int | None
    rank: int | None
    raw: Mapping[str, Any]

    @property
    def t(self) -> float | None:
        """UTC epoch seconds."""
        return number(self.raw.get("t"))

    @property
    def ours(self) -> bool:
        """Told by the supervisor, and not by a process of the run."""
        return self.raw.get("src") == "supervisor"


def as_json(body: Body) -> dict[str, Any]:
    """The event as it stands in the file, without its head."""
    found: dict[str, Any] = {"event": body.event}
    for one in fields(body):
        value = getattr(body, one.name)
        if value is not None or one.default is MISSING:
            found[KEYS.get(one.name, one.name)] = value
    return found
