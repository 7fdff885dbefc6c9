"""The explorer: one list for the views Selected, Trending and Downloads, and what its keys do."""

from __future__ import annotations

from collections.abc import Callable

from trnui.catalog.query import ALL, Query, View
from trnui.screens import choices
from trnui.screens.listing import WIDE, ListScreen
from trnui.widgets.picker import Picker

NEEDS_ROW = ("list.open", "list.run", "list.options", "list.mark", "list.copy", "list.copy_id")


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
            return f"nothing is sorted yet: {self.house.key_of('list.sort')} sorts"
        if action_id in ("list.clear", "list.clear_all") and not self.query_now.narrowed():
            return "no filter is set"
        if action_id in ("list.unmark", "list.side") and not self._table.marked:
            return f"no row is marked: {self.house.key_of('list.mark')} marks"
        if action_id in ("list.compiler", "list.version", "list.all") and not self._loaded.stacks:
            return "no stack is loaded yet"
        return None

    def _choose(self, picker: Picker, take: Callable[[tuple[str, ...]], None]) -> None:
        """Opens a picker; `take` gets what was chosen, unless it was left."""

        def done(chosen: tuple[str, ...] | None) -> None:
            if chosen is not None:
                take(chosen)

        self.app.push_screen(picker, done)

    def _set(self, query: Query) -> None:
        if query != self.query_now:
            self._queries[self._view] = query
            self._filter.show(query)
            self._say_filters()
            self.ask()

    def action_compiler(self) -> None:
        query, loaded = self.query_now, self._loaded
        offered = choices.compilers(loaded.stacks, loaded.default)
        picker = Picker("neuronx-cc", offered, choices.chosen_compilers(query), several=True)
        self._choose(picker, lambda chosen: self._set(choices.take_compilers(self.query_now, chosen)))

    def action_version(self) -> None:
        query, loaded = self.query_now, self._loaded
        offered = choices.versions(loaded.stacks, loaded.default)
        picker = Picker("Library version", offered, choices.chosen_versions(query, loaded.stacks), several=True)
        self._choose(picker, lambda chosen: self._set(choices.take_versions(self.query_now, chosen)))

    def action_all_stacks(self) -> None:
        """To all stacks and back to the default one."""
        every = self.query_now.neuronx_cc == (ALL,) and self.query_now.library_version == (ALL,)
        both = () if every else (ALL,)
        self.change(neuronx_cc=both, library_version=both, library=None)

    def action_task(self) -> None:
        ranked = self.query_now.view in (View.TRENDING, View.DOWNLOADS)
        offered = choices.tasks(self.query_now, ranked)
        self._choose(
            Picker("Task", offered, (self.query_now.task or "",)), lambda c: self.change(task=(c or ("",))[0] or None)
        )

    def action_result(self) -> None:
        picker = Picker("Result", choices.results(), self.query_now.results, several=True)
        self._choose(picker, lambda chosen: self.change(results=chosen))

    def action_fits(self) -> None:
        """Asks the host first: how many cores it has stands in the picker."""

        def work() -> Callable[[], None]:
            from runner.devices import devices

            host = len(devices().cores) or None

            def then() -> None:
                offered = choices.fits(host)
                now = str(self.query_now.max_cores or "")
                take = Picker("Fits on", offered, (now,))
                self._choose(take, lambda c: self.change(max_cores=int(c[0]) if c and c[0] else None))

            return then

        self.house.in_thread(work, "devices")

    def action_sort(self) -> None:
        offered = choices.sorts(self._plan().columns)
        self._choose(Picker("Sort by", offered, (self.query_now.sort or "",)), self._sort)

    def _sort(self, chosen: tuple[str, ...]) -> None:
        """Figures begin with the greatest, words with the first; rank and time of the row as they come."""
        name = (chosen or ("",))[0]
        self.change(sort=name or None, descending=name in choices.GREATEST_FIRST)

    def action_reverse(self) -> None:
        self.change(descending=not self.query_now.descending)

    def action_filters(self) -> None:
        """The filters that are set; clearing one shows the rest, until none is left or esc."""

        def take(chosen: tuple[str, ...]) -> None:
            for name in chosen or ("*",):
                self._set(choices.cleared(self.query_now, name))
            if chosen and chosen != ("*",) and self.query_now.narrowed():
                self.action_filters()

        hint = "Enter clears this one  x clears all  Esc back"
        self._choose(Picker("Filters", choices.filters(self.query_now), hint=hint), take)

    def action_clear_all(self) -> None:
        self._set(choices.cleared(self.query_now, "*"))

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
                f"the pane needs {WIDE} columns; {self.house.key_of('list.open')} opens the row on a page of its own"
            )
            return
        self._detail.display = self._pane
        self._table.replan(self._plan())
        self._detailed = None
        self._moved(self._table.record, by_user=False)

    def action_copy_id(self) -> None:
        record = self._table.record
        assert record is not None  # why_not
        self.house.copy(str(record["model_id"]), "model id")

    def action_open(self) -> None:
        record = self._table.record
        assert record is not None  # why_not
        self.house.open_model(str(record["model_id"]), record)

    def action_copy(self) -> None:
        self.with_detail(self.house.copy_menu)

    def action_run(self) -> None:
        self.with_detail(lambda detail: self.house.run_row(detail))

    def action_options(self) -> None:
        self.with_detail(lambda detail: self.house.run_row(detail, options=True))

    def action_refresh(self) -> None:
        why = self.house.refresh_now()
        if why:
            self.say(why, "warn")

    def action_sample(self) -> None:
        self.house.toggle_sample()
