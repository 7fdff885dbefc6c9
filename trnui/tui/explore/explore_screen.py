"""The explorer: one list for the views Selected, Trending and Downloads, and what its keys do."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from trnui.catalog.messages import Detail
from trnui.catalog.query import Query
from trnui.tui.explore.list_screen import ListScreen
from trnui.tui.widgets.column_sets import WIDE

NEEDS_ROW = (
    "list.open",
    "list.run",
    "list.options",
    "list.mark",
    "list.copy",
    "list.copy_id",
    "list.nearest",
    "list.watch",
)


class ExploreScreen(ListScreen):
    # -- keys

    def show_view(self, name: str) -> None:
        if name == self._view:
            return
        self._view = name
        self._listed = None
        self._table.unmark()
        self._filter.show(self.query_now)
        self._draw_head()
        self._say_filters()
        self.ask()

    def action_filter(self) -> None:
        self._filter.use("text", self.query_now)
        self._filter.focus()

    def action_anywhere(self) -> None:
        self._filter.use("anywhere", self.query_now)
        self._filter.focus()

    def why_not(self, action_id: str) -> str | None:
        if action_id in NEEDS_ROW and self._table.record is None:
            return "no row under the cursor"
        if action_id == "list.reverse" and self.query_now.sort is None:
            return f"nothing is sorted yet: {self.context.key_of('list.sort')} sorts"
        if action_id in ("list.clear", "list.clear_all") and not self.query_now.narrowed():
            return "no filter is set"
        if action_id in ("list.unmark", "list.side") and not self._table.marked:
            return f"no row is marked: {self.context.key_of('list.mark')} marks"
        if action_id in ("list.export", "list.batch") and self._listed is None:
            return "no rows yet"
        if action_id in ("list.compiler", "list.version", "list.all") and not self._loaded.stacks:
            return "no stack is loaded yet"
        return None

    def step_back(self) -> bool:
        """The filter text, then the marks; the chosen versions and results stay until they are cleared on purpose."""
        query = self.query_now
        if query.text or query.anywhere:
            self.set_query(query.but(text="", anywhere=""))
        elif self._table.marked:
            self.action_unmark()
        else:
            return False
        return True

    def action_pick(self, name: str) -> None:
        """A picker, by its name in filtering.py."""
        from trnui.tui.explore.pickers import PICKS

        PICKS[name](self)

    def action_reverse(self) -> None:
        self.change(descending=not self.query_now.descending)

    def action_mark(self) -> None:
        self._table.toggle_mark()
        self._say_count()
        self._table.action_move(1)

    def action_unmark(self) -> None:
        self._table.unmark()
        self._say_count()

    def action_pane(self) -> None:
        self._pane = not self._pane
        if self.app.size.width < WIDE:
            self.say(
                f"the pane needs {WIDE} columns; {self.context.key_of('list.open')} opens the row on a page of its own"
            )
            return
        self._size_pane(self.app.size.width)
        self._table.replan(self._plan())
        self._detailed = None
        self._moved(self._table.record, by_user=False)

    def action_copy_id(self) -> None:
        record = self._table.record
        assert record is not None  # why_not
        self.context.copy(str(record["model_id"]), "model id")

    def action_open(self) -> None:
        record = self._table.record
        assert record is not None  # why_not
        self.context.open_model(str(record["model_id"]), record)

    def action_copy(self) -> None:
        from trnui.tui.dialogs.copy_menu import copy_marked, copy_row

        if self._table.marked:
            self._with_marked(lambda found: copy_marked(self.context, found), "copy")
            return
        self.with_detail(lambda detail: copy_row(self.context, detail))

    def action_run(self) -> None:
        """The row under the cursor; with marks, the marked ones one after the other."""
        if not self._table.marked:
            self.with_detail(lambda detail: self.context.run_row(detail))
            return
        from trnui.tui.run.run_actions import open_marked

        self._with_marked(lambda found: open_marked(self.context, found), "run")

    def _with_marked(self, then: Callable[[Sequence[Detail]], None], name: str) -> None:
        """The marked rows in full, read in a thread."""
        store, query, marked = self._store, self.query_now, frozenset(self._table.marked)
        assert store is not None  # why_not

        def work() -> Callable[[], None]:
            from trnui.catalog.engine.lookups import marked_rows

            found = marked_rows(store.database, query, marked)
            return lambda: then(found) if found else self.say("no marked row is here any more")

        self.context.in_thread(work, f"marked-{name}")

    def action_batch(self) -> None:
        """The marked rows, or the view's, packed on this host's cores."""
        from trnui.tui.batch.batch_planning import planning_of
        from trnui.tui.batch.batch_start_screen import open_batch_start

        source, store = self.context.source, self._store
        assert source is not None  # why_not
        assert store is not None
        marked = frozenset(self._table.marked)
        open_batch_start(self.context, planning_of(self.context, source, store.database, self.query_now, marked))

    def action_nearest(self) -> None:
        from trnui.tui.dialogs.nearest import open_nearest

        self.with_detail(lambda detail: open_nearest(self.context, detail))

    def action_watch(self) -> None:
        from trnui.tui.explore.watching import toggle_watch

        record = self._table.record
        assert record is not None  # why_not
        toggle_watch(self.context, str(record["model_id"]))

    def action_mine(self) -> None:
        self.context.open_screen("mine")

    def action_save_view(self) -> None:
        from trnui.tui.explore.saved import save_view

        save_view(self)

    def action_copy_line(self) -> None:
        from trnui.tui.explore.saved import copy_line

        copy_line(self)

    def open_saved(self, query: Query) -> None:
        """A saved view, in the list that shows it."""
        from trnui.tui.explore.saved import shown_in

        self.show_view(shown_in(query))
        self.set_query(query)

    def action_options(self) -> None:
        self.with_detail(lambda detail: self.context.run_row(detail, options=True))

    def action_refresh(self) -> None:
        why = self.context.refreshing.refresh_now()
        if why:
            self.say(why, "warn")

    def action_sample(self) -> None:
        self.context.refreshing.toggle_sample()

    def action_export(self) -> None:
        """The whole view, not only what is on screen; with marks only the marked rows."""
        from trnui.tui.dialogs.export import export, list_table

        source, store, query = self.context.source, self._store, self.query_now
        assert source is not None  # why_not
        assert store is not None
        marked, marks = frozenset(self._table.marked), self._table.plan.marks
        export(self.context, self._view, lambda: list_table(source, store, query, marked, marks))

    def action_side_by_side(self) -> None:
        from trnui.tui.explore.side_by_side import SideScreen

        self.app.push_screen(SideScreen(self._view, tuple(self._table.marked)))
