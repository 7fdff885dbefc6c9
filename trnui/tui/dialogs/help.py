"""Help: the keys that work here, from the registry, as `trnui keys` prints them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType

from trnui.actions import PLACES, at
from trnui.tui.screen import AppScreen
from trnui.tui.widgets.styled_lines import Line
from trnui.tui.widgets.text_view import TextView
from trnui_runner.common.text import clean

WORDS = (
    "PASS, FAIL, EXCLUDED and NOT TESTED are four different things.",
    "A PASS holds for one checkpoint with one stack and 32 tokens. tokens: they equal a CPU run's; English: sharded, judged fluent, no more.",
    "Wall time includes compilation.",
)


class HelpScreen(AppScreen[None]):
    AUTO_FOCUS = "TextView"
    BINDINGS: ClassVar[list[BindingType]] = []

    def __init__(self, around: Sequence[str]) -> None:
        super().__init__()
        self._around = tuple(around)

    def places(self) -> tuple[str, ...]:
        return ("text", "app")

    def body(self) -> ComposeResult:
        self._text = TextView(id="help")
        self._text.show(self._keys())
        yield self._text

    def _keys(self) -> list[Line]:
        """The places of the screen below first, then the others."""
        first = [p for p in (*self._around, "table") if p in PLACES]
        places = list(dict.fromkeys([*first, *PLACES]))
        lines: list[Line] = ["", *(((f" {line}", "muted"),) for line in WORDS)]
        if self.context.problems:
            lines += ["", ((" What was wrong at the start", "strong"),)]
            lines += [((f"  {line}", "warn"),) for p in self.context.problems for line in clean(p).split("\n")]
        for place in places:
            lines += ["", ((f" {PLACES[place]}", "strong"), ("  (here)" if place in first else "", "accent"))]
            for action in at(place, self.context.actions):
                keys = action.shown or "(no key)"
                lines.append(((f"  {keys:16}", "accent"), (f"{action.label:15} ", "plain"), (action.help, "muted")))
        return lines
