"""The dataset's own card (its README.md): what each result means in the words of those who made it."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType

from trnui.tui.screen import AppScreen
from trnui.tui.widgets.styled_lines import Line
from trnui.tui.widgets.syntax import markdown_lines
from trnui.tui.widgets.text_view import TextView
from trnui_runner.common.text import clean


class CardScreen(AppScreen[None]):
    BINDINGS: ClassVar[list[BindingType]] = []
    AUTO_FOCUS = "TextView"

    def places(self) -> tuple[str, ...]:
        return ("text", "app")

    def body(self) -> ComposeResult:
        self._text = TextView(id="card")
        self._text.show(self._lines())
        yield self._text

    def _lines(self) -> list[Line]:
        source = self.context.source
        if source is None:
            return ["", " No dataset is open yet."]
        if source.card is None:
            return ["", " This source has no card (no README.md beside its files).", f" {source.provenance.words}"]
        try:
            data = source.card.read_bytes()
        except OSError as error:
            return ["", f" {source.card}: {error.strerror}"]
        return [((f"{source.provenance.words}", "muted"),), "", *markdown_lines(clean(data))]
