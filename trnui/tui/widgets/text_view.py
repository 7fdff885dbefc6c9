"""Text of any length: only the visible lines are wrapped, styled and drawn; search with next and previous; 250 kB open at once.

Lines are bare text or spans in styles (lines.py); `paint` may give the spans of a bare line later, for highlighted code.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import ClassVar

from textual import events
from textual.binding import BindingType
from textual.message import Message
from textual.strip import Strip

from trnui.tui.bindings import ActionHost, bindings
from trnui.tui.widgets.palette import Styled
from trnui.tui.widgets.styled_lines import Line, Span, plain, spans, strip
from trnui.tui.widgets.wrapping import hang_of, part, rows_of

Paint = Callable[[int, str], tuple[Span, ...]]  # line number, its text → spans


class TextView(ActionHost, Styled, can_focus=True):
    """`show` replaces the text. Lines must be clean (trnui_runner.common.text) before they come here."""

    PLACE = "text"
    BINDINGS: ClassVar[list[BindingType]] = bindings("text")
    DEFAULT_CSS = """
    TextView { width: 1fr; height: 1fr; }
    """

    class SearchAsked(Message):
        """`/`: the owner opens its search line and calls `search`."""

        def __init__(self, view: TextView) -> None:
            super().__init__()
            self.view = view

    def __init__(self, *, id: str | None = None, wrap: bool = True) -> None:
        super().__init__(id=id)
        self._lines: Sequence[Line] = ()
        self._paint: Paint | None = None
        self.wrap = wrap
        self.top = 0  # first visible row
        self.needle = ""
        self._hits: list[int] = []  # line numbers
        self._hit = -1
        self._starts: list[int] = [0]  # first row of each line, for this width
        self._rows = 0
        self._measured = -1
        self._cuts: dict[int, list[tuple[int, int]]] = {}  # the rows of lines that have several
        self._side = self._margin = 0

    # -- what the owner calls

    def show(self, lines: Sequence[Line], *, paint: Paint | None = None, keep: bool = False, margin: int = 0) -> None:
        """`keep` stays where it is; `margin`: empty cells at the left that are not part of the text."""
        self._lines, self._paint, self._measured, self._margin = lines, paint, -1, margin
        if not keep:
            self.top = self._side = 0
        self.needle, self._hits, self._hit = "", [], -1
        self.refresh()

    @property
    def text(self) -> str:
        return "\n".join(plain(line) for line in self._lines)

    def search(self, needle: str) -> int:
        """Marks every hit, goes to the first one at or below the top; returns how many lines hit."""
        self.needle = needle
        low = needle.lower()
        self._hits = [n for n, line in enumerate(self._lines) if low in plain(line).lower()] if needle else []
        self._hit = -1
        if self._hits:
            self._measure()
            here = bisect_right(self._starts, self.top) - 1
            self._hit = next((i for i, n in enumerate(self._hits) if n >= here), 0)
            self._reveal(self._hits[self._hit])
        self.refresh()
        return len(self._hits)

    def search_over(self) -> bool:
        """Takes the marks of a search away; False when there was none."""
        had = bool(self.needle)
        if had:
            self.search("")
        return had

    @property
    def place(self) -> str:
        """`12–51 of 340 lines`, and the hit the search is at."""
        self._measure()
        last = min(self._rows, self.top + self.size.height)
        words = f"{min(self.top + 1, self._rows)}–{last} of {self._rows}"
        if self.needle:
            words += (
                f" · match {self._hit + 1} of {len(self._hits)}" if self._hits else f" · no match for “{self.needle}”"
            )
        return words

    # -- keys

    def action_scroll(self, by: int) -> None:
        self._to(self.top + by)

    def action_page(self, by: int) -> None:
        self._to(self.top + by * max(1, self.size.height - 1))

    def action_go(self, row: int) -> None:
        self._measure()
        self._to(row if row >= 0 else self._rows)

    def action_hit(self, by: int) -> None:
        if not self._hits:
            self.app.say(f"no match for “{self.needle}”" if self.needle else "nothing searched for yet")  # type: ignore[attr-defined]
            return
        self._hit = (self._hit + by) % len(self._hits)
        self._reveal(self._hits[self._hit])
        self.refresh()
        self.app.say(f"match {self._hit + 1} of {len(self._hits)}")  # type: ignore[attr-defined]

    def action_wrap(self) -> None:
        self.wrap = not self.wrap
        self._measured = -1
        self._to(self.top)
        self.refresh()

    def action_search(self) -> None:
        self.post_message(self.SearchAsked(self))

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        self._to(self.top + 3)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        self._to(self.top - 3)

    # -- drawing

    def on_resize(self) -> None:
        self._measured = -1
        self._to(self.top)

    def _to(self, row: int) -> None:
        self._measure()
        row = max(0, min(row, self._rows - self.size.height))
        if row != self.top:
            self.top = row
            self.refresh()

    def _reveal(self, line: int) -> None:
        self._measure()
        row = self._starts[line]
        if not self.top <= row < self.top + self.size.height:
            self.top = max(0, min(row - self.size.height // 3, self._rows - self.size.height))

    def _measure(self) -> None:
        """Where each line begins, in rows of this width."""
        width = self.size.width - self._margin
        if self._measured == width or width <= 0:
            return
        starts, row = [], 0
        self._cuts = {}
        for number, line in enumerate(self._lines):
            starts.append(row)
            row += len(self._cut(number, line, width))
        self._starts, self._rows, self._measured = starts or [0], row, width

    def _cut(self, number: int, line: Line, width: int) -> list[tuple[int, int]]:
        """The rows of a line; remembered for those of more than one, as a single line may have 250 kB."""
        text = plain(line)
        if not self.wrap or len(text) * 2 <= width or (len(text) <= width and text.isascii()):
            return [(0, len(text))]
        cut = self._cuts.get(number)
        if cut is None:
            cut = rows_of(text, width, hang_of(line, width))
            if len(cut) > 1:
                self._cuts[number] = cut
        return cut

    def render_line(self, y: int) -> Strip:
        self._measure()
        width, row = self.size.width - self._margin, self.top + y
        if row >= self._rows or width <= 0:
            return Strip.blank(self.size.width, self.rich_style)
        number = bisect_right(self._starts, row) - 1
        line = self._lines[number]
        text = plain(line)
        parts = self._paint(number, text) if self._paint is not None and isinstance(line, str) else spans(line)
        if self.needle and number in self._hits:
            parts = marked(parts, self.needle)
        margin, at = self._margin, row - self._starts[number]
        cut = self._cut(number, line, width)
        if len(cut) > 1:
            parts = part(parts, *cut[at])
            margin += hang_of(line, width) if at else 0
        return strip(((" " * margin, "plain"), *parts), self.size.width, self)


def marked(parts: Sequence[Span], needle: str) -> tuple[Span, ...]:
    """The spans with every occurrence of `needle` in the style of a hit."""
    text = "".join(t for t, _ in parts).lower()
    low, found, at = needle.lower(), [], 0
    while (place := text.find(low, at)) >= 0:
        found += (
            [*part(parts, at, place), (text[place : place + len(low)], "hit")]
            if place > at
            else [(text[place : place + len(low)], "hit")]
        )
        at = place + len(low)
    whole = "".join(t for t, _ in parts)
    spot, kept = 0, []
    for piece, style in found:  # the case of the text itself
        kept.append((whole[spot : spot + len(piece)], style))
        spot += len(piece)
    return (*kept, *part(parts, at, len(text))) if at < len(text) else tuple(kept)
