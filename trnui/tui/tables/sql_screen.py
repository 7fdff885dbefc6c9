"""View 7: one read-only SELECT over results, rankings and runs, in a child process whose limits hold whatever the query does."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.events import Resize

from trnui.tui.bindings import bindings
from trnui.tui.dialogs.copy_menu import copy_texts
from trnui.tui.screen import AppScreen, hint_line
from trnui.tui.widgets.columns import Column, ColumnLayout
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
WIDEST = 44  # cells of a column at first
HELP = (
    "",
    "Enter runs the query; Alt+Enter begins a new line; ↑ in the first line brings back earlier queries (three examples to begin with).",
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
                hint_line([(self.context.key_of("sql.run"), "Run"), ("Esc", "Leave the text, for all other keys")])
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
                return lambda: self._failed("ended by you")
            except UserError as error:
                words = str(error)
                return lambda: self._failed(words)
            return lambda: self._show(found)

        self.context.in_thread(work, "sql")

    def _failed(self, words: str) -> None:
        self._busy = False
        self._status.set(((" not run", "bad"),))
        self._table.show(0, (), 0, (), empty=["", *words.split("\n")])

    def _show(self, found: Selected) -> None:
        self._busy, self._result = False, found
        words = f" {len(found.rows):,} row{'s' * (len(found.rows) != 1)} in {found.seconds:.2f} s"
        self._status.set(((words, "plain"), (f" · {found.cut}" if found.cut else "", "warn")))
        names = tuple(f"c{n}" for n in range(len(found.columns)))
        rows = [(n, *row) for n, row in enumerate(found.rows)]
        self._table.show(0, names, len(rows), rows, plan=self._plan(found), empty=["", "No row."])
        if rows:
            self._table.focus()

    def _plan(self, found: Selected) -> ColumnLayout:
        columns = tuple(_column(n, name, [row[n] for row in found.rows[:200]]) for n, name in enumerate(found.columns))
        gap = 2 if self.app.size.width >= 100 else 1
        return ColumnLayout(columns, 1, gap=gap, width=self.app.size.width)

    def on_resize(self, event: Resize) -> None:
        if self._result is not None:
            self._table.replan(self._plan(self._result))

    def on_query_area_left(self, message: QueryArea.Left) -> None:
        """Esc: ends a query that runs, else to the rows, else back."""
        message.stop()
        if self._busy and self._prompt is not None:
            self._prompt.interrupt()
        elif self._result is not None and self._result.rows:
            self._table.focus()
        else:
            self.app.pop_screen()

    # -- keys

    def why_not(self, action_id: str) -> str | None:
        if action_id in ("sql.export", "sql.copy") and self._result is None:
            return "there is no result yet"
        return None

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

        export(self.context, "sql", lambda: result)

    def on_result_table_page_needed(self, message: ResultTable.PageNeeded) -> None:
        message.stop()

    def on_result_table_cursor_moved(self, message: ResultTable.CursorMoved) -> None:
        message.stop()


def _column(n: int, name: str, values: Sequence[object]) -> Column:
    """As wide as its first rows need; figures to the right."""
    kinds = {type(v) for v in values if v is not None}
    figures = bool(kinds) and kinds <= {int, float}
    width = max([cells(shown(name)), *(cells(_text(v)) for v in values)], default=1)
    key = f"c{n}"
    return Column(
        key, shown(name), max(1, min(width, WIDEST)), lambda r: _text(r.get(key)), "right" if figures else "left"
    )


def _text(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.6g}" if value == value else ABSENT
    return shown(value)
