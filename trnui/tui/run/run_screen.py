"""A run, going on or over: stages, compiles, tokens, memory, what the log means, the log itself; after the end the verdict card.

The screen only follows the run's folder. Leaving it, or killing the app, ends nothing.
"""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container, Vertical
from textual.message import Message

from trnui.tui.bindings import bindings, hints
from trnui.tui.log.save import LogOwner
from trnui.tui.log.view import LogView
from trnui.tui.run.lines.header import PLAIN, meaning_lines, state_line, what_lines
from trnui.tui.run.lines.memory import memory_lines, parts_lines, plot_lines
from trnui.tui.run.lines.stages import compile_lines, stage_strip, stage_table
from trnui.tui.run.lines.tokens import token_lines
from trnui.tui.run.lines.verdict import verdict_lines
from trnui.tui.run.run_snapshot import RunSnapshot
from trnui.tui.run.run_watcher import RunWatcher
from trnui.tui.screen import AppScreen, hint_line
from trnui.tui.widgets.styled_lines import Line, Lines
from trnui.tui.widgets.text_view import TextView
from trnui_runner.common.text import one_line
from trnui_runner.run_folder.folder import RunFolder
from trnui_runner.run_folder.recipe import Recipe

WIDE = 120  # columns from which the panel stands beside the log
PANEL = 9  # lines of the panel above the log


class RunScreen(LogOwner, AppScreen[None]):
    PLACE = "run"
    VIEW = "runs"
    CSS_PATH = "run.tcss"
    AUTO_FOCUS = "#log"
    BINDINGS: ClassVar[list[BindingType]] = bindings("run")

    class Seen(Message):
        """From the watcher's thread."""

        def __init__(self, snapshot: RunSnapshot) -> None:
            super().__init__()
            self.snapshot = snapshot

    def __init__(self, run: RunFolder, recipe: Recipe) -> None:
        super().__init__()
        self.run_folder = run
        self.recipe = recipe
        self.snapshot = RunSnapshot(run, recipe)
        self._state, self._what = Lines(id="state"), Lines(id="what")
        self._panel, self._tokens = Lines(id="panel"), Lines(id="tokens")
        self._card = TextView(id="card", wrap=True)
        self._rule = Lines(id="rule", base="muted")
        self._log = LogView(run.path / "output.log", id="log")
        self._watcher = RunWatcher(run, recipe, lambda snapshot: self.post_message(self.Seen(snapshot)))

    # -- layout

    def body(self) -> ComposeResult:
        self.set_class(self.app.size.width >= WIDE, "-wide")
        yield self._state
        yield self._what
        with Container(id="main"):
            yield self._panel
            with Vertical(id="right"):
                yield self._tokens
                yield self._card
                yield self._rule
                yield self._log

    def on_mount(self) -> None:
        self._draw()
        self._watcher.start()

    def on_unmount(self) -> None:
        self._watcher.close()

    def on_resize(self, event: events.Resize) -> None:
        self.set_class(self.app.size.width >= WIDE, "-wide")
        self.call_after_refresh(self._draw)

    def places(self) -> tuple[str, ...]:
        return ("run", "log", "app")

    def _draw_hints(self) -> None:
        able = [a for a in self.context.actions if a.where != "run" or self.why_not(a.id) is None]
        self._foot.set(hint_line(hints(self.places(), able), self.app.size.width))

    # -- drawing

    def on_run_screen_seen(self, message: Seen) -> None:
        before, self.snapshot = self.snapshot, message.snapshot
        if not self.snapshot.going and (before.going or not self.has_class("-over")):
            self._over()
        self._draw()

    def _over(self) -> None:
        self._log.done()
        self.add_class("-over")
        self.show_hints()
        self.context.load_own()
        width = max(40, self.app.size.width - (70 if self.has_class("-wide") else 4))
        if self.snapshot.result is not None:
            self._card.show(verdict_lines(self.snapshot.result, self.recipe, width))
        else:
            self._card.show(_no_result(self.snapshot, width))

    def _draw(self) -> None:
        snapshot, wide = self.snapshot, self.has_class("-wide")
        self._state.set(state_line(snapshot))
        self._what.set(*what_lines(snapshot))
        self._draw_rule()
        width = max(20, self._panel.size.width)
        if wide:
            height = max(PANEL, self._panel.size.height)
            self._panel.set(*self._wide_panel(width, height))
            self._tokens.set(*token_lines(snapshot, max(20, self._tokens.size.width), 4), *meaning_lines(snapshot, 2))
        else:
            self._panel.set(*self._narrow_panel(width)[:PANEL])

    def _draw_rule(self) -> None:
        """Between card and log: which has the keys, and the key that goes to the other."""
        here, width = self.focused is self._log, max(1, self._rule.size.width)
        key = self.context.key_of("run.other")
        words = f" · {key} goes to the {'verdict' if here else 'log'} " if self.has_class("-over") else " "
        self._rule.set((("log", "accent" if here else "muted"), (words.ljust(max(0, width - 3), "─"), "muted")))

    def on_descendant_focus(self) -> None:
        self._draw_rule()

    def _narrow_panel(self, width: int) -> list[Line]:
        snapshot = self.snapshot
        lines = stage_strip(snapshot, width)
        meaning = meaning_lines(snapshot, 2)
        compile_ = compile_lines(snapshot, width, 1)[:3]
        tokens = token_lines(snapshot, width, 1)
        room = PANEL - len(lines) - len(meaning) - len(compile_) - len(tokens)
        memory = memory_lines(snapshot.memory, width, max(2, room), over=not snapshot.going)
        return [*lines, *compile_, *tokens, *memory, *meaning]

    def _wide_panel(self, width: int, height: int) -> list[Line]:
        snapshot = self.snapshot
        lines: list[Line] = ["", *stage_table(snapshot, width), ""]
        lines += [*compile_lines(snapshot, width, 4), ""]
        lines += memory_lines(snapshot.memory, width, max(4, min(20, height - len(lines) - 6)), over=not snapshot.going)
        lines += parts_lines(snapshot.parts, snapshot.busy, snapshot.memory, width) if snapshot.going else []
        room = height - len(lines) - 1
        if room >= 3:
            lines += ["", *plot_lines(snapshot, width, room)]
        return lines[:height]

    # -- keys

    def why_not(self, action_id: str) -> str | None:
        if action_id == "run.stop" and not self.snapshot.going:
            return "This run has ended; there is nothing to stop"
        if action_id == "run.again" and self.snapshot.going:
            return f"This run is still going on; {self.context.key_of('run.stop')} stops it"
        return None

    def log_name(self, path: Path) -> str:
        return f"{self.run_folder.id}.log"

    def action_back(self) -> None:
        """One step: the search, the log's full screen, then the screen. The run goes on."""
        if self.step_back() or (self.focused is self._log and self._log.back()):
            return
        if self.has_class("-log"):
            self.remove_class("-log")
            return
        if self.snapshot.going:
            self.context.pop_screen()
            self.context.say(f"the run goes on; {self.context.key_of('app.runs')} shows it")
        else:
            self.context.pop_screen()

    def action_log(self) -> None:
        """The log alone, or everything again."""
        self.toggle_class("-log")
        self._log.focus()

    def action_other(self) -> None:
        """Between card and log."""
        if self.has_class("-over") and not self.has_class("-log") and self.focused is self._log:
            self._card.focus()
        else:
            self._log.focus()

    def action_copy_command(self) -> None:
        from trnui.tui.run.run_actions import copy_command

        copy_command(self.context, self.recipe)

    def action_report(self) -> None:
        from trnui.tui.run.report_screen import ReportScreen

        self.context.push_screen(ReportScreen(self.run_folder))

    def action_stop(self) -> None:
        from trnui.tui.run.run_actions import ask_stop

        ask_stop(self.context, self.run_folder, self.recipe.model)

    def action_again(self) -> None:
        from trnui.tui.run.run_actions import again

        again(self.context, self.run_folder, self.recipe)


def _no_result(snapshot: RunSnapshot, width: int) -> list[Line]:
    """LOST, and what the log means."""
    lines: list[Line] = [((f"{snapshot.outcome}: this run left no result.", "bad"),)]
    words = "Guard and supervisor were both killed, or the host went down. Log and events are all there is."
    lines += [((part, "muted"),) for part in textwrap.wrap(words, max(20, width - 2))]
    answer = snapshot.answer
    if answer is not None and answer.diagnosis.cls not in PLAIN:
        lines += ["", (("its log: ", "muted"), (one_line(answer.diagnosis.summary, 300), "plain"))]
        lines += [
            ((part, "accent"),) for part in textwrap.wrap(one_line(answer.diagnosis.hint, 400), max(20, width - 2))
        ]
    return lines
