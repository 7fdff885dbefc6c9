"""The list of now as a `trnui list` line, and as a view with a name: saved, and opened again from the palette."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from trnui.catalog.query import Query, View
from trnui.tui.widgets.text_prompt import TextPrompt
from trnui_runner.common.text import one_line

if TYPE_CHECKING:
    from trnui.tui.explore.list_screen import ListScreen

PLACES = (View.SELECTED, View.TRENDING, View.DOWNLOADS)


def copy_line(screen: ListScreen) -> None:
    from trnui.catalog.list_line import list_line

    context = screen.context
    context.copy(list_line(screen.query_now, dataset=context.dataset), "the same list as a command")


def save_view(screen: ListScreen) -> None:
    """Asks for the name; one that is taken is replaced only after a yes."""
    from trnui.catalog.saved_views import SavedView, load, save
    from trnui.tui.dialogs.question import ask

    context, query = screen.context, screen.query_now

    def write(name: str) -> None:
        def work() -> Callable[[], None]:
            save(name, SavedView(query))
            words = f"saved as {one_line(name, 60)}: {context.key_of('app.palette')} shows it, and trnui list --saved"
            return lambda: context.say(words)

        context.in_thread(work, "save-view")

    def named(name: str | None) -> None:
        if name is None:
            return
        if name in load()[0]:
            ask(context, f"Replace the saved view {one_line(name, 60)}?", "replace it", "keep it", lambda: write(name))
        else:
            write(name)

    context.push_screen(TextPrompt("Save these filters and this order as", "", "a name; Enter saves  Esc back"), named)


def shown_in(query: Query) -> str:
    """The name of the list that shows this query."""
    return (query.view if query.view in PLACES else View.SELECTED).value
