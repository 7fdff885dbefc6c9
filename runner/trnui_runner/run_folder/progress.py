"""What a run's events add up to: stages, compiles, tokens, memory, downloads, silence. A pure fold that reads no clock and
no file, so that supervisor, `attach` and the run screen, live or years later, all see the same.

Times are `s`, the seconds since the run began by a clock that never jumps (the merger stamps every event with it).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from trnui_runner.run_folder.folder import STAGES
from trnui_runner.run_folder.intervals import Union
from trnui_runner.run_folder.progress_types import Compile, Download, Generate, Memory, Note, number, text, whole

__all__ = ["Compile", "Download", "Generate", "Memory", "Note", "Progress"]

Event = Mapping[str, Any]
STILL = frozenset({"memory", "disk", "notice", "diagnosis", "compilers"})  # tell of a run, but not that it moves
# What a check does is not what the run did.
OF_THE_RUN = frozenset({"loaded", "generate", "token", "forward", "compile", "dynamo", "compilers", "group", "process"})
TEXT, COMPILES, NOTICES, ERRORS = 64_000, 1000, 50, 20


@dataclass
class Progress:
    """`add` every event in order, `output` when the log grew; then read. `now` below is the run's own `s`."""

    stage: str = "queued"
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
    loaded: dict[str, Any] | None = None
    locks: dict[str, dict[str, Any]] = field(default_factory=dict)  # compile locks waited for, by key
    notices: deque[Note] = field(default_factory=lambda: deque(maxlen=NOTICES))
    errors: deque[Note] = field(default_factory=lambda: deque(maxlen=ERRORS))
    codes: dict[str, int] = field(default_factory=dict)  # step → exit code
    check: dict[str, Any] | None = None
    warm: dict[str, Any] | None = None  # the second generate, with everything compiled
    diagnosis: dict[str, Any] | None = None
    outcome: str | None = None
    now: float = 0.0  # `s` of the newest event
    moved: float = 0.0  # `s` of the last sign of life
    silent: str | None = None  # the supervisor's words, until something moves

    _base: str = "queued"
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
        """Takes one event; whatever does not have the expected shape is left out, for scripts may write anything."""
        told = event.get("event")
        name = told if isinstance(told, str) else ""
        self.now = max(self.now, self._when(event))
        if name not in STILL:
            self.moved, self.silent = max(self.moved, self.now), None
        handler = None if self._checking and name in OF_THE_RUN else _HANDLERS.get(name)
        if handler is not None:
            try:
                handler(self, event)
            except (TypeError, ValueError, KeyError, AttributeError, OverflowError):
                self.notices.append(Note(self.now, f"an event of unknown shape: {name[:40]}"))
        self._settle()

    def _when(self, event: Event) -> float:
        s, t = number(event.get("s")), number(event.get("t"))
        if s is not None:
            return s
        if t is None:
            return self.now
        self._zero = t if self._zero is None else self._zero
        return max(0.0, t - self._zero)

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

    # one function an event

    def _stage(self, event: Event) -> None:
        if event["name"] in STAGES and not self._checking:
            self._base = event["name"]

    def _step(self, event: Event) -> None:
        if event["state"] == "start":
            stage, self._main = event.get("stage"), whole(event.get("child"))
            self._checking = stage == "checking"
            self._base = stage if isinstance(stage, str) and stage in STAGES else "preparing"
            return
        self._end_all()
        self.locks.clear()
        self.compilers = 0
        if isinstance(event.get("code"), int):
            self.codes[str(event["name"])] = event["code"]

    def _process(self, event: Event) -> None:
        rank, pid = whole(event.get("rank")), int(event["pid"])
        if rank is None or rank in self.ranks:
            return
        before = self._who(event)
        self.ranks[rank] = pid
        for (scope, source), memory in list(self.memory.items()):
            if scope == before:  # it was looked at before it said which rank it is
                del self.memory[scope, source]
                self.memory[f"rank {rank}", source] = replace(memory, scope=f"rank {rank}")

    def _group(self, event: Event) -> None:
        size = whole(event.get("world_size"))
        if size is not None:
            self.world_size = max(self.world_size, size)
        self._process(event)
        if event.get("state") == "failed":
            self._error(event)

    def _loaded(self, event: Event) -> None:
        if event.get("state") == "failed":
            self._error(event)
        else:
            self.loaded = dict(event)

    def _dynamo(self, event: Event) -> None:
        key = (int(event["pid"]), "dynamo")
        if event["state"] == "start":
            self._work.begin(key, self.now)
        else:
            self._work.end(key, self.now, number(event.get("seconds")))

    def _compile(self, event: Event) -> None:
        pid, state = int(event["pid"]), str(event["state"])
        key = (pid, str(event.get("graph") or event.get("name") or ""))
        old = self.compiles.get(key)
        if state == "start":
            self._work.begin(key, self.now)
            if len(self.compiles) < COMPILES:
                self.compiles[key] = Compile(
                    pid,
                    whole(event.get("rank")),
                    str(event.get("graph") or ""),
                    text(event.get("name")),
                    whole(event.get("nodes")),
                    text(event.get("backend")),
                    "start",
                    self.now,
                )
            return
        self._work.end(key, self.now, number(event.get("seconds")))
        if state == "end":
            self._graphs[pid] = self._graphs.get(pid, 0) + 1
        else:
            self._error(event)
        if old is not None:
            seconds = number(event.get("seconds"))
            self.compiles[key] = replace(old, state=state, seconds=self.now - old.began if seconds is None else seconds)

    def _compilers(self, event: Event) -> None:
        """`{alive: n}` from whoever watches compiler processes; while there are any, the run is compiling."""
        self.compilers = int(event["alive"])
        if self.compilers > 0:
            self._work.begin((0, "compilers"), self.now)
        else:
            self._work.end((0, "compilers"), self.now)

    def _neff_event(self, event: Event) -> None:
        for word, name in (("hit", "hits"), ("miss", "misses"), ("new", "new")):
            if event.get("kind") == word or event.get("state") == word:
                self._neff[name] = self._neff.get(name, 0) + (whole(event.get("n")) or 1)
            elif whole(event.get(name)) is not None:  # totals so far
                self._neff[name] = max(self._neff.get(name, 0), int(event[name]))

    def _lock(self, event: Event) -> None:
        key = str(event["key"])
        if event.get("state") == "end":
            self.locks.pop(key, None)
        elif len(self.locks) < COMPILES:
            self.locks[key] = dict(event)

    def _generate(self, event: Event) -> None:
        self._base = "generating"
        state, n = event["state"], int(event.get("n") or len(self.generates) or 1)
        if event.get("rank") not in (None, 0) and state != "failed":
            return
        if state == "start":
            self.forwards = 0  # tokens and text stay until new ones come: a warm second call tells none
            prompt, chunk = whole(event.get("prompt_tokens")), whole(event.get("prefill_chunk"))
            self.generates[n] = Generate(n, str(event.get("device") or ""), prompt, chunk, self.now)
            return
        ids = event.get("new_ids")
        self.generates[n] = replace(
            self.generates.get(n) or Generate(n, str(event.get("device") or "")),
            seconds=number(event.get("seconds")),
            first_s=number(event.get("first_s")),
            median_s=number(event.get("median_s")),
            forwards=whole(event.get("forwards")),
            new_ids=tuple(int(i) for i in ids) if isinstance(ids, list) else None,
            text=text(event.get("text")),
            failed=state == "failed",
        )
        self.forwards = max(self.forwards, whole(event.get("forwards")) or 0)
        if whole(event.get("graphs")) is not None:
            self._counted = max(self._counted or 0, int(event["graphs"]))
        if state == "failed":
            self._error(event)

    def _token(self, event: Event) -> None:
        if event.get("rank") in (None, 0):
            self._base = "generating"
            self.tokens = whole(event.get("n")) or self.tokens + 1
            before = self.text if self.tokens > 1 else ""
            self.text = (before + str(event.get("text") or ""))[-TEXT:]

    def _forward(self, event: Event) -> None:
        if event.get("rank") in (None, 0):
            self.forwards = max(self.forwards, int(event["n"]))

    def _warm(self, event: Event) -> None:
        if event.get("rank") in (None, 0):
            self.warm = dict(event)

    def _memory(self, event: Event) -> None:
        core, rank, scope = whole(event.get("core")), whole(event.get("rank")), event.get("scope")
        if self._checking:
            if scope is not None or core is not None:
                return  # of all processes, or of the device: not what the run took
            scope = "check"
        if not isinstance(scope, str):
            scope = f"core {core}" if core is not None else f"rank {rank}" if rank is not None else self._who(event)
        key = (scope, str(event.get("source") or "?"))
        old = self.memory.get(key) or Memory(*key)
        now, peak = whole(event.get("now")), whole(event.get("peak"))
        best = max((v for v in (old.peak, peak, now) if v is not None), default=None)
        capacity = whole(event.get("capacity"))
        self.memory[key] = Memory(*key, now, best, old.capacity if capacity is None else capacity)
        whole_run = self.memory.get(("run", key[1]))
        if whole_run and best is not None and best > (whole_run.peak or 0) and not self._checking:
            self.memory["run", key[1]] = replace(whole_run, peak=best)  # the sum is looked at now and then only

    def _who(self, event: Event) -> str:
        pid = event.get("process", event.get("pid"))
        usual = "run.py" if pid == self._main else f"process {pid}"
        return next((f"rank {r}" for r, p in self.ranks.items() if p == pid), usual)

    def _download(self, event: Event) -> None:
        blob = str(event.get("blob") or event["file"])
        old = self.downloads.get(blob)
        told = str(event["file"])
        name = (
            old.file if old and blob.startswith(told) else told
        )  # the cache's watcher knows no better name than the blob's
        old = old or Download(name)
        done, total = whole(event.get("done")), whole(event.get("total"))
        done, total = old.done if done is None else done, old.total if total is None else total
        over = event.get("state") in ("end", "failed") or (total is not None and done >= total)
        if over and total is not None and event.get("state") == "end":
            done = total
        self.downloads[blob] = Download(name, done, total, over)

    def _disk(self, event: Event) -> None:
        self.disk[str(event["place"])] = int(event["free"])

    def _notice(self, event: Event) -> None:
        words = str(event.get("text") or "")
        self.notices.append(Note(self.now, words, str(event.get("kind") or ""), whole(event.get("rank"))))
        if event.get("kind") == "silent":
            self.silent = words

    def _error(self, event: Event) -> None:
        words = str(event.get("text") or event.get("message") or "")
        self.errors.append(
            Note(
                self.now, words, str(event.get("class") or ""), whole(event.get("rank")), str(event.get("where") or "")
            )
        )

    def _exit(self, event: Event) -> None:
        self._end_all(int(event["pid"]))

    def _check(self, event: Event) -> None:
        self.check = dict(event)

    def _diagnosis(self, event: Event) -> None:
        self.diagnosis = dict(event)

    def _result(self, event: Event) -> None:
        if event.get("src") == "supervisor":
            self._end_all()
            self._base, self.outcome = "done", str(event["outcome"])


_HANDLERS = {
    "stage": Progress._stage,
    "step": Progress._step,
    "process": Progress._process,
    "group": Progress._group,
    "loaded": Progress._loaded,
    "dynamo": Progress._dynamo,
    "compile": Progress._compile,
    "compilers": Progress._compilers,
    "neff": Progress._neff_event,
    "lock": Progress._lock,
    "generate": Progress._generate,
    "token": Progress._token,
    "forward": Progress._forward,
    "warm": Progress._warm,
    "memory": Progress._memory,
    "download": Progress._download,
    "disk": Progress._disk,
    "notice": Progress._notice,
    "error": Progress._error,
    "exit": Progress._exit,
    "check": Progress._check,
    "diagnosis": Progress._diagnosis,
    "result": Progress._result,
}
