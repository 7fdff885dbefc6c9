"""A run as a bug report: read it, copy it, write it to a file. Host names, paths, accounts and tokens are taken out by the runner."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType

from trnui.tui.bindings import bindings
from trnui.tui.log.save import free_name
from trnui.tui.screen import AppScreen
from trnui.tui.widgets.styled_lines import Lines
from trnui.tui.widgets.syntax import markdown_lines
from trnui.tui.widgets.text_view import TextView
from trnui_runner.common.text import clean
from trnui_runner.run_folder.folder import RunFolder


class ReportScreen(AppScreen[None]):
    PLACE = "report"
    VIEW = "runs"
    CSS_PATH = "report.tcss"
    AUTO_FOCUS = "#report"
    BINDINGS: ClassVar[list[BindingType]] = bindings("report")

    def __init__(self, run: RunFolder) -> None:
        super().__init__()
        self._run = run
        self._text = ""
        self._title = Lines(id="title")
        self._view = TextView(id="report")

    def body(self) -> ComposeResult:
        yield self._title
        yield self._view

    def places(self) -> tuple[str, ...]:
        return ("report", "text", "app")

    def on_mount(self) -> None:
        self._title.set(((f" {self._run.id}: writing the report…", "muted"),))
        run = self._run

        def work() -> Callable[[], None]:
            from trnui_runner.result.bug_report import report

            text = report(run)
            return lambda: self._written(text)

        self.context.in_thread(work, "report")

    def _written(self, text: str) -> None:
        self._text = text
        self._title.set(
            (
                (f" {self._run.id}", "strong"),
                (" · read it before you send it: secrets that have no known shape stay in", "warn"),
            )
        )
        self._view.show(markdown_lines(clean(text)))

    @property
    def settled(self) -> bool:
        return super().settled and bool(self._text)

    def why_not(self, action_id: str) -> str | None:
        return (
            "the report is not written yet"
            if action_id.startswith("report.") and action_id != "report.back" and not self._text
            else None
        )

    def action_copy(self) -> None:
        self.context.copy(self._text, "the report")

    def action_save(self) -> None:
        self.context.write_file(free_name(Path.cwd() / f"{self._run.id}.md"), self._text)
