"""A run as a Markdown bug report: what a maintainer asks for, in one piece, redacted. Reads the run folder and asks no network."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from contextvars import ContextVar
from typing import Any, Final

from trnui_runner.common.dataset_schema import MARKS
from trnui_runner.common.text import ABSENT, clean, decode, one_line, seconds, shown, size
from trnui_runner.host.stack import PACKAGES, WORDS, differences
from trnui_runner.host.system_info import machine, machine_words
from trnui_runner.request.command_line import recipe_line, shell_line
from trnui_runner.result.redact import Redactor
from trnui_runner.run_folder.events import EnvironmentEvent
from trnui_runner.run_folder.folder import Result, RunFolder
from trnui_runner.run_folder.follower import Follower
from trnui_runner.run_folder.progress import Progress
from trnui_runner.run_folder.recipe import Recipe

TAIL_LINES: Final = 80
TAIL_BYTES: Final = 64 << 10
LINE: Final = 400  # characters of one log line
_RUN_ENV: Final = ("TRNUI_RUN_DIR", "NEURON_PROCESS_TAG")
DEVICES: Final = {
    "cpu": "**Run on a CPU, not on a Trainium.**",
    "stand-in": "**Run on a stand-in, not on a Trainium.**",
}


# Takes secrets out of a text before Markdown's escapes are put into it: after them no token looks like one.
_HIDE: ContextVar[Callable[[str], str]] = ContextVar("hide", default=lambda text: text)


def report(run: RunFolder, redactor: Redactor | None = None) -> str:
    """Markdown. Never raises on what a run may have left; a run that is going on gives what is known so far."""
    hide = redactor or Redactor.of_this_host()
    token = _HIDE.set(hide.clean)
    try:
        body = hide.clean(_body(run))
    finally:
        _HIDE.reset(token)
    taken = f"Taken out of this report: {hide.words}." if hide.words else "Nothing in this report had to be taken out."
    return f"{body}\n\n---\n{taken} Read it before you publish it.\n"


def _body(run: RunFolder) -> str:
    with Follower(run) as follower:
        update = follower.poll()
        while update.more:
            update = follower.poll()
        progress, result, outcome = follower.progress, update.result, update.outcome
    recipe, problem = run.recipe(), run.problem()
    if recipe is None or problem:  # nothing is made up in its place
        known = f"# {cell(run.id)}: DAMAGED\n\nThis run's folder cannot be read: {cell(problem or 'it has no recipe.json')}."
        return "\n\n".join([known, _environment(_environments(run)), _log(run)])
    environments = _environments(run)
    parts = [
        _head(recipe, result, outcome),
        _comparison(recipe, result),
        _error(progress, result),
        _host(recipe),
        _stack(recipe, result),
        _commands(recipe),
        _environment(environments),
        _course(progress, result),
        _memory(progress, result),
        _log(run),
    ]
    return "\n\n".join(part for part in parts if part)


def _head(recipe: Recipe, result: Result | None, outcome: str) -> str:
    device = result.device if result and result.device else recipe.device  # a stand-in may have called itself neuron
    kind = f", {result.kind}" if result and result.kind else ""
    lines = [f"# {cell(recipe.model)}: {outcome}{MARKS.get(device, '')}{kind}"]
    if device in DEVICES:
        lines += ["", DEVICES[device]]
    facts = [
        ("reason", result.reason if result else None),
        ("against the row", result.verdict if result else None),
        ("model", recipe.model + (f" at {recipe.revision}" if recipe.revision else "")),
        ("task", f"{recipe.task}, {recipe.max_new_tokens} new tokens, dtype {recipe.dtype}"),
        (
            "device",
            f"{device}, {recipe.cores} core{'s' if recipe.cores > 1 else ''}, parallelism {recipe.parallelism}",
        ),
        ("script", f"{recipe.script}, SHA-256 {recipe.script_sha256 or ABSENT}"),
        ("exit code", result.exit_code if result else None),
        ("run", recipe.id),
    ]
    source = recipe.source
    if source is not None:
        commit = f" at {source.revision}" if source.revision else ""
        facts.append(("row", f"{source.dataset}{commit}, {source.file or ABSENT} row {shown(source.row)}"))
    lines += ["", *(f"- {name}: {cell(value)}" for name, value in facts if value not in (None, ""))]
    told = [f"not the protocol: {words}" for words in recipe.departures()]
    notes = dict.fromkeys([*told, *(result.notes if result else ())])
    lines += [f"- note: {cell(words)}" for words in notes]
    return "\n".join(lines)


def _comparison(recipe: Recipe, result: Result | None) -> str:
    """The row to reproduce beside the run's own."""
    if not recipe.row:
        return ""
    mine: Mapping[str, Any] = (result.row if result and result.row else None) or {}
    names = (
        "result",
        "tp",
        "runner",
        "wall_s",
        "hbm_peak_gb",
        "hbm_capacity_gb",
        "cpu_match",
        "english",
        "exclusion",
        "notes",
        "error",
    )
    rows = [
        (n, recipe.row.get(n), mine.get(n))
        for n in names
        if recipe.row.get(n) not in (None, "") or mine.get(n) not in (None, "")
    ]
    table = _table(("column", "row", "this run"), ((n, one_line(a, 300), one_line(b, 300)) for n, a, b in rows))
    found = [f"- {cell(words)}" for words in (result.differences if result else ())]
    return "\n".join(["## Row", "", table, *(["", *found] if found else [])])


def _error(progress: Progress, result: Result | None) -> str:
    """The first failing rank's innermost exception, and what it means."""
    lines: list[str] = []
    first = progress.errors[0] if progress.errors else None
    if first is not None:
        who = f", rank {first.rank}" if first.rank is not None else ""
        lines += [
            f"First error{who}, after {seconds(first.s)}" + (f", at {code(first.where)}" if first.where else "") + ":",
            "",
        ]
        lines += [fence(f"{first.kind}: {first.text}" if first.kind else first.text)]
        if len(progress.errors) > 1:
            lines += ["", f"{len(progress.errors) - 1} more after it."]
    diagnosis = result.diagnosis if result else None
    if diagnosis and diagnosis.get("class") not in (None, "ok"):
        lines += [
            *([""] if lines else []),
            f"Diagnosis: **{cell(diagnosis.get('class'))}**: {cell(diagnosis.get('summary'))}",
        ]
        if diagnosis.get("hint"):
            lines += ["", f"Advice: {cell(diagnosis['hint'])}"]
        evidence = [one_line(line, LINE) for line in diagnosis.get("evidence") or () if line]
        if evidence:
            lines += ["", fence("\n".join(evidence))]
    return "\n".join(["## Error", "", *lines]) if lines else ""


def _host(recipe: Recipe) -> str:
    """As it was when the run was prepared; of a run that has not recorded it, the host of this report."""
    told = recipe.options.get("host")
    host, when = (told, "") if isinstance(told, dict) and told else (machine(), ", as it is now")
    return "\n".join([f"## Host{when}", "", *(f"- {name}: {cell(words)}" for name, words in machine_words(host))])


def _stack(recipe: Recipe, result: Result | None) -> str:
    stack: Mapping[str, Any] = (result.stack if result else None) or recipe.options.get("stack") or {}
    if recipe.row:
        rows = (
            (WORDS.get(d.package, d.package), d.row, d.here, d.note or d.state) for d in differences(stack, recipe.row)
        )
        return "## Stack\n\n" + _table(("package", "row", "here", ""), rows)
    names = [*PACKAGES, "python", "neuron_driver"]
    return "## Stack\n\n" + _table(("package", "here"), ((WORDS.get(n, n), stack.get(n)) for n in names))


def _commands(recipe: Recipe) -> str:
    by_hand = shell_line([recipe.python or "python3", "run.py"])
    return "## Commands\n\n" + fence(f"{recipe_line(recipe)}\n{by_hand}", "sh")


def _environments(run: RunFolder) -> dict[str, Any]:
    """The values of the first step's `environment` event."""
    with Follower(run) as follower:
        update = follower.poll()
        while True:
            for event in update.events:
                if event.ours and isinstance(event.body, EnvironmentEvent):
                    return dict(event.body.values)
            if not update.more:
                return {}
            update = follower.poll()


def _environment(values: Mapping[str, Any]) -> str:
    lines = [
        f"{one_line(name, 100)}={one_line(value, 500)}"
        for name, value in sorted(values.items())
        if name not in _RUN_ENV
    ]
    if values and "NEURON_CC_FLAGS" not in values:
        lines.append("# NEURON_CC_FLAGS is not set")
    return "## Environment\n\n" + (fence("\n".join(lines), "sh") if lines else "Not recorded.")


def _course(progress: Progress, result: Result | None) -> str:
    """Stages, graphs, cache."""
    stages = (result.stages if result else None) or progress.stage_seconds()
    rows: list[tuple[object, ...]] = [(name, seconds(spent)) for name, spent in stages.items()]
    if result is not None:
        rows.append(("in all", seconds(result.wall_s)))
    graphs = result.graphs if result else progress.graphs
    compiling = result.compile_s if result else progress.compile_seconds()
    neff = (result.neff if result else None) or progress.neff()
    lines = [f"- compiled graphs: {shown(graphs)}, compiling {seconds(compiling)}"]
    if neff:
        lines.append("- NEFF cache: " + ", ".join(f"{shown(neff.get(n))} {n}" for n in ("hits", "misses", "new")))
    tokens = result.tokens if result else None
    if tokens and tokens.get("text"):
        lines.append(f"- text: {code(one_line(tokens['text'], 400))}")
    if tokens and tokens.get("first_difference") is not None:
        gap = tokens.get("gap", tokens.get("margin"))
        limit = f" (a near tie up to {shown(tokens['tie_limit'])})" if tokens.get("tie_limit") is not None else ""
        lines.append(
            f"- first differing token: {shown(tokens['first_difference'])}, where the CPU run prefers its own by {shown(gap)}{limit}"
        )
    return "## Course\n\n" + _table(("stage", "time"), rows) + "\n\n" + "\n".join(lines)


def _memory(progress: Progress, result: Result | None) -> str:
    rows = result.memory if result and result.memory else progress.memory_rows()
    if not rows:
        return ""
    table = _table(
        ("of", "source", "peak", "capacity"),
        ((m["scope"], m["source"], size(m.get("peak")), size(m.get("capacity"))) for m in rows[:40]),
    )
    return "## Memory\n\n" + table


def _log(run: RunFolder) -> str:
    """The end of the log, as a terminal would have shown it."""
    try:
        with open(run.path / "output.log", "rb") as file:
            whole = file.seek(0, 2)
            file.seek(max(0, whole - TAIL_BYTES))
            data = file.read(TAIL_BYTES)
    except OSError:
        return ""
    lines = [line[:LINE] for line in clean(decode(data)).split("\n")]
    if whole > TAIL_BYTES:
        lines = lines[1:]
    while lines and not lines[-1].strip():
        lines.pop()
    tail = lines[-TAIL_LINES:]
    left = f", its last {len(tail)} lines of {size(whole)}" if whole > TAIL_BYTES or len(tail) < len(lines) else ""
    return f"## Log{left}\n\n" + fence("\n".join(tail)) if tail else "## Log\n\nIt is empty."


# -- Markdown that foreign text cannot leave


def cell(value: object) -> str:
    """Foreign text inside a line of Markdown: nothing in it is markup, a link, a picture or a mention."""
    text = one_line(_HIDE.get()(clean(str(value))), 1000) if value not in (None, "") else ABSENT
    return re.sub(r"([\\`*_{}\[\]<>#|~])", r"\\\1", text).replace("@", "@\u200b") if text else ABSENT


def code(value: object) -> str:
    """Foreign text as a code span."""
    text = one_line(value, 1000)
    ticks = "`" * (max((len(run) for run in re.findall(r"`+", text)), default=0) + 1)
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{ticks}{pad}{text}{pad}{ticks}" if text else ABSENT


def fence(text: str, language: str = "") -> str:
    """A code block with a fence longer than any inside it."""
    text = clean(text)
    longest = max((len(run) for run in re.findall(r"`{3,}", text)), default=2)
    ticks = "`" * (longest + 1)
    return f"{ticks}{language}\n{text}\n{ticks}"


def _table(head: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    names = list(head)
    lines = [f"| {' | '.join(names)} |", f"|{'|'.join(' --- ' for _ in names)}|"]
    return "\n".join([*lines, *(f"| {' | '.join(cell(value) for value in row)} |" for row in rows)])
