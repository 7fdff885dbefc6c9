"""The filter line: filters as it is typed, by the model's name or by words anywhere; and filters said in words."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import BindingType
from textual.message import Message
from textual.widgets import Input

from trnui.catalog.query import ALL, LATEST, Query
from trnui.tui.bindings import ActionHost, bindings
from trnui_runner.common.dataset_schema import Status
from trnui_runner.common.text import one_line

PLACEHOLDERS = {"text": "/ part of a model's name", "anywhere": "w words in name, notes, error"}


class FilterLine(ActionHost, Input):
    """Every key is a message with the field it stands for; enter keeps it, esc drops it."""

    PLACE = "filter"
    BINDINGS: ClassVar[list[BindingType]] = bindings("filter")

    class Typed(Message):
        def __init__(self, field: str, value: str) -> None:
            super().__init__()
            self.field, self.value = field, value

    class Left(Message):
        def __init__(self, field: str, drop: bool) -> None:
            super().__init__()
            self.field, self.drop = field, drop

    def __init__(self, id: str | None = None) -> None:
        super().__init__(placeholder=PLACEHOLDERS["text"], id=id, select_on_focus=False, compact=True)
        self.cursor_blink = False
        self.field = "text"

    def show(self, query: Query) -> None:
        """What the query filters by, without a message."""
        self.use("anywhere" if query.anywhere and not query.text else "text", query)

    def use(self, field: str, query: Query) -> None:
        self.field = field
        self.placeholder = PLACEHOLDERS[field]
        with self.prevent(Input.Changed):
            self.value = str(getattr(query, field))
        self.cursor_position = len(self.value)

    def on_input_changed(self, message: Input.Changed) -> None:
        message.stop()
        self.post_message(self.Typed(self.field, message.value))

    def on_input_submitted(self, message: Input.Submitted) -> None:
        message.stop()
        self.action_keep()

    def action_keep(self) -> None:
        self.post_message(self.Left(self.field, drop=False))

    def action_drop(self) -> None:
        self.post_message(self.Left(self.field, drop=True))


def filter_words(query: Query) -> list[str]:
    """Each filter that is set, as a person says it, in the order in which they can be cleared."""
    return [words(name, query) for name in query.narrowed()]


def words(name: str, query: Query) -> str:
    value = getattr(query, name)
    if name == "text":
        return f"name has “{one_line(value, 40)}”"
    if name == "anywhere":
        return f"words “{one_line(value, 40)}”"
    if name == "results":
        return " or ".join(Status(v).word if v in Status.__members__ else v for v in value)
    if name == "max_cores":
        return f"fits on {value} core{'s' * (value != 1)}"
    if name == "models":
        return f"{len(value)} model{'s' * (len(value) != 1)}"
    if name in ("neuronx_cc", "library_version"):
        label = "neuronx-cc" if name == "neuronx_cc" else "version"
        if value == (ALL,):
            return f"{label}: all"
        if value == (LATEST,):
            return f"{label}: newest"
        return f"{label} " + " or ".join(str(v).partition("+")[0] for v in value)
    return str(value)
