"""View 6: failing rows by their cause. Enter on a cause shows its rows, there the model's page; esc comes back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType

from trnui.catalog.analysis.failures import Cause
from trnui.catalog.column_formats import number, text
from trnui.catalog.query import ALL, Query, View
from trnui.tui.bindings import bindings
from trnui.tui.dialogs.copy_menu import copy_texts, export_rows
from trnui.tui.explore.row_lines import wrapped
from trnui.tui.tables.table_screen import TableScreen
from trnui.tui.widgets.column_sets import layout, pane_width
from trnui.tui.widgets.columns import Column, ColumnLayout, many, plan
from trnui.tui.widgets.containers import RowContainer
from trnui.tui.widgets.filter_line import filter_words
from trnui.tui.widgets.result_table import ResultTable
from trnui.tui.widgets.styled_lines import Line, Lines
from trnui_runner.common.text import clean, one_line
from trnui_runner.diagnosis.titles import title

CAUSES = (
    Column("cause", "cause", 24, text("cause"), style="bad"),
    Column("summary", "what it means", 44, text("summary")),
    Column("rows", "rows", 6, number("rows"), "right"),
    Column("models", "models", 6, number("models"), "right"),
    Column("class", "class", 16, text("class"), style="muted", grow=True),
)
NAMES = ("cause", "class", "rows", "models", "summary")


class FailuresScreen(TableScreen):
    PLACE = "failures"
    VIEW = "failures"
    CSS_PATH = "failures.tcss"
    BINDINGS: ClassVar[list[BindingType]] = bindings("failures")

    def __init__(self) -> None:
        super().__init__()
        self._query = Query(view=View.FAILURES)
        self._causes: tuple[Cause, ...] = ()
        self._cause: Cause | None = None  # the one whose rows are shown
        self._asked = 0
        self._stacks = ""
        self._pane = Lines(id="cause")

    def body(self) -> ComposeResult:
        self._query = replace(self.context.session.queries.get("failures", self._query), view=View.FAILURES)
        self._filter.show(self._query)
        self._size_pane(self.app.size.width)
        with RowContainer(classes="table-top"):
            yield self._filter
            yield self._status
        yield self._chips
        with RowContainer(id="main"):
            yield self._table
            yield self._pane

    def on_mount(self) -> None:
        self.group()

    def on_screen_resume(self) -> None:
        if self._asked:
            self.group()

    # -- data

    def columns(self) -> tuple[Column, ...]:
        return CAUSES

    def table_plan(self) -> ColumnLayout:
        width = self.app.size.width - (pane_width(self.app.size.width) if self._pane.display else 0)
        if self._cause is not None:
            return plan(layout(View.FAILURES, several=True), width, marks=("model_id", "neuronx_cc", "library_version"))
        return plan(self.fitted_columns(), width)

    def group(self) -> None:
        """Asks for the causes; an answer to an older question is dropped."""
        store = self.context.store
        self._asked += 1
        number, query = self._asked, self._query
        if store is None:
            self.put((), (), ["", "No rows yet."])
            return
        self.context.remember_query("failures", query)

        def work() -> Callable[[], None]:
            from trnui.catalog.analysis.failures import group

            found = group(store.database, query)
            stacks = store.database.resolve(query)[1]

            def then() -> None:
                if number == self._asked:
                    self._causes = found
                    every = "all stacks" if not stacks else " · ".join(str(s) for s in stacks[:2])
                    words = [w for w in filter_words(query) if not w.endswith(": all")]
                    self._stacks = every + (f" · {' · '.join(words)}" if words else "")
                    if self._cause is None:
                        self._show_causes()

            return then

        self.in_thread(work, "failures")

    def _show_causes(self) -> None:
        rows = [(c.label, c.label, title(c.cls), c.rows, len(c.models), c.summary) for c in self._causes]
        loaded = self.context.loaded
        unread = not loaded.rows and bool(loaded.problems)
        why = [
            "",
            "No file of the dataset could be read."
            if unread
            else "No failing row here."
            if not self._query.text
            else f"No failing row of a model with “{one_line(self._query.text)}” in its name.",
        ]
        if self._query.neuronx_cc != (ALL,):
            why.append(f"{self.context.key_of('failures.all')} shows all stacks.")
        self.say_chips(((f" {self._stacks}", "plain"),))
        self.put(NAMES, rows, why)

    def _show_rows(self, cause: Cause) -> None:
        """The rows that fail by this cause, on the stacks that the list is about."""
        store = self.context.store
        if store is None:
            return
        query = replace(self._query, identities=cause.identities, text="")

        def work() -> Callable[[], None]:
            from trnui.catalog.engine.lookups import records

            found = records(store.database, query)

            def then() -> None:
                self._cause = cause
                names = tuple(n for n in found[0] if n != "identity") if found else ()
                hint = one_line(cause.hint, 300)
                self.say_chips(((f" {cause.label}", "bad"), (f"  {hint or one_line(cause.summary, 300)}", "plain")))
                self.put(names, [(r["identity"], *(r[n] for n in names)) for r in found], ["", "No longer there."])

            return then

        self.in_thread(work, "cause")

    def counted(self, shown: int, every: int) -> str:
        if self._cause is not None:
            return f"{many(shown, 'failing row')} of its {many(len(self._cause.models), 'model')}"
        return f"{many(len(self._causes), 'cause')} · {many(sum(c.rows for c in self._causes), 'failing row')}"

    # -- the pane

    def _size_pane(self, width: int) -> None:
        self._pane.display = pane_width(width) > 0
        self._pane.styles.width = max(1, pane_width(width))

    def on_resize(self, event: events.Resize) -> None:
        self._size_pane(event.size.width)
        self._table.replan(self.table_plan())

    def on_result_table_cursor_moved(self, message: ResultTable.CursorMoved) -> None:
        message.stop()
        if self._cause is None and self._pane.display:
            record = message.record
            cause = next((c for c in self._causes if record is not None and c.label == record["identity"]), None)
            self._pane.set(
                *(cause_lines(cause, max(20, pane_width(self.app.size.width) - 3)) if cause is not None else ())
            )

    # -- keys

    def why_not(self, action_id: str) -> str | None:
        if action_id in ("failures.open", "failures.copy") and self.record is None:
            return "no row under the cursor"
        return None

    def action_open(self) -> None:
        assert self.record is not None  # why_not
        if self._cause is not None:
            self.context.open_model(str(self.record["model_id"]), self.record)
            return
        label = self.record["identity"]
        self._show_rows(next(c for c in self._causes if c.label == label))

    def step_back(self) -> bool:
        """From a cause's rows to the causes."""
        if self._cause is None:
            return False
        self._cause = None
        self._show_causes()
        return True

    def action_all_stacks(self) -> None:
        both = () if self._query.neuronx_cc == (ALL,) else (ALL,)
        self._query = self._query.but(neuronx_cc=both, library_version=both)
        self._cause = None
        self.group()

    def filter_by(self, text: str) -> None:
        """Asks anew: a cause's rows and models are counted over what passes."""
        if text != self._query.text:
            self._query, self._cause = self._query.but(text=text), None
            self.group()

    def action_copy(self) -> None:
        record = self.record
        assert record is not None  # why_not
        if self._cause is not None:
            copy_texts(
                self.context, [("i", "model id", str(record["model_id"])), ("e", "error", clean(record.get("reason")))]
            )
            return
        cause = next(c for c in self._causes if c.label == record["identity"])
        copy_texts(
            self.context,
            [
                ("c", "cause", cause.label),
                ("e", "example error", cause.error),
                ("m", "models", "\n".join(cause.models)),
                ("h", "what to do", cause.hint),
            ],
        )

    def action_export(self) -> None:
        if self._cause is not None:
            export_rows(self.context, "failing-rows", self._names, [r[1:] for r in self._rows])
            return
        from trnui.catalog.analysis.failures import COLUMNS, table

        export_rows(self.context, "failures", COLUMNS, table(self._causes, names=False))


def cause_lines(cause: Cause, width: int) -> list[Line]:
    """A cause in full: what it means, what to do, where it is seen."""
    lines: list[Line] = [
        ((one_line(cause.label, width), "bad"),),
        ((f"{title(cause.cls)} · {cause.group}", "muted"),),
        "",
    ]
    lines += wrapped(cause.summary, width, "plain", 6)
    if cause.hint:
        lines += ["", ((("what to do"), "strong"),), *wrapped(cause.hint, width, "accent", 8)]
    lines += ["", ((f"on {len(cause.stacks)} stack{'s' * (len(cause.stacks) != 1)}", "strong"),)]
    lines += [
        ((f"{n:>5,}  ", "plain"), (f"{s.neuronx_cc.partition('+')[0]} / {s.library_version}", "muted"))
        for s, n in cause.stacks[:6]
    ]
    lines += ["", ((f"{len(cause.models):,} model{'s' * (len(cause.models) != 1)}", "strong"),)]
    lines += [((one_line(m, width), "muted"),) for m in cause.models[:8]]
    lines += ["", (("an example", "strong"),), *wrapped(cause.error, width, "muted", 6)]
    return lines
