"""What a run's events add up to: stages, compiles, tokens, memory, downloads, silence. A pure fold that reads no clock and
no file, so that supervisor, `attach` and the run screen, live or years later, all see the same.

Times are `s`, the seconds since the run began by a clock that never jumps (the merger stamps every event with it).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeVar

from trnui_runner.run_folder.events import (
    Body,
    CheckEvent,
    CompileEvent,
    CompilersEvent,
    DiagnosisEvent,
    DiskEvent,
    DownloadEvent,
    DynamoEvent,
    ErrorEvent,
    Event,
    ExitEvent,
    ForwardEvent,
    GenerateEnd,
    GenerateStart,
    GroupEvent,
    LoadedEvent,
    LockEnd,
    LockStart,
    MemoryEvent,
    NeffEvent,
    NoticeEvent,
    OtherEvent,
    ProcessEvent,
    ResultEvent,
    StageEvent,
    StepEnd,
    StepStart,
    TokenEvent,
    WarmEvent,
)
from trnui_runner.run_folder.intervals import Union
from trnui_runner.run_folder.outcome import Outcome, Stage
from trnui_runner.run_folder.progress_types import Compile, Download, Generate, Memory, Note

__all__ = ["Compile", "Download", "Generate", "Memory", "Note", "Progress"]

# Tell of a run, but not that it moves.
STILL: Final[frozenset[type]] = frozenset((MemoryEvent, DiskEvent, NoticeEvent, DiagnosisEvent, CompilersEvent))
# What a check does is not what the run did.
OF_THE_RUN = (
    LoadedEvent, GenerateStart, GenerateEnd, TokenEvent, ForwardEvent, CompileEvent, DynamoEvent, CompilersEvent, GroupEvent,
    ProcessEvent,
)  # fmt: skip
TEXT, COMPILES, NOTICES, ERRORS = 64_000, 1000, 50, 20

_HANDLERS: dict[type, Callable[[Progress, Event, Any], None]] = {}
B = TypeVar("B", bound=Body)
Handler = Callable[["Progress", Event, B], None]


def _takes(kind: type[B]) -> Callable[[Handler[B]], Handler[B]]:
    """The method below adds up the events of this kind."""

    def keep(handler: Handler[B]) -> Handler[B]:
        _HANDLERS[kind] = handler
        return handler

    return keep


@dataclass
class Progress:
    """`add` every event in order, `output` when the log grew; then read. `now` below is the run's own `s`."""

    stage: Stage = "queued"
    world_size: int = 1
    ranks: dict[int, int] = field(default_factory=dict)  # rank → pid
    tokens: int = 0
    text: str = ""
    forwards: int = 0
    generates: dict[int, Generate] = field(default_factory=dict)
    compiles: dict[tuple[int, str], Compile] = field(default_factory=dict)
    compilers: int = 0  # compiler processes alive, as last told
    memory: dict[tuple[str, str], Memory] = field(default_factory=dict)
    downloads: dict[str, Download] = field(default_factory=dict)  # by blob, or name where that is not told
    disk: dict[str, int] = field(default_factory=dict)  # place → bytes free
    loaded: LoadedEvent | None = None
    locks: dict[str, LockStart] = field(default_factory=dict)  # compile locks waited for, by key
    notices: deque[Note] = field(default_factory=lambda: deque(maxlen=NOTICES))
    errors: deque[Note] = field(default_factory=lambda: deque(maxlen=ERRORS))
    codes: dict[str, int] = field(default_factory=dict)  # step → exit code
    check: CheckEvent | None = None
    warm: WarmEvent | None = None  # the second generate, with everything compiled
    diagnosis: DiagnosisEvent | None = None
    outcome: Outcome | None = None
    now: float = 0.0  # `s` of the newest event
    moved: float = 0.0  # `s` of the last sign of life
    silent: str | None = None  # the supervisor's words, until something moves

    _base: Stage = "queued"
    _since: float = 0.0
    _spent: dict[str, float] = field(default_factory=dict)
    _work: Union = field(default_factory=Union)  # Dynamo and compilers
    _graphs: dict[int, int] = field(default_factory=dict)
    _counted: int | None = None
    _neff: dict[str, int] = field(default_factory=dict)
    _zero: float | None = None
    _checking: bool = False
    _main: int | None = None  # the present step's first process

    # -- reading

    def stage_seconds(self, now: float | None = None) -> dict[str, float]:
        """Seconds in each stage so far, in order of the first time; the present one up to `now` (or the last event)."""
        found = dict(self._spent)
        if self.stage != "done":
            found[self.stage] = found.get(self.stage, 0.0) + max(0.0, (self.now if now is None else now) - self._since)
        if self.stage != "queued" and found.get("queued", 0.0) < 1.0:
            found.pop("queued", None)  # nothing was waited for
        return {name: round(seconds, 3) for name, seconds in found.items() if seconds > 0 or name == self.stage}

    def compile_seconds(self, now: float | None = None) -> float | None:
        """The union of all Dynamo intervals and live compilers; None when none was seen."""
        return self._work.seconds(self.now if now is None else now)

    @property
    def compiling(self) -> list[Compile]:
        """Graphs and compilers at work now, oldest first."""
        return [c for c in self.compiles.values() if c.state == "start"]

    @property
    def compiler_busy(self) -> bool:
        return self._work.open or self.compilers > 0

    @property
    def graphs(self) -> int | None:
        """Compiled graphs a rank: Dynamo's own count where a `generate` told it, else those seen; None when neither."""
        seen = max(self._graphs.values(), default=None)
        return seen if self._counted is None else max(self._counted, seen or 0)

    @property
    def generated(self) -> bool:
        return any(g.new_ids is not None for g in self.generates.values()) or self.tokens > 0

    def neff(self) -> dict[str, int] | None:
        """NEFF cache hits, misses and new files; None when no source told of any."""
        return {k: self._neff.get(k, 0) for k in ("hits", "misses", "new")} if self._neff else None

    def memory_rows(self) -> tuple[dict[str, Any], ...]:
        """As in result.json: the peaks, each with its source."""
        return tuple(
            {"scope": m.scope, "source": m.source, "peak": m.peak, "capacity": m.capacity}
            for m in sorted(self.memory.values(), key=lambda m: (m.source, m.scope))
        )

    def silent_for(self, now: float) -> float:
        """Seconds since anything moved."""
        return max(0.0, now - self.moved)

    # -- folding

    def output(self, s: float) -> None:
        """The log grew at `s`."""
        self.moved, self.silent = max(self.moved, s), None

    def add(self, event: Event) -> None:
        """Takes one event."""
        body = event.body
        when = self._when(event)
        if when > self.now:
            self.now = when
        if type(body) not in STILL:
            self.moved, self.silent = max(self.moved, self.now), None
        if not (self._checking and isinstance(body, OF_THE_RUN)):
            handler = _HANDLERS.get(type(body))
            if handler is not None:
                handler(self, event, body)
        self._settle()

    def _when(self, event: Event) -> float:
        if event.s is not None:
            return event.s
        if event.t is None:
            return self.now
        self._zero = event.t if self._zero is None else self._zero
        return max(0.0, event.t - self._zero)

    def _settle(self) -> None:
        """The stage that follows from what is going on, and the time of the one that ends with it."""
        stage = self._base
        if stage in ("preparing", "loading", "generating", "compiling") and self._work.open:
            stage = "compiling"
        elif stage in ("preparing", "loading") and any(not d.over for d in self.downloads.values()):
            stage = "downloading"
        elif stage == "compiling":  # told by a script, and no compiler at work any more
            stage = "generating" if self.generates else "compiling"
        if stage != self.stage:
            self._spent[self.stage] = self._spent.get(self.stage, 0.0) + max(0.0, self.now - self._since)
            self.stage, self._since = stage, self.now

    def _end_all(self, pid: int | None = None) -> None:
        self._work.end_all(self.now, pid)
        for c_key, c in list(self.compiles.items()):
            if c.state == "start" and (pid is None or c_key[0] == pid):
                self.compiles[c_key] = replace(c, state="failed", seconds=round(self.now - c.began, 3))

    # one function a kind of event

    @_takes(StageEvent)
    def _stage(self, _: Event, body: StageEvent) -> None:
        if body.name is not None and not self._checking:
            self._base = body.name

    @_takes(StepStart)
    def _step_start(self, _: Event, body: StepStart) -> None:
        self._main, self._checking = body.child, body.stage == "checking"
        self._base = body.stage or "preparing"

    @_takes(StepEnd)
    def _step_end(self, _: Event, body: StepEnd) -> None:
        self._end_all()
        self.locks.clear()
        self.compilers = 0
        if body.code is not None:
            self.codes[body.name] = body.code

    @_takes(ProcessEvent)
    def _process(self, event: Event, _: ProcessEvent) -> None:
        self._ranked(event)

    def _ranked(self, event: Event) -> None:
        """A process says which rank it is."""
        rank, pid = event.rank, event.pid
        if rank is None or pid is None or rank in self.ranks:
            return
        before = self._who(pid)
        self.ranks[rank] = pid
        for (scope, source), memory in list(self.memory.items()):
            if scope == before:  # it was looked at before it said which rank it is
                del self.memory[scope, source]
                self.memory[f"rank {rank}", source] = replace(memory, scope=f"rank {rank}")

    @_takes(GroupEvent)
    def _group(self, event: Event, body: GroupEvent) -> None:
        if body.world_size is not None:
            self.world_size = max(self.world_size, body.world_size)
        self._ranked(event)
        self._failed(event, body.error)

    @_takes(LoadedEvent)
    def _loaded(self, event: Event, body: LoadedEvent) -> None:
        self._failed(event, body.error)
        if body.error is None:
            self.loaded = body

    @_takes(DynamoEvent)
    def _dynamo(self, event: Event, body: DynamoEvent) -> None:
        key = (event.pid, "dynamo")
        if body.start:
            self._work.begin(key, self.now)
        else:
            self._work.end(key, self.now, body.seconds)

    @_takes(CompileEvent)
    def _compile(self, event: Event, body: CompileEvent) -> None:
        pid = event.pid or 0
        key = (pid, body.graph or body.name or "")
        old = self.compiles.get(key)
        if body.state == "start":
            self._work.begin(key, self.now)
            if len(self.compiles) < COMPILES:
                self.compiles[key] = Compile(
                    pid, event.rank, body.graph or "", body.name, body.nodes, body.backend, "start", self.now
                )
            return
        self._work.end(key, self.now, body.seconds)
        if body.state == "end":
            self._graphs[pid] = self._graphs.get(pid, 0) + 1
        self._failed(event, body.error)
        if old is not None:
            spent = self.now - old.began if body.seconds is None else body.seconds
            self.compiles[key] = replace(old, state=body.state, seconds=spent)

    @_takes(CompilersEvent)
    def _compilers(self, _: Event, body: CompilersEvent) -> None:
        """From whoever watches compiler processes; while there are any, the run is compiling."""
        self.compilers = body.alive
        if self.compilers > 0:
            self._work.begin((0, "compilers"), self.now)
        else:
            self._work.end((0, "compilers"), self.now)

    @_takes(NeffEvent)
    def _neff_event(self, _: Event, body: NeffEvent) -> None:
        totals = {"hits": body.hits, "misses": body.misses, "new": body.new}
        for word, name in (("hit", "hits"), ("miss", "misses"), ("new", "new")):
            total = totals[name]
            if body.kind == word:
                self._neff[name] = self._neff.get(name, 0) + (body.n or 1)
            elif total is not None:
                self._neff[name] = max(self._neff.get(name, 0), total)

    @_takes(LockStart)
    def _lock_start(self, _: Event, body: LockStart) -> None:
        if len(self.locks) < COMPILES:
            self.locks[body.key] = body

    @_takes(LockEnd)
    def _lock_end(self, _: Event, body: LockEnd) -> None:
        self.locks.pop(body.key, None)

    @_takes(GenerateStart)
    def _generate_start(self, event: Event, body: GenerateStart) -> None:
        self._base = "generating"
        if event.rank not in (None, 0):
            return
        self.forwards = 0  # tokens and text stay until new ones come: a warm second call tells none
        n = self._call(body.n)
        self.generates[n] = Generate(n, body.device, body.prompt_tokens, body.prefill_chunk, self.now)

    @_takes(GenerateEnd)
    def _generate_end(self, event: Event, body: GenerateEnd) -> None:
        self._base = "generating"
        if event.rank not in (None, 0) and body.error is None:
            return
        n = self._call(body.n)
        self.generates[n] = replace(
            self.generates.get(n) or Generate(n, body.device),
            seconds=body.seconds,
            first_s=body.first_s,
            median_s=body.median_s,
            forwards=body.forwards,
            new_ids=body.new_ids,
            text=body.text,
            failed=body.error is not None,
        )
        self.forwards = max(self.forwards, body.forwards or 0)
        if body.graphs is not None:
            self._counted = max(self._counted or 0, body.graphs)
        self._failed(event, body.error)

    def _call(self, n: int | None) -> int:
        return n or len(self.generates) or 1

    @_takes(TokenEvent)
    def _token(self, event: Event, body: TokenEvent) -> None:
        if event.rank in (None, 0):
            self._base = "generating"
            self.tokens = body.n or self.tokens + 1
            before = self.text if self.tokens > 1 else ""
            self.text = (before + body.text)[-TEXT:]

    @_takes(ForwardEvent)
    def _forward(self, event: Event, body: ForwardEvent) -> None:
        if event.rank in (None, 0):
            self.forwards = max(self.forwards, body.n)

    @_takes(WarmEvent)
    def _warm(self, event: Event, body: WarmEvent) -> None:
        if event.rank in (None, 0):
            self.warm = body

    @_takes(MemoryEvent)
    def _memory(self, event: Event, body: MemoryEvent) -> None:
        scope: str | None = body.scope
        if self._checking:
            if scope is not None or body.core is not None:
                return  # of all processes, or of the device: not what the run took
            scope = "check"
        if scope is None:
            scope = self._scope(event, body)
        key = (scope, body.source or "?")
        old = self.memory.get(key) or Memory(*key)
        best = max((v for v in (old.peak, body.peak, body.now) if v is not None), default=None)
        self.memory[key] = Memory(*key, body.now, best, old.capacity if body.capacity is None else body.capacity)
        whole_run = self.memory.get(("run", key[1]))
        if whole_run and best is not None and best > (whole_run.peak or 0) and not self._checking:
            self.memory["run", key[1]] = replace(whole_run, peak=best)  # the sum is looked at now and then only

    def _scope(self, event: Event, body: MemoryEvent) -> str:
        if body.core is not None:
            return f"core {body.core}"
        if event.rank is not None:
            return f"rank {event.rank}"
        return self._who(event.pid if body.process is None else body.process)

    def _who(self, pid: int | None) -> str:
        usual = "run.py" if pid == self._main else f"process {pid}"
        return next((f"rank {r}" for r, p in self.ranks.items() if p == pid), usual)

    @_takes(DownloadEvent)
    def _download(self, _: Event, body: DownloadEvent) -> None:
        blob = body.blob or body.file
        old = self.downloads.get(blob)
        # the cache's watcher knows no better name than the blob's
        name = old.file if old and blob.startswith(body.file) else body.file
        old = old or Download(name)
        done = old.done if body.done is None else body.done
        total = old.total if body.total is None else body.total
        over = body.state in ("end", "failed") or (total is not None and done >= total)
        if over and total is not None and body.state == "end":
            done = total
        self.downloads[blob] = Download(name, done, total, over)

    @_takes(DiskEvent)
    def _disk(self, _: Event, body: DiskEvent) -> None:
        self.disk[body.place] = body.free

    @_takes(NoticeEvent)
    def _notice(self, event: Event, body: NoticeEvent) -> None:
        self.notices.append(Note(self.now, body.text, body.kind or "", event.rank))
        if body.kind == "silent":
            self.silent = body.text

    @_takes(OtherEvent)
    def _other(self, _: Event, body: OtherEvent) -> None:
        if body.wrong:
            self.notices.append(Note(self.now, f"an event of unknown shape: {body.name}"))

    @_takes(ErrorEvent)
    def _error(self, event: Event, body: ErrorEvent) -> None:
        self._failed(event, body)

    def _failed(self, event: Event, error: ErrorEvent | None) -> None:
        if error is not None:
            self.errors.append(Note(self.now, error.text, error.cls, event.rank, error.where))

    @_takes(ExitEvent)
    def _exit(self, event: Event, _: ExitEvent) -> None:
        if event.pid is not None:
            self._end_all(event.pid)

    @_takes(CheckEvent)
    def _check(self, _: Event, body: CheckEvent) -> None:
        self.check = body

    @_takes(DiagnosisEvent)
    def _diagnosis(self, _: Event, body: DiagnosisEvent) -> None:
        self.diagnosis = body

    @_takes(ResultEvent)
    def _result(self, event: Event, body: ResultEvent) -> None:
        if event.ours:
            self._end_all()
            self._base, self.outcome = "done", body.outcome
