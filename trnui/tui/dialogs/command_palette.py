"""`:`: every action that works here, the views, the themes and the models, found by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from textual.dom import DOMNode

from trnui.actions import PLACES, at
from trnui.catalog.list_line import list_line
from trnui.catalog.saved_views import load as load_views
from trnui.tui.widgets.fuzzy_picker import FuzzyPicker
from trnui.tui.widgets.picker import Choice
from trnui_runner.common.text import one_line

if TYPE_CHECKING:
    from trnui.tui.context import AppContext

MODELS = 20  # names offered for a text
MOVES = ("table", "text", "log")


def open_palette(context: AppContext) -> None:
    nodes = targets(context)
    context.push_screen(
        FuzzyPicker(choices(context, nodes), models_of(context)), lambda value: _take(context, nodes, value)
    )


def targets(context: AppContext) -> dict[str, DOMNode]:
    """place → who does its actions now: the focused widget, those around it, the screen, the app."""
    found: dict[str, DOMNode] = {}
    focused = context.screen.focused
    for node in (*(focused.ancestors_with_self if focused is not None else ()), context.screen, context):
        place = getattr(node, "PLACE", "")
        if place and place in PLACES:
            found.setdefault(place, node)
    return found


def choices(context: AppContext, nodes: dict[str, DOMNode]) -> list[Choice]:
    offered = []
    last = [p for p in nodes if p in MOVES]  # what moves a cursor is no news to who opened this
    for place in [*(p for p in nodes if p not in MOVES), *last]:
        node = nodes[place]
        for action in at(place, context.actions):
            why = getattr(node, "why_not", lambda _: None)(action.id)
            offered.append(
                Choice(action.id, action.label, action.help, action.shown.split()[0] if action.keys else "", why or "")
            )
    views, _ = load_views()
    offered += [
        Choice(f"saved:{name}", f"View {one_line(name, 60)}", list_line(view.query)) for name, view in views.items()
    ]
    offered += [Choice(f"theme:{name}", f"Theme {name}", "colours") for name in sorted(context.available_themes)]
    return offered


def models_of(context: AppContext) -> Callable[[str], Sequence[Choice]]:
    """Model names by any part, from the rows that are loaded."""
    store = context.store

    def more(text: str) -> Sequence[Choice]:
        if store is None or not context.loaded.rows:
            return ()
        cursor = store.database.connection.cursor()
        try:
            rows = cursor.execute(
                "SELECT DISTINCT model_id FROM r WHERE contains(lower_id, lower(?)) ORDER BY length(model_id), model_id LIMIT ?",
                [text, MODELS],
            ).fetchall()
        finally:
            cursor.close()
        return [Choice(f"model:{name}", str(name), "model") for (name,) in rows]

    return more


def _take(context: AppContext, nodes: dict[str, DOMNode], value: str | None) -> None:
    if value is None:
        return
    kind, _, name = value.partition(":")
    if kind == "theme" and name:
        context.theme = name
        context.keep_theme()
    elif kind == "saved" and name:
        view = load_views()[0].get(name)
        if view is not None:
            context.open_saved(view.query)
    elif kind == "model" and name:
        context.open_model(name)
    else:
        for place, node in nodes.items():
            if any(a.id == value for a in at(place, context.actions)):
                context.call_later(node.action_do, value)  # type: ignore[attr-defined]  # every node of a place is a ActionHost
                return
