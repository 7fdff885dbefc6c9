"""Watched models: pinned by a key, and what began to pass or fail for them said when other rows are in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from trnui_runner.common.errors import UserError
from trnui_runner.common.text import one_line

if TYPE_CHECKING:
    from trnui.catalog.watch import WatchChange
    from trnui.tui.context import AppContext

NAMED = 2  # changes said one by one


def toggle_watch(context: AppContext, model: str) -> None:
    """Pins the model, or takes the pin away."""

    def work() -> Callable[[], None]:
        from trnui.catalog import watch

        try:
            removed = watch.remove((model,))
            if not removed:
                watch.add((model,))
        except OSError as error:
            raise UserError(f"{watch.path()}: {error.strerror}", "TRNUI_HOME names another folder.") from error
        name, count = one_line(model, 80), len(watch.load().models)
        if removed:
            return lambda: context.say(f"{name} is no longer watched; {count} still are")
        return lambda: context.say(
            f"watching {name}: what begins to pass or fail is said after each refresh ({count} watched)"
        )

    context.in_thread(work, "watch")


def say_news(context: AppContext) -> None:
    """What changed for the watched models since the app last looked; each change is said once."""
    store = context.store
    if store is None:
        return
    dataset = context.dataset

    def work() -> Callable[[], None]:
        from trnui.catalog import watch

        pinned = watch.load().models
        if not pinned:
            return lambda: None
        cursor = store.database.connection.cursor()
        try:
            found = watch.look(watch.APP, dataset, watch.results(store.database, pinned, cursor))
        except OSError as error:
            raise UserError(f"{watch.path()}: {error.strerror}", "What is watched cannot be kept.") from error
        finally:
            cursor.close()
        words = news_words(found)
        return lambda: context.say(words) if words else None

    context.in_thread(work, "watched", exclusive=True)


def news_words(found: Sequence[WatchChange]) -> str:
    if not found:
        return ""
    if len(found) <= NAMED:
        return "watched: " + "; ".join(f"{one_line(c.model_id, 60)} {c.words}" for c in found)
    began = {"PASS": "passing", "FAIL": "failing"}
    after = [began.get(str(c.after), "otherwise changed") for c in found]
    counts = ", ".join(f"{after.count(w)} {w}" for w in dict.fromkeys(after))
    models = len({c.model_id for c in found})
    return f"watched: {len(found)} results of {models} model{'s' * (models != 1)} changed ({counts}); trnui watch lists them"
