"""The pickers of a list: opened, and what was chosen put into its query. Imported with the first one, not with the app."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from trnui.catalog.columns import GREATEST_FIRST
from trnui.catalog.query import ALL, View
from trnui.tui.explore import picker_choices
from trnui.tui.widgets.picker import Picker

if TYPE_CHECKING:
    from trnui.tui.explore.list_screen import ListScreen


def ask(screen: ListScreen, picker: Picker, take: Callable[[tuple[str, ...]], None]) -> None:
    """Opens a picker; `take` gets what was chosen, unless it was left."""

    def done(chosen: tuple[str, ...] | None) -> None:
        if chosen is not None:
            take(chosen)

    screen.app.push_screen(picker, done)


def compiler(screen: ListScreen) -> None:
    query, loaded = screen.query_now, screen.loaded
    offered = picker_choices.compilers(loaded.stacks, loaded.default)
    picker = Picker("neuronx-cc", offered, picker_choices.chosen_compilers(query), several=True)
    ask(screen, picker, lambda chosen: screen.set_query(picker_choices.take_compilers(screen.query_now, chosen)))


def version(screen: ListScreen) -> None:
    query, loaded = screen.query_now, screen.loaded
    offered = picker_choices.versions(loaded.stacks, loaded.default)
    picker = Picker("Library version", offered, picker_choices.chosen_versions(query, loaded.stacks), several=True)
    ask(screen, picker, lambda chosen: screen.set_query(picker_choices.take_versions(screen.query_now, chosen)))


def all_stacks(screen: ListScreen) -> None:
    """To all stacks and back to the default one."""
    query = screen.query_now
    every = query.neuronx_cc == (ALL,) and query.library_version == (ALL,)
    both = () if every else (ALL,)
    screen.change(neuronx_cc=both, library_version=both, library=None)


def task(screen: ListScreen) -> None:
    query = screen.query_now
    offered = picker_choices.tasks(query, query.view in (View.TRENDING, View.DOWNLOADS))
    picker = Picker("Task", offered, (query.task or "",))
    ask(screen, picker, lambda c: screen.change(task=(c or ("",))[0] or None))


def result(screen: ListScreen) -> None:
    picker = Picker("Result", picker_choices.results(), screen.query_now.results, several=True)
    ask(screen, picker, lambda chosen: screen.change(results=chosen))


def fits(screen: ListScreen) -> None:
    """Asks the host first: how many cores it has stands in the picker."""

    def work() -> Callable[[], None]:
        from trnui_runner.host.devices import devices

        host = len(devices().cores) or None

        def then() -> None:
            picker = Picker("Fits on", picker_choices.fits(host), (str(screen.query_now.max_cores or ""),))
            ask(screen, picker, lambda c: screen.change(max_cores=int(c[0]) if c and c[0] else None))

        return then

    screen.context.in_thread(work, "devices")


def sort(screen: ListScreen) -> None:
    """Figures begin with the greatest, words with the first."""

    def take(chosen: tuple[str, ...]) -> None:
        name = (chosen or ("",))[0]
        screen.change(sort=name or None, descending=name in GREATEST_FIRST)

    ask(screen, Picker("Sort by", picker_choices.sorts(screen.columns), (screen.query_now.sort or "",)), take)


def filters(screen: ListScreen) -> None:
    """The filters that are set; clearing one shows the rest, until none is left or esc."""

    def take(chosen: tuple[str, ...]) -> None:
        for name in chosen or ("*",):
            screen.set_query(picker_choices.cleared(screen.query_now, name))
        if chosen and chosen != ("*",) and screen.query_now.narrowed():
            filters(screen)

    hint = "Enter clears this one  x clears all  Esc back"
    ask(screen, Picker("Filters", picker_choices.filters(screen.query_now), hint=hint), take)


def clear_all(screen: ListScreen) -> None:
    screen.set_query(picker_choices.cleared(screen.query_now, "*"))


PICKS: Final[dict[str, Callable[[ListScreen], None]]] = {
    "compiler": compiler,
    "version": version,
    "all": all_stacks,
    "task": task,
    "result": result,
    "fits": fits,
    "sort": sort,
    "filters": filters,
    "clear": clear_all,
}
