"""A question with two answers, in a box over the screen."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from trnui.tui.widgets.picker import Choice, Picker

if TYPE_CHECKING:
    from trnui.tui.context import AppContext


def ask(context: AppContext, title: str, yes: str, no: str, then: Callable[[], None]) -> None:
    """`no` is under the cursor, so that Enter alone changes nothing."""
    choices = (Choice("no", no, key="n"), Choice("yes", yes, key="y"))
    picker = Picker(title, choices, ("no",), hint="y yes  n no  Esc back")
    context.push_screen(picker, lambda answer: then() if answer == ("yes",) else None)
