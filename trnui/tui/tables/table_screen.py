"""A list whose rows are all at hand (compare, failures, SQL): filter line, words above, the table. A sheet gives its rows; the
filter on names, the cursor that stays on its row, and exporting are the same everywhere."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar, Final

from textual import events
from textual.app import ComposeResult

from trnui.catalog.messages import Record
from trnui.catalog.query import Query
from trnui.tui.screen import AppScreen
from trnui.tui.widgets.columns import LEAST, ROOMY, Column, ColumnLayout, fitted, plan
from trnui.tui.widgets.containers import RowContainer
from trnui.tui.widgets.filter_line import FilterLine
from trnui.tui.widgets.result_table import ResultTable, Row
from trnui.tui.widgets.styled_lines import Line, Lines
from trnui_runner.common.text import fit

NAME: Final = 40  # cells of a model's name before other columns get theirs
FITTED: Final = 5_000  # rows up to which columns are fitted to them, about 50 ms


class TableScreen(AppScreen[None]):
    """A sub-class gives `columns()` and calls `put` with its rows; `NAMED` is the column that the filter line looks into."""

    AUTO_FOCUS = "ResultTable"
    NAMED: ClassVar[str] = "model_id"
    DEFAULT_CSS = """
    TableScreen .table-top { height: 1; }
    TableScreen .table-top Lines { width: 46; }
    """

    def __init__(self) -> None:
        super().__init__()
        self._filter = FilterLine(id="filter")
        self._status = Lines(id="status", base="muted")
        self._chips = Lines(id="chips")
        self._table = ResultTable(plan(self.columns(), 80), id="sheet")
        self._names: tuple[str, ...] = ()
        self._rows: Sequence[Row] = ()
        self._why: Sequence[str] = ()
        self._fitted: tuple[Column, ...] | None = None  # columns as wide as these rows need
        self._open = 0  # questions whose answers are on their way
        self._text = ""
        self._sort: tuple[str, bool] | None = None

    # -- what a sheet gives

    def columns(self) -> tuple[Column, ...]:
        raise NotImplementedError

    def counted(self, shown: int, every: int) -> str:
        """The count in words, at the right of the filter line."""
        return f"{shown:,} of {every:,}" if shown != every else f"{every:,} rows"

    def put(self, names: Sequence[str], rows: Sequence[Row], why: Sequence[str] = ()) -> None:
        """Other rows; the cursor stays on its row where that is still there. `why`: words for none."""
        self._names, self._rows, self._why = tuple(names), rows, why
        self._fitted = None
        self._draw_rows()

    def say_chips(self, *lines: Line) -> None:
        self._chips.set(*lines)

    # -- drawing

    def body(self) -> ComposeResult:
        with RowContainer(classes="table-top"):
            yield self._filter
            yield self._status
        yield self._chips
        yield self._table

    def places(self) -> tuple[str, ...]:
        return ("filter",) if self.focused is self._filter else (self.PLACE, "app")

    def table_plan(self) -> ColumnLayout:
        return plan(self.fitted_columns(), self.app.size.width, name=NAME if self.app.size.width >= ROOMY else LEAST)

    def fitted_columns(self) -> tuple[Column, ...]:
        """Columns fitted to the rows at hand: to all of them, so that no width changes while one scrolls."""
        if self._fitted is None:
            names = ("identity", *self._names)
            records = [dict(zip(names, row, strict=True)) for row in self._rows[:FITTED]]
            self._fitted = fitted(self.columns(), records) if 0 < len(self._rows) <= FITTED else self.columns()
        return self._fitted

    def _draw_rows(self) -> None:
        rows, low = self._rows, self._text.lower()
        if low and self._names:  # nothing is here yet to look through
            at = self._names.index(self.NAMED) + 1
            rows = [r for r in rows if low in str(r[at]).lower()]
        here = self._table.record
        cursor = next((n for n, r in enumerate(rows) if here is not None and r[0] == here["identity"]), 0)
        why = self._why if not self._rows else ["", f"No name here has “{self._text}”."]
        self._table.show(0, self._names, len(rows), rows, cursor=cursor, plan=self.table_plan(), empty=why)
        words = self.counted(len(rows), len(self._rows))
        self._status.set(((fit(words, max(1, (self._status.size.width or 46) - 1), "right"), "plain"),))

    def on_resize(self, event: events.Resize) -> None:
        self._table.replan(self.table_plan())

    # -- keys

    @property
    def record(self) -> Record | None:
        return self._table.record

    def action_filter(self) -> None:
        self._filter.focus()

    def on_filter_line_typed(self, message: FilterLine.Typed) -> None:
        self.filter_by(message.value)

    def on_filter_line_left(self, message: FilterLine.Left) -> None:
        self._table.focus()
        if message.drop:
            self._filter.show(Query())
            self.filter_by("")

    def filter_by(self, text: str) -> None:
        """What the filter line says now (Textual calls the handlers of every class, so sub-classes override this)."""
        self._text = text
        self._draw_rows()

    def on_result_table_page_needed(self, message: ResultTable.PageNeeded) -> None:
        message.stop()

    def on_result_table_cursor_moved(self, message: ResultTable.CursorMoved) -> None:
        message.stop()

    @property
    def settled(self) -> bool:
        return super().settled and not self._open

    def in_thread(self, work: Callable[[], Callable[[], None]], name: str) -> None:
        """As the app's; keys wait for what comes."""
        self._open += 1

        def answered() -> None:
            self._open -= 1

        def counted() -> Callable[[], None]:
            try:
                then = work()
            except BaseException:
                self.context.call_later(answered)
                raise

            def both() -> None:
                answered()
                then()

            return both

        self.context.in_thread(counted, name)
