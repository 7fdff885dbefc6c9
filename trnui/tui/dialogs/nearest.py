"""What works instead of a row that does not: another stack, other cores, a sibling, a recipe; to run, to open, to copy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from trnui.catalog.messages import Detail
from trnui.tui.widgets.picker import Choice, Picker

if TYPE_CHECKING:
    from trnui.catalog.analysis.nearest_lookup import Suggestion
    from trnui.catalog.engine.query_service import Store
    from trnui.tui.context import AppContext


def find_nearest(context: AppContext, detail: Detail, then: Callable[[Sequence[Suggestion]], None]) -> None:
    """Looks in a thread; `then` gets the smallest change first, nothing for a row that passes."""
    store = context.store
    if store is None:
        return

    def work() -> Callable[[], None]:
        from trnui.catalog.analysis.nearest_lookup import suggestions

        cursor = store.database.connection.cursor()
        try:
            found = suggestions(store.database, detail, context.dataset, cursor)
        finally:
            cursor.close()
        return lambda: then(found)

    context.in_thread(work, "nearest", exclusive=True)


def open_nearest(context: AppContext, detail: Detail) -> None:
    """A choice among what works; what is chosen can be run, opened or copied."""

    def offer(found: Sequence[Suggestion]) -> None:
        if not found:
            passes = detail.derived.get("status") == "PASS"
            context.say(
                "this row passes" if passes else "nothing near it has passed: no stack, no sibling, no recipe", "warn"
            )
            return
        choices = [Choice(str(n), s.words, "", str(n + 1)) for n, s in enumerate(found)]
        picker = Picker("What works", choices, hint="Enter: run it, open it, copy its command  Esc back")
        context.push_screen(picker, lambda chosen: _what(context, found[int(chosen[0])]) if chosen else None)

    find_nearest(context, detail, offer)


def _what(context: AppContext, chosen: Suggestion) -> None:
    row = chosen.nearest.passing
    recipe = "" if row is not None else "a recipe for serving is not run here"
    choices = (
        Choice("run", "run it on this host", "the checks and your consent come first", "r", recipe),
        Choice("open", "open its page", "", "o"),
        Choice("copy", "copy the command", chosen.command, "c", recipe),
        Choice("words", "copy these words", "", "w"),
    )

    def done(answer: tuple[str, ...] | None) -> None:
        if answer == ("run",):
            _with_row(context, chosen, context.run_row)
        elif answer == ("open",):
            context.open_model(chosen.nearest.model_id)
        elif answer == ("copy",):
            context.copy(chosen.command, "the command")
        elif answer == ("words",):
            context.copy(chosen.words, "what works")

    context.push_screen(Picker(chosen.words, choices, hint="a letter, or Enter takes  Esc back"), done)


def _with_row(context: AppContext, chosen: Suggestion, then: Callable[[Detail], None]) -> None:
    """The row that passed, in full."""
    store, row = context.store, chosen.nearest.passing
    if store is None or row is None:
        return

    def work() -> Callable[[], None]:
        found = _row(store, chosen)
        if found is None:
            return lambda: context.say("that row is not there any more", "warn")
        return lambda: then(found)

    context.in_thread(work, "nearest-row")


def _row(store: Store, chosen: Suggestion) -> Detail | None:
    from trnui.catalog.engine.lookups import records, row_in_full
    from trnui.catalog.query import Query

    row = chosen.nearest.passing
    assert row is not None  # _with_row
    stack = row.stack
    query = Query(
        models=(row.model_id,),
        neuronx_cc=(stack.neuronx_cc,),
        library=stack.library,
        library_version=(stack.library_version,),
        results=("PASS",),
    )
    found = [r for r in records(store.database, query) if r.get("tp") == row.cores]
    identity = found[0]["identity"] if found else None
    return row_in_full(store.database, identity) if isinstance(identity, int) else None
