"""One line asked for in a box over the screen, with a value to begin with; enter takes it, esc leaves it."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.reactive import Reactive
from textual.screen import ModalScreen
from textual.widget import Widget
from textual.widgets import Input

from trnui.tui.widgets.styled_lines import Lines
from trnui_runner.common.text import one_line


class TextPrompt(ModalScreen[str | None]):
    focused: Reactive[Widget | None] = Reactive(None, repaint=False)
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "cancel", show=False)]
    DEFAULT_CSS = """
    TextPrompt { align: center middle; background: transparent; }
    TextPrompt > Vertical { width: 90%; max-width: 100; height: auto; background: $panel; padding: 0 1; }
    TextPrompt Lines { background: $panel; }
    TextPrompt Input, TextPrompt Input:focus { height: 1; border: none; padding: 0; background: $surface; background-tint: $surface 0%; }
    """

    def __init__(self, title: str, value: str = "", hint: str = "Enter takes it  Esc back") -> None:
        super().__init__()
        self._title, self._hint = title, hint
        self._input = Input(value, select_on_focus=False, compact=True)
        self._input.cursor_blink = False

    def compose(self) -> ComposeResult:
        with Vertical():
            yield Lines([((one_line(self._title), "strong"),)])
            yield self._input
            yield Lines([self._hint], base="muted")

    def on_mount(self) -> None:
        self._input.focus()

    def on_input_submitted(self, message: Input.Submitted) -> None:
        message.stop()
        self.dismiss(message.value.strip() or None)

    def action_cancel(self) -> None:
        self.dismiss(None)
