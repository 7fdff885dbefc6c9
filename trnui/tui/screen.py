"""What every screen has: the views and the source of the rows above, hints or a message below, and the focus
without a full repaint. A new screen derives from `AppScreen`, names its `PLACE` in the registry, and yields its body."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, ClassVar, Self, TypeVar, cast

from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.geometry import Region, Size
from textual.reactive import Reactive
from textual.screen import Screen
from textual.timer import Timer
from textual.widget import Widget

from trnui.tui.bindings import ActionHost, hints
from trnui.tui.widgets.columns import many
from trnui.tui.widgets.containers import ColumnContainer
from trnui.tui.widgets.styled_lines import Line, Lines, Span
from trnui_runner.common.text import cells, one_line

if TYPE_CHECKING:
    from trnui.tui.context import AppContext
    from trnui.tui.widgets.search_line import SearchLine
    from trnui.tui.widgets.text_view import TextView

Result = TypeVar("Result")
VIEWS = (
    ("selected", "Selected"), ("trending", "Trending"), ("downloads", "Downloads"), ("runs", "Runs"), ("compare", "Compare"),
    ("failures", "Failures"), ("sql", "SQL"),
)  # fmt: skip
HELP = "Help"  # the label of app.help
MESSAGE_SECONDS = 6.0


class QuietScreen(ActionHost, Screen[Result]):
    """Textual repaints the whole screen (11 kB at 160x45) whenever the focus moves; the widgets that gain and lose it draw
    themselves. And it paints a new screen three times: by its first layout, by the refresh after that, and by the second
    layout that `virtual_size` asks for (widgets/containers.py). Once is enough."""

    focused: Reactive[Widget | None] = Reactive(None, repaint=False)
    virtual_size: Reactive[Size] = Reactive(Size(0, 0), layout=False, repaint=False)
    BINDINGS: ClassVar[list[BindingType]] = []

    _painted = False  # the first layout is over, and has painted the whole

    def refresh(self, *regions: Region, repaint: bool = True, layout: bool = False, recompose: bool = False) -> Self:
        if repaint and not (regions or layout or recompose or self._painted) and self.size:
            return self
        return super().refresh(*regions, repaint=repaint, layout=layout, recompose=recompose)

    def on_screen_resume(self) -> None:
        if not self._painted:
            self.call_next(self._first_paint_done)  # after Textual's own handler, which lays out and paints

    def _first_paint_done(self) -> None:
        self._painted = True
        self._repaint_required = False  # mounting has asked for it, before the paint

    @property
    def settled(self) -> bool:
        """Whether what is on screen is what the next key is meant for (key_queue.py)."""
        return self._painted

    @property
    def context(self) -> AppContext:
        return cast("AppContext", self.app)


class AppScreen(QuietScreen[Result]):
    """Header (views, source), body, footer. `VIEW` marks the view that the screen is part of; `places` whose hints it shows."""

    VIEW: ClassVar[str] = ""

    DEFAULT_CSS = """
    AppScreen { layout: vertical; }
    AppScreen > .body { height: 1fr; width: 1fr; }
    """

    def __init__(self, name: str | None = None, id: str | None = None) -> None:
        super().__init__(name, id)
        self._head = Lines(id="views")
        self._source = Lines(id="source")
        self._foot = Lines(id="keys", base="muted")
        self._message: Timer | None = None
        self._search: SearchLine | None = None  # made when a text is first searched
        self._searched: TextView | None = None

    # -- what a screen gives

    def body(self) -> ComposeResult:
        yield from ()

    def view(self) -> str:
        return self.VIEW

    def places(self) -> tuple[str, ...]:
        """Places of the registry whose keys work now, the nearest first."""
        return (self.PLACE, "app")

    def step_back(self) -> bool:
        """Esc: closes the top-most thing of the screen; False when there is none, so that the screen itself is closed."""
        return self._searched is not None and self._searched.search_over()

    # -- what it gets

    def compose(self) -> ComposeResult:
        self._draw_head()
        self._draw_source()
        self._draw_hints()
        yield self._head
        yield self._source
        with ColumnContainer(classes="body"):
            yield from self.body()
        yield self._foot

    def say(self, words: str, style: str = "accent") -> None:
        """One line in place of the hints, for a few seconds or until the next one."""
        self._foot.set(((" " + one_line(words), style),))
        if self._message is not None:
            self._message.stop()
        self._message = self.set_timer(MESSAGE_SECONDS, self.show_hints)

    def show_hints(self) -> None:
        if self._message is not None:
            self._message.stop()
            self._message = None
        self._draw_hints()

    async def on_text_view_search_asked(self, message: TextView.SearchAsked) -> None:
        """`/` in any text of the screen: a line above the hints takes what to search for."""
        from trnui.tui.widgets.search_line import SearchLine

        message.stop()
        self._searched = message.view
        if self._search is None:
            self._search = SearchLine("search in this text", id="search")
            await self.mount(self._search, before=self._foot)
        self._search.ask()

    def on_search_line_done(self, message: SearchLine.Done) -> None:
        message.stop()
        view = self._searched
        assert view is not None
        view.focus()
        if message.value:
            count = view.search(message.value)
            words = f"{many(count, 'line')} hold{'s' * (count == 1)}" if count else "no matches for"
            self.say(f"{words} “{message.value}”", "accent" if count else "warn")

    def show_views(self) -> None:
        """Another number of runs goes on: draw it beside their view."""
        self._draw_head()

    def show_source(self) -> None:
        """The rows' source or age is another: draw it."""
        self._draw_source()

    def on_resize(self, event: events.Resize) -> None:
        self._renew_hints()

    def on_descendant_focus(self) -> None:
        self._renew_hints()

    def _renew_hints(self) -> None:
        """Other keys work now; a message stays for its seconds."""
        if self._message is None:
            self._draw_hints()

    def on_screen_resume(self) -> None:
        self._draw_head()
        self._draw_source()

    def _draw_head(self) -> None:
        self._head.set(tuple(_tabs(self.view(), self.context.runs_going)))

    def _draw_source(self) -> None:
        self._source.set(self.context.source_line())

    def _draw_hints(self) -> None:
        self._foot.set(hint_line(hints(self.places(), self.context.actions), self.app.size.width))


def _tabs(current: str, going: int) -> Iterable[Span]:
    """The views with their keys; beside Runs how many go on."""
    yield " ", "muted"
    for n, (name, label) in enumerate(VIEWS, 1):
        here = name == current
        yield f"{n} ", "accent" if here else "muted"
        yield label, "strong" if here else "muted"
        if name == "runs" and going:
            yield f" ●{going}", "accent"
        yield "  ", "muted"


def hint_line(found: Sequence[tuple[str, str]], width: int = 1000) -> Line:
    """` / Filter  Enter Open  …  ? Help`: keys in the accent, words muted; as many as fit, Help always among them."""
    helps = [h for h in found if h[1] == HELP][:1]
    left = width - 1 - sum(cells(k) + cells(w) + 3 for k, w in helps)
    kept: list[tuple[str, str]] = []
    for key, label in (h for h in found if h[1] != HELP):
        left -= cells(key) + cells(label) + 3
        if left < -2:
            break
        kept.append((key, label))
    parts: list[Span] = [(" ", "muted")]
    for n, (key, label) in enumerate([*kept, *helps]):
        parts += [("  " if n else "", "muted"), (key, "accent"), (f" {label}", "muted")]
    return tuple(parts)
