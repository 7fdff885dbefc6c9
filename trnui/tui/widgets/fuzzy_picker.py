"""Find anything by its name: a line to type in, the best matches below it. Dismissed with the chosen value."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.reactive import Reactive
from textual.screen import ModalScreen
from textual.widget import Widget
from textual.widgets import Input

from trnui.tui.widgets.picker import Choice
from trnui.tui.widgets.styled_lines import Line, Lines
from trnui_runner.common.text import cells, fit, one_line

SHOWN = 12


class FuzzyPicker(ModalScreen[str | None]):
    """`more(text)` gives further choices for a text (model names); it must be quick."""

    focused: Reactive[Widget | None] = Reactive(None, repaint=False)
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "cancel", show=False),
        Binding("down,ctrl+n", "move(1)", show=False),
        Binding("up,ctrl+p", "move(-1)", show=False),
    ]
    DEFAULT_CSS = """
    FuzzyPicker { align: center top; background: transparent; }
    FuzzyPicker > Vertical { width: 90%; max-width: 100; height: auto; margin: 2 0 0 0; background: $panel; padding: 0 1; }
    FuzzyPicker Lines { background: $panel; }
    """

    def __init__(self, choices: Sequence[Choice], more: Callable[[str], Sequence[Choice]] | None = None) -> None:
        super().__init__()
        self._choices = tuple(choices)
        self._more = more
        self._found: tuple[Choice, ...] = self._choices
        self._cursor = 0
        self._input = Input(placeholder="a command, a view, a theme or a part of a model's name", compact=True)
        self._input.cursor_blink = False
        self._list = Lines(id="found")

    def compose(self) -> ComposeResult:
        self._list.styles.height = min(SHOWN, max(3, self.app.size.height - 8))
        with Vertical():
            yield self._input
            yield self._list

    def on_mount(self) -> None:
        self._input.focus()
        self._draw()

    def on_resize(self, event: events.Resize) -> None:
        self._draw()

    def on_input_changed(self, message: Input.Changed) -> None:
        message.stop()
        self._cursor = 0
        self._found = found(self._choices, message.value)
        if self._more is not None and message.value.strip():
            self._found += tuple(self._more(message.value.strip()))
        self._draw()

    def on_input_submitted(self, message: Input.Submitted) -> None:
        message.stop()
        here = self._found[self._cursor] if self._found else None
        self.dismiss(here.value if here is not None and not here.why_not else None)

    def action_move(self, by: int) -> None:
        self._cursor = (self._cursor + by) % max(1, len(self._found))
        self._draw()

    def action_cancel(self) -> None:
        self.dismiss(None)

    def _draw(self) -> None:
        height = self._list.size.height or SHOWN
        top = max(0, min(self._cursor - height // 2, len(self._found) - height))
        room = max((cells(c.label) for c in self._found[top : top + height]), default=0)
        lines: list[Line] = []
        for n, choice in enumerate(self._found[top : top + height], top):
            text = (
                f" {fit(one_line(choice.label), room)}  {fit(choice.key, 6)} {one_line(choice.why_not or choice.note)}"
            )
            if n == self._cursor:
                lines.append(((text, "cursor"),))
            else:
                style = "muted" if choice.why_not else "plain"
                lines.append(
                    (
                        (f" {fit(one_line(choice.label), room)}  ", style),
                        (fit(choice.key, 6) + " ", "accent"),
                        (one_line(choice.why_not or choice.note), "muted"),
                    )
                )
        self._list.set(*(lines or [((" nothing found", "muted"),)]))


def found(choices: Sequence[Choice], text: str) -> tuple[Choice, ...]:
    """Every word of `text` is in the label or the note; those whose label begins with it first."""
    words = text.lower().split()
    if not words:
        return tuple(choices)
    hits = [c for c in choices if all(w in f"{c.label} {c.note}".lower() for w in words)]
    return tuple(
        sorted(hits, key=lambda c: (not c.label.lower().startswith(words[0]), words[0] not in c.label.lower()))
    )
