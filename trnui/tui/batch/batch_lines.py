"""The head of a batch's screen: its bar and counts, its cores by device, what stands against the published rows."""

from __future__ import annotations

from trnui.tui.batch.batch_index import bar
from trnui.tui.batch.batch_view import BatchView
from trnui.tui.run.lines.verdict import device_word
from trnui.tui.widgets.styled_lines import Line, Span
from trnui_runner.common.text import cells
from trnui_runner.host.core_blocks import CORES_PER_DEVICE

WIDE = 100
STATE_STYLES = {
    "going": "accent",
    "stopping": "warn",
    "stopped": "warn",
    "idle": "warn",
    "unreadable": "bad",
    "done": "strong",
}


def head_lines(view: BatchView, width: int) -> tuple[Line, Line, Line]:
    """State and counts; times and where; cores, or why it has stopped."""
    if view.problem:
        return ((f" {view.id}", "strong"), ("  unreadable", "bad")), ((f" {view.problem}", "bad"),), ""
    mark: tuple[Span, ...] = (
        ((f" {device_word(view.device).upper()}, not Trainium ", "warn"),) if view.device != "neuron" else ()
    )
    first: Line = (
        (f" {view.id} ", "strong"), *mark, (f"{view.state} ", STATE_STYLES.get(view.state, "plain")),
        (f"{bar(view.ended, len(view.rows), 20 if width >= WIDE else 6)} ", "accent"), (view.counts, "plain"),
    )  # fmt: skip
    second: Line = ((f" {view.times}", "plain"), (f" · {view.source} · {view.where}", "muted"))
    return first, second, _third(view, width)


def _third(view: BatchView, width: int) -> Line:
    if view.stopped:
        return ((f" stopped: {view.stopped}", "bad"),)
    against: tuple[Span, ...] = ((f"against the published rows: {view.against}", "plain"),) if view.against else ()
    if not view.kept or view.device == "cpu":
        return ((" ", "plain"), *against) if against else ""
    shown = device_strip(view.held, view.host_cores, width - (cells(against[0][0]) if against else 0) - 12)
    return ((" devices ", "muted"), (shown, "accent"), ("  ", "plain"), *against)


def device_strip(held: frozenset[int], cores: int, room: int) -> str:
    """`████ ██·· ····`: a group a device, a cell a core that a row of the batch holds; counted where it has no room."""
    groups = ["".join("█" if c in held else "·" for c in range(first, min(cores, first + CORES_PER_DEVICE)))
              for first in range(0, cores, CORES_PER_DEVICE)]  # fmt: skip
    text = " ".join(groups)
    return text if cells(text) <= room else f"{len(held)} of {cores} cores held by its rows"
