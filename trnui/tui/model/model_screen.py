"""A model's page: its results over all stacks as a matrix, the chosen row in full, and what is around it in tabs.

Over 400 lines, as matrix, head and eight tabs show one chosen row and change together; what they draw is in tabs.py and row_lines.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType

from trnui.catalog.engine.lookups import ModelRows
from trnui.catalog.messages import Detail, Record
from trnui.catalog.query import View
from trnui.tui.bindings import bindings
from trnui.tui.dialogs.copy_menu import copy_row
from trnui.tui.explore.row_lines import page_head
from trnui.tui.model.matrix_view import Grid, MatrixView, Place, grid
from trnui.tui.model.tabs import error_lines, package_lines, row_lines, stack_lines, waiting_stack_lines
from trnui.tui.screen import AppScreen
from trnui.tui.widgets.column_sets import layout
from trnui.tui.widgets.columns import many, plan
from trnui.tui.widgets.result_table import ResultTable
from trnui.tui.widgets.styled_lines import Line, Lines, Span
from trnui.tui.widgets.syntax import python_paint
from trnui.tui.widgets.text_view import TextView
from trnui_runner.common.text import clean, one_line, slug

if TYPE_CHECKING:
    from trnui.catalog.analysis.nearest_lookup import Suggestion
    from trnui_runner.host.interpreter import Interpreter

TABS = ("Row", "Stack", "Packages", "run.py", "Error", "Own runs", "Siblings", "Same error")
LISTED = ("Own runs", "Siblings", "Same error")


class ModelScreen(AppScreen[None]):
    PLACE = "model"
    CSS_PATH = "model.tcss"
    AUTO_FOCUS = "#content"
    BINDINGS: ClassVar[list[BindingType]] = bindings("model")

    def __init__(self, model: str, record: Record | None = None) -> None:
        super().__init__()
        self.model = model
        self._first = record
        self._data = ModelRows()
        self._record: Record | None = record
        self._detail: Detail | None = None
        self._reading = False  # the row in full is on its way
        self._tab = "Row"
        self._works = ""  # the nearest thing that passed, for a row that did not
        self._same: tuple[tuple[Record, ...], str] | None = None
        self._title = Lines(id="title")
        self._matrix = MatrixView(id="matrix")
        self._verdict = Lines(id="verdict")
        self._said = Lines(id="said", base="muted")
        self._tabs = Lines(id="tabs")
        self._content = TextView(id="content")
        self._rows = ResultTable(plan(layout(View.SELECTED, several=True), 100), id="rows")

    def body(self) -> ComposeResult:
        self._draw_title()
        self._draw_tabs()
        yield self._title
        yield self._matrix
        yield self._verdict
        yield self._said
        yield self._tabs
        yield self._content
        yield self._rows

    def view(self) -> str:
        return "selected"

    def places(self) -> tuple[str, ...]:
        if self.focused is self._matrix:
            return ("matrix", "model", "app")
        return ("model", "table", "app") if self._tab in LISTED else ("model", "text", "app")

    def on_mount(self) -> None:
        self.load()

    def on_resize(self, event: events.Resize) -> None:
        self._draw_verdict()

    # -- data

    def load(self) -> None:
        store = self.context.store
        if store is None:
            return
        self._reading = True
        from trnui.catalog.engine.lookups import model_rows

        def work() -> Callable[[], None]:
            found = model_rows(store.database, self.model)
            return lambda: self._loaded(found)

        self.context.in_thread(work, "model")

    def _loaded(self, found: ModelRows) -> None:
        from trnui.catalog.dataset.versions import key

        self._data = found
        self._draw_title()
        if not found.rows:
            if self._first is not None and self._detail is None:
                self._chosen(self._first)
            else:
                self._reading = False
            self._draw_tabs()
            return
        made = grid(found.rows, key)
        tall = self.app.size.height >= 36
        self._matrix.styles.height = 1 + min(len(made.compilers), 8 if tall else 3)
        self._matrix.show(made, self._place_of(made))
        self._draw_tabs()

    def _place_of(self, made: Grid) -> Place | None:
        """Where the row is that the page was opened with."""
        wanted = self._record or self._first
        if wanted is None:
            return None
        return next(
            (p for p, rows in made.cells.items() if any(r["identity"] == wanted["identity"] for r in rows)), None
        )

    def on_matrix_view_chosen(self, message: MatrixView.Chosen) -> None:
        self._chosen(message.record)

    def _chosen(self, record: Record) -> None:
        """Another row: its words at once, the whole of it when it has been read."""
        self._record, self._detail, self._same, self._works = record, None, None, ""
        self._draw_verdict()
        store = self.context.store
        identity = record["identity"]
        if store is None or not isinstance(identity, int):
            return
        self._reading = True
        from trnui.catalog.engine.lookups import row_in_full

        def work() -> Callable[[], None]:
            found = row_in_full(store.database, identity)
            return lambda: self._in_full(identity, found)

        self.context.in_thread(work, "row")

    def _in_full(self, identity: int, detail: Detail | None) -> None:
        if self._record is not None and self._record["identity"] == identity:
            self._detail = detail
            self._draw_tabs()
            self._draw_content()
            self._reading = False
            if detail is not None:
                self._find_nearest(detail)

    def _find_nearest(self, detail: Detail) -> None:
        """The first of what works instead, on a line of its own under the verdict."""
        from trnui.tui.dialogs.nearest import find_nearest

        def then(found: Sequence[Suggestion]) -> None:
            if self._detail is detail and self.is_attached:
                self._works = found[0].words if found else ""
                self._draw_verdict()

        find_nearest(self.context, detail, then)

    @property
    def settled(self) -> bool:
        """`r`, `y` and `e` act on the row in full: keys wait for it."""
        return super().settled and not self._reading

    # -- drawing

    def _draw_title(self) -> None:
        rows = len(self._data.rows)
        stacks = len({(r["neuronx_cc"], r["library"], r["library_version"]) for r in self._data.rows})
        words = (
            f"{many(rows, 'row')} on {many(stacks, 'stack')}"
            if rows
            else "no row in the dataset: no result on this stack"
        )
        if not self._data.rows and self.context.store is None:
            words = ""
        self._title.set(((f" {one_line(self.model)}", "strong"), (f"   {words}", "muted")))

    def _draw_verdict(self) -> None:
        record = self._record
        if record is None:
            return
        head, said = page_head(record, self.app.size.width)
        self._verdict.set(*head)
        lines: list[Line] = [*said]
        if self._works:
            lines.append(
                ((f" {self.context.key_of('model.nearest')} ", "accent"), ("Works: ", "muted"), (self._works, "accent"))
            )
        self._said.styles.height = max(1, len(lines))
        self._said.set(*lines)

    def _draw_tabs(self) -> None:
        parts: list[Span] = [(" ", "muted")]
        for name in TABS:
            here = name == self._tab
            count = self._count(name)
            parts += [(f"[{name}{count}]", "accent") if here else (f" {name}{count} ", "muted")]
        self._tabs.set(tuple(parts))

    def _count(self, tab: str) -> str:
        if tab == "Own runs":
            return f" {len(self._data.own)}"
        if tab == "Siblings":
            return f" {len(self._data.siblings)}"
        if tab == "Same error" and self._same is not None:
            return f" {len(self._same[0])}"
        return ""

    def _draw_content(self) -> None:
        listed = self._tab in LISTED
        self._rows.display, self._content.display = listed, not listed
        if self.focused is not self._matrix:
            (self._rows if listed else self._content).focus()
        if listed:
            self._draw_rows()
            return
        detail = self._detail
        if detail is None:
            self._content.show(["", ((" reading the row…", "muted"),)])
        elif self._tab == "Row":
            self._content.show(row_lines(detail))
        elif self._tab == "Stack":
            self._draw_stack(detail)
        elif self._tab == "Packages":
            self._draw_packages(detail)
        elif self._tab == "run.py":
            script = clean(detail.values.get("run_py"))
            lines: list[Line] = [*script.split("\n")] if script else ["", ((" The row has no run.py.", "muted"),)]
            self._content.show(lines, paint=python_paint(script) if script else None, margin=1)
        elif self._tab == "Error":
            self._draw_error(detail)

    def _draw_stack(self, detail: Detail) -> None:
        """The host is asked once a session, in a thread."""
        self._content.show(waiting_stack_lines(detail.values))

        def then(host: Interpreter) -> None:
            if self._tab == "Stack" and self._detail is detail:
                from trnui_runner.host.stack import differences

                found = differences(host.stack, detail.values)
                self._content.show(stack_lines(detail.values, found, host.words, host.stack.get("problems", ())))

        self.context.with_host(then)

    def _draw_packages(self, detail: Detail) -> None:
        from trnui.catalog.dataset.packages import NONE_NAMED, install_command, packages_of

        found = packages_of(detail.values)
        install = install_command(found, self.context.settings.neuron_index)
        self._content.show(package_lines([(p.requirement, p.origin, p.extra) for p in found], install, NONE_NAMED))

    def _draw_error(self, detail: Detail) -> None:
        error = str(detail.values.get("error") or "")
        if not error:
            words = (
                "The row was excluded on purpose; it has no error."
                if detail.values.get("exclusion")
                else "The row has no error."
            )
            self._content.show(["", ((f" {words}", "muted"),)])
            return
        self._content.show(error_lines(error, None))

        def work() -> Callable[[], None]:
            from trnui_runner.diagnosis import diagnose_row

            found = diagnose_row({k: v for k, v in detail.values.items() if k != "run_py"})

            def then() -> None:
                if self._tab == "Error" and self._detail is detail:
                    self._content.show(error_lines(error, found))

            return then

        self.context.in_thread(work, "diagnosis")

    def _draw_rows(self) -> None:
        if self._tab == "Own runs":
            rows: tuple[Record, ...] = self._data.own
            why = ["", "No run of this model on this host yet.", f"{self.context.key_of('model.run')} starts one."]
        elif self._tab == "Siblings":
            rows = self._data.siblings
            why = ["", f"No other model has “{self._data.family}” in its name on this stack."]
        else:
            rows, why = self._same_rows()
        names = tuple(n for n in rows[0] if n != "identity") if rows else ()
        values = [(r["identity"], *(r[n] for n in names)) for r in rows]
        self._rows.show(
            0,
            names,
            len(rows),
            values,
            plan=plan(
                layout(View.RUNS if self._tab == "Own runs" else View.SELECTED, several=True), self.app.size.width
            ),
            empty=why,
        )

    def _same_rows(self) -> tuple[tuple[Record, ...], list[str]]:
        detail, store = self._detail, self.context.store
        if detail is None or detail.derived.get("status") != "FAIL":
            return (), ["", "This row has no failure."]
        identity = detail.identity
        if self._same is not None:
            return self._same[0], ["", f"No other row fails by “{one_line(self._same[1])}”."]
        if store is None:
            return (), [""]
        from trnui.catalog.analysis.failures import same_error

        def work() -> Callable[[], None]:
            found = same_error(store.database, identity)

            def then() -> None:
                if self._detail is detail:
                    self._same = found
                    self._draw_tabs()
                    if self._tab == "Same error":
                        self._draw_rows()

            return then

        self.context.in_thread(work, "same error")
        return (), ["", "looking…"]

    # -- keys

    def why_not(self, action_id: str) -> str | None:
        if action_id in ("model.run", "model.copy", "model.save", "model.nearest") and self._detail is None:
            return "the row is still being read"
        if action_id in ("model.matrix", "model.newer", "model.older") and not self._matrix.grid.cells:
            return "no stack has a row of this model"
        return None

    def action_tab(self, by: int) -> None:
        self._tab = TABS[(TABS.index(self._tab) + by) % len(TABS)]
        self._draw_tabs()
        self._draw_content()
        self.show_hints()

    def action_stack(self, by: int) -> None:
        if not self._matrix.step(by):
            self.say("that is the oldest stack" if by > 0 else "that is the newest stack")

    def action_matrix(self) -> None:
        self._matrix.focus()

    def on_matrix_view_left(self) -> None:
        (self._rows if self._tab in LISTED else self._content).focus()

    def action_copy(self) -> None:
        assert self._detail is not None  # why_not
        copy_row(self.context, self._detail)

    def action_nearest(self) -> None:
        from trnui.tui.dialogs.nearest import open_nearest

        assert self._detail is not None  # why_not
        open_nearest(self.context, self._detail)

    def action_watch(self) -> None:
        from trnui.tui.explore.watching import toggle_watch

        toggle_watch(self.context, self.model)

    def action_copy_id(self) -> None:
        self.context.copy(self.model, "model id")

    def action_run(self) -> None:
        assert self._detail is not None  # why_not
        self.context.run_row(self._detail)

    def action_options(self) -> None:
        if self._detail is not None:
            self.context.run_row(self._detail, options=True)

    def action_save(self) -> None:
        """What the tab shows, into the folder where trnui was started; run.py byte for byte as the row has it."""
        assert self._detail is not None  # why_not
        name = self._file_name(self._detail)
        if self._tab == "run.py":
            self.context.write_file(Path.cwd() / f"{name}-run.py", str(self._detail.values.get("run_py") or ""))
        elif self._tab in LISTED:
            self.say("lists are written with trnui list -o FILE")
        else:
            self.context.write_file(Path.cwd() / f"{name}-{slug(self._tab)}.txt", self._content.text + "\n")

    def _file_name(self, detail: Detail) -> str:
        """Model with its organisation, and the row's stack: no two rows write the same file."""
        stack = (str(detail.values.get(n) or "").partition("+")[0] for n in ("neuronx_cc", "library_version"))
        return "-".join(slug(part, 80) for part in (self.model.replace("/", "--"), *stack) if part)

    def action_open(self) -> None:
        record = self._rows.record if self._tab in LISTED else None
        if record is None:
            return
        if self._tab == "Own runs" and record.get("run"):
            self.context.open_run(str(record["run"]))
        else:
            self.context.open_model(str(record["model_id"]), record)

    def on_result_table_page_needed(self, message: ResultTable.PageNeeded) -> None:
        message.stop()

    def on_result_table_cursor_moved(self, message: ResultTable.CursorMoved) -> None:
        message.stop()
