"""One row of a query's answer in full: every column on lines of its own, however long its value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType

from trnui.tui.screen import AppScreen
from trnui.tui.widgets.styled_lines import Line
from trnui.tui.widgets.text_view import TextView
from trnui_runner.common.text import cells, clean, fit, shown

NAMES = 24  # cells of the columns' names at most


class SqlRowScreen(AppScreen[None]):
    BINDINGS: ClassVar[list[BindingType]] = []
    AUTO_FOCUS = "TextView"

    def __init__(self, place: str, names: Sequence[str], row: Sequence[object]) -> None:
        """`place`: which row of how many, in words."""
        super().__init__()
        self._text = TextView(id="row")
        self._shown = row_lines(place, names, row)

    def places(self) -> tuple[str, ...]:
        return ("text", "app")

    def body(self) -> ComposeResult:
        self._text.show(self._shown)
        yield self._text


def row_lines(place: str, names: Sequence[str], row: Sequence[object]) -> list[Line]:
    """The name before a value of one line; above a value of several."""
    labels = [shown(name) for name in names]
    width = min(NAMES, max(map(cells, labels), default=0))
    lines: list[Line] = [((f" {place}", "muted"),), ""]
    for label, value in zip(labels, row, strict=True):
        words = clean(value if isinstance(value, str) else shown(value)).split("\n") if value is not None else ["–"]
        name = (f" {fit(label, width)}  ", "muted")
        if len(words) == 1:
            lines.append((name, (words[0], "plain")))
        else:
            lines += [(name,), *(((f"   {part}", "plain"),) for part in words)]
    return lines
