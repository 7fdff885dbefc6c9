"""The runs of this host as rows of a list: read from their folders, ended ones once, going-on ones again and again. No Textual."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Generic, Protocol, TypeVar

from trnui_runner.common.text import ABSENT, Safe, words
from trnui_runner.run_folder.folder import Result, RunFolder, State, all_runs
from trnui_runner.run_folder.recipe import Recipe

LOOK_S = 1.0
DAMAGED: Final = "DAMAGED"
NAMES = ("outcome", "model", "device", "verdict", "time", "started", "script", "cores", "id")  # columns of `row`


@dataclass(frozen=True)
class RunEntry:
    """`outcome`: "queued", "running", the end's word, or "DAMAGED" for a folder that cannot be read, as `problem` says.
    Times in seconds, `started` UTC epoch."""

    run: RunFolder
    recipe: Recipe
    outcome: str
    state: State | None
    result: Result | None
    problem: Safe = Safe("")  # noqa: RUF009 a text

    @property
    def going(self) -> bool:
        return self.outcome in ("queued", "running")

    @property
    def started(self) -> float | None:
        return self.state.started if self.state is not None and self.state.started else None

    @property
    def seconds(self) -> float | None:
        if self.result is not None and self.result.wall_s is not None:
            return self.result.wall_s
        return self.state.elapsed if self.state is not None else None

    @property
    def word(self) -> str:
        """What the list says: the stage of one that goes on, else the outcome."""
        if self.outcome == "running" and self.state is not None:
            return self.state.stage
        return self.outcome

    def row(self) -> tuple[object, ...]:
        """Identity, then the values of NAMES."""
        verdict = self.result.verdict if self.result is not None else None
        recipe = self.recipe
        return (
            self.run.id, self.word, recipe.model, recipe.device, verdict, self.seconds, self.started, recipe.script,
            recipe.cores, self.run.id,
        )  # fmt: skip

    def matches(self, text: str) -> bool:
        """Whether every word is part of the model, outcome, verdict, device, script or id."""
        verdict = (self.result.verdict or "") if self.result is not None else ""
        hay = " ".join(
            (self.recipe.model, self.word, self.outcome, verdict, self.recipe.device, self.recipe.script, self.run.id)
        ).lower()
        return all(word in hay for word in text.lower().split())


def entry_of(run: RunFolder, recipe: Recipe | None = None) -> RunEntry:
    """A run as its folder tells of it; a damaged one is named too. recipe: where it was read already."""
    recipe, outcome, state = recipe or run.recipe(), run.outcome(), run.state()
    if outcome in ("queued", "running"):
        return RunEntry(run, recipe or Recipe(run.id, ABSENT), outcome, state, None)
    problem = run.problem()
    if recipe is None or problem:
        problem = problem or Safe("recipe.json is missing")
        return RunEntry(run, recipe or Recipe(run.id, words("({})", problem)), DAMAGED, state, None, problem)
    return RunEntry(run, recipe, outcome, state, run.result())


class RunIndex:
    """`look` gives every run, newest first. What has ended is read once."""

    def __init__(self, parent: Path | None = None) -> None:
        self._parent = parent
        self._over: dict[str, RunEntry] = {}
        self._recipes: dict[str, Recipe] = {}

    def look(self) -> tuple[RunEntry, ...]:
        found = []
        for run in all_runs(self._parent):
            found.append(self._over.get(run.id) or self._read(run))
        names = {e.run.id for e in found}
        self._over = {k: v for k, v in self._over.items() if k in names}
        self._recipes = {k: v for k, v in self._recipes.items() if k in names}
        return tuple(found)

    def _read(self, run: RunFolder) -> RunEntry:
        entry = entry_of(run, self._recipes.get(run.id))
        if not entry.problem and entry.recipe.model != ABSENT:
            self._recipes[run.id] = entry.recipe
        if entry.result is not None:
            self._over[run.id] = entry
        return entry


class RunListEntry(Protocol):
    """What a list of runs is made of: runs, and what lies above them."""

    def row(self) -> tuple[object, ...]: ...


E = TypeVar("E", bound=RunListEntry)


class RunIndexWatcher(Generic[E]):
    """Looks once a second in a thread; `tell` is called from it with what is there, when that has changed."""

    def __init__(self, look: Callable[[], tuple[E, ...]], tell: Callable[[tuple[E, ...]], object]) -> None:
        self._look, self._tell = look, tell
        self._ended, self._wake, self._paused = threading.Event(), threading.Event(), False
        self._thread = threading.Thread(target=self._run, name="runs", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def pause(self, on: bool) -> None:
        """Nobody looks at the list: no disk is read for it."""
        self._paused = on
        if not on:
            self._wake.set()

    def look_now(self) -> None:
        self._wake.set()

    def close(self) -> None:
        self._ended.set()
        self._wake.set()

    def _run(self) -> None:
        before: tuple[object, ...] | None = None
        while not self._ended.is_set():
            if not self._paused:
                entries = self._look()
                rows = tuple(e.row() for e in entries)
                if rows != before and not self._ended.is_set():
                    before = rows
                    self._tell(entries)
            self._wake.wait(LOOK_S)
            self._wake.clear()


def age_of(started: object, now: float | None = None) -> float | None:
    return max(0.0, (time.time() if now is None else now) - started) if isinstance(started, int | float) else None
