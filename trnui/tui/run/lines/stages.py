"""A run's stages and compile activity as lines of text. Pure: values in, lines out."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence

from trnui.tui.run.run_snapshot import RunSnapshot
from trnui.tui.widgets.styled_lines import Line, Span
from trnui_runner.common.text import one_line, seconds, thousands
from trnui_runner.run_folder.events import LockStart
from trnui_runner.run_folder.folder import STAGES
from trnui_runner.run_folder.progress import Compile

USUAL = (
    "preparing",
    "loading",
    "compiling",
    "generating",
    "checking",
)  # of every run; downloading only where it happens
LABEL = 9  # cells of the word on the left
BAR = 24  # cells of the longest stage's bar


def stages(snapshot: RunSnapshot) -> tuple[tuple[str, float | None, str], ...]:
    """(stage, seconds or None, "over" | "now" | "begun" | "ahead" | "left out"), in their order; queued only while it waits."""
    found, passed = [], False
    for name in STAGES:
        took = snapshot.stages.get(name)
        here = snapshot.going and name == snapshot.stage
        passed = passed or here
        if name == "done" or (name not in USUAL and took is None and not here) or (name == "queued" and not here):
            continue
        if here:
            found.append((name, took, "now"))
        elif took is not None:
            found.append((name, took, "begun" if passed else "over"))  # compiling and generating take turns
        else:
            found.append((name, None, "ahead" if snapshot.going else "left out"))
    return tuple(found)


_MARKS = {
    "over": ("✓", "muted"),
    "now": ("▶", "accent"),
    "begun": ("·", "muted"),
    "ahead": ("·", "muted"),
    "left out": ("–", "muted"),
}


def stage_strip(snapshot: RunSnapshot, width: int) -> list[Line]:
    """All stages in as few lines as the width allows."""
    lines: list[Line] = []
    line: list[Span] = []
    used = 0
    for name, took, how in stages(snapshot):
        mark, style = _MARKS[how]
        words = f"{mark} {name}" + (f" {seconds(took)}" if took is not None else "")
        if used and used + len(words) + 3 > width:
            lines.append(tuple(line))
            line, used = [], 0
        line.append((words + "   ", "strong" if how == "now" else style))
        used += len(words) + 3
    return [*lines, tuple(line)] if line else lines


def stage_table(snapshot: RunSnapshot, width: int) -> list[Line]:
    """One stage a line, with its time and its share as a bar."""
    longest = max((took or 0.0 for _, took, _ in stages(snapshot)), default=0.0)
    room = max(0, min(BAR, width - 28))
    lines: list[Line] = []
    for name, took, how in stages(snapshot):
        mark, style = _MARKS[how]
        bar = "█" * max(1, round((took or 0) / longest * room)) if took and longest and room else ""
        lines.append(
            (
                (f"{mark} ", style),
                (f"{name:12}", "strong" if how == "now" else "plain" if how == "over" else "muted"),
                (f"{seconds(took):>12}  ", "plain" if took is not None else "muted"),
                (bar, "accent" if name == "compiling" else "muted"),
            )
        )
    return lines


def compile_lines(snapshot: RunSnapshot, width: int, most: int = 3) -> list[Line]:
    """Graphs done and going on, compilers alive, cache, locks. TorchNeuron prints nothing while it compiles: this stands for it."""
    done = snapshot.graphs
    if snapshot.going and snapshot.stage == "compiling" and not (done or snapshot.compiling or snapshot.compilers):
        return [_labelled(f"tracing for {seconds(snapshot.compile_s)}; no graph handed over yet", "accent", first=True)]
    if done is None and not snapshot.compiling and not snapshot.compilers:
        return [_labelled("nothing compiled" + (" yet" if snapshot.going else ""), "muted", first=True)]
    words = f"{thousands(done or 0)} graph{'s' * (done != 1)} done" + (" a rank" if snapshot.ranks > 1 else "")
    words += f", {seconds(snapshot.compile_s)} in all" if snapshot.compile_s is not None else ""
    words += f" · cache {cache_words(snapshot.neff)}" if snapshot.neff is not None else ""
    found = [(words, "plain")]
    if snapshot.going:
        if snapshot.locks:
            found += [(lock_words(lock), "warn") for lock in snapshot.locks[:2]]
        if snapshot.compilers:
            found.append((compiler_words(snapshot), "accent"))
        graphs = going_on(snapshot.compiling)
        found += [(text, "accent") for text in graphs[:most]]
        if len(graphs) > most:
            found.append((f"and {len(graphs) - most} more", "muted"))
    lines: list[Line] = []
    for text, style in found:
        for part in textwrap.wrap(text, max(20, width - LABEL), break_on_hyphens=False):
            lines.append(_labelled(part, style, first=not lines))
    return lines


def _labelled(text: str, style: str, *, first: bool) -> Line:
    return ((f"{'compile' if first else '':{LABEL}}", "muted"), (text, style))


def compiler_words(snapshot: RunSnapshot) -> str:
    words = f"{snapshot.compilers} compiler process{'es' * (snapshot.compilers != 1)} at work"
    words += f", {snapshot.compiler_cpu:.0f} % CPU" if snapshot.compiler_cpu is not None else ""
    return words + (
        f", the oldest for {seconds(snapshot.compiler_oldest)}" if snapshot.compiler_oldest is not None else ""
    )


def cache_words(neff: Mapping[str, int]) -> str:
    hits, misses, new = (neff.get(k, 0) for k in ("hits", "misses", "new"))
    return f"{hits} hit{'s' * (hits != 1)}, {misses} miss{'es' * (misses != 1)}, {new} new"


def going_on(compiling: Sequence[tuple[Compile, float]]) -> list[str]:
    """The graphs at work, ranks that compile the same one together."""
    groups: dict[str, tuple[Compile, float, int]] = {}
    for compile_, age in compiling:
        key = compile_.graph or f"process {compile_.pid}"
        kept = groups.get(key)
        groups[key] = (compile_, max(age, kept[1]) if kept else age, (kept[2] if kept else 0) + 1)
    found: list[str] = []
    for key, (compile_, age, count) in groups.items():
        nodes = f", {thousands(compile_.nodes)} nodes" if compile_.nodes is not None else ""
        ranks = f" on {count} ranks" if count > 1 else ""
        what = f"graph {key}" if compile_.graph else key
        found.append(one_line(f"{what}{nodes}{ranks}, going on for {seconds(age)}", 100))
    return found


def lock_words(lock: LockStart) -> str:
    """Who holds it, and for how long that process has been there."""
    words = "waits for a compile lock"
    if lock.holder is not None:
        words += f" held by {lock.holder_command or 'process'} (pid {lock.holder})"
    if lock.age_s is not None:
        words += f", which is {seconds(lock.age_s)} old"
    return one_line(words, 120)
