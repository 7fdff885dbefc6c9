"""A few lines of text in styles. A new text sends only the changed lines, and of each only the cells up to the last change."""

from __future__ import annotations

from collections.abc import Sequence

from rich.segment import Segment
from textual.geometry import Region
from textual.strip import Strip

from trnui.tui.widgets.palette import Styled
from trnui_runner.common.text import cells, fit

Span = tuple[str, str]  # text, style
Line = str | tuple[Span, ...]


def spans(line: Line) -> tuple[Span, ...]:
    return ((line, "plain"),) if isinstance(line, str) else line


def plain(line: Line) -> str:
    return line if isinstance(line, str) else "".join(text for text, _ in line)


class Lines(Styled):
    """`set` replaces what it shows. `style` is the colour of lines given as bare text."""

    DEFAULT_CSS = """
    Lines { height: 1; width: 1fr; }
    """

    def __init__(self, lines: Sequence[Line] = (), *, id: str | None = None, base: str = "plain") -> None:
        super().__init__(id=id)
        self._lines: list[Line] = list(lines)
        self._base = base

    @property
    def lines(self) -> tuple[str, ...]:
        return tuple(plain(line) for line in self._lines)

    def set(self, *lines: Line) -> None:
        old, self._lines = self._lines, list(lines)
        width = self.size.width
        changed = [
            Region(0, n, min(width, _changed(old[n : n + 1], self._lines[n : n + 1])), 1)
            for n in range(max(len(old), len(lines)))
            if old[n : n + 1] != self._lines[n : n + 1]
        ]
        if changed and width:
            self.refresh(*changed)

    def render_line(self, y: int) -> Strip:
        width = self.size.width
        line = self._lines[y] if y < len(self._lines) else ""
        parts = ((line, self._base),) if isinstance(line, str) else line
        return strip(parts, width, self)


def strip(parts: Sequence[Span], width: int, widget: Styled) -> Strip:
    """The spans in exactly `width` cells; the last one that fits is cut with an ellipsis."""
    segments, left = [], width
    for n, (text, style) in enumerate(parts):
        size = cells(text) if text.isprintable() else len(text)
        if size > left or n == len(parts) - 1:
            segments.append(Segment(fit(text, left), widget.style(style)))
            left = 0
            break
        segments.append(Segment(fit(text, size), widget.style(style)))
        left -= size
    if left:
        segments.append(Segment(" " * left, widget.rich_style))
    return Strip(segments, width)


def _changed(old: Sequence[Line], new: Sequence[Line]) -> int:
    """Cells up to the end of the longer of the two: what must be sent again."""
    return max(cells(plain(line)) for line in (*old, *new, ""))
