"""Memory of a run as numbers, bars and a plot over time; each figure with its scope and its source. Pure: values in, lines out."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence

from trnui.tui.run.run_snapshot import RunSnapshot, Samples
from trnui.tui.widgets.styled_lines import Line
from trnui_runner.common.text import ABSENT, cells, fit, one_line, seconds, size
from trnui_runner.run_folder.progress import Memory

AXES = (30.0, 60.0, 120.0, 300.0, 600.0, 1200.0, 1800.0, 3600.0, 7200.0, 14400.0, 28800.0)  # seconds
BLOCKS = " ▁▂▃▄▅▆▇█"
# What a source's word means to a reader; others are shown as they stand.
SOURCES = {
    "host": "host memory, not device memory",
    "torch": "device memory as torch counts it, a rank",
    "neuron-monitor": "device memory as neuron-monitor counts it, a core",
    "sysfs": "device memory as the driver counts it, a core",
}


def source_words(source: str) -> str:
    """A stand-in's figures say so: `… (stand-in)`."""
    name, mark, _ = source.partition(" (stand-in)")
    return SOURCES.get(name, one_line(name, 60)) + (", of a STAND-IN" if mark else "")


def bar(now: float, whole: float, width: int) -> tuple[str, str]:
    """`now` of `whole` as full and empty cells; at least one full where there is anything."""
    if whole <= 0 or width < 1:
        return "", ""
    full = max(1 if now > 0 else 0, min(width, round(now / whole * width)))
    return "█" * full, "░" * (width - full)


def memory_lines(memory: Sequence[Memory], width: int, room: int = 6, *, over: bool = False) -> list[Line]:
    """Numbers, then a bar against the capacity (or, unknown, against the largest peak), in at most `room` lines.

    Device memory stands before the host's. Never a sum over scopes; what has no room is counted, with its highest peak.
    """
    if not memory:
        return [(("memory   ", "muted"), ("no figure" if over else "no figure yet", "muted"))]
    groups = [[m for m in memory if m.source == source] for source in dict.fromkeys(m.source for m in memory)]
    groups.sort(key=lambda rows: rows[0].source == "host")
    groups = [
        [m for m in rows if m.scope != "run"] if len(rows) == 2 else rows for rows in groups
    ]  # one part is the whole
    groups = groups[: max(1, room // 2)]
    lines: list[Line] = []
    for n, rows in enumerate(groups):
        later = 2 * (len(groups) - n - 1)  # a heading and a line for each of the others, if they have room at all
        left = room - len(lines)
        if left < 2:
            break
        lines += _group(rows, width, max(2, left - later), over)
    return lines


def _group(rows: Sequence[Memory], width: int, room: int, over: bool) -> list[Line]:
    """One source: its name, then as many of its scopes as there is room for."""
    lines: list[Line] = [(("memory   ", "muted"), (source_words(rows[0].source), "muted"))]
    shown = rows if len(rows) < room else rows[: room - 2]
    rest = rows[len(shown) :]
    if not shown:  # room for one line alone: the highest
        highest = max(rows, key=lambda m: m.peak or 0)
        lines[0] = (("memory   ", "muted"), (f"{source_words(rows[0].source)}; the highest of {len(rows)}:", "muted"))
        shown, rest = [highest], []
    top = max((m.peak or m.now or 0 for m in rows), default=0)
    label = min(14, max(cells(scope_word(m.scope)) for m in shown))
    for m in shown:
        of = f" of {size(m.capacity)}" if m.capacity else ""
        text = f"  {fit(scope_word(m.scope), label)} " + ("" if over else f"{size(m.now):>10}  ")
        text += f"peak {size(m.peak):>10}{of}  "
        value, left = m.peak if over else m.now, min(24, width - len(text) - 1)
        full, empty = bar(value or 0, m.capacity or top, left) if left >= 6 else ("", "")
        lines.append(((text, "plain"), (full, _style(value, m.capacity)), (empty, "muted")))
    if rest:
        highest = max(rest, key=lambda m: m.peak or 0)
        lines.append(
            (
                (
                    f"  and {len(rest)} more; the highest peak of them: {one_line(highest.scope)} {size(highest.peak)}",
                    "muted",
                ),
            )
        )
    return lines


def parts_lines(
    parts: Mapping[str, Mapping[str, int]], busy: Mapping[str, float], memory: Sequence[Memory], width: int
) -> list[Line]:
    """What the fullest core's memory is used for, and how busy the cores were when last looked at."""
    lines: list[Line] = []
    cores = [m for m in memory if m.scope in parts]
    if cores:
        fullest = max(cores, key=lambda m: m.now or 0)
        used = sorted(parts[fullest.scope].items(), key=lambda item: -item[1])
        words = ", ".join(f"{one_line(name, 30)} {size(value)}" for name, value in used if value)
        for n, part in enumerate(textwrap.wrap(words, max(20, width - 12)) or ["nothing yet"]):
            lines.append(((f"  {one_line(fullest.scope) + ':' if n == 0 else '':9} ", "muted"), (part, "plain")))
    if busy:
        words = " ".join(
            f"{scope.removeprefix('core ')}:{value:.0f}%" for scope, value in sorted(busy.items(), key=_by_number)
        )
        for n, part in enumerate(textwrap.wrap(words, max(20, width - 12))):
            lines.append(((f"  {'busy' if n == 0 else '':9} ", "muted"), (part, "plain")))
    return lines


def _by_number(item: tuple[str, float]) -> tuple[int, str]:
    number = item[0].rpartition(" ")[2]
    return (int(number) if number.isdigit() else -1, item[0])


def scope_word(scope: str) -> str:
    return "all processes" if scope == "run" else one_line(scope)


def _style(now: int | None, capacity: int | None) -> str:
    if now is None or not capacity:
        return "accent"
    return "bad" if now > 0.95 * capacity else "warn" if now > 0.85 * capacity else "accent"


def plot(samples: Samples, width: int, height: int, until: float, now_s: float | None = None) -> list[str]:
    """Columns of blocks from 0 seconds to `until`, drawn up to `now_s`: the highest value of each span; 0 bytes is the bottom."""
    if not samples or width < 1 or height < 1 or until <= 0:
        return []
    columns: list[int | None] = [None] * width
    for when, value in samples:
        at = min(width - 1, max(0, int(when / until * width)))
        columns[at] = max(columns[at] or 0, value)
    top = max(v for v in columns if v is not None) or 1
    filled: list[int] = []
    for now in columns:  # where nothing new was measured it is still what it was
        filled.append(now if now is not None else filled[-1] if filled else 0)
    if now_s is not None:  # up to now, not to the axis's end
        filled = filled[: min(width, max(1, int(now_s / until * width) + 1))]
    rows = []
    for row in range(height, 0, -1):
        row_text = ""
        for value in filled:
            eighths = round(value / top * height * 8) - (row - 1) * 8
            row_text += BLOCKS[max(0, min(8, eighths))]
        rows.append(row_text.rstrip())
    return rows


def plot_lines(snapshot: RunSnapshot, width: int, height: int, most: int = 4) -> list[Line]:
    """One plot over time for each scope, as many as the height holds, with what its top and its width stand for."""
    lines: list[Line] = []
    until = max(snapshot.elapsed or 0.0, max((s[-1][0] for s in snapshot.history.values() if s), default=0.0))
    if snapshot.going:  # an axis that grows by steps: the plot stands still and few cells change
        until = next((step for step in AXES if step >= until), until)
    measured = max(
        (s[-1][0] for s in snapshot.history.values() if s), default=0.0
    )  # it moves when something was measured
    keys = [k for k in _ordered(snapshot.history) if len(snapshot.history[k]) > 1][:most]
    if not keys or height < 2:
        return []
    keys = [k for k in keys if k[0] != "run"] or keys
    each = max(1, min(4, height // len(keys) - 1))
    for key in keys[: max(1, height // (each + 1))]:
        samples = snapshot.history[key]
        scope, source = key
        highest = max(v for _, v in samples)
        rows = plot(samples, max(1, width - 2), each, until, measured)
        lines.append(((f"{one_line(scope)} over {seconds(until)}, top {size(highest)} ({source})", "muted"),))
        lines += [((row or " ", "muted"),) for row in rows]
    return lines


def _ordered(history: Mapping[tuple[str, str], Samples]) -> list[tuple[str, str]]:
    return sorted(history, key=lambda k: -max((v for _, v in history[k]), default=0))


def peaks_words(memory: Sequence[Mapping[str, object]]) -> str:
    """The highest peak of a result, with its scope and source: `640.0 MiB (process 912, host memory …)`."""
    known = [m for m in memory if isinstance(m.get("peak"), int | float)]
    if not known:
        return ABSENT
    best = max(known, key=lambda m: float(str(m["peak"])))
    return f"{size(float(str(best['peak'])))} ({scope_word(str(best.get('scope')))}, {one_line(best.get('source'))})"
