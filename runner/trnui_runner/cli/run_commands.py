"""The runs of this host for commands: start, list, follow, stop. Used by `trnui` and by `trnui-runner` alike."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Final, Literal

from trnui_runner.cli.console import Format, ending_code, follow, follow_or_stop, summary
from trnui_runner.common.dataset_schema import MARKS
from trnui_runner.common.errors import Exit, UsageError
from trnui_runner.common.text import ABSENT, cells, clean, clock, decode, one_line, shown
from trnui_runner.request.request import PreparedRun
from trnui_runner.run_folder.folder import Result, RunFolder, all_runs, find_run
from trnui_runner.run_folder.follower import Follower
from trnui_runner.run_folder.recipe import Recipe
from trnui_runner.run_folder.run_index import DAMAGED, entry_of
from trnui_runner.supervise import launcher
from trnui_runner.supervise.process_tree import Process

ListFormat = Literal["table", "json", "jsonl"]
COLUMNS: Final = ("id", "model", "outcome", "device", "verdict", "started", "wall")


@dataclass(frozen=True)
class RunLine:
    """One run. outcome: None while it is running, then `stage` says where it is. Times in seconds, `started` UTC epoch."""

    id: str
    model: str
    outcome: str | None  # `word` is this with its device's mark, for people
    stage: str
    kind: str | None
    verdict: str | None
    device: str
    cores: int
    script: str
    started: float | None
    wall_s: float | None
    reason: str
    path: str

    @property
    def word(self) -> str:
        """`PASS (CPU)`; the stage while it is running."""
        if self.outcome == DAMAGED:
            return DAMAGED
        return f"{self.stage} …" if self.outcome is None else self.outcome + MARKS.get(self.device, "")


def run_lines() -> list[RunLine]:
    """Every run, newest first."""
    return [line_of(run) for run in all_runs()]


def line_of(run: RunFolder) -> RunLine:
    """A folder that cannot be read is a line too: DAMAGED, with the reason."""
    entry = entry_of(run)
    recipe, result, state, outcome, going = entry.recipe, entry.result, entry.state, entry.outcome, entry.going
    return RunLine(
        id=run.id,
        model=recipe.model,
        outcome=None if going else outcome,
        stage=(state.stage if state else "queued") if going else "done",
        kind=result.kind if result and result.outcome in ("PASS", "FAIL") else None,
        verdict=result.verdict if result else None,
        device=result.device if result and result.device else recipe.device,
        cores=recipe.cores,
        script=recipe.script,
        started=state.started or None if state else None,
        wall_s=result.wall_s if result else state.elapsed if state else None,
        reason=entry.problem or (result.reason if result else state.message if state else ""),
        path=str(run.path),
    )


def listing(lines: Sequence[RunLine], format_: ListFormat) -> str:
    """The list as text, without a final newline."""
    if format_ == "json":
        return json.dumps([asdict(line) for line in lines], indent=1)
    if format_ == "jsonl":
        return "\n".join(json.dumps(asdict(line)) for line in lines)
    rows = [COLUMNS, *(_cells(line) for line in lines)]
    widths = [max(cells(row[n]) for row in rows) for n in range(len(COLUMNS))]
    return "\n".join(
        "  ".join(text + " " * (width - cells(text)) for text, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )


def _cells(line: RunLine) -> tuple[str, ...]:
    when = time.strftime("%Y-%m-%d %H:%M", time.localtime(line.started)) if line.started else ABSENT
    wall = (
        None if line.wall_s is None else round(line.wall_s) if line.outcome else line.wall_s
    )  # as the verdict says it
    model = line.reason if line.outcome == DAMAGED else line.model
    return (line.id, one_line(model, 60), line.word, line.device, shown(line.verdict), when, clock(wall))


def show_runs(format_: ListFormat, limit: int | None, say: Callable[[str], None]) -> int:
    """The list on stdout."""
    lines = run_lines()[:limit]
    if not lines:
        say("No runs yet.")
    if lines or format_ == "json":
        print(listing(lines, format_))
    return Exit.OK


def run_and_tell(prepared: PreparedRun, detach: bool, format_: Format, say: Callable[[str], None]) -> int:
    """Starts a run; with `detach` prints its id, else follows it to its end, and Ctrl-C stops it. The exit code is the run's."""
    run = launcher.start(prepared.recipe, prepared.script, prepared.steps, prepared.supervision)
    if detach:
        print(run.id)
        return Exit.OK
    say(f"run {run.id} · log {run.path / 'output.log'}")
    result = follow_or_stop(run, lambda line: print(line, flush=True), format_)
    if result is not None:
        tell_result(prepared.recipe, result, apart=format_ == "jsonl")
    return ending_code(run, result)


def tell_result(recipe: Recipe, result: Result, *, apart: bool) -> None:
    """The summary; `apart` from the data that stdout holds, on stderr."""
    print("\n".join(["", *summary(recipe, result)]), file=sys.stderr if apart else sys.stdout, flush=True)


def one_run(text: str) -> RunFolder:
    """The run that `text` names: its id, a part of it, or "last". Raises UsageError when there is none, or are several."""
    found = find_run(text)
    if len(found) == 1:
        return found[0]
    if not found:
        raise UsageError(
            f"Run not found: {one_line(text)!r}.", "`trnui runs` lists them; part of an id is enough, or `last`."
        )
    some = ", ".join(run.id for run in found[:5])
    raise UsageError(f"{len(found)} runs have {one_line(text)!r} in their id: {some}{' …' if len(found) > 5 else ''}")


def sweep(say: Callable[[str], None]) -> None:
    """At the start of a command: stops what is left of runs whose watchers were killed, and says so."""
    for run_id, ended in launcher.sweep_all().items():
        found = f"; {len(ended)} remaining process{'es were' if len(ended) > 1 else ' was'} stopped" if ended else ""
        say(f"run {run_id} was lost: its supervisor is gone{found}")


def attach(run: RunFolder, format_: Format, log: bool, say: Callable[[str], None]) -> int:
    """Follows a run on stdout until its end; Ctrl-C detaches. The exit code is the run's. log: the script's output instead."""

    def tell(line: str) -> None:
        print(line, flush=True)

    try:
        if log:
            tell_log(run)
            result = run.result()
        else:
            result = follow(run, tell, format_)
    except KeyboardInterrupt:
        say(f"detached; run {run.id} goes on")
        return Exit.INTERRUPTED
    recipe, problem = run.recipe(), run.problem()
    if result is not None and recipe is not None:
        tell_result(recipe, result, apart=log or format_ == "jsonl")
    elif result is None:
        say(
            f"run {run.id}: "
            + (problem or ("its folder is gone" if not run.path.is_dir() else "no result was written"))
        )
    return ending_code(run, result)


def tell_log(run: RunFolder) -> None:
    """output.log from the beginning to the run's end, in whole lines, safe to show."""
    rest = b""
    with Follower(run, tail=None) as follower:
        while True:
            update = follower.poll()
            head, end, rest = (rest + update.log).rpartition(b"\n")
            if end:
                print(clean(decode(head)), flush=True)
            elif len(rest) > 1 << 20:  # a line without an end
                print(clean(decode(rest)), end="", flush=True)
                rest = b""
            if update.over:
                break
            if not update.more:
                time.sleep(0.1)
    if rest:
        print(clean(decode(rest)), flush=True)


def stop(run: RunFolder, say: Callable[[str], None]) -> int:
    """Stops a run and prints what was stopped. 0: nothing of it is left; 1: something could not be stopped."""
    if run.outcome() in ("queued", "running"):
        say(f"stopping {run.id} …")
    stopped = launcher.stop(run)
    if stopped.already:
        print(f"{run.id}: had already ended ({stopped.outcome})")
        return Exit.OK
    print(f"{run.id}: {stopped.outcome}")
    print(f"stopped: {_who(stopped.ended) or 'no process was alive'}")
    if stopped.left:
        print(f"STILL THERE: {_who(stopped.left)}")
        return Exit.FAILED
    print("nothing is left: no process, no core")
    return Exit.OK


def _who(members: Sequence[Process]) -> str:
    by_name: dict[str, list[int]] = {}
    for process in members:
        by_name.setdefault(process.name, []).append(process.pid)
    words = [
        f"{len(pids)} × {one_line(name, 20)} ({', '.join(map(str, pids[:8]))}{' …' if len(pids) > 8 else ''})"
        for name, pids in by_name.items()
    ]
    return ", ".join(words)
