"""A run's stages and compile activity as lines of text. Pure: values in, lines out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from runner.journal import STAGES
from runner.progress import Compile
from runner.text import one_line, seconds, thousands
from trnui.watch import Sight
from trnui.widgets.lines import Line, Span

USUAL = (
    "preparing",
    "loading",
    "compiling",
    "generating",
    "checking",
)  # of every run; downloading only where it happens
BAR = 24  # cells of the longest stage's bar


def stages(sight: Sight) -> tuple[tuple[str, float | None, str], ...]:
    """(stage, seconds or None, "over" | "now" | "begun" | "ahead" | "left out"), in their order; queued only while it waits."""
    found, passed = [], False
    for name in STAGES:
        took = sight.stages.get(name)
        here = sight.going and name == sight.stage
        passed = passed or here
        if name == "done" or (name not in USUAL and took is None and not here) or (name == "queued" and not here):
            continue
        if here:
            found.append((name, took, "now"))
        elif took is not None:
            found.append((name, took, "begun" if passed else "over"))  # compiling and generating take turns
        else:
            found.append((name, None, "ahead" if sight.going else "left out"))
    return tuple(found)


_MARKS = {
    "over": ("✓", "muted"),
    "now": ("▶", "accent"),
    "begun": ("·", "muted"),
    "ahead": ("·", "muted"),
    "left out": ("–", "muted"),
}


def stage_strip(sight: Sight, width: int) -> list[Line]:
    """All stages in as few lines as the width allows."""
    lines: list[Line] = []
    line: list[Span] = []
    used = 0
    for name, took, how in stages(sight):
        mark, tone = _MARKS[how]
        words = f"{mark} {name}" + (f" {seconds(took)}" if took is not None else "")
        if used and used + len(words) + 3 > width:
            lines.append(tuple(line))
            line, used = [], 0
        line.append((words + "   ", "strong" if how == "now" else tone))
        used += len(words) + 3
    return [*lines, tuple(line)] if line else lines


def stage_table(sight: Sight, width: int) -> list[Line]:
    """One stage a line, with its time and its share as a bar."""
    longest = max((took or 0.0 for _, took, _ in stages(sight)), default=0.0)
    room = max(0, min(BAR, width - 28))
    lines: list[Line] = []
    for name, took, how in stages(sight):
        mark, tone = _MARKS[how]
        bar = "█" * max(1, round((took or 0) / longest * room)) if took and longest and room else ""
        lines.append(
            (
                (f"{mark} ", tone),
                (f"{name:12}", "strong" if how == "now" else "plain" if how == "over" else "muted"),
                (f"{seconds(took):>12}  ", "plain" if took is not None else "muted"),
                (bar, "accent" if name == "compiling" else "muted"),
            )
        )
    return lines


def compile_lines(sight: Sight, most: int = 3) -> list[Line]:
    """Graphs done and going on, compilers alive, cache, locks. TorchNeuron prints nothing while it compiles: this stands for it."""
    parts: list[Span] = []
    done = sight.graphs
    if sight.going and sight.stage == "compiling" and not (done or sight.compiling or sight.compilers):
        return [
            (("compile  ", "muted"), (f"tracing for {seconds(sight.compile_s)}; no graph handed over yet", "accent"))
        ]
    if done is None and not sight.compiling and not sight.compilers:
        return [(("compile  ", "muted"), ("nothing compiled" if not sight.going else "nothing compiled yet", "muted"))]
    parts.append(("compile  ", "muted"))
    parts.append((f"{thousands(done or 0)} graph{'s' * (done != 1)} done", "plain"))
    if sight.ranks > 1:
        parts.append((" a rank", "muted"))
    if sight.compile_s is not None:
        parts.append((f", {seconds(sight.compile_s)} in all", "plain"))
    if sight.compilers and sight.going:
        words = f" · {sight.compilers} compiler process{'es' * (sight.compilers != 1)} at work"
        words += f", {sight.compiler_cpu:.0f} % CPU" if sight.compiler_cpu is not None else ""
        words += f", the oldest for {seconds(sight.compiler_oldest)}" if sight.compiler_oldest is not None else ""
        parts.append((words, "accent"))
    if sight.neff is not None:
        parts.append((f" · cache {cache_words(sight.neff)}", "muted"))
    lines: list[Line] = [tuple(parts)]
    graphs = going_on(sight.compiling) if sight.going else []
    for text in graphs[:most]:
        lines.append((("         ", "muted"), (text, "accent")))
    if len(graphs) > most:
        lines.append((("         ", "muted"), (f"and {len(graphs) - most} more", "muted")))
    if sight.going:
        lines += [(("         ", "muted"), (lock_words(lock), "warn")) for lock in sight.locks[:2]]
    return lines


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
    found = []
    for key, (compile_, age, count) in groups.items():
        nodes = f", {thousands(compile_.nodes)} nodes" if compile_.nodes is not None else ""
        ranks = f" on {count} ranks" if count > 1 else ""
        what = f"graph {key}" if compile_.graph else key
        found.append(one_line(f"{what}{nodes}{ranks}, going on for {seconds(age)}", 100))
    return found


def lock_words(lock: Mapping[str, object]) -> str:
    """Who holds it, and for how long that process has been there."""
    holder, command, age = lock.get("holder"), lock.get("holder_command"), lock.get("age_s")
    words = "waits for a compile lock"
    if holder is not None:
        words += f" held by {command or 'process'} (pid {holder})" if isinstance(holder, int) else f" held by {holder}"
    if isinstance(age, int | float):
        words += f", which is {seconds(float(age))} old"
    return one_line(words, 120)
