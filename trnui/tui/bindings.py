"""The registry of actions as Textual's bindings: one helper for every screen and widget, and the words for a footer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType

from trnui.actions import ACTIONS, Action, at

if TYPE_CHECKING:
    from textual.dom import DOMNode

REMOVED = "f63"  # a key that no keyboard has: Textual's keymap cannot take a key away


def bindings(place: str, priority: bool = False) -> list[BindingType]:
    """The place's actions with their default keys; a user's [keys] come on top by id (`keymap`).

    All of them run `do(id)`, which asks `why_not(id)` first: a disabled key says why instead of staying mute.
    """
    return [
        Binding(",".join(a.keys), f"do('{a.id}')", a.label, id=a.id, show=False, priority=priority)
        for a in at(place)
        if a.keys
    ]


def keymap(actions: Iterable[Action]) -> dict[str, str]:
    """What differs from the defaults, for `App.set_keymap`."""
    default = {a.id: a.keys for a in ACTIONS}
    return {a.id: ",".join(a.keys) or REMOVED for a in actions if a.keys != default[a.id]}


def hints(places: Sequence[str], actions: Iterable[Action], most: int = 24) -> list[tuple[str, str]]:
    """(key, label) for the footer, the first place's actions first."""
    found = [a for place in places for a in at(place, tuple(actions)) if a.footer and a.keys]
    return [(a.shown.split()[0], a.label) for a in found[:most]]


class ActionHost:
    """For screens, widgets and the app: runs an action of the registry, or says why it cannot be run now."""

    PLACE: ClassVar[str] = ""

    def why_not(self, action_id: str) -> str | None:
        """Why the action cannot be run now, in words for a person; None when it can."""
        return None

    async def action_do(self: DOMNode, action_id: str) -> None:  # type: ignore[misc]  # mixed into DOM nodes only
        why = self.why_not(action_id)  # type: ignore[attr-defined]
        if why:
            self.app.say(why)  # type: ignore[attr-defined]
            return
        action = next(a for a in ACTIONS if a.id == action_id)
        await self.app.run_action(action.action, self)
