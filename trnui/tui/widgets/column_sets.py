"""Which columns a view shows, as data."""

from __future__ import annotations

from trnui.tui.widgets.columns import (
    Column,
    checked,
    day,
    number,
    reason,
    result_style,
    result_word,
    short,
    text,
    version,
)

RESULT = Column("status", "result", 10, result_word, style=result_style)
OWN_RESULT = Column("status", "result", 15, result_word, style=result_style)  # also `PASS (stand-in)`
MODEL = Column("model_id", "model", 38, text("model_id"))
CHECK = Column("kind", "check", 7, checked)
CORES = Column("tp", "cores", 5, number("tp"), "right")
WALL = Column("wall_s", "wall time", 9, number("wall_s", " s"), "right")
PEAK = Column("hbm_peak_gb", "peak mem", 8, number("hbm_peak_gb", " GB", 1), "right")
COMPILER = Column("neuronx_cc", "neuronx-cc", 11, version("neuronx_cc"))
LIBRARY = Column("library_version", "version", 10, text("library_version"))
TESTED = Column("tested_at", "tested", 10, day("tested_at"))
TASK = Column("task", "task", 18, text("task"))
REASON = Column("reason", "why", 12, reason, style="muted", grow=True)
RANK = Column("rank", "rank", 4, number("rank"), "right")
SCORE = Column("trending_score", "trending", 8, short("trending_score"), "right")
DOWNLOADS = Column("downloads", "downloads", 9, short("downloads"), "right")


def layout(view: str, *, several: bool) -> tuple[Column, ...]:
    """The view's columns; those of the stack only where more than one is shown."""
    stack = (COMPILER, LIBRARY) if several else ()
    if view == "trending":
        return (RESULT, MODEL, RANK, SCORE, DOWNLOADS, CORES, WALL, PEAK, *stack, TESTED, REASON)
    if view == "downloads":
        return (RESULT, MODEL, RANK, DOWNLOADS, CORES, WALL, PEAK, *stack, TESTED, REASON)
    if view == "runs":
        return (OWN_RESULT, MODEL, CHECK, CORES, WALL, PEAK, *stack, TESTED, REASON)
    if view == "siblings":
        return (RESULT, MODEL, CHECK, CORES, WALL, PEAK, *stack, TESTED, REASON)
    return (RESULT, MODEL, CHECK, CORES, WALL, PEAK, *stack, TESTED, REASON)


WIDE = 120  # columns from which the pane stands beside a list


def pane_width(width: int) -> int:
    """Cells of the pane beside a list: more on a wide screen, and 0 where there is no room for one."""
    return 0 if width < WIDE else max(46, min(70, width * 3 // 10))
