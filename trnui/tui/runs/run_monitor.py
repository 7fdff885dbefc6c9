"""Runs are never out of sight: how many go on, and what ended, wherever the user is in the app. No Textual in here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from trnui.tui.run.lines.verdict import device_word
from trnui_runner.common.text import clean, one_line, seconds
from trnui_runner.run_folder.run_index import RunEntry, RunIndex, RunIndexWatcher

NAMED: Final = 3  # ended runs named one by one; of more only the count is said


@dataclass(frozen=True)
class RunsNow:
    """`ended`: those that were going on at the look before, or, at the first look, that ended since `since`."""

    going: int
    ended: tuple[RunEntry, ...]
    first: bool


class RunMonitor:
    """Looks at the run folders once a second in a thread; `tell` is called from it when a run began or ended."""

    def __init__(self, tell: Callable[[RunsNow], object], since: float | None) -> None:
        self._tell, self._since = tell, since
        self._before: frozenset[str] | None = None
        self._watcher = RunIndexWatcher(RunIndex().look, self._seen)

    def start(self) -> None:
        self._watcher.start()

    def close(self) -> None:
        self._watcher.close()

    def _seen(self, entries: Sequence[RunEntry]) -> None:
        going = frozenset(e.run.id for e in entries if e.going)
        before, self._before = self._before, going
        if before is None:
            ended = ended_since(entries, self._since)
            if going or ended:
                self._tell(RunsNow(len(going), ended, True))
        elif going != before:
            ended = tuple(e for e in entries if e.run.id in before and not e.going)
            self._tell(RunsNow(len(going), ended, False))


def ended_since(entries: Sequence[RunEntry], since: float | None) -> tuple[RunEntry, ...]:
    """The runs whose last word was written after `since` (UTC epoch); none where nobody was here before."""
    if since is None:
        return ()
    return tuple(e for e in entries if not e.going and e.state is not None and e.state.updated > since)


def ended_words(now: RunsNow, key: str) -> str:
    """`org/model: PASS on CPU, 37 s · 4 shows it`; of many only how many came out how."""
    entries = now.ended
    before = "while you were away: " if now.first else ""
    if len(entries) <= NAMED:
        words = "; ".join(_ended(e) for e in entries)
    else:
        outcomes = [str(e.outcome) for e in entries]
        words = f"{len(entries)} runs ended: " + ", ".join(f"{outcomes.count(o)} {o}" for o in dict.fromkeys(outcomes))
    return f"{before}{words} · {key} shows {'it' if len(entries) == 1 else 'them'}"


def _ended(entry: RunEntry) -> str:
    where = "" if entry.recipe.device == "neuron" else f" on {device_word(entry.recipe.device)}"
    took = f", {seconds(entry.seconds)}" if entry.seconds is not None else ""
    return f"{one_line(entry.recipe.model, 60)}: {entry.outcome}{where}{took}"


def signal_for(how: str, words: str) -> str:
    """What is sent to the terminal besides the line: nothing, a bell, or a desktop notification of its own kind."""
    text = clean(words).replace(";", ",").replace("\n", " ")
    return {"bell": "\a", "osc9": f"\x1b]9;{text}\a", "osc777": f"\x1b]777;notify;trnui;{text}\a"}.get(how, "")
