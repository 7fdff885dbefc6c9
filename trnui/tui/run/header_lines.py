"""The lines above a run: how it stands, what runs where and on which stack, and what its log means so far. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from trnui.tui.run.run_watcher import Sight
from trnui.tui.run.verdict_lines import device_word, outcome_line, outcome_tone, verdict_tone
from trnui.tui.widgets.styled_lines import Line, Span
from trnui_runner.common.text import clock, one_line, seconds, size, thousands

QUIET_S = 60.0  # without a sign of life this long, the screen says so (the supervisor's own limit is a setting)
STALE_S = 15.0  # the supervisor writes every second; older than this, it may be frozen
SCRIPTS = {"published": "published script", "bundled": "bundled script", "file": "own script"}
SEVERITY = {"fail": "bad", "warn": "warn", "wait": "warn", "info": "muted", "ok": "good"}
PLAIN = ("ok", "in_progress", "empty", "unknown")  # classes of a log that say nothing worth a line


def row_wall(sight: Sight) -> float | None:
    wall = (sight.recipe.row or {}).get("wall_s")
    return float(wall) if isinstance(wall, int | float) else None


def state_line(sight: Sight) -> Line:
    """While it goes on: stage and clock against the row's wall time. After: the outcome, the verdict, the time."""
    wall = row_wall(sight)
    result = sight.result
    if result is not None:
        parts: list[Span] = [(" ", "plain"), *outcome_line(result)[:2]]
        if result.verdict:
            parts += [(" · ", "muted"), (result.verdict, verdict_tone(result.verdict, result.device))]
        parts.append((f" · {seconds(result.wall_s)}", "plain"))
        if wall is not None:
            parts.append((f" (row {seconds(wall)}, incl. compilation)", "muted"))
        return tuple(parts)
    if not sight.going:
        return ((f" {sight.outcome}", outcome_tone(sight.outcome, "")), (" · it left no result", "plain"))
    parts = [(f" {clock(sight.elapsed)}", "strong")]
    if wall is not None:
        parts.append((f" · the row took {clock(wall)}, incl. compilation", "muted"))
    if sight.outcome == "queued":
        message = sight.state.message if sight.state is not None else ""
        parts.append((f"  QUEUED {one_line(message, 200)}", "warn"))
    else:
        parts.append((f"  {sight.stage.upper()}", "accent"))
        if sight.state is not None and sight.state.message:
            parts.append((f"  {one_line(sight.state.message, 200)}", "warn"))
    return tuple(parts)


def what_lines(sight: Sight) -> list[Line]:
    """Model, device (loud when it is no Trainium), script, cores, dtype; then the stack."""
    recipe = sight.recipe
    parts: list[Span] = [(f" {one_line(recipe.model, 90)}", "strong"), (" · ", "muted")]
    loud = recipe.device != "neuron"
    parts.append((f"{device_word(recipe.device)}{', NOT TRAINIUM' if loud else ''}", "warn" if loud else "plain"))
    cores = (
        f"{recipe.cores} core{'s' * (recipe.cores != 1)}"
        if recipe.device != "cpu"
        else f"{recipe.cores} process{'es' * (recipe.cores != 1)}"
    )
    words = [
        SCRIPTS[recipe.script],
        cores + (f" {recipe.parallelism}" if recipe.parallelism != "none" else ""),
        "dtype auto" if recipe.dtype == "auto" else one_line(recipe.dtype, 20),  # other names say what they are
    ]
    if sight.state is not None and sight.state.cores_held:
        words.append("holds NeuronCore " + ranges(sight.state.cores_held))
    parts.append((" · " + " · ".join(words), "muted"))
    stack = [
        f"{name} {one_line(sight.stack[name], 30)}"
        for name in ("neuronx_cc", "torch_neuronx", "torch", "transformers", "python")
        if sight.stack.get(name)
    ]
    return [
        tuple(parts),
        ((" " + (" · ".join(stack) if stack else "stack not known yet"), "muted"), (f" · {sight.run.id}", "muted")),
    ]


def ranges(numbers: Sequence[int]) -> str:
    """`0–3, 6`."""
    found: list[list[int]] = []
    for number in sorted(numbers):
        if found and number == found[-1][1] + 1:
            found[-1][1] = number
        else:
            found.append([number, number])
    return ", ".join(str(a) if a == b else f"{a}–{b}" for a, b in found)


def meaning_lines(sight: Sight, most: int = 2) -> list[Line]:
    """What to know now: a frozen supervisor, silence, errors of ranks, downloads, and what the log means so far."""
    lines: list[Line] = []
    if sight.outcome == "running" and sight.stale_for > STALE_S:
        lines.append(((f"the supervisor has not written for {seconds(sight.stale_for)}: it may be frozen", "bad"),))
    if sight.going:
        if sight.silent:
            lines.append(((one_line(sight.silent, 300), "warn"),))
        elif sight.quiet_for > QUIET_S and not sight.compiling and not sight.compilers:
            lines.append(((f"no sign of life for {seconds(sight.quiet_for)}", "warn"),))
    answer = sight.answer
    if sight.going and answer is not None and answer.diagnosis.cls not in PLAIN:
        diagnosis = answer.diagnosis
        lines.append(
            (("meaning  ", "muted"), (one_line(diagnosis.summary, 300), SEVERITY.get(diagnosis.severity, "plain")))
        )
        if diagnosis.hint:
            lines.append((("         ", "muted"), (one_line(diagnosis.hint, 300), "accent")))
    elif sight.errors:
        error = sight.errors[0]  # the first one is the cause, the others follow from it
        who = f"rank {error.rank}: " if error.rank is not None else ""
        lines.append(
            (
                ("error    ", "muted"),
                (one_line(f"{who}{error.kind}: {error.text}" if error.kind else who + error.text, 300), "bad"),
            )
        )
    going = [d for d in sight.downloads if not d.over]
    if going and sight.going:
        first = going[0]
        of = f" of {size(first.total)}" if first.total else ""
        more = f", {len(going) - 1} more" if len(going) > 1 else ""
        lines.append((("download ", "muted"), (f"{one_line(first.file, 60)} {size(first.done)}{of}{more}", "plain")))
    if sight.loaded and sight.stage in ("loading", "preparing") and isinstance(sight.loaded.get("bytes"), int):
        lines.append(
            (
                ("loaded   ", "muted"),
                (f"{one_line(sight.loaded.get('model_class'), 60)}, {size(sight.loaded['bytes'])}", "plain"),
            )
        )
    lines += [
        (("notice   ", "muted"), (one_line(n.text, 300), "plain"))
        for n in reversed(sight.notices)
        if n.kind != "silent"
    ]
    if sight.bad_events:
        lines.append(((f"{thousands(sight.bad_events)} event lines could not be read", "muted"),))
    return lines[:most]
