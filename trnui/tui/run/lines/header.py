"""The lines above a run: how it stands, what runs where and on which stack, and what its log means so far. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from trnui.tui.run.lines.verdict import device_word, outcome_line, outcome_style, verdict_style
from trnui.tui.run.run_snapshot import RunSnapshot
from trnui.tui.widgets.styled_lines import Line, Span
from trnui_runner.common.text import clock, one_line, seconds, size, thousands

QUIET_S = 60.0  # without a sign of life this long, the screen says so (the supervisor's own limit is a setting)
STALE_S = 15.0  # the supervisor writes every second; older than this, it may be frozen
SCRIPTS = {"published": "published script", "bundled": "bundled script", "file": "own script"}
SEVERITY = {"fail": "bad", "warn": "warn", "wait": "warn", "info": "muted", "ok": "good"}
PLAIN = ("ok", "in_progress", "empty", "unknown")  # classes of a log that say nothing worth a line


def row_wall(snapshot: RunSnapshot) -> float | None:
    wall = (snapshot.recipe.row or {}).get("wall_s")
    return float(wall) if isinstance(wall, int | float) else None


def state_line(snapshot: RunSnapshot) -> Line:
    """While it goes on: stage and clock against the row's wall time. After: the outcome, the verdict, the time."""
    wall = row_wall(snapshot)
    result = snapshot.result
    if result is not None:
        parts: list[Span] = [(" ", "plain"), *outcome_line(result)[:2]]
        if result.verdict:
            parts += [(" · ", "muted"), (result.verdict, verdict_style(result.verdict, result.device))]
        parts.append((f" · {seconds(result.wall_s)}", "plain"))
        if wall is not None:
            parts.append((f" (row {seconds(wall)}, incl. compilation)", "muted"))
        return tuple(parts)
    if not snapshot.going:
        return ((f" {snapshot.outcome}", outcome_style(snapshot.outcome, "")), (" · it left no result", "plain"))
    parts = [(f" {clock(snapshot.elapsed)}", "strong")]
    if wall is not None:
        parts.append((f" · the row took {clock(wall)}, incl. compilation", "muted"))
    if snapshot.outcome == "queued":
        message = snapshot.state.message if snapshot.state is not None else ""
        parts.append((f"  QUEUED {one_line(message, 200)}", "warn"))
    else:
        parts.append((f"  {snapshot.stage.upper()}", "accent"))
        if snapshot.state is not None and snapshot.state.message:
            parts.append((f"  {one_line(snapshot.state.message, 200)}", "warn"))
    return tuple(parts)


def what_lines(snapshot: RunSnapshot) -> list[Line]:
    """Model, device (loud when it is no Trainium), script, cores, dtype; then the stack."""
    recipe = snapshot.recipe
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
    if snapshot.state is not None and snapshot.state.cores_held:
        words.append("holds NeuronCore " + ranges(snapshot.state.cores_held))
    parts.append((" · " + " · ".join(words), "muted"))
    stack = [
        f"{name} {one_line(snapshot.stack[name], 30)}"
        for name in ("neuronx_cc", "torch_neuronx", "torch", "transformers", "python")
        if snapshot.stack.get(name)
    ]
    return [
        tuple(parts),
        ((" " + (" · ".join(stack) if stack else "stack not known yet"), "muted"), (f" · {snapshot.run.id}", "muted")),
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


def meaning_lines(snapshot: RunSnapshot, most: int = 2) -> list[Line]:
    """What to know now: a frozen supervisor, silence, errors of ranks, downloads, and what the log means so far."""
    lines: list[Line] = []
    if snapshot.outcome == "running" and snapshot.stale_for > STALE_S:
        lines.append(((f"the supervisor has not written for {seconds(snapshot.stale_for)}: it may be frozen", "bad"),))
    if snapshot.going:
        if snapshot.silent:
            lines.append(((one_line(snapshot.silent, 300), "warn"),))
        elif snapshot.quiet_for > QUIET_S and not snapshot.compiling and not snapshot.compilers:
            lines.append(((f"no sign of life for {seconds(snapshot.quiet_for)}", "warn"),))
    answer = snapshot.answer
    if snapshot.going and answer is not None and answer.diagnosis.cls not in PLAIN:
        diagnosis = answer.diagnosis
        lines.append(
            (("meaning  ", "muted"), (one_line(diagnosis.summary, 300), SEVERITY.get(diagnosis.severity, "plain")))
        )
        if diagnosis.hint:
            lines.append((("         ", "muted"), (one_line(diagnosis.hint, 300), "accent")))
    elif snapshot.errors:
        error = snapshot.errors[0]  # the first one is the cause, the others follow from it
        who = f"rank {error.rank}: " if error.rank is not None else ""
        lines.append(
            (
                ("error    ", "muted"),
                (one_line(f"{who}{error.kind}: {error.text}" if error.kind else who + error.text, 300), "bad"),
            )
        )
    going = [d for d in snapshot.downloads if not d.over]
    if going and snapshot.going:
        first = going[0]
        of = f" of {size(first.total)}" if first.total else ""
        more = f", {len(going) - 1} more" if len(going) > 1 else ""
        lines.append((("download ", "muted"), (f"{one_line(first.file, 60)} {size(first.done)}{of}{more}", "plain")))
    if snapshot.loaded and snapshot.stage in ("loading", "preparing") and snapshot.loaded.bytes is not None:
        lines.append(
            (
                ("loaded   ", "muted"),
                (f"{one_line(snapshot.loaded.model_class, 60)}, {size(snapshot.loaded.bytes)}", "plain"),
            )
        )
    lines += [
        (("notice   ", "muted"), (one_line(n.text, 300), "plain"))
        for n in reversed(snapshot.notices)
        if n.kind != "silent"
    ]
    if snapshot.bad_events:
        lines.append(((f"{thousands(snapshot.bad_events)} event lines could not be read", "muted"),))
    return lines[:most]
