"""The line in which a text is searched: enter goes to the first hit, esc leaves it."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.message import Message
from textual.widgets import Input


class SearchLine(Input):
    """Hidden until `ask`; `Done` carries what to search for, empty when it was left."""

    DEFAULT_CSS = """
    SearchLine, SearchLine:focus {
      display: none; height: 1; width: 1fr; border: none; padding: 0 1; background: $background; background-tint: $background 0%;
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "leave", show=False)]

    class Done(Message):
        def __init__(self, value: str) -> None:
            super().__init__()
            self.value = value

    def __init__(self, placeholder: str, id: str | None = None) -> None:
        super().__init__(placeholder=placeholder, id=id, select_on_focus=True, compact=True)
        self.cursor_blink = False

    def ask(self) -> None:
        self.display = True
        self.focus()

    def on_input_changed(self, message: Input.Changed) -> None:
        message.stop()

    def on_input_submitted(self, message: Input.Submitted) -> None:
        message.stop()
        self.display = False
        self.post_message(self.Done(message.value))

    def action_leave(self) -> None:
        self.display = False
        self.post_message(self.Done(""))
