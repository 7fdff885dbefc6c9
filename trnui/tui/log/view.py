"""A log of any size: only the visible rows are read and drawn, and of them only the changed ones are sent. The last line says
where one is, whether it follows, and takes the search. `LogView(path)` works alone, for any text file.

Over 400 lines, as moving, following, searching and selecting all act on one place in the file; reading (reader.py), what is
where (index.py, window.py), hits (search.py) and drawing (drawing.py) are elsewhere.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import ClassVar

from rich.segment import Segment
from textual import events
from textual.binding import BindingType
from textual.geometry import Region
from textual.message import Message
from textual.strip import Strip

from trnui.actions import ACTIONS
from trnui.tui.bindings import ActionHost, bindings
from trnui.tui.log.drawing import Standing, hits_words, row_spans, status_line, width_of
from trnui.tui.log.index import LogLine, text_of
from trnui.tui.log.reader import LogReader
from trnui.tui.log.search import Search
from trnui.tui.log.window import TOP, Place, Row, Window
from trnui.tui.widgets.palette import Styled
from trnui.tui.widgets.styled_lines import Span, strip
from trnui_runner.common.text import clean, thousands

LOCAL_S, REMOTE_S = 0.1, 0.25  # between two looks at the file
SIDE = 20  # columns that one step sideways moves
MOST_COPY = 200_000  # characters handed to a clipboard


def remote() -> bool:
    return bool(os.environ.get("SSH_CONNECTION") or os.environ.get("SSH_TTY"))


class LogView(ActionHost, Styled, can_focus=True):
    """`follow`: start at the end and stay there. The owner may call `done()` when the file will not grow any more."""

    PLACE = "log"
    DEFAULT_CSS = """
    LogView { width: 1fr; height: 1fr; }
    """
    BINDINGS: ClassVar[list[BindingType]] = bindings("log")

    class Copied(Message):
        """The user asks for `text` on the clipboard; `words` say what it is."""

        def __init__(self, text: str, words: str) -> None:
            super().__init__()
            self.text, self.words = text, words

    class SaveAsked(Message):
        """The user asks for the whole file (`only` None) or for the matching lines in a file of their own."""

        def __init__(self, path: Path, only: Search | None) -> None:
            super().__init__()
            self.path, self.only = path, only

    class News(Message):
        """From the reader's thread: the file has grown, or more of it was searched."""

    def __init__(self, path: Path, *, follow: bool = True, wrap: bool = False, id: str | None = None) -> None:
        super().__init__(id=id)
        self.path = path
        self.following = follow
        self.wrap = wrap
        self.only_matching = False
        self.needle = ""
        self.top = TOP
        self._start_follow = follow
        self._complete = False
        self._leaps = remote()
        self._side = 0
        self._typing: str | None = None  # what is typed behind the /
        self._before_typing = ("", TOP, follow)
        self._hit: int | None = None  # start of the hit that n and N last went to
        self._selected: tuple[int, int] | None = None  # starts of the first and last line selected: anchor, cursor
        self._left_at = 0  # lines there were when following ended
        self._wanted = ""  # "hit" or "error": where to go once the search knows
        self._rows: list[Row] = []
        self._drawn: list[tuple[Span, ...]] = []
        self._reader = LogReader(path, self._news, REMOTE_S if remote() else LOCAL_S)

    # -- what the owner calls

    def open(self, path: Path) -> None:
        """Shows another file from its end (or its beginning, as at first)."""
        self._reader.close()
        self.path, self.top, self.following, self._complete = path, TOP, self._start_follow, False
        self.needle, self._typing, self._selected, self._hit, self.only_matching = "", None, None, None, False
        self._reader = LogReader(path, self._news, REMOTE_S if remote() else LOCAL_S)
        if self.is_mounted:
            self._reader.start()
            self._show()

    def done(self) -> None:
        """The file is complete: one look a second is enough."""
        self._reader.interval = 1.0
        self._complete = True
        self._show()

    def go_to(self, start: int) -> None:
        """Shows the line that starts at (or holds) byte `start`, in the upper third, and stops following."""
        line = self._reader.index.start_of(start)
        self._leave_end()
        self._hit = line
        self.top = self._window().around(line, self._lines)
        self._show()

    # -- life

    def on_mount(self) -> None:
        self._reader.start()
        self._show()

    def on_unmount(self) -> None:
        self._reader.close()

    def _news(self) -> None:
        self.post_message(self.News())

    def on_log_view_news(self, message: News) -> None:
        message.stop()
        self._reader.heard()
        if self._wanted:
            self._go_wanted()
        self._show()

    # -- where we are

    @property
    def _lines(self) -> int:
        """Log rows on the screen: all lines but the last."""
        return max(1, self.size.height - 1)

    @property
    def lines(self) -> int:
        """Lines of the file so far, one without a newline at the end included."""
        index = self._reader.index
        return index.lines + (index.end > index.last)

    @property
    def new_lines(self) -> int:
        """Lines that came since following ended."""
        return 0 if self.following else max(0, self.lines - self._left_at)

    def _window(self) -> Window:
        search = self._reader.search if self.only_matching and self.needle else None
        return Window(self._reader.index, width=max(1, self.size.width), wrap=self.wrap, only=search)

    def _leave_end(self) -> None:
        if self.following:
            self.following, self._left_at = False, self.lines

    def _show(self) -> None:
        """Reads the rows that are to be seen, and refreshes the lines that changed."""
        if not self.is_mounted or not self.size.width:
            return
        window = self._window()
        if self.following:
            self._rows = self._followed(window)
            self.top = self._rows[0].place if self._rows else TOP
        else:
            self._rows = window.rows(self.top, self._lines)
            if len(self._rows) < self._lines and self.top > window.first():
                self._rows = window.last_rows(self._lines)
                self.top = self._rows[0].place if self._rows else TOP
        width = self.size.width
        new = [self._spans(row) for row in self._rows]
        new += [((" ", "muted"),)] * (self._lines - len(new))
        new.append(status_line(self._standing()))
        old, self._drawn = self._drawn, new
        if len(old) != len(new):
            self.refresh()
            return
        regions = [
            Region(0, y, min(width, max(width_of(a), width_of(b))), 1)
            for y, (a, b) in enumerate(zip(old, new, strict=True))
            if a != b
        ]
        if regions:
            self.refresh(*regions)

    def _followed(self, window: Window) -> list[Row]:
        """The end. Over SSH by leaps: new lines are written below the ones that are there, and when the screen is full it goes
        on with a third of it free, so that a new line costs its own bytes and not those of the whole pane."""
        if not self._leaps or not self._rows:
            return window.last_rows(self._lines)
        ahead = window.rows(self.top, self._lines + 1)
        if 0 < len(ahead) <= self._lines:
            return ahead
        return window.last_rows(max(1, self._lines * 2 // 3))

    def _spans(self, row: Row) -> tuple[Span, ...]:
        sought = self._typing if self._typing is not None else self.needle
        selected = self._is_selected(row.place.start)
        return row_spans(row, self.size.width, wrap=self.wrap, side=self._side, selected=selected, sought=sought)

    def _standing(self) -> Standing:
        index = self._reader.index
        at_end = self.following or not self._rows
        number = None if at_end else index.number_of(self._rows[-1].place.start)
        selected: int | None = None
        if self._selected is not None:
            first, last = (index.number_of(p) for p in sorted(self._selected))
            selected = 0 if first is None or last is None else last - first + 1
        return Standing(
            lines=self.lines,
            bytes=index.file.size(),
            counted=index.end,
            ends=self._start_follow,
            following=self.following,
            complete=self._complete,
            at_end=at_end,
            line=None if number is None else number + 1,
            fresh=self.new_lines,
            needle=self.needle,
            hits=hits_words(self._reader.search, self._hit if self._typing is None else None),
            typing=self._typing,
            selected=selected,
            only_matching=self.only_matching,
            wrap=self.wrap,
            side=self._side,
            problem=f"{clean(str(self.path))}: {index.file.problem}" if index.file.problem else "",
        )

    def render_line(self, y: int) -> Strip:
        width = self.size.width
        if y >= len(self._drawn):
            return Strip([Segment(" " * width, self.rich_style)], width)
        return strip(self._drawn[y], width, self)

    def recoloured(self) -> None:
        self.refresh()

    def on_resize(self) -> None:
        self._drawn, self._rows = [], []
        if not self.wrap:
            self.top = Place(self.top.start)
        self._show()

    def on_focus(self) -> None:
        self._show()

    # -- moving

    def _scroll(self, by: int) -> None:
        if by < 0:
            self._leave_end()
        self.top = self._window().moved(self.top, by, self._lines)
        self._show()

    def action_move(self, by: int) -> None:
        if self._selected is None:
            self._scroll(by)
            return
        index = self._reader.index
        anchor, at = self._selected
        line = index.after(index.line(at, index.file.size()), index.file.size()) if by > 0 else index.before(at)
        if line is not None:
            self._selected = (anchor, line.start)
            shown = [row.place.start for row in self._rows]
            if line.start not in shown:
                self._scroll(by)
            self._show()

    def action_page(self, by: int) -> None:
        self._scroll(by * max(1, self._lines - 1))

    def action_first(self) -> None:
        self._leave_end()
        self.top = self._window().first()
        self._show()

    def action_last(self) -> None:
        """To the end; a log goes on following from there."""
        if self._start_follow:
            self.following, self._rows = True, []
        else:
            last = self._window().last_rows(self._lines)
            self.top = last[0].place if last else TOP
        self._show()

    def action_follow(self) -> None:
        if self.following:
            self._leave_end()
        else:
            self.following, self._rows = True, []
        self._show()

    def action_side(self, by: int) -> None:
        if not self.wrap:
            self._side = max(0, self._side + by * SIDE)
            self._show()

    def action_wrap(self) -> None:
        self.wrap, self._side, self._rows = not self.wrap, 0, []
        self.top = Place(self.top.start)
        self._show()

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        event.stop()
        self._scroll(3)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        event.stop()
        self._scroll(-3)

    # -- searching

    @property
    def typing(self) -> bool:
        return self._typing is not None

    def check_consume_key(self, key: str, character: str | None) -> bool:
        return self._typing is not None and character is not None and character.isprintable()

    async def on_key(self, event: events.Key) -> None:
        """While a search is typed, keys are letters; otherwise bindings. The key that begins it is taken here too: a binding
        would act only after the letters that follow at once."""
        if self._typing is None:
            search = next(a for a in getattr(self.app, "actions", ACTIONS) if a.id == "log.search")
            if event.key in search.keys or event.character in search.keys:
                event.stop()
                event.prevent_default()
                self.action_search()
            return
        keys = {
            "backspace": self._typing[:-1],
            "ctrl+h": self._typing[:-1],
            "ctrl+u": "",
            "ctrl+w": self._typing.rstrip().rpartition(" ")[0],
        }
        if event.key == "enter":
            self._end_typing(keep=True)
        elif event.key in ("escape", "ctrl+c") or (event.key == "backspace" and not self._typing):
            self._end_typing(keep=False)
        elif event.key in keys:
            self._typed(keys[event.key])
        elif event.is_printable and event.character:
            self._typed(self._typing + event.character)
        elif event.key not in ("up", "down"):
            return
        event.stop()
        event.prevent_default()

    def on_paste(self, event: events.Paste) -> None:
        if self._typing is not None and event.text:
            event.stop()
            self._typed(self._typing + clean(event.text.splitlines()[0]))

    def action_search(self) -> None:
        self._before_typing = (self.needle, self.top, self.following)
        self._typing = ""
        self._show()

    def _typed(self, text: str) -> None:
        """Looks for what is typed so far, from where the search began; the view goes there as it is found."""
        self._typing = text
        _, self.top, self.following = self._before_typing
        self.needle, self._hit = text, None
        self._reader.look_for(text)
        self._wanted = "hit" if text else ""
        self._show()

    def _end_typing(self, *, keep: bool) -> None:
        text, self._typing = self._typing, None
        if not keep or not text:
            self.needle, self.top, self.following = self._before_typing if not keep else ("", self.top, self.following)
            self._reader.look_for(self.needle)
            self._wanted = ""
        if not self.needle:
            self.only_matching, self._hit = False, None
        self._show()

    def action_hit(self, by: int) -> None:
        search = self._reader.search
        if search is None:
            self.action_search()
            return
        here = self._hit if self._hit is not None else self.top.start - (by > 0)
        found = search.after(here) if by > 0 else search.before(here)
        if found is None:  # round the end
            found = search.after(-1) if by > 0 else search.before(self._reader.index.file.size() + 1)
        if found is not None:
            self.go_to(found)

    def action_only(self) -> None:
        """Only the matching lines, or all again with the same line on top."""
        if not self.needle:
            self.action_search()
            self._before_typing = ("", self.top, self.following)
            self.only_matching = True
            return
        self.only_matching, self._rows = not self.only_matching, []
        self.top = Place(self.top.start)
        self._show()

    def action_error(self) -> None:
        """The first line that looks like an error; then the next one."""
        self._reader.look_for_errors()
        self._wanted = "error" if self._wanted != "error" else self._wanted
        self._go_wanted()

    def _go_wanted(self) -> None:
        """Goes to the first hit, or error, as soon as the search has come to it."""
        kind, search = self._wanted, self._reader.search if self._wanted == "hit" else self._reader.errors
        if search is None:
            self._wanted = ""
            return
        after = self._hit if kind == "error" and self._hit is not None else -1
        if kind == "hit":
            after = self._before_typing[1].start - 1
        found = search.after(after)
        if found is None and search.share >= 1:
            found = search.after(-1)
            if found is None:
                self._wanted = ""
                return
        if found is not None:
            self._wanted = ""
            self.go_to(found)

    # -- taking along

    def _is_selected(self, start: int) -> bool:
        if self._selected is None:
            return False
        first, last = sorted(self._selected)
        return first <= start <= last

    def action_select(self) -> None:
        if self._selected is not None or not self._rows:
            self._selected = None
        else:
            self._leave_end()
            start = (
                self._hit
                if self._hit is not None and any(r.place.start == self._hit for r in self._rows)
                else self._rows[-1].place.start
            )
            self._selected = (start, start)
        self._show()

    def action_copy(self) -> None:
        """The selected lines, whole; without a selection the visible ones."""
        if self._selected is None:
            text, words = "\n".join(row.text for row in self._rows), f"{len(self._rows)} visible lines"
        else:
            text, count = self._selected_text()
            words = f"{thousands(count)} lines"
            self._selected = None
            self._show()
        self.post_message(self.Copied(text, words))

    def _selected_text(self) -> tuple[str, int]:
        assert self._selected is not None
        first, last = sorted(self._selected)
        index, length = self._reader.index, 0
        found: list[str] = []
        line: LogLine | None = index.line(first, index.file.size())
        while line is not None and line.start <= last and length < MOST_COPY:
            found.append(text_of(index.file, line, MOST_COPY)[0])
            length += len(found[-1])
            line = index.after(line, index.file.size())
        return "\n".join(found)[:MOST_COPY], len(found)

    def action_save(self) -> None:
        self.post_message(
            self.SaveAsked(self.path, self._reader.search if self.only_matching and self.needle else None)
        )

    def back(self) -> bool:
        """One step back: the selection, the matching lines, the search. False when there is nothing left to close."""
        if self._selected is not None:
            self._selected = None
        elif self.only_matching and self.needle:
            self.only_matching = False
            self.top = Place(self.top.start)
        elif self.needle:
            self.needle, self._hit = "", None
            self._reader.look_for("")
        else:
            return False
        self._show()
        return True
