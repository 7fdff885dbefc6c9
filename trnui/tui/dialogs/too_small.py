"""A notice in place of half a screen, while the terminal is smaller than the app can be drawn in. Only leaving works."""

from __future__ import annotations

from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen

from trnui.tui.terminal import SMALLEST
from trnui.tui.widgets.styled_lines import Lines


class SmallScreen(ModalScreen[None]):
    BINDINGS: ClassVar[list[BindingType]] = [Binding("q", "app.quit", show=False)]
    DEFAULT_CSS = """
    SmallScreen { background: $background; }
    SmallScreen Lines { height: 1fr; }
    """

    def compose(self) -> ComposeResult:
        self._lines = Lines()
        yield self._lines

    def on_mount(self) -> None:
        self._draw(self.app.size.width, self.app.size.height)

    def on_resize(self, event: events.Resize) -> None:
        self._draw(event.size.width, event.size.height)

    def _draw(self, width: int, height: int) -> None:
        columns, lines = SMALLEST
        self._lines.set(
            "",
            f" {width}x{height}: trnui needs {columns}x{lines}.",
            (((" Make the terminal larger, or q leaves."), "muted"),),
            ((" In a shell: trnui list", "muted"),),
        )

    def on_key(self, event: events.Key) -> None:
        if event.key not in ("q", "ctrl+c", "ctrl+q", "ctrl+z"):
            event.stop()
            event.prevent_default()
