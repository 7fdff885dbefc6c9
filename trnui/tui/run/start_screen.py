"""Before a run, one screen: what will run and on what, whose code it is, what it loads, and a check for each thing it needs.

OK starts at once; a warning asks for a confirmation; an error says why not and what to do instead. Nothing here imports torch: the run's
interpreter is asked in a child, from a thread.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType

from trnui.run_requests import SAMPLE_MODEL, sample_request
from trnui.tui.bindings import bindings, hints
from trnui.tui.run.lines.preflight import (
    check_lines,
    headline,
    install_line,
    install_lines,
    question_lines,
    script_lines,
    script_size,
    ways,
    what_lines,
)
from trnui.tui.screen import AppScreen, hint_line
from trnui.tui.widgets.styled_lines import Line, Lines, plain, spans
from trnui.tui.widgets.syntax import python_paint
from trnui.tui.widgets.text_view import TextView
from trnui_runner.common.errors import UserError
from trnui_runner.common.text import one_line
from trnui_runner.preflight.consent import Question, Scope
from trnui_runner.preflight.report import Check, CheckStatus, Preflight
from trnui_runner.request.request import RunRequest
from trnui_runner.run_folder.folder import RunFolder

Making = Callable[[], RunRequest]  # called in a thread: it may build a sample's checkpoint


class StartScreen(AppScreen[None]):
    PLACE = "start"
    CSS_PATH = "start.tcss"
    AUTO_FOCUS = "#all"
    BINDINGS: ClassVar[list[BindingType]] = bindings("start")

    def __init__(self, model: str, making: Making, place: str = "") -> None:
        super().__init__()
        self._place = place  # of several marked rows, in words
        self.following: StartScreen | None = None  # what comes before the user once this run is started
        self._model = model
        self._making = making
        self._found: Preflight | None = None
        self._question: Question | None = None
        self._allowed: str | None = None
        self._order: RunRequest | None = None
        self._starting = False
        self._head_line = Lines(id="head")
        self._all = TextView(id="all")

    def body(self) -> ComposeResult:
        yield self._head_line
        yield self._all

    def on_mount(self) -> None:
        self.look()

    def on_resize(self, event: events.Resize) -> None:
        self.call_after_refresh(self._draw)

    def places(self) -> tuple[str, ...]:
        return ("start", "text", "app")

    def _draw_hints(self) -> None:
        able = [
            a for a in self.context.actions if a.where != "start" or self._found is None or self.why_not(a.id) is None
        ]
        if any(a.id == "start.go" for a in able):
            able = [a for a in able if a.id != "start.yes"]
        self._foot.set(hint_line(hints(self.places(), able), self.app.size.width))

    # -- looking at the host

    def look(self) -> None:
        """Asks interpreter, devices, disk and caches beside the screen: 0.3 s, with a request to the Hub up to 12 s."""
        self._found, self._starting = None, False
        self._head_line.set(((f" {one_line(self._model, 80)}: looking at this host…", "muted"),))
        making, context = self._making, self.context
        source, store, settings = context.source, context.store, context.settings

        def work() -> Callable[[], None]:
            from trnui.run_requests import known_elsewhere
            from trnui_runner.preflight.gather import preflight

            try:
                order = making()
                known = known_elsewhere(order, settings, source, store.database if store else None)
                found = preflight(order, known)
            except (UserError, OSError) as error:
                check = Check(
                    "run", CheckStatus.ERROR, getattr(error, "message", str(error)), getattr(error, "remedy", "")
                )
                return lambda: self._looked(Preflight((check,)), None)
            return lambda: self._looked(found, order)

        context.in_thread(work, "preflight")

    def _looked(self, found: Preflight, order: RunRequest | None) -> None:
        self._found, self._order = found, order
        self._question, self._allowed = found.question, found.approval
        if self.is_attached:
            self._draw()
            self.show_hints()

    @property
    def _on_cpu(self) -> bool:
        prepared = self._found.prepared if self._found is not None else None
        return prepared is not None and prepared.recipe.device == "cpu"

    @property
    def _missing(self) -> str | None:
        """The interpreter that lacks torch or transformers, when that is the error."""
        found = self._found
        stack = (
            next((i for i in found.checks if i.name == "stack" and i.status is CheckStatus.ERROR), None)
            if found
            else None
        )
        lacks = re.match(r"(.+?) has no (?:torch|transformers)(?![\w-])", stack.message) if stack is not None else None
        return lacks[1] if lacks else None

    def _draw(self) -> None:
        found = self._found
        if found is None:
            return
        width = max(40, self._all.size.width)
        key = self.context.key_of
        head = headline(found, self._allowed is not None, key("start.yes"), key("start.go"))
        self._head_line.set((*spans(head), (f"  · {self._place}" if self._place else "", "muted")))
        lines: list[Line] = [""]
        if found.prepared is not None:
            lines += what_lines(found.prepared, width)
        else:
            lines.append(((f"{'run':12} ", "muted"), (one_line(self._model, 100), "strong")))
        if self._missing is not None:
            lines += ["", *install_lines(self._missing, width, key("start.install"))]
        if found.status is CheckStatus.ERROR:
            lines += [
                "",
                *ways(found, {"sample": key("start.sample"), "cpu": key("start.cpu"), "look": key("start.look")}),
            ]
        if self._question is not None:
            lines += ["", *question_lines(self._question, self._allowed, width)]
            if self._allowed is None and "dataset" in self._question.scopes:
                words = f"{key('start.yes')} agrees to this script; {key('start.all')} to every script of this dataset at this commit"
                lines.append(((f"{'':12} ", "muted"), (words, "accent")))
        lines += ["", *check_lines(found.checks, width)]
        paint = None
        if found.prepared is not None:
            script = found.prepared.script.decode("utf-8", "replace")
            first = len(lines) + 2
            lines += ["", (("run.py ", "strong"), (script_size(found.prepared.script), "muted"))]
            code = python_paint("\n".join(script_lines(script)))
            lines += script_lines(script)

            def paint(number: int, text: str) -> tuple[tuple[str, str], ...]:
                return code(number - first, text) if number >= first else ((text, "plain"),)

        self._all.show(lines, paint=paint, keep=True)

    # -- keys

    def why_not(self, action_id: str) -> str | None:
        found = self._found
        if action_id in ("start.go", "start.yes", "start.all"):
            if self._starting:
                return "already starting"
            if found is None:
                return "still looking at this host"
            if found.status is CheckStatus.ERROR or found.prepared is None:
                return "it cannot start: " + "; ".join(one_line(i.message, 150) for i in found.of(CheckStatus.ERROR))
            if action_id == "start.all" and (self._question is None or "dataset" not in self._question.scopes):
                return "this row's dataset has no commit that a consent could hold for"
        if (
            action_id == "start.go"
            and found is not None
            and (found.status is not CheckStatus.OK or self._allowed is None)
        ):
            return f"press {self.context.key_of('start.yes')} to confirm"
        if action_id == "start.install" and self._missing is None:
            return "nothing is missing in the interpreter"
        if action_id == "start.sample" and (found is None or found.status is not CheckStatus.ERROR):
            return "this run can start here"
        if action_id == "start.cpu" and (self._order is None or self._on_cpu):
            return "already set to run on the CPU"
        return None

    def action_go(self) -> None:
        self._start(None)

    def action_yes(self) -> None:
        self._start("script" if self._allowed is None else None)

    def action_all(self) -> None:
        self._start("dataset")

    def action_look(self) -> None:
        self.look()

    def action_install(self) -> None:
        if self._missing is not None:
            self.context.copy(install_line(self._missing), "the install line")

    def action_sample(self) -> None:
        """On a host without Trainium: a row of the sample, reproduced on the CPU."""
        context = self.context
        context.pop_screen()
        context.push_screen(StartScreen(SAMPLE_MODEL, lambda: sample_request(context.settings)))

    def action_cpu(self) -> None:
        """The bundled script on the CPU instead: another device, so not comparable with the row."""
        order, making = self._order, self._making
        assert order is not None
        self._making = lambda: dataclasses.replace(making(), device="cpu", script="bundled")
        self.look()

    def _start(self, consent: Scope | None) -> None:
        found = self._found
        assert found is not None
        assert found.prepared is not None
        prepared, context = found.prepared, self.context
        self._starting = True
        context.say(f"starting {one_line(prepared.recipe.model, 60)}…")

        def work() -> Callable[[], None]:
            from trnui_runner.preflight.consent import remember
            from trnui_runner.supervise.launcher import start

            try:
                if consent is not None:
                    remember(prepared.recipe, prepared.script, consent)
                run = start(prepared.recipe, prepared.script, prepared.steps, prepared.supervision)
            except UserError as error:
                words = str(error)
                return lambda: self._refused(words)
            except OSError as error:
                words = f"{error.filename or 'the state folder'}: {error.strerror}"
                return lambda: self._refused(words)
            return lambda: self._started(run)

        context.in_thread(work, "start-run")

    def _refused(self, words: str) -> None:
        self._starting = False
        self.context.say(words, "bad")

    def _started(self, run: RunFolder) -> None:
        """The run's screen in place of this one, or the next marked row's, or after the last the runs; a word where this one was left."""
        context = self.context
        if context.screen is self and self.following is not None:
            context.switch_screen(self.following)
            context.call_after_refresh(context.say, f"started: {run.id}")
        elif context.screen is self and self._place:
            context.action_view("runs")
        elif context.screen is self:
            context.open_run(run.id, in_place=True)
        else:
            context.say(f"started: {run.id}; {context.key_of('app.runs')} shows it")

    @property
    def text(self) -> str:
        """What the screen says, for tests."""
        return "\n".join([*self._head_line.lines, *(plain(line) for line in self._all.text.split("\n"))])
