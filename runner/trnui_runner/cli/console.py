"""A run in plain lines, for commands: stages, compiles, tokens and errors as they happen, and the result at the end."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict
from typing import Any, Final, Literal

from trnui_runner.common.dataset_schema import MARKS, device_of, word_of
from trnui_runner.common.errors import Exit
from trnui_runner.common.text import ABSENT, clean, one_line, seconds, shown, size
from trnui_runner.request.judge_choice import judge_for
from trnui_runner.request.request import PreparedRun
from trnui_runner.result.verdict import exit_code, warm_words
from trnui_runner.run_folder.events import (
    CompileEvent,
    DiagnosisEvent,
    ErrorEvent,
    Event,
    GroupEvent,
    LoadedEvent,
    NoticeEvent,
    TokenEvent,
    WarmEvent,
)
from trnui_runner.run_folder.folder import Result, RunFolder
from trnui_runner.run_folder.follower import Follower, Update
from trnui_runner.run_folder.progress import Progress
from trnui_runner.run_folder.recipe import Recipe
from trnui_runner.supervise import launcher

LOOK_S: Final = 0.1
HELPERS: Final = 3
Format = Literal["text", "jsonl"]


class Teller:
    """`lines` after each look of a Follower: only what is new, each line with the run's seconds at which it happened."""

    def __init__(self) -> None:
        self.progress = Progress()  # event by event: a Follower's is ahead, at the end of what it has read
        self.stage = ""
        self.message = ""

    def lines(self, update: Update, elapsed: float | None) -> Iterator[str]:
        """`elapsed`: the time of events that carry none."""
        first, last, text, at = 0, 0, "", elapsed  # tokens that have come since the last line
        for event in update.events:
            self.progress.add(event)
            when = elapsed if event.s is None else event.s  # on the supervisor's clock, as `elapsed` is
            token = event.body if isinstance(event.body, TokenEvent) and event.rank in (None, 0) else None
            n = token.n if token is not None else None
            words, moved = event_words(event), self.progress.stage != self.stage
            if first and (words or moved or (n is not None and n != last + 1)):
                yield line(at, token_words(first, last, text))
                first, text = 0, ""
            if words:
                yield line(when, words)
            if moved:
                self.stage = self.progress.stage
                yield line(when, self.stage)
            if n is not None:
                first, last, text, at = first or n, n, text + (token.text if token is not None else ""), when
        if first:
            yield line(at, token_words(first, last, text))
        if not self.stage:
            self.stage = self.progress.stage
            yield line(elapsed, self.stage)
        message = update.state.message if update.state else ""
        if message and message != self.message:
            yield line(elapsed, one_line(message))
        self.message = message


def line(at: float | None, words: str) -> str:
    return f"{seconds(at):>10}  {words}"


def token_words(first: int, last: int, text: str) -> str:
    which = f"token {last}" if first == last else f"tokens {first}-{last}"
    return f"{which}: {clean(text).replace(chr(10), chr(92) + 'n')}"


def event_words(event: Event) -> str:
    """One event in words; empty for those that stages and tokens already cover."""
    who = f"rank {event.rank}: " if event.rank is not None else ""
    match event.body:
        case LoadedEvent(error=None) as body:
            return f"{who}loaded {shown(body.model_class)}, {size(body.bytes)} in {seconds(body.seconds)}"
        case GroupEvent(state="end") as body:
            return f"{who}group of {shown(body.world_size)}, backend {shown(body.backend)}"
        case CompileEvent(state="end" | "failed") as body if body.graph is not None:
            how = "compiled in" if body.state == "end" else "FAILED after"
            return f"{who}graph {one_line(body.graph)} ({shown(body.nodes)} nodes) {how} {seconds(body.seconds)}"
        case WarmEvent() as body:
            return warm_words(body)
        case ErrorEvent() as body:
            return f"{who}error: {one_line(body.cls)}: {one_line(body.text)}"
        case NoticeEvent() as body:
            return f"{who}{one_line(body.text)}"
        case DiagnosisEvent() as body:
            return f"so far: {one_line(body.summary)} ({one_line(body.cls)})"
    return ""


def follow(
    run: RunFolder, tell: Callable[[str], None], format: Format = "text", stop: Callable[[], bool] = lambda: False
) -> Result | None:
    """Prints a run until it ends and returns its result; None when it was lost or `stop` said so. jsonl: the events unchanged."""
    teller = Teller()
    with Follower(run) as follower:
        while True:
            update = follower.poll()
            if format == "jsonl":
                for event in update.events:
                    tell(json.dumps(event.raw, ensure_ascii=True))
            else:
                for words in teller.lines(update, follower.elapsed()):
                    tell(words)
            if update.over or stop():
                return update.result
            if not update.more:
                time.sleep(LOOK_S)


def follow_or_stop(run: RunFolder, tell: Callable[[str], None], format: Format = "text") -> Result | None:
    """`follow`, where Ctrl-C stops the run: for the command that started it and waits for it."""
    try:
        return follow(run, tell, format)
    except KeyboardInterrupt:
        launcher.stop(run)
        return run.result()


def plan_lines(prepared: PreparedRun) -> Iterator[str]:
    """What would be run, for `--dry-run`."""
    recipe = prepared.recipe
    split = "" if recipe.cores == 1 else f", {'expert' if recipe.parallelism == 'ep' else 'tensor'} parallel"
    yield f"model      {one_line(recipe.model)}" + (f" at {one_line(recipe.revision)}" if recipe.revision else "")
    yield f"task       {recipe.task}, {recipe.max_new_tokens} new tokens, dtype {recipe.dtype}"
    yield f"prompt     {one_line(repr(recipe.prompt))}"
    yield f"device     {recipe.device}, {recipe.cores} core{'s' if recipe.cores > 1 else ''}{split}"
    if prepared.supervision.cores:
        yield f"cores      {prepared.supervision.cores.words}"
    yield f"script     {recipe.script}, SHA-256 {recipe.script_sha256}"
    if recipe.source is not None:
        place = f"{recipe.source.file or ABSENT}, row {recipe.source.row}"
        yield f"row        {one_line(recipe.source.dataset)} at {recipe.source.revision or ABSENT}: {one_line(place)}"
    yield f"python     {prepared.interpreter.words}"
    yield f"           ({one_line(prepared.interpreter.origin)})"
    judge = judge_for(recipe.judge, recipe.cores)
    yield f"check      {f'by {judge}' if judge else 'tokens against a CPU run'}"
    for words in (*prepared.notes, *(f"not the protocol: {w}" for w in recipe.departures())):
        yield f"note       {words}"


def plan_json(prepared: PreparedRun) -> str:
    cores = prepared.supervision.cores
    value = {"recipe": prepared.recipe.to_json(), "cores": asdict(cores) if cores else None, "notes": prepared.notes}
    return json.dumps({**value, "interpreter": prepared.interpreter.to_json()}, ensure_ascii=True, default=str)


def ending_code(run: RunFolder, result: Result | None) -> Exit:
    if result is None:
        return Exit.FAILED if run.outcome() == "LOST" else Exit.INTERRUPTED
    return exit_code(result)


def memory_lines(rows: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """The peaks with their sources; of a compiler's many short-lived helpers only how many and the largest."""
    measured = [m for m in rows if m.get("peak") is not None]
    helpers = [m for m in measured if str(m.get("scope")).startswith("process ")]
    for entry in measured if len(helpers) <= HELPERS else [m for m in measured if m not in helpers]:
        of = f" of {size(entry['capacity'])}" if entry.get("capacity") else ""
        yield f"memory     {one_line(entry.get('scope'))}: peak {size(entry['peak'])}{of} ({one_line(entry.get('source'))})"
    if len(helpers) > HELPERS:
        largest = max(m["peak"] for m in helpers)
        yield f"memory     {len(helpers)} helper processes: the largest peak {size(largest)}"


def summary(recipe: Recipe, result: Result) -> Iterator[str]:
    """The result in a few lines: the verdict first, then figures beside the row's, then what it does not say."""
    kind = f" · {result.kind}" if result.kind and result.outcome in ("PASS", "FAIL") else ""
    yield f"{result.outcome}{MARKS.get(result.device, '')}{kind} · {one_line(result.reason)}"
    if result.verdict:
        yield result.verdict + (f": {'; '.join(one_line(d) for d in result.differences)}" if result.differences else "")
    tokens = result.tokens or {}
    if tokens.get("text") is not None:
        yield f"text       {one_line(repr(tokens['text']))}"
    if tokens.get("reference_text") is not None and tokens.get("first_difference") is not None:
        yield f"CPU        {one_line(repr(tokens['reference_text']))}"
    row = recipe.row or {}
    theirs = f" (row: {seconds(row.get('wall_s'))})" if row.get("wall_s") is not None else ""
    of_it = "" if result.compile_s is None else " of it"
    yield f"time       {seconds(result.wall_s)}{theirs}, compilation {seconds(result.compile_s)}{of_it}"
    yield f"stages     {', '.join(f'{name} {seconds(s)}' for name, s in result.stages.items()) or ABSENT}"
    yield f"graphs     {result.graphs if result.graphs is not None else ABSENT}"
    yield from memory_lines(result.memory)
    if recipe.row is not None:
        peak = row.get("hbm_peak_gb")
        said = one_line(word_of(row), 60)
        cores = f"{one_line(row.get('tp')) or ABSENT} core{'' if row.get('tp') == 1 else 's'}"
        yield f"row        {said + MARKS[device_of(row)] if said else 'no result'}, {cores}, peak device memory {ABSENT if peak is None else f'{peak} GB'}"
    for note in result.notes:
        yield f"note       {one_line(note)}"
