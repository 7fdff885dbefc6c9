"""View 7: one read-only SELECT over results, rankings and runs, in a child process whose limits hold whatever the query does."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.events import Resize

from trnui.catalog.dataset.snapshot import is_hub_id
from trnui.tui.bindings import bindings
from trnui.tui.dialogs.copy_menu import copy_texts
from trnui.tui.screen import AppScreen, hint_line
from trnui.tui.widgets.columns import HINT, MARGIN, Column, ColumnLayout
from trnui.tui.widgets.result_table import ResultTable
from trnui.tui.widgets.sql_editor import QueryArea
from trnui.tui.widgets.styled_lines import Lines
from trnui_runner.common.errors import UserError
from trnui_runner.common.text import ABSENT, cells, shown

if TYPE_CHECKING:
    from trnui.catalog.dataset.snapshot import DatasetSource
    from trnui.catalog.engine.sql_console import Prompt, Selected

EXAMPLES = (
    "SELECT neuronx_cc, library_version, count(*) AS models, count(*) FILTER (status = 'PASS') AS pass FROM results GROUP BY ALL ORDER BY ALL",
    "SELECT model_id, tp, hbm_peak_gb FROM results WHERE status = 'PASS' AND tp = 1 ORDER BY hbm_peak_gb DESC LIMIT 20",
    "SELECT regexp_extract(error, '\\[(NCC_\\w+)\\]', 1) AS code, count(*) AS rows FROM results WHERE status = 'FAIL' GROUP BY 1 ORDER BY 2 DESC",
)
START = EXAMPLES[0]
KEPT = 50  # queries remembered
WIDEST = 44  # cells of a column of words while others need room
HELP = (
    "",
    "Enter runs the query; Esc leaves it for the rows: Enter shows one in full, m opens its model. Alt+Enter begins a new line; ↑ in the first line brings back earlier queries (three examples to begin with).",
    "Tables: results (the dataset's columns and status, kind, device, task, parallelism), rankings, runs.",
    "Only one SELECT, read-only; files, settings and the network are out of its reach.",
)


class SqlScreen(AppScreen[None]):
    PLACE = "sql"
    VIEW = "sql"
    CSS_PATH = "sql.tcss"
    AUTO_FOCUS = "QueryArea"
    BINDINGS: ClassVar[list[BindingType]] = bindings("sql")

    def __init__(self) -> None:
        super().__init__()
        self._prompt: Prompt | None = None
        self._of: DatasetSource | None = None  # the source that the prompt has loaded
        self._busy = False
        self._history: list[str] = []
        self._area = QueryArea(START, self._history, id="query")
        self._result: Selected | None = None
        self._text = ""
        self._columns: tuple[Column, ...] = ()
        self._status = Lines(id="status", base="muted")
        self._table = ResultTable(ColumnLayout((Column("x", "", 1, lambda _: ""),), 1), id="rows")

    def body(self) -> ComposeResult:
        kept = self.context.session.extra.get("sql")
        self._history += [str(q) for q in kept] if isinstance(kept, list) else EXAMPLES
        self._area.begin(self._history[-1] if kept else START)
        yield self._area
        yield self._status
        yield self._table

    def on_mount(self) -> None:
        self._table.show(0, (), 0, (), empty=HELP)

    def places(self) -> tuple[str, ...]:
        return ("sql", "app") if self.focused is not self._area else ("sql",)

    def _draw_hints(self) -> None:
        if self.focused is self._area:  # every other key is text there
            self._foot.set(
                hint_line([(self.context.key_of("sql.run"), "Run"), ("Esc", "Leave the editor, for all other keys")])
            )
        else:
            super()._draw_hints()

    # -- running

    def on_query_area_run(self, message: QueryArea.Run) -> None:
        message.stop()
        source = self.context.source
        if source is None:
            self.say("no dataset is open yet", "warn")
            return
        if self._busy:
            self.say("a query runs; Esc ends it")
            return
        if self._prompt is None or self._of is not source:
            from trnui.catalog.engine.sql_console import Prompt

            if self._prompt is not None:
                self._prompt.close()
            self._prompt, self._of = Prompt(source, columns=self.context.settings.columns), source
        self.context.remember_extra("sql", self._history[-KEPT:])
        prompt, text = self._prompt, message.text
        self._busy, self._text = True, text
        self._status.set(" running… Esc ends it")

        def work() -> Callable[[], None]:
            from trnui.catalog.engine.sql_console import SqlStopped

            try:
                found = prompt.run(text)
            except SqlStopped:
                return lambda: self._failed("cancelled")
            except UserError as error:
                words = str(error)
                return lambda: self._failed(words)
            columns = columns_of(found)
            return lambda: self._show(found, columns)

        self.context.in_thread(work, "sql")

    def _failed(self, words: str) -> None:
        self._busy = False
        self._status.set(((" not run", "bad"),))
        self._table.show(0, (), 0, (), empty=["", *words.split("\n")])

    def _show(self, found: Selected, columns: tuple[Column, ...]) -> None:
        self._busy, self._result, self._columns = False, found, columns
        words = f" {len(found.rows):,} row{'s' * (len(found.rows) != 1)} in {found.seconds:.2f} s"
        self._status.set(((words, "plain"), (f" · {found.cut}" if found.cut else "", "warn")))
        names = tuple(f"c{n}" for n in range(len(found.columns)))
        rows = [(n, *row) for n, row in enumerate(found.rows)]
        self._table.show(0, names, len(rows), rows, plan=self._plan(found), empty=["", "No row."])
        if rows:
            self._table.focus()

    def _plan(self, found: Selected) -> ColumnLayout:
        width = self.app.size.width
        gap = 2 if width >= 100 else 1
        return ColumnLayout(with_room(self._columns, width - MARGIN, gap), 1, gap=gap, width=width)

    def on_resize(self, event: Resize) -> None:
        if self._result is not None:
            self._table.replan(self._plan(self._result))

    def on_query_area_left(self, message: QueryArea.Left) -> None:
        """Esc: ends a query that runs, else leaves the text for the rows; from there it goes back."""
        message.stop()
        if self._busy and self._prompt is not None:
            self._prompt.interrupt()
        else:
            self._table.focus()

    # -- keys

    def why_not(self, action_id: str) -> str | None:
        if action_id in ("sql.export", "sql.copy", "sql.open", "sql.model") and self._result is None:
            return "there is no result yet"
        if action_id in ("sql.open", "sql.model") and self._row is None:
            return "no row under the cursor"
        if action_id == "sql.model" and self._model is None:
            return "this row names no model: select model_id, too"
        return None

    @property
    def _row(self) -> tuple[object, ...] | None:
        record = self._table.record
        if record is None or self._result is None:
            return None
        return tuple(self._result.rows[int(str(record["identity"]))])

    @property
    def _model(self) -> str | None:
        """The row's `model_id`, else its first value that is written like a Hub id."""
        if self._row is None or self._result is None:
            return None
        named = dict(zip(self._result.columns, self._row, strict=True)).get("model_id")
        values = [named] if named else [v for v in self._row if isinstance(v, str) and "/" in v and is_hub_id(v)]
        return str(values[0]) if values else None

    def action_open(self) -> None:
        from trnui.tui.tables.sql_row_screen import SqlRowScreen

        found, record, row = self._result, self._table.record, self._row
        assert found is not None  # why_not
        assert record is not None
        assert row is not None
        place = f"row {int(str(record['identity'])) + 1:,} of {found.total:,}"
        self.context.push_screen(SqlRowScreen(place, found.columns, row))

    def action_model(self) -> None:
        if self._model is not None:
            self.context.open_model(self._model)

    def action_edit(self) -> None:
        self._area.focus()

    def action_run(self) -> None:
        self._area.action_run()

    def action_copy(self) -> None:
        result = self._result
        assert result is not None  # why_not
        from io import StringIO

        from trnui.catalog.analysis.export import write

        sink = StringIO()
        write(result, "csv", sink)
        dataset = self.context.dataset
        record = self._table.record
        row = "\t".join(shown(v) for k, v in record.items() if k != "identity") if record is not None else ""
        copy_texts(
            self.context,
            [
                ("c", "command", shlex.join(["trnui", "--dataset", dataset, "sql", self._text])),
                ("w", "this row", row),
                ("s", "all rows as csv", sink.getvalue()),
            ],
        )

    def action_export(self) -> None:
        result = self._result
        assert result is not None  # why_not
        from trnui.tui.dialogs.export import export

        export(self.context, "sql", lambda: replace(result, count=result.total))  # so its words say what was cut

    def on_result_table_page_needed(self, message: ResultTable.PageNeeded) -> None:
        message.stop()

    def on_result_table_cursor_moved(self, message: ResultTable.CursorMoved) -> None:
        message.stop()


def columns_of(found: Selected) -> tuple[Column, ...]:
    """As wide as their values, all of them: 10,000 rows of ten columns take 0.1 s, so this is for a thread."""
    return tuple(_column(n, name, [row[n] for row in found.rows]) for n, name in enumerate(found.columns))


def with_room(columns: Sequence[Column], room: int, gap: int) -> tuple[Column, ...]:
    """Columns of words at `WIDEST`; those on the first screen wider while there is room. Figures are never cut."""
    widths = [c.width if c.align == "right" else min(c.width, WIDEST) for c in columns]
    used, fitting = -gap, 0
    for n, width in enumerate(widths):
        hint = HINT if n + 1 < len(widths) else 0
        if used + gap + width + hint > room:
            break
        used, fitting = used + gap + width, n + 1
    spare = room - used - (HINT if fitting < len(widths) else 0)
    for n, column in enumerate(columns[:fitting]):
        more = min(max(0, spare), column.width - widths[n])
        widths[n] += more
        spare -= more
    return tuple(replace(c, width=w) for c, w in zip(columns, widths, strict=True))


def _column(n: int, name: str, values: Sequence[object]) -> Column:
    """As wide as its values; figures to the right."""
    kinds = {type(v) for v in values if v is not None}
    figures = bool(kinds) and kinds <= {int, float}
    width = max([cells(shown(name)), *(cells(_text(v)) for v in values)], default=1)
    key = f"c{n}"
    return Column(key, shown(name), max(1, width), lambda r: _text(r.get(key)), "right" if figures else "left")


def _text(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.6g}" if value == value else ABSENT
    return shown(value)
