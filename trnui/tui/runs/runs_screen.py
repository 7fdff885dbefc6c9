"""View 4: the batches of this host, then every run, newest first, those going on live; also the ones started elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal
from textual.message import Message

from trnui.catalog.column_formats import text
from trnui.catalog.messages import Record
from trnui.catalog.query import Query
from trnui.tui.batch.batch_actions import ask_delete, ask_stop_batch, go_on, why_not_batch
from trnui.tui.batch.batch_index import BatchEntry, BatchIndex
from trnui.tui.batch.batch_lines import STATE_STYLES
from trnui.tui.bindings import bindings
from trnui.tui.run.lines.verdict import device_word, outcome_style, verdict_style
from trnui.tui.run.run_screen import RunScreen
from trnui.tui.screen import AppScreen
from trnui.tui.widgets.columns import Column, ColumnLayout, many, plan
from trnui.tui.widgets.filter_line import FilterLine
from trnui.tui.widgets.result_table import PAGE, ResultTable
from trnui.tui.widgets.styled_lines import Lines
from trnui_runner.common.errors import UserError
from trnui_runner.common.text import ABSENT, age, seconds, shown
from trnui_runner.run_folder.run_index import NAMES, RunEntry, RunIndex, RunIndexWatcher, age_of

Entry = BatchEntry | RunEntry
NEEDS_RUN = ("runs.open", "runs.stop", "runs.again", "runs.report", "runs.delete", "runs.copy", "runs.copy_command")
PLACEHOLDER = "/ part of model, outcome, device or id"


def count_words(entries: Sequence[Entry], shown: int | None) -> str:
    """`1 batch · 4 runs · 1 going on`; shown: how many of all, where a filter is set."""
    batches = sum(isinstance(e, BatchEntry) for e in entries)
    runs = len(entries) - batches
    every = [many(runs, "run")] if not batches else [f"{batches} batch{'es' * (batches != 1)}", many(runs, "run")]
    going = sum(e.going for e in entries)
    words = [f"{shown} of {len(entries)} shown"] if shown is not None and batches else every
    if shown is not None and not batches:
        words = [f"{shown} of {many(runs, 'run')}"]
    return " " + " · ".join([*words, *([f"{going} going on"] if going else [])])


def _style(record: Record) -> str:
    if record.get("script") == "batch":
        return STATE_STYLES.get(str(record.get("outcome")), "plain")
    word, device = str(record.get("outcome")), str(record.get("device"))
    return outcome_style(word, device) if word.isupper() else "accent"


def _verdict_style(record: Record) -> str:
    if not record.get("verdict"):
        return "muted"
    if record.get("script") == "batch":
        return "bad" if "FAIL" in str(record["verdict"]) else "plain"
    return verdict_style(str(record["verdict"]), str(record.get("device")))


def _started(record: Record) -> str:
    return age(age_of(record.get("started")))


def _ago(record: Record) -> str:
    """The same in five cells."""
    seconds_ = age_of(record.get("started"))
    if seconds_ is None:
        return ABSENT
    for unit, size in (("d", 86400), ("h", 3600), ("m", 60)):
        if seconds_ >= size:
            return f"{int(seconds_ // size)} {unit}"
    return "now"


def _took(record: Record) -> str:
    value = record.get("time")
    return seconds(value if isinstance(value, float) else None)


OUTCOME = Column("outcome", "outcome", 11, text("outcome"), style=_style)
MODEL = Column("model", "model", 34, text("model"))
DEVICE = Column(
    "device",
    "device",
    8,
    lambda r: device_word(str(r.get("device"))),
    style=lambda r: "plain" if r.get("device") == "neuron" else "warn",
)
VERDICT = Column(
    "verdict",
    "against row",
    14,
    text("verdict"),
    style=_verdict_style,
)
TIME = Column("time", "time", 10, _took, "right")
STARTED = Column("started", "started", 11, _started, "right")
AGO = Column("started", "ago", 5, _ago, "right")
SCRIPT = Column("script", "script", 9, text("script"))
CORES = Column("cores", "cores", 5, lambda r: shown(r.get("cores")), "right")
ID = Column("id", "id", 20, text("id"), style="muted", grow=True)


def layout(width: int) -> ColumnLayout:
    if width < 100:
        return plan((OUTCOME, replace(MODEL, width=24), DEVICE, VERDICT, TIME, AGO), width, marks=("id",))
    return plan((OUTCOME, MODEL, DEVICE, VERDICT, TIME, STARTED, CORES, SCRIPT, ID), width, marks=("id",))


class RunsScreen(AppScreen[None]):
    PLACE = "runs"
    VIEW = "runs"
    CSS_PATH = "runs.tcss"
    AUTO_FOCUS = "ResultTable"
    BINDINGS: ClassVar[list[BindingType]] = bindings("runs")

    class Seen(Message):
        """From the watcher's thread."""

        def __init__(self, entries: tuple[Entry, ...]) -> None:
            super().__init__()
            self.entries = entries

    def __init__(self) -> None:
        super().__init__()
        self._entries: tuple[Entry, ...] | None = None
        self._shown: tuple[Entry, ...] = ()
        self._text = ""
        self._anchor: str | None = None  # id of the run under the cursor
        self._generation = 0
        self._filter = FilterLine(id="filter")
        self._count = Lines(id="count", base="muted")
        self._table = ResultTable(layout(80), id="runs")
        batches, runs = BatchIndex(), RunIndex()

        def look() -> tuple[Entry, ...]:
            return (*batches.look(), *runs.look())

        self._watcher = RunIndexWatcher(look, lambda entries: self.post_message(self.Seen(entries)))

    def body(self) -> ComposeResult:
        self._filter.placeholder = PLACEHOLDER
        self._table.replan(layout(self.app.size.width))
        with Horizontal(id="top"):
            yield self._filter
            yield self._count
        yield self._table

    def places(self) -> tuple[str, ...]:
        return ("filter",) if self.focused is self._filter else ("runs", "app")

    def on_mount(self) -> None:
        self._watcher.start()

    def on_unmount(self) -> None:
        self._watcher.close()

    def on_screen_suspend(self) -> None:
        self._watcher.pause(True)

    def on_screen_resume(self) -> None:
        self._watcher.pause(False)

    def on_resize(self, event: events.Resize) -> None:
        self._table.replan(layout(self.app.size.width))

    # -- rows

    def on_runs_screen_seen(self, message: Seen) -> None:
        self._entries = message.entries
        self._draw()

    def _draw(self) -> None:
        entries = self._entries or ()
        self._shown = tuple(e for e in entries if e.matches(self._text))
        at = next((n for n, e in enumerate(self._shown) if e.row()[0] == self._anchor), 0)
        self._generation += 1
        first = at // PAGE
        self._table.show(
            self._generation, NAMES, len(self._shown), self._page(first), cursor=at, first=first,
            plan=layout(self.app.size.width), empty=self._empty(),
        )  # fmt: skip
        self._count.set(count_words(entries, len(self._shown) if self._text else None))

    def _page(self, number: int) -> list[tuple[object, ...]]:
        return [e.row() for e in self._shown[number * PAGE : (number + 1) * PAGE]]

    def _empty(self) -> tuple[str, ...]:
        if self._text:
            return (f"No run has “{self._text}” in model, outcome, device or id.", "Esc in the filter line clears it.")
        run = self.context.key_of("list.run")
        return (
            "No run on this host yet.",
            f"Go to a model ({self.context.key_of('app.selected')}) and press {run}: it is run here and followed from here.",
        )

    def on_result_table_page_needed(self, message: ResultTable.PageNeeded) -> None:
        self._table.add_page(message.generation, message.page, self._page(message.page))

    def on_result_table_cursor_moved(self, message: ResultTable.CursorMoved) -> None:
        if message.by_user and message.record is not None:
            self._anchor = str(message.record["identity"])

    @property
    def entry(self) -> RunEntry | None:
        """The run under the cursor."""
        under = self._under
        return under if isinstance(under, RunEntry) else None

    @property
    def chosen_batch(self) -> BatchEntry | None:
        """The batch under the cursor."""
        under = self._under
        return under if isinstance(under, BatchEntry) else None

    @property
    def _under(self) -> Entry | None:
        record = self._table.record
        return next((e for e in self._shown if record is not None and e.row()[0] == record["identity"]), None)

    # -- filter

    def action_filter(self) -> None:
        self._filter.use("text", Query(text=self._text))
        self._filter.placeholder = PLACEHOLDER
        self._filter.focus()
        self.show_hints()

    def on_filter_line_typed(self, message: FilterLine.Typed) -> None:
        self._text = message.value
        self._draw()

    def on_filter_line_left(self, message: FilterLine.Left) -> None:
        if message.drop:
            self._text = ""
            self._filter.use("text", Query())
            self._filter.placeholder = PLACEHOLDER
            self._draw()
        self._table.focus()
        self.show_hints()

    # -- keys

    def why_not(self, action_id: str) -> str | None:
        if action_id not in NEEDS_RUN:
            return None
        if self.chosen_batch is not None:
            return why_not_batch(self.chosen_batch, action_id)
        entry = self.entry
        if entry is None:
            return "no run under the cursor"
        if action_id == "runs.stop" and not entry.going:
            return "this run has ended; there is nothing to stop"
        if action_id == "runs.delete" and entry.going:
            return f"this run is going on; stop it first ({self.context.key_of('runs.stop')})"
        return None

    def action_open(self) -> None:
        if self.chosen_batch is not None:
            from trnui.tui.batch.batch_screen import BatchScreen

            self.context.push_screen(BatchScreen(self.chosen_batch.folder))
        self._with(lambda entry: self.context.push_screen(RunScreen(entry.run, entry.recipe)))

    def action_stop(self) -> None:
        from trnui.tui.run.run_actions import ask_stop

        if self.chosen_batch is not None:
            ask_stop_batch(self.context, self.chosen_batch.folder)
        self._with(lambda entry: ask_stop(self.context, entry.run, entry.recipe.model))

    def action_again(self) -> None:
        from trnui.tui.run.run_actions import again

        if self.chosen_batch is not None:
            go_on(self.context, self.chosen_batch.folder)
        self._with(lambda entry: again(self.context, entry.run, entry.recipe))

    def action_report(self) -> None:
        from trnui.tui.run.report_screen import ReportScreen

        self._with(lambda entry: self.context.push_screen(ReportScreen(entry.run)))

    def action_copy(self) -> None:
        if self.chosen_batch is not None:
            self.context.copy(self.chosen_batch.id, "the batch's id")
        self._with(lambda entry: self.context.copy(entry.run.id, "the run's id"))

    def action_copy_command(self) -> None:
        from trnui.tui.run.run_actions import copy_command

        if self.chosen_batch is not None:
            self.context.copy(f"trnui batch attach {self.chosen_batch.id}", "the command")
        self._with(lambda entry: copy_command(self.context, entry.recipe))

    def action_delete(self) -> None:
        def remove(entry: RunEntry) -> None:
            def work() -> Callable[[], None]:
                if entry.run.outcome() in ("queued", "running"):
                    raise UserError(f"{entry.run.id} is going on", "Stop it first")
                try:
                    entry.run.remove()
                except OSError as error:
                    raise UserError(f"{entry.run.path}: {error.strerror}", "Delete the folder by hand") from error
                return lambda: self._deleted(entry.run.id)

            self.context.in_thread(work, "delete-run")

        def ask_first(entry: RunEntry) -> None:
            from trnui.tui.dialogs.question import ask

            ask(
                self.context,
                f"Delete {entry.run.id} with its log, result and reports?",
                "delete it",
                "keep it",
                lambda: remove(entry),
            )

        if self.chosen_batch is not None:
            gone = self.chosen_batch.id
            ask_delete(self.context, self.chosen_batch.folder, lambda: self._deleted(gone))
        self._with(ask_first)

    def _deleted(self, run_id: str) -> None:
        self.context.say(f"deleted: {run_id}")
        self.context.load_own()
        self._watcher.look_now()

    def _with(self, act: Callable[[RunEntry], object]) -> None:
        entry = self.entry
        if entry is not None:
            act(entry)
