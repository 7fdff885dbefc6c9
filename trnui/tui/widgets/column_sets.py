from dataclasses import replace
from typing import Final

from trnui.catalog.columns import ColumnSpec, on_screen
from trnui.catalog.query import View
from trnui.tui.widgets.columns import Column, result_style

WIDE: Final = 120  # columns from which the pane stands beside a list
OWN_RESULT: Final = 15  # cells for `PASS (stand-in)`
MUTED: Final = ("elsewhere", "reason")


def layout(view: View, *, several: bool) -> tuple[Column, ...]:
    """The view's columns; those of the stack only where more than one is shown."""
    columns = tuple(_drawn(spec) for spec in on_screen(view, several=several))
    return (replace(columns[0], width=OWN_RESULT), *columns[1:]) if view is View.RUNS else columns


def _drawn(spec: ColumnSpec) -> Column:
    style = result_style if spec.name == "status" else "muted" if spec.name in MUTED else "plain"
    return Column(spec.name, spec.title, spec.width, spec.show, spec.align, style, spec.grow)


def pane_width(width: int) -> int:
    """Cells of the pane beside a list: more on a wide screen, and 0 where there is no room for one."""
    return 0 if width < WIDE else max(46, min(70, width * 3 // 10))
