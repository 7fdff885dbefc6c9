"""A choice of one or several values in a box over the screen: j k move, space chooses, enter takes, esc leaves it as it was."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.reactive import Reactive
from textual.screen import ModalScreen
from textual.widget import Widget

from trnui.tui.bindings import ActionHost, bindings
from trnui.tui.widgets.styled_lines import Line, Lines
from trnui_runner.common.text import cells, fit, one_line


@dataclass(frozen=True)
class Choice:
    """`key` is a letter that takes it at once (menus); `why_not` says why it cannot be chosen; `alone` goes with no other."""

    value: str
    label: str
    note: str = ""
    key: str = ""
    why_not: str = ""
    alone: bool = False


class Picker(ActionHost, ModalScreen[tuple[str, ...] | None]):
    """Dismissed with the chosen values, in the order of the choices; None when it was left. With `several` off, enter takes the one."""

    PLACE = "picker"
    BINDINGS: ClassVar[list[BindingType]] = bindings("picker")
    focused: Reactive[Widget | None] = Reactive(None, repaint=False)
    DEFAULT_CSS = """
    Picker { align: center middle; background: transparent; }
    Picker > Vertical { width: auto; height: auto; max-width: 96%; background: $panel; padding: 0 1; }
    Picker Lines { background: $panel; }
    """

    def __init__(
        self,
        title: str,
        choices: Sequence[Choice],
        chosen: Sequence[str] = (),
        *,
        several: bool = False,
        hint: str = "",
    ) -> None:
        super().__init__()
        self._title = title
        self._choices = tuple(choices)
        self._chosen = set(chosen)
        self._several = several
        self._hint = hint or ("Space choose  Enter take  x none  Esc back" if several else "Enter take  Esc back")
        self._cursor = next((n for n, c in enumerate(choices) if c.value in self._chosen), 0)
        self._began = self._cursor
        self._touched = False
        self._top = 0
        self._lines = Lines(id="choices")

    def compose(self) -> ComposeResult:
        labels = max((cells(one_line(c.label)) for c in self._choices), default=0)
        notes = max((cells(one_line(c.why_not or c.note)) for c in self._choices), default=0)
        wanted = max(labels + notes + 10, cells(self._title), cells(self._hint), 20)
        width = min(wanted, self.app.size.width - 6)
        self._shown = max(1, min(len(self._choices), self.app.size.height - 6))
        title, hint = Lines([((self._title, "strong"),)]), Lines([self._hint], base="muted")
        for lines in (title, hint, self._lines):
            lines.styles.width = width
        self._lines.styles.height = self._shown
        self._draw()
        with Vertical():
            yield title
            yield self._lines
            yield hint

    def _draw(self) -> None:
        self._top = max(0, min(max(self._top, self._cursor - self._shown + 1), self._cursor))
        found: list[Line] = []
        room = max((cells(c.label) for c in self._choices), default=0)
        for n in range(self._top, min(len(self._choices), self._top + self._shown)):
            choice = self._choices[n]
            box = ("[x] " if choice.value in self._chosen else "[ ] ") if self._several else ""
            key = f"{choice.key} " if choice.key else ""
            note = one_line(choice.why_not or choice.note)
            text = f" {key}{box}{fit(one_line(choice.label), room)}  {note}"
            if n == self._cursor:
                found.append(((text, "cursor"),))
            else:
                style = "muted" if choice.why_not else "strong" if choice.value in self._chosen else "plain"
                found.append(
                    (
                        (f" {key}", "accent"),
                        (f"{box}{fit(one_line(choice.label), room)}", style),
                        (f"  {note} ", "muted"),
                    )
                )
        self._lines.set(*found)

    def action_move(self, by: int) -> None:
        self._cursor = (self._cursor + by) % max(1, len(self._choices))
        self._draw()

    def action_choose(self) -> None:
        if not self._several:
            self.action_take()
            return
        if self._choices:
            here = self._choices[self._cursor]
            kept = {c.value for c in self._choices if c.value in self._chosen and not (here.alone or c.alone)}
            self._chosen = kept if here.value in self._chosen else kept | {here.value}
            self._touched = True
            self._draw()

    def action_take(self) -> None:
        """Enter: the line under the cursor; of several, what space has chosen, and all as it was if nothing was touched."""
        here = self._choices[self._cursor] if self._choices else None
        if here is None or (self._several and not self._touched and self._cursor == self._began and self._chosen):
            self.dismiss(None)
        elif self._several and self._touched:
            self.dismiss(tuple(c.value for c in self._choices if c.value in self._chosen))
        elif not here.why_not:
            self.dismiss((here.value,))

    def action_none(self) -> None:
        """Takes all choices away: no limit on this, once Enter says so."""
        if self._several:
            self._chosen, self._touched = set(), True
            self._draw()

    def action_cancel(self) -> None:
        self.dismiss(None)

    def key_pressed(self, key: str) -> bool:
        """A menu's letter."""
        for choice in self._choices:
            if choice.key == key and not choice.why_not:
                self.dismiss((choice.value,))
                return True
        return False

    def on_key(self, event: object) -> None:
        from textual.events import Key

        if isinstance(event, Key) and event.character and self.key_pressed(event.character):
            event.stop()
            event.prevent_default()
