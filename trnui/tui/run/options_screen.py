"""`R`: a run with options of one's own. What is left empty is as usual; what departs from the protocol is said before the start."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.widgets import Input

from trnui.catalog.messages import Detail
from trnui.run_requests import Choices
from trnui.tui.bindings import bindings
from trnui.tui.run.start_screen import StartScreen
from trnui.tui.screen import AppScreen
from trnui.tui.widgets.styled_lines import Line, Lines
from trnui_runner.common.errors import UserError
from trnui_runner.common.text import one_line

if TYPE_CHECKING:
    from trnui.tui.context import AppContext

FIELDS = (
    ("device", "device", "auto: the row's · neuron · cpu"),
    ("cores", "cores", "the row's, else the fewest that hold the weights"),
    ("script", "script", "auto: the row's, else bundled · published · bundled · FILE"),
    ("prompt", "prompt", "the protocol's (bundled script only)"),
    ("max_new_tokens", "new tokens", "32, the protocol's (bundled script only)"),
    ("timeout_s", "timeout", "seconds; the setting timeout_s"),
    ("parallelism", "parallelism", "tp · ep; what the model allows (bundled script only)"),
    ("dtype", "dtype", "the checkpoint's own (bundled script only)"),
    ("revision", "revision", "branch, tag or commit; main (bundled script only)"),
    ("python", "python", "interpreter or environment; the one that is found"),
)


class OptionsScreen(AppScreen[None]):
    PLACE = "options"
    CSS_PATH = "start.tcss"
    AUTO_FOCUS = "Input"
    BINDINGS: ClassVar[list[BindingType]] = bindings("options")

    def __init__(self, context: AppContext, detail: Detail) -> None:
        super().__init__()
        self._detail = detail
        self._provenance = context.provenance
        self._model = str(detail.values.get("model_id") or "")
        self._inputs = {
            name: Input(placeholder=usual, id=f"option-{name}", compact=True, select_on_focus=False)
            for name, _, usual in FIELDS
        }
        for line in self._inputs.values():
            line.cursor_blink = False
        self._help = Lines(id="help", base="muted")

    def body(self) -> ComposeResult:
        title: Line = (("Run ", "muted"), (one_line(self._model, 100), "strong"), (" with options", "muted"))
        with Vertical(id="options"):
            yield Lines([title])
            yield Lines([""])
            for name, label, _ in FIELDS:
                with Horizontal(classes="option"):
                    yield Lines([label], base="muted")
                    yield self._inputs[name]
        yield self._help

    def on_mount(self) -> None:
        self._help.set(
            "Leave a field empty for its usual value. Enter shows the preflight; nothing starts before that."
        )

    def on_input_submitted(self, message: Input.Submitted) -> None:
        message.stop()
        self.action_go()

    def action_next(self, by: int) -> None:
        if by > 0:
            self.focus_next(Input)
        else:
            self.focus_previous(Input)

    def action_go(self) -> None:
        from trnui.run_requests import request_for

        context, detail, provenance, model = self.context, self._detail, self._provenance, self._model
        typed = Choices(**{name: line.value for name, line in self._inputs.items()})
        try:
            changes = typed.changes()
        except UserError as error:
            context.say(str(error).replace("\n", ". "), "bad")
            return
        context.push_screen(
            StartScreen(
                model,
                lambda: request_for(model, context.settings, detail, provenance, offline=context.offline, **changes),
            )
        )
