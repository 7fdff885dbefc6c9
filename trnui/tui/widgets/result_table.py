"""A table for any number of rows: it holds a few pages of them, draws only the visible lines and sends only the changed cells.

It queries nothing. `show()` gives it a result (count, one page, cursor), `add_page()` the pages it asks for with `PageNeeded`.
A plain `Widget` with `render_line`, not a `ScrollView`: `virtual_size` is a layout reactive, so each new count would lay the
screen out again. Textual cuts a refreshed region at its right end only, so what changes most stands on the left.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from typing import ClassVar, Self

from textual import events
from textual.binding import BindingType
from textual.geometry import Region
from textual.message import Message
from textual.strip import Strip

from trnui.catalog.messages import Record
from trnui.tui.bindings import ActionHost, bindings
from trnui.tui.widgets.columns import MARGIN, Column, ColumnLayout
from trnui.tui.widgets.palette import Styled
from trnui.tui.widgets.styled_lines import Span, strip
from trnui_runner.common.text import fit

PAGE = 200  # rows a page
KEEP = 12  # pages kept
_NARROW = str.maketrans("", "", "–…·•▲▼")  # our own marks, one cell each
Row = tuple[object, ...]  # row[0] is the row's identity, the rest are the values of `names`


class ResultTable(ActionHost, Styled, can_focus=True):
    """The plan's fixed columns stay in place when the others scroll sideways."""

    PLACE = "table"
    DEFAULT_CSS = """
    ResultTable { width: 1fr; height: 1fr; }
    """
    BINDINGS: ClassVar[list[BindingType]] = bindings("table")

    class PageNeeded(Message):
        def __init__(self, table: ResultTable, generation: int, page: int) -> None:
            super().__init__()
            self.table, self.generation, self.page = table, generation, page

    class CursorMoved(Message):
        """The user moved the cursor (`by_user`), or a new result put it somewhere."""

        def __init__(self, table: ResultTable, record: Record | None, by_user: bool) -> None:
            super().__init__()
            self.table, self.record, self.by_user = table, record, by_user

    def __init__(self, plan: ColumnLayout, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.plan = plan
        self.names: tuple[str, ...] = ()
        self.generation = -1
        self.count = 0
        self.cursor = 0
        self.sort: tuple[str, bool] | None = None  # column, descending
        self.marked: set[tuple[object, ...]] = set()  # keys of marked rows, see `mark_key`
        self._top = 0
        self._side = 0  # first scrolling column
        self._pages: dict[int, Sequence[Row]] = {}
        self._asked: set[int] = set()
        self._texts: dict[int, tuple[Span, ...]] = {}  # row → what its line shows
        self._drawn: dict[int, tuple[tuple[Span, ...], bool]] = {}  # screen line → what it last showed, cursor
        self._empty: tuple[str, ...] = ()

    # -- what the owner calls

    def show(
        self,
        generation: int,
        names: Sequence[str],
        count: int,
        rows: Sequence[Row],
        *,
        cursor: int = 0,
        first: int = 0,
        sort: tuple[str, bool] | None = None,
        plan: ColumnLayout | None = None,
        empty: Iterable[str] = (),
    ) -> None:
        """Replaces the result. `rows` is page `first` (or it and those after it); `cursor` is where the remembered row is now; `empty` says why there is none."""
        new_head = sort != self.sort or (plan is not None and plan != self.plan)
        if plan is not None and plan != self.plan:
            self.plan, self._side = plan, min(self._side, plan.last_side)
        self.generation, self.count, self.sort, self.names = generation, count, sort, tuple(names)
        self._pages = {first + n: rows[n * PAGE : (n + 1) * PAGE] for n in range(max(1, -(-len(rows) // PAGE)))}
        self._asked, self._empty = set(), tuple(empty)
        self._texts.clear()
        self.cursor = max(0, min(cursor, count - 1))
        keep = self.cursor - min(max(0, self.cursor - self._top), max(0, self.room - 1))
        self._top = max(0, min(keep, count - self.room))
        self._repaint(head=new_head)
        self._want()
        self.post_message(self.CursorMoved(self, self.record, by_user=False))

    def replan(self, plan: ColumnLayout) -> None:
        """Other columns for the same rows: a new width."""
        if plan != self.plan:
            self.plan, self._side = plan, min(self._side, plan.last_side)
            self._texts.clear()
            self._repaint(head=True)

    def set_count(self, generation: int, count: int) -> None:
        """More rows of the same result have been loaded."""
        if generation == self.generation and count > self.count:
            self.count = count
            self._want()

    def add_page(self, generation: int, page: int, rows: Sequence[Row]) -> None:
        if generation != self.generation:
            return
        if len(self._pages) >= KEEP:
            here = self.cursor // PAGE
            del self._pages[max(self._pages, key=lambda p: abs(p - here))]
        self._pages[page] = rows
        self._asked.discard(page)
        for index in [i for i in self._texts if i // PAGE == page]:
            del self._texts[index]
        if any(i // PAGE == page for i in (self._top, self._top + self.room)):
            self._repaint()

    def row_at(self, index: int) -> Row | None:
        page = self._pages.get(index // PAGE)
        return page[index % PAGE] if page is not None and 0 <= index % PAGE < len(page) else None

    def record_at(self, index: int) -> Record | None:
        """The row as name → value, its identity under "identity"."""
        row = self.row_at(index)
        return None if row is None else {"identity": row[0], **dict(zip(self.names, row[1:], strict=True))}

    @property
    def record(self) -> Record | None:
        return self.record_at(self.cursor) if self.count else None

    def records(self) -> list[Record]:
        """Every row at hand, in order: all of them for a short list."""
        found = (self.record_at(i) for page in sorted(self._pages) for i in range(page * PAGE, (page + 1) * PAGE))
        return [r for r in found if r is not None]

    def toggle_mark(self) -> None:
        record = self.record
        if record is not None:
            self.marked ^= {self.plan.mark_key(record)}
            self._texts.pop(self.cursor, None)
            self.refresh(Region(0, 1 + self.cursor - self._top, 2, 1))

    def unmark(self) -> None:
        self.marked.clear()
        self._texts.clear()
        self._repaint()

    def repaint(self) -> None:
        """Rows look different for a reason of the owner's (a width, an age): send what changed."""
        self._texts.clear()
        self._repaint()

    # -- keys

    def action_move(self, by: int) -> None:
        self.go(self.cursor + by)

    def action_page(self, by: int) -> None:
        step = max(1, self.room - 1) * by
        self.go(self.cursor + step, self._top + step)

    def action_go(self, index: int) -> None:
        self.go(index if index >= 0 else self.count - 1)

    def action_side(self, by: int) -> None:
        side = max(0, min(self._side + by, self.plan.last_side))
        if side != self._side:
            self._side = side
            self._texts.clear()
            self._repaint(head=True)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        self.go(self.cursor + 3)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        self.go(self.cursor - 3)

    def on_click(self, event: events.Click) -> None:
        if event.y >= 1:
            self.go(self._top + event.y - 1)

    # -- drawing

    @property
    def room(self) -> int:
        """Rows on the screen: all lines but the head's."""
        return max(0, self.size.height - 1)

    def go(self, index: int, top: int | None = None) -> None:
        index = max(0, min(index, self.count - 1))
        if index == self.cursor or not self.count:
            return
        old, old_top, self.cursor = self.cursor, self._top, index
        top = self._top if top is None else max(0, min(top, self.count - self.room))
        self._top = max(0, min(max(top, index - self.room + 1), index))
        if self._top == old_top:
            self.refresh(*(Region(0, 1 + i - self._top, self.size.width, 1) for i in (old, index)))
        else:
            self._repaint()
        self._want()
        self.post_message(self.CursorMoved(self, self.record, by_user=True))

    def _want(self) -> None:
        """Asks for the visible pages, and for the next one ahead."""
        first, last = self._top // PAGE, (self._top + self.room) // PAGE
        ahead = {(self._top - self.room) // PAGE, (self._top + 2 * self.room) // PAGE}
        for page in [*range(first, last + 1), *sorted(ahead)]:
            if 0 <= page * PAGE < self.count and page not in self._asked:
                rows = self._pages.get(page)
                if rows is None or len(rows) < min(PAGE, self.count - page * PAGE):
                    self._asked.add(page)
                    self.post_message(self.PageNeeded(self, self.generation, page))

    def _repaint(self, head: bool = False) -> None:
        """Refreshes the lines whose text or styles changed, and of each only the cells up to the last changed one."""
        width, regions = self.size.width, [Region(0, 0, self.size.width, 1)] if head else []
        for y in range(1, self.size.height):
            index = self._top + y - 1
            old, new = self._drawn.get(y), (self._text_of(index), self._at_cursor(index))
            if old is None or old[1] != new[1]:
                regions.append(Region(0, y, width, 1))
            elif old != new:
                regions.append(Region(0, y, changed_width(old[0], new[0], width), 1))
        if regions:
            self.refresh(*regions)

    def _at_cursor(self, index: int) -> bool:
        return index == self.cursor < self.count

    def _text_of(self, index: int) -> tuple[Span, ...]:
        text = self._texts.get(index)
        if text is None:
            record = self.record_at(index) if index < self.count else None
            if record is not None:
                text = self._cells(record)
            elif index < self.count:
                text = (("  …", "muted"),)
            else:
                words = self._words() if not self.count else []
                text = ((f"  {words[index]}", "muted"),) if index < len(words) else (("", "plain"),)
            if len(self._texts) > 2000:
                self._texts.clear()
            self._texts[index] = text
        return text

    def _words(self) -> list[str]:
        """Why there is no row, in lines of this width."""
        width = max(20, self.size.width - 4)
        return [piece for line in self._empty for piece in (textwrap.wrap(line, width) or [""])]

    def _cells(self, record: Record) -> tuple[Span, ...]:
        """The row's cells; neighbours of one style become one span."""
        mark = "• " if self.plan.mark_key(record) in self.marked else "  "
        found: list[tuple[str, str]] = []
        shown = self._shown()
        for n, column in enumerate(shown):
            gap = " " * self.plan.gap if n + 1 < len(shown) else ""
            style = column.style(record) if callable(column.style) else column.style
            text = (mark if n == 0 else "") + fit(column.show(record), column.width, column.align) + gap
            if found and found[-1][1] == style:
                found[-1] = (found[-1][0] + text, style)
            else:
                found.append((text, style))
        return tuple(found)

    def _shown(self) -> tuple[Column, ...]:
        return self.plan.shown(self._side)

    def _head(self) -> Strip:
        """Titles, the sort's mark, and `›` where there are more columns to the right."""
        titles, shown, width = [], self._shown(), self.size.width
        for column in shown:
            mark = "" if self.sort is None or self.sort[0] != column.name else ("▼" if self.sort[1] else "▲")
            title = f"{mark}{column.title}" if column.align == "right" else f"{column.title}{mark}"
            titles.append(fit(title, column.width, column.align))
        more = " ›" if shown[-1].name != self.plan.columns[-1].name else ""
        text = fit(" " * MARGIN + (" " * self.plan.gap).join(titles), max(0, width - len(more)))
        return strip(((text, "muted"), (more, "accent")), width, self)

    def recoloured(self) -> None:
        self._drawn.clear()  # the refresh that follows takes every line

    def refresh(self, *regions: Region, repaint: bool = True, layout: bool = False, recompose: bool = False) -> Self:
        """A refresh of the whole widget (Textual does one on each focus and blur) becomes one of the lines that changed."""
        if regions or layout or recompose or not repaint or not self._drawn:
            return super().refresh(*regions, repaint=repaint, layout=layout, recompose=recompose)
        self._repaint()
        return self

    def on_resize(self) -> None:
        self._drawn.clear()
        if not self.count:
            self._texts.clear()
        self._top = max(0, min(self._top, self.cursor))
        self._top = max(self._top, self.cursor - self.room + 1, 0)
        self._want()

    def render_line(self, y: int) -> Strip:
        width = self.size.width
        if y == 0:
            return self._head()
        index = self._top + y - 1
        text, cursor = self._text_of(index), self._at_cursor(index)
        self._drawn[y] = (text, cursor)
        if cursor:
            return strip((("".join(t for t, _ in text), "cursor"),), width, self)
        return strip(text, width, self)


def changed_width(old: Sequence[Span], new: Sequence[Span], width: int) -> int:
    """Cells from the left edge to the last one that differs in text or style; the whole line when a character may be wide."""
    before, after = "".join(t for t, _ in old).ljust(width), "".join(t for t, _ in new).ljust(width)
    if not (before.translate(_NARROW).isascii() and after.translate(_NARROW).isascii()):
        return width
    styles = _ends(old, new)
    low, high = styles, width
    while low < high:
        middle = (low + high) // 2
        if before[middle:width] == after[middle:width]:
            high = middle
        else:
            low = middle + 1
    return max(1, min(low, width))


def _ends(old: Sequence[Span], new: Sequence[Span]) -> int:
    """Where the last span ends whose style or place differs; 0 when all stand alike."""
    if len(old) != len(new) or any(len(a[0]) != len(b[0]) for a, b in zip(old, new, strict=True)):
        return max(sum(len(t) for t, _ in old), sum(len(t) for t, _ in new))
    end = place = 0
    for (text, style), (_, other) in zip(old, new, strict=True):
        place += len(text)
        if style != other:
            end = place
    return end
