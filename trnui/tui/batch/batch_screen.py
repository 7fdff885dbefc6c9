"""One batch: its rows, what needs eyes first; Enter opens a row's run, `l` its log."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.message import Message

from trnui.catalog.column_formats import text
from trnui.catalog.messages import Record
from trnui.tui.batch.batch_actions import again, ask_stop_batch, go_on
from trnui.tui.batch.batch_lines import head_lines
from trnui.tui.batch.batch_view import NAMES, BatchView, BatchWatcher
from trnui.tui.bindings import bindings
from trnui.tui.run.lines.verdict import outcome_style
from trnui.tui.run.run_screen import RunScreen
from trnui.tui.screen import AppScreen
from trnui.tui.widgets.columns import Column, ColumnLayout, plan
from trnui.tui.widgets.result_table import PAGE, ResultTable
from trnui.tui.widgets.styled_lines import Lines
from trnui_runner.batch.folder import BatchFolder
from trnui_runner.batch.status import NEWLY_FAILING, NEWLY_PASSING
from trnui_runner.common.text import ABSENT, one_line, seconds, shown

ENDED = ("done", "refused", "given up")


def _style(record: Record) -> str:
    if record["state"] != "done":
        return {"going": "accent", "waiting": "muted", "sent": "accent"}.get(str(record["state"]), "warn")
    word = str(record["result"]).partition(" ")[0]
    weak = word == "PASS" and record["kind"] == "english" and record["device"] == "neuron"
    return "weak" if weak else outcome_style(word, str(record["device"]))


def _took(record: Record) -> str:
    value = record["time"]
    return seconds(value) if isinstance(value, float) else ABSENT


def _change(record: Record) -> str:
    return (
        str(record["change"]).upper()
        if record["change"] in (NEWLY_FAILING, NEWLY_PASSING)
        else shown(record["published"])
    )


def _change_style(record: Record) -> str:
    return {NEWLY_FAILING: "bad", NEWLY_PASSING: "accent"}.get(str(record["change"]), "muted")


RESULT = Column("result", "result", 12, text("result"), style=_style)
MODEL = Column("model", "model", 34, text("model"))
PUBLISHED = Column("change", "published", 13, _change, style=_change_style)
CORES = Column("cores", "tp", 2, text("cores"), "right")
IDS = Column("ids", "cores", 7, text("ids"), style="muted")
HOST = Column("host", "host", 12, text("host"), style="muted")
TIME = Column("time", "time", 10, _took, "right")
WHAT = Column("what", "what", 30, lambda r: one_line(r["what"], 200), style="muted", grow=True)


def layout(width: int, hosts: bool) -> ColumnLayout:
    where = (HOST,) if hosts else ()
    if width < 100:
        return plan((RESULT, replace(MODEL, width=24), PUBLISHED, CORES, TIME, IDS, *where, WHAT), width)
    return plan((RESULT, MODEL, PUBLISHED, CORES, IDS, *where, TIME, WHAT), width)


class BatchScreen(AppScreen[None]):
    PLACE = "batch"
    VIEW = "runs"
    CSS_PATH = "batch.tcss"
    AUTO_FOCUS = "ResultTable"
    BINDINGS: ClassVar[list[BindingType]] = bindings("batch", priority=True)  # before the table's own `l`

    class Seen(Message):
        """From the watcher's thread."""

        def __init__(self, view: BatchView) -> None:
            super().__init__()
            self.view = view

    def __init__(self, folder: BatchFolder) -> None:
        super().__init__()
        self.folder = folder
        self._seen = BatchView(folder.id)
        self._anchor: object = None  # n of the row under the cursor, once the user has moved it
        self._generation = 0
        self._facts = Lines(id="facts")
        self._table = ResultTable(layout(80, False), id="rows")
        self._watcher = BatchWatcher(folder, lambda view: self.post_message(self.Seen(view)))

    def body(self) -> ComposeResult:
        self._table.replan(self._plan())
        yield self._facts
        yield self._table

    def on_mount(self) -> None:
        self._watcher.start()

    def on_unmount(self) -> None:
        self._watcher.close()

    def on_screen_suspend(self) -> None:
        self._watcher.pause(True)

    def on_screen_resume(self) -> None:
        self._watcher.pause(False)

    def on_resize(self, event: events.Resize) -> None:
        self._table.replan(self._plan())
        self.call_after_refresh(self._draw_facts)

    def _plan(self) -> ColumnLayout:
        return layout(self.app.size.width, any(row[1 + NAMES.index("host")] for row in self._seen.rows))

    # -- drawing

    def on_batch_screen_seen(self, message: Seen) -> None:
        self._seen = message.view
        self._draw_facts()
        rows = self._seen.rows
        at = next((n for n, row in enumerate(rows) if row[0] == self._anchor), 0)
        self._generation += 1
        first = at // PAGE
        self._table.show(
            self._generation, NAMES, len(rows), self._page(first), cursor=at, first=first, plan=self._plan(),
            empty=(self._seen.problem or "Reading…",),
        )  # fmt: skip
        self._renew_hints()

    def _draw_facts(self) -> None:
        self._facts.set(*head_lines(self._seen, self.app.size.width))

    def _page(self, number: int) -> list[tuple[object, ...]]:
        return list(self._seen.rows[number * PAGE : (number + 1) * PAGE])

    def on_result_table_page_needed(self, message: ResultTable.PageNeeded) -> None:
        self._table.add_page(message.generation, message.page, self._page(message.page))

    def on_result_table_cursor_moved(self, message: ResultTable.CursorMoved) -> None:
        if message.by_user and message.record is not None:
            self._anchor = message.record["identity"]

    # -- keys

    def why_not(self, action_id: str) -> str | None:
        record, state = self._table.record, self._seen.state
        if action_id == "batch.stop" and state != "going":
            return f"this batch is {state}; there is nothing to stop"
        if action_id == "batch.go_on" and (self._seen.kept or state in ("done", "unreadable")):
            return f"this batch is {state}"
        if action_id in ("batch.open", "batch.log", "batch.again") and record is None:
            return "no row under the cursor"
        if action_id in ("batch.open", "batch.log") and record is not None and not record["run"]:
            return "this row has not begun: there is no run yet"
        if action_id == "batch.again" and record is not None and record["state"] not in ENDED:
            return f"this row is {record['state']}; only one that has ended is run again"
        return None

    def action_open(self) -> None:
        self._open(log=False)

    def action_log(self) -> None:
        self._open(log=True)

    def _open(self, *, log: bool) -> None:
        record = self._table.record
        assert record is not None  # why_not
        run = self.folder.run(str(record["run"]))
        recipe = run.recipe() if run is not None else None
        if run is None or recipe is None:
            n = record["identity"]
            if isinstance(n, int) and record["host"]:
                self.folder.ask_log(n)
                self.context.say(f"its log is being copied from {record['host']}; try again in a few seconds")
            else:
                self.context.say(f"the folder of run {record['run']} is not there any more", "warn")
            return
        screen = RunScreen(run, recipe)
        if log:
            screen.add_class("-log")
        self.context.push_screen(screen)

    def action_stop(self) -> None:
        ask_stop_batch(self.context, self.folder)

    def action_go_on(self) -> None:
        go_on(self.context, self.folder)

    def action_again(self) -> None:
        self._with(lambda n, model: again(self.context, self.folder, n, model))

    def action_copy_command(self) -> None:
        self.context.copy(f"trnui batch attach {self.folder.id}", "the command")

    def _with(self, act: Callable[[int, str], object]) -> None:
        record = self._table.record
        if record is not None and isinstance(record["identity"], int):
            act(record["identity"], one_line(record["model"], 60))
