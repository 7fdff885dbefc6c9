"""All that is known of a run at one moment, as a frozen value: what the lines of the run's screen are made from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from trnui_runner.diagnosis import LiveStatus
from trnui_runner.run_folder.events import LoadedEvent, LockStart
from trnui_runner.run_folder.folder import Result, RunFolder, State
from trnui_runner.run_folder.progress import Compile, Download, Generate, Memory, Note
from trnui_runner.run_folder.recipe import Recipe

Samples = tuple[tuple[float, int], ...]  # (seconds since the run began, bytes)


@dataclass(frozen=True)
class RunSnapshot:
    """All that is known of a run at one moment. `outcome`: "queued", "running" or the end's word. Times in seconds, sizes in bytes."""

    run: RunFolder
    recipe: Recipe
    outcome: str = "queued"
    state: State | None = None
    result: Result | None = None
    elapsed: float | None = None
    stage: str = "queued"
    stages: Mapping[str, float] = field(default_factory=dict)
    compile_s: float | None = None
    graphs: int | None = None
    compiling: tuple[tuple[Compile, float], ...] = ()  # with the age of each
    compilers: int = 0
    compiler_cpu: float | None = None  # percent of one CPU, of all compilers together
    compiler_oldest: float | None = None  # seconds
    neff: Mapping[str, int] | None = None
    locks: tuple[LockStart, ...] = ()
    tokens: int = 0
    forwards: int = 0
    text: str = ""
    generates: tuple[Generate, ...] = ()
    memory: tuple[Memory, ...] = ()
    history: Mapping[tuple[str, str], Samples] = field(default_factory=dict)
    parts: Mapping[str, Mapping[str, int]] = field(
        default_factory=dict
    )  # what a core's memory is used for, as last told
    busy: Mapping[str, float] = field(default_factory=dict)  # percent of a core in use, as last told
    downloads: tuple[Download, ...] = ()
    loaded: LoadedEvent | None = None
    notices: tuple[Note, ...] = ()
    errors: tuple[Note, ...] = ()
    stack: Mapping[str, Any] = field(default_factory=dict)
    ranks: int = 1
    silent: str | None = None
    quiet_for: float = 0.0  # seconds since anything moved
    answer: LiveStatus | None = None  # what the log means so far
    bad_events: int = 0
    stale_for: float = 0.0  # seconds since the supervisor last wrote

    @property
    def going(self) -> bool:
        return self.outcome in ("queued", "running")
