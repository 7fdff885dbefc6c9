"""One run as a screen sees it: a thread follows its folder and hands over frozen snapshots, a few a second. No Textual in here."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

from trnui.tui.run.run_snapshot import RunSnapshot
from trnui_runner.diagnosis import LiveStatus, Stream
from trnui_runner.run_folder.events import CompilersEvent, Event, MemoryEvent, ProcessEvent
from trnui_runner.run_folder.folder import RunFolder
from trnui_runner.run_folder.follower import Follower, Update
from trnui_runner.run_folder.progress import Progress
from trnui_runner.run_folder.recipe import Recipe

LOOK_S = 0.25  # between two looks, and so between two snapshots
CLOCK_S = 1.0  # a snapshot comes at least so often while the run goes on, for its clock
SAMPLES = 720  # of memory kept for each scope; beyond it every second one is dropped


class RunWatcher:
    """Follows one run until `close`. `tell` is called from the thread."""

    def __init__(self, run: RunFolder, recipe: Recipe, tell: Callable[[RunSnapshot], object]) -> None:
        self.run = run
        self._recipe = recipe
        self._tell = tell
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._follow, name=f"watch {run.id}", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        """Ends the thread; the run is not touched."""
        self._ended.set()

    def _follow(self) -> None:
        run_model = RunModel(self.run, self._recipe)
        told = float("-inf")
        with run_model.follower:
            while not self._ended.is_set():
                update, changed = run_model.look()
                if update.more and (update.events or update.over):
                    continue
                now = time.monotonic()
                if changed or now - told >= CLOCK_S:
                    self._tell(run_model.snapshot())
                    told = now
                if update.over:
                    return
                self._ended.wait(LOOK_S)


class RunModel:
    """The follower, the meaning of the log, and the memory over time; one thread uses it."""

    def __init__(self, run: RunFolder, recipe: Recipe) -> None:
        self.follower = Follower(run)
        self._run, self._recipe = run, recipe
        self._stream = Stream()
        self._fold = (
            Progress()
        )  # event by event, where the follower's own takes them in blocks: memory over time needs each
        self._history: dict[tuple[str, str], deque[tuple[float, int]]] = {}
        self._stack: dict[str, Any] = {}
        self._compiler: tuple[float | None, float | None] = (None, None)
        self._parts: dict[str, Mapping[str, int]] = {}
        self._busy: dict[str, float] = {}
        self._last: tuple[object, ...] = ()
        self._outcome = "queued"
        self._answer: LiveStatus | None = None

    def look(self) -> tuple[Update, bool]:
        """One poll; and whether there is anything new to draw."""
        update = self.follower.poll()
        for event in update.events:
            self._take(event)
        if update.result is None:  # it goes on, or was lost: nobody else has said what the log means
            now = self.follower.elapsed() or 0.0
            if update.log:
                self._stream.feed(update.log, now)
            if update.log or update.outcome in ("queued", "running"):
                self._answer = self._stream.answer(now)
        self._outcome = update.outcome
        key = (update.outcome, update.state, update.result is None)
        changed = bool(update.events or update.log) or key != self._last
        self._last = key
        return update, changed

    def _take(self, event: Event) -> None:
        body, before = event.body, dict(self._fold.memory)
        self._fold.add(event)
        gone = [key for key in before if key not in self._fold.memory]
        for key, memory in self._fold.memory.items():
            if before.get(key) is memory:
                continue
            if key not in before and gone:  # a process has said which rank it is
                self._history[key] = self._history.pop(gone.pop(), deque())
            elif isinstance(body, MemoryEvent) and memory.now is not None:
                samples = self._history.setdefault(key, deque())
                samples.append((self._fold.now, memory.now))
                if len(samples) > SAMPLES:
                    self._history[key] = deque(list(samples)[::2])
        if isinstance(body, CompilersEvent):
            self._compiler = (body.cpu, body.oldest_s)
        elif isinstance(body, MemoryEvent) and body.core is not None:
            scope = f"core {body.core}"
            if body.parts is not None:
                self._parts[scope] = body.parts
            if body.busy is not None:
                self._busy[scope] = body.busy
        elif isinstance(body, ProcessEvent):
            self._stack = {**body.versions, **self._stack}

    def snapshot(self) -> RunSnapshot:
        follower, progress = self.follower, self.follower.progress
        now = follower.elapsed()
        state, result = follower.state, follower.result
        return RunSnapshot(
            run=self._run,
            recipe=self._recipe,
            outcome=self._outcome,
            state=state,
            result=result,
            elapsed=now,
            stage=progress.stage if result is None else "done",
            stages=dict(result.stages) if result is not None and result.stages else progress.stage_seconds(now),
            compile_s=progress.compile_seconds(now) if result is None else result.compile_s,
            graphs=progress.graphs if result is None or result.graphs is None else result.graphs,
            compiling=tuple((c, max(0.0, (now or progress.now) - c.began)) for c in progress.compiling),
            compilers=progress.compilers,
            compiler_cpu=self._compiler[0],
            compiler_oldest=self._compiler[1],
            neff=progress.neff() if result is None else result.neff,
            locks=tuple(progress.locks.values()),
            tokens=progress.tokens,
            forwards=progress.forwards,
            text=progress.text,
            generates=tuple(progress.generates.values()),
            memory=tuple(sorted(progress.memory.values(), key=lambda m: (m.source, _natural(m.scope)))),
            history={k: tuple(v) for k, v in self._history.items()},
            parts=dict(self._parts),
            busy=dict(self._busy),
            downloads=tuple(progress.downloads.values()),
            loaded=progress.loaded,
            notices=tuple(progress.notices),
            errors=tuple(progress.errors),
            stack=self._stack if result is None or not result.stack else result.stack,
            ranks=max(progress.world_size, len(progress.ranks)),
            silent=progress.silent,
            quiet_for=progress.silent_for(now) if now is not None else 0.0,
            answer=self._answer,
            bad_events=follower.bad,
            stale_for=max(0.0, time.time() - state.updated) if state is not None else 0.0,
        )


def _natural(scope: str) -> tuple[bool, str, int]:
    """Ranks and cores by their number; the whole run behind its parts."""
    word, _, number = scope.rpartition(" ")
    return (scope == "run", word, int(number)) if number.isdigit() else (scope == "run", scope, -1)
