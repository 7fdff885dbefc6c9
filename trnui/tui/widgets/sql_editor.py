"""Where a query is typed: enter runs it, alt+enter begins a line, up in the first line brings back earlier queries."""

from __future__ import annotations

import sys
from typing import ClassVar

sys.modules.setdefault("tree_sitter", None)  # type: ignore[arg-type]  # not needed here, and importing 0.26.1 crashes the process

from textual import events  # noqa: E402
from textual.binding import Binding, BindingType  # noqa: E402
from textual.message import Message  # noqa: E402
from textual.widgets import TextArea  # noqa: E402


class QueryArea(TextArea):
    """Posts `Run` with the text and `Left` on esc."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", show=False),
        Binding("f5", "run", show=False),
        Binding("alt+enter,ctrl+enter,shift+enter", "line", show=False),
    ]
    DEFAULT_CSS = """
    QueryArea, QueryArea:focus { height: 4; border: none; padding: 0 1; background: $surface; }
    """

    class Run(Message):
        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    class Left(Message):
        pass

    def __init__(self, text: str, history: list[str], id: str | None = None) -> None:
        super().__init__(text, id=id, soft_wrap=True, show_line_numbers=False, tab_behavior="focus")
        self.cursor_blink = False
        self.highlight_cursor_line = False
        self._history = history
        self._at = len(history)

    def begin(self, text: str) -> None:
        """The text to start with, and the history that was filled meanwhile."""
        self.text = text
        self._at = len(self._history)
        self.move_cursor(self.document.end)

    async def _on_key(self, event: events.Key) -> None:
        if event.key == "enter":
            event.stop()
            event.prevent_default()
            self.action_run()
        elif event.key == "up" and self.cursor_location[0] == 0 and self._at > 0:
            self._recall(event, self._at - 1)
        elif (
            event.key == "down"
            and self.cursor_location[0] == self.document.line_count - 1
            and self._at < len(self._history)
        ):
            self._recall(event, self._at + 1)
        else:
            await super()._on_key(event)

    def _recall(self, event: events.Key, place: int) -> None:
        event.stop()
        event.prevent_default()
        self._at = place
        self.text = self._history[place] if place < len(self._history) else ""
        self.move_cursor(self.document.end)

    def action_run(self) -> None:
        text = self.text.strip()
        if text:
            if not self._history or self._history[-1] != text:
                self._history.append(text)
            self._at = len(self._history)
            self.post_message(self.Run(text))

    def action_line(self) -> None:
        self.insert("\n")

    def action_leave(self) -> None:
        self.post_message(self.Left())
