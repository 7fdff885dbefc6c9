"""What Enter, space and x mean in a picker of several values."""

from __future__ import annotations

import pytest
from textual.app import App

from trnui.tui.widgets.picker import Choice, Picker

CHOICES = (Choice("", "default", alone=True), Choice("a", "A"), Choice("b", "B"), Choice("c", "C", why_not="not here"))


@pytest.mark.parametrize(
    ("chosen", "keys", "taken"),
    [
        (("",), ("down", "enter"), ("a",)),  # Enter alone takes the line under the cursor
        (("",), ("down", "space", "enter"), ("a",)),  # the default goes with no other
        (("",), ("down", "space", "down", "space", "enter"), ("a", "b")),
        (("a",), ("up", "space", "enter"), ("",)),  # nor do the others with the default
        (("a", "b"), ("enter",), None),  # untouched: as it was
        (("a", "b"), ("x", "enter"), ()),  # none: no limit
        (("a", "b"), ("x", "down", "space", "enter"), ("b",)),  # and the picker stays open meanwhile
        (("",), ("down", "down", "down", "enter"), "open"),  # what cannot be chosen is not taken
        (("a",), ("down", "escape"), None),
    ],
)
async def test_keys(chosen: tuple[str, ...], keys: tuple[str, ...], taken: object) -> None:
    app: App[None] = App()
    told: list[object] = ["open"]
    async with app.run_test() as pilot:
        await app.push_screen(Picker("Which", CHOICES, chosen, several=True), lambda value: told.append(value))
        await pilot.press(*keys)
        await pilot.pause()
        assert told[-1] == taken
