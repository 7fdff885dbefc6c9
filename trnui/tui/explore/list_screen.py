"""A list over the store: its filter line, what is filtered by, exact counts, the table, and the row in full beside it.

explore.py adds the keys. A screen here asks, and draws what is answered; it holds no rows but the table's pages."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.timer import Timer

from trnui.catalog.messages import Answer, Detail, Failed, Listed, Loaded, PageOf, Record
from trnui.catalog.query import ALL, Query, Stack, View
from trnui.tui.bindings import bindings
from trnui.tui.screen import AppScreen
from trnui.tui.session_state import SessionState
from trnui.tui.widgets.column_sets import layout, pane_width
from trnui.tui.widgets.columns import Column, ColumnLayout, plan
from trnui.tui.widgets.containers import RowContainer
from trnui.tui.widgets.filter_line import FilterLine, filter_words
from trnui.tui.widgets.result_table import ResultTable
from trnui.tui.widgets.styled_lines import Lines
from trnui_runner.common.dataset_schema import TASKS
from trnui_runner.common.errors import UserError
from trnui_runner.common.text import fit

if TYPE_CHECKING:
    from trnui.catalog.engine.query_service import Store

STATUS = 46  # cells of the count
REST = 0.15  # seconds the cursor rests before its row is fetched in full
DEFAULTS = {
    "selected": Query(),
    "trending": Query(view=View.TRENDING, task=TASKS[0]),
    "downloads": Query(view=View.DOWNLOADS, task=TASKS[0]),
}


class ListScreen(AppScreen[None]):
    PLACE = "list"
    BINDINGS: ClassVar[list[BindingType]] = bindings("list")

    def __init__(self, id: str | None = None) -> None:
        super().__init__(id=id)
        self._view = "selected"
        self._queries: dict[str, Query] = dict(DEFAULTS)
        self._anchors: dict[str, tuple[int, str] | None] = {}  # view → identity and model of the row the user chose
        self._table = ResultTable(plan(layout(View.SELECTED, several=False), 114))
        self._status = Lines(["  looking for data…"], id="status", base="muted")
        self._chips = Lines(id="chips", base="muted")
        self._detail = Lines(id="detail")
        self._filter = FilterLine(id="filter")
        self._generation = 0  # of the newest question
        self._answered = 0  # of the newest answer, or failure
        self._loaded = Loaded(0, 0, 0, ())
        self._listed: Listed | None = None
        self._store: Store | None = None
        self._rest: Timer | None = None
        self._detailed: int | None = None  # identity of the row in the pane
        self.detail: Detail | None = None
        self._wanted: tuple[int, Callable[[Detail], None]] | None = None  # who waits for a row in full
        self._lost: str | None = None  # model that the cursor was on before the rows were replaced
        self._pane = True

    # -- drawing

    def body(self) -> ComposeResult:
        self._recall(self.context.session)
        self._size_pane(self.app.size.width)  # decided before the first layout: saves two full paints
        self._say_filters()
        with RowContainer(id="top"):
            yield self._filter
            yield self._status
        yield self._chips
        with RowContainer(id="main"):
            yield self._table
            yield self._detail

    def view(self) -> str:
        return self._view

    def places(self) -> tuple[str, ...]:
        return ("filter",) if self.focused is self._filter else ("list", "app")

    def on_resize(self, event: events.Resize) -> None:
        self._size_pane(event.size.width)
        self._table.replan(self._plan())
        self._detailed = None
        self._moved(self._table.record, by_user=False)

    def _size_pane(self, width: int) -> None:
        self._detail.display = self._pane and pane_width(width) > 0
        self._detail.styles.width = max(1, pane_width(width))

    def _plan(self) -> ColumnLayout:
        width = self.app.size.width - (pane_width(self.app.size.width) if self._detail.display else 0)
        several = self._listed is None or len(self._listed.stack) != 1
        return plan(
            layout(View(self._view), several=several), width, marks=("model_id", "neuronx_cc", "library_version")
        )

    # -- session

    def _recall(self, session: SessionState) -> None:
        self._queries |= {n: q for n, q in session.queries.items() if n in DEFAULTS}
        if session.view in DEFAULTS:
            self._view = session.view
        self._filter.show(self.query_now)

    def session(self, old: SessionState) -> SessionState:
        return replace(old, view=self._view, queries={**old.queries, **self._queries})

    @property
    def query_now(self) -> Query:
        return self._queries[self._view]

    # -- the store

    def new_store(self, store: Store) -> None:
        """Other rows: the same filters, and the cursor on its model once they are in."""
        anchor = self._anchors.get(self._view)
        record = self._table.record
        self._lost = (
            anchor[1] if anchor else str(record["model_id"]) if record is not None and self._table.cursor else None
        )
        self._anchors.clear()
        self._store = store
        self._loaded = Loaded(0, 0, 0, ())
        self._detailed, self.detail = None, None

    def no_source(self, error: UserError) -> None:
        """Nothing can be read: the list says why and what to do."""
        self._status.set("  no data")
        self._table.show(0, (), 0, (), empty=["", *error.message.splitlines(), *error.remedy.splitlines()])

    def _nothing_read(self, loaded: Loaded) -> None:
        """Not one file could be read: which, and why."""
        count = len(loaded.problems)
        self._status.set(
            "  no data: 1 file, not readable" if count == 1 else f"  no data: none of {count} files is readable"
        )
        words = ["", *(f"{p.file}: {p.words}" for p in loaded.problems), "", "trnui sync fetches the dataset again."]
        words.append(f"{self.context.key_of('list.sample')} shows the bundled sample.")
        self._table.show(0, (), 0, (), empty=words)

    @property
    def has_rows(self) -> bool:
        return self._listed is not None

    @property
    def loaded(self) -> Loaded:
        return self._loaded

    def arrived(self, answer: Answer) -> None:
        """An answer of the store; one to an older question is dropped."""
        if isinstance(answer, Loaded):
            first = self._loaded.done == 0
            self._loaded = answer
            if answer.done >= answer.files and not answer.rows and answer.problems:
                self._nothing_read(answer)
            elif first or answer.done >= answer.files:
                self.ask()
                if self._lost is not None and answer.done >= answer.files:
                    self._find(self._lost)
            else:
                self._say_count()
        elif isinstance(answer, Listed):
            if answer.generation == self._generation:
                self._answered = answer.generation
                self._show(answer)
        elif isinstance(answer, Failed):
            self._answered, self._wanted = self._generation, None
        elif isinstance(answer, PageOf):
            self._table.add_page(answer.generation, answer.page, answer.rows)
        elif isinstance(answer, Detail):
            record = self._table.record
            if record is not None and record["identity"] == answer.identity:
                self._detailed, self.detail = answer.identity, answer
                from trnui.tui.explore.row_lines import detail_lines

                self._detail.set(*detail_lines(answer, self._pane_width))
            if self._wanted is not None and self._wanted[0] == answer.identity:
                _, then = self._wanted
                self._wanted = None
                then(answer)

    @property
    def settled(self) -> bool:
        """A key that acts on a row waits for the rows that the filters of now ask for, and for what the key before wanted the row in
        full for; one that goes into the filter does not."""
        here = self._answered == self._generation and self._wanted is None
        return super().settled and (here or self.focused is self._filter)

    def _find(self, model: str) -> None:
        """Puts the cursor on the model in the rows that replaced others."""
        store, query = self._store, self.query_now
        self._lost = None
        if store is None:
            return

        def work() -> Callable[[], None]:
            from trnui.catalog.engine.lookups import identity_of

            found = identity_of(store.database, query, model)

            def then() -> None:
                if found is not None and self._anchors.get(self._view) is None:
                    self._anchors[self._view] = (found, model)
                    self.ask()

            return then

        self.context.in_thread(work, "find")

    def with_detail(self, then: Callable[[Detail], None]) -> None:
        """Calls `then` with the row under the cursor in full: at once if it is at hand, else when it has come."""
        record = self._table.record
        if record is None or self._store is None:
            return
        identity = record["identity"]
        assert isinstance(identity, int)
        if self.detail is not None and self.detail.identity == identity:
            then(self.detail)
            return
        self._wanted = (identity, then)
        self._store.ask_detail(identity)

    def ask(self) -> None:
        if self._store is not None:
            self._generation += 1
            anchor = self._anchors.get(self._view)
            self._store.ask(self._generation, self.query_now, anchor[0] if anchor else None)

    def change(self, **changes: Any) -> None:
        """Other filters or another order: ask, and say which they are."""
        query = self.query_now.but(**changes)
        if query != self.query_now:
            self._queries[self._view] = query
            self._say_filters()
            self.ask()

    def set_query(self, query: Query) -> None:
        """Another query for this view, its filter line with it."""
        if query != self.query_now:
            self._queries[self._view] = query
            self._filter.show(query)
            self._say_filters()
            self.ask()

    @property
    def columns(self) -> tuple[Column, ...]:
        return self._plan().columns

    def _show(self, answer: Listed) -> None:
        self._listed = answer
        query = answer.query
        sort = None if query.sort is None else (query.sort, query.descending)
        self._table.show(
            answer.generation,
            answer.columns,
            answer.count,
            answer.rows,
            cursor=answer.cursor,
            first=answer.page,
            sort=sort,
            plan=self._plan(),
            empty=self._why_empty(answer) if not answer.count else (),
        )
        self._say_count()
        self._say_filters()

    def _why_empty(self, answer: Listed) -> list[str]:
        query, key = answer.query, self.context.key_of
        words = [""]
        if self._loaded.done < self._loaded.files:
            return ["", "Loading…"]
        if answer.total:
            words.append(
                f"None of {answer.total:,} rows passes the filters: {', '.join(filter_words(query)) or 'none'}."
            )
            words.append(f"{key('list.clear')} shows the filters one by one, {key('list.clear_all')} clears them all.")
        elif query.view is not View.SELECTED:
            words.append(f"No ranking of {query.task or 'any task'} is on disk yet.")
            words.append(
                f"{key('list.refresh')} fetches it (or, in a shell: trnui sync); {key('list.task')} chooses another task."
            )
        else:
            words.append("No row for this stack.")
            words.append(f"{key('list.all')} shows all stacks.")
        words += [f"{p.file}: {p.words}" for p in self._loaded.problems]
        return words

    def _say_count(self) -> None:
        """`120 of 2,750 · 8 excluded · 3 marked`: exact, or said to be still loading."""
        listed, loaded = self._listed, self._loaded
        if listed is None:
            return
        words = f"{listed.count:,} of {listed.total:,}" if listed.count != listed.total else f"{listed.total:,} rows"
        if listed.excluded:
            words += f" · {listed.excluded:,} excluded"
        if self._table.marked:
            words += f" · {len(self._table.marked)} marked"
        if loaded.done < loaded.files:
            words += f" · loading {loaded.done}/{loaded.files}"
        elif loaded.problems:
            words += f" · {len(loaded.problems)} not read"
        self._status.set(((fit(words, max(1, (self._status.size.width or STATUS) - 1), "right"), "plain"),))

    def _say_filters(self) -> None:
        """The stack as it was resolved, then every filter that is set."""
        listed, query = self._listed, self.query_now
        if listed is None:
            stack = ""
        elif len(listed.stack) == 1:
            stack = stack_words(listed.stack[0])
        elif query.neuronx_cc == (ALL,) and query.library_version == (ALL,):
            stack = "all stacks"
        elif not listed.stack:
            stack = "no such stack here" if query.neuronx_cc or query.library_version else "no stack"
        else:
            stack = f"{len(listed.stack)} stacks"
        words = filter_words(query)
        self._chips.set(((f" {stack}", "plain"), ("   " + " · ".join(words) if words else "", "accent")))

    # -- the pane

    @property
    def _pane_width(self) -> int:
        return max(20, pane_width(self.app.size.width) - 3)

    def on_result_table_page_needed(self, message: ResultTable.PageNeeded) -> None:
        if self._store is not None:
            self._store.ask_page(message.generation, message.page)

    def on_result_table_cursor_moved(self, message: ResultTable.CursorMoved) -> None:
        if message.by_user and message.record is not None:
            identity = message.record["identity"]
            assert isinstance(identity, int)
            self._anchors[self._view] = (identity, str(message.record.get("model_id")))
        self._moved(message.record, message.by_user)

    def _moved(self, record: Record | None, by_user: bool) -> None:
        if record is None:
            self._detailed, self.detail = None, None
            self._detail.set()
            return
        if record["identity"] == self._detailed:
            return
        self.detail = None
        if not self._detail.display:
            self._detailed = None
            return
        if not by_user:  # a new result: the pane must not go on showing a row that may be gone
            from trnui.tui.explore.row_lines import record_lines

            self._detail.set(*record_lines(record))
            self._detailed = None
        if self._rest is not None:
            self._rest.stop()
        self._rest = self.set_timer(REST, self._rested)

    def _rested(self) -> None:
        record = self._table.record
        if record is not None and self._store is not None:
            identity = record["identity"]
            assert isinstance(identity, int)
            self._store.ask_detail(identity)

    # -- the filter line

    def on_filter_line_typed(self, message: FilterLine.Typed) -> None:
        self.change(**{message.field: message.value})

    def on_filter_line_left(self, message: FilterLine.Left) -> None:
        self._table.focus()
        if message.drop:
            self.change(**{message.field: ""})
            self._filter.show(self.query_now)


def stack_words(stack: Stack) -> str:
    """`neuronx-cc 2.28.7631.0 · transformers 5.20.2`."""
    compiler = f"neuronx-cc {stack.neuronx_cc.partition('+')[0]}" if stack.neuronx_cc else "no neuronx-cc"
    return f"{compiler} · {stack.library} {stack.library_version}"
