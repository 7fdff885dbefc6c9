"""Before a batch, one screen: what it will take, whose code it is, what cannot run here; `y` starts it."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType

from trnui.tui.batch.batch_screen import BatchScreen
from trnui.tui.bindings import bindings
from trnui.tui.screen import AppScreen
from trnui.tui.widgets.styled_lines import Line
from trnui.tui.widgets.text_view import TextView
from trnui_runner.common.errors import UserError
from trnui_runner.common.text import one_line

if TYPE_CHECKING:
    from trnui.batch_requests import PlannedBatch
    from trnui.tui.context import AppContext

Planning = Callable[[], "PlannedBatch"]  # called in a thread: it reads rows and asks the interpreter


def open_batch_start(context: AppContext, planning: Planning) -> None:
    context.push_screen(BatchStartScreen(planning))


class BatchStartScreen(AppScreen[None]):
    PLACE = "batch_start"
    VIEW = "runs"
    AUTO_FOCUS = "#look"
    BINDINGS: ClassVar[list[BindingType]] = bindings("batch_start")

    def __init__(self, planning: Planning) -> None:
        super().__init__()
        self._planning = planning
        self._planned: PlannedBatch | None = None
        self._problem = ""
        self._started = False
        self._text = TextView(id="look", wrap=True)

    def body(self) -> ComposeResult:
        yield self._text

    def places(self) -> tuple[str, ...]:
        return ("batch_start", "text", "app")

    def on_mount(self) -> None:
        self._text.show(["Looking at the rows and at this host…"])

        def work() -> Callable[[], None]:
            try:
                planned = self._planning()
            except UserError as error:
                words = f"{error.message}\n{error.remedy}"
                return lambda: self._failed(words)
            return lambda: self._took(planned)

        self.context.in_thread(work, "plan-batch")

    def on_resize(self, event: events.Resize) -> None:
        if self._planned is not None:
            self._text.show(look_lines(self._planned, self.app.size.width))

    def _failed(self, words: str) -> None:
        self._problem = one_line(words, 300)
        self._text.show([((line, "bad"),) for line in words.splitlines()])

    def _took(self, planned: PlannedBatch) -> None:
        self._planned = planned
        self._text.show(look_lines(planned, self.app.size.width))

    def why_not(self, action_id: str) -> str | None:
        if action_id != "batch_start.yes":
            return None
        if self._planned is None:
            return self._problem or "still looking; a moment"
        return "already starting" if self._started else None

    def action_yes(self) -> None:
        planned = self._planned
        assert planned is not None  # why_not
        self._started = True

        def work() -> Callable[[], None]:
            from trnui.batch_requests import approve
            from trnui_runner.batch.folder import BatchFolder
            from trnui_runner.batch.keeper_process import start_keeper

            try:
                approve(planned)
                folder = BatchFolder.create(planned.batch, planned.requests)
                start_keeper(folder)
            except UserError as error:
                words = f"{error.message}\n{error.remedy}"
                return lambda: self._failed(words)
            return lambda: self._begun(folder)

        self.context.in_thread(work, "start-batch")

    def _begun(self, folder: object) -> None:
        from trnui_runner.batch.folder import BatchFolder

        assert isinstance(folder, BatchFolder)
        self.context.pop_screen()
        self.context.push_screen(BatchScreen(folder))


def look_lines(planned: PlannedBatch, width: int) -> list[Line]:
    """As `trnui batch new` tells it, then the question."""
    from trnui.batch_requests import look_words

    facts = look_words(planned)
    room = max(len(name) for name, _ in facts) + 2
    lines: list[Line] = [(("A batch of these rows?", "strong"),), ""]
    for name, words in facts:
        tone = "warn" if name in ("code", "left out") else "plain"
        for n, part in enumerate(textwrap.wrap(one_line(words, 2000), max(20, width - room - 2)) or [""]):
            lines.append(((f"{name if n == 0 else '':<{room}}", "muted"), (part, tone)))
    yes = "y starts it, and agrees to those scripts" if planned.unapproved else "y starts it"
    return [*lines, "", ((f"{yes}; Esc goes back. It goes on when the app is closed.", "accent"),)]
