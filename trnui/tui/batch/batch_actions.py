"""What screens do with a batch: stop it, go on with it, run a row again, delete it. Work is done beside the screen."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, cast

from trnui.tui.batch.batch_index import BatchEntry
from trnui.tui.dialogs.question import ask
from trnui.tui.widgets.picker import Choice, Picker
from trnui_runner.batch.folder import BatchFolder
from trnui_runner.common.errors import UserError

if TYPE_CHECKING:
    from trnui.tui.context import AppContext


def why_not_batch(entry: BatchEntry, action_id: str) -> str | None:
    """Why a key of the list of runs does nothing on a batch."""
    if action_id == "runs.stop" and not entry.going:
        return f"this batch is {entry.state}; there is nothing to stop"
    if action_id == "runs.again" and (entry.going or entry.state == "done"):
        return f"this batch is {entry.state}; its rows are run again on its own screen"
    if action_id == "runs.report":
        return f"its report is a page: trnui batch report {entry.id} -o report.html"
    if action_id == "runs.delete" and entry.going:
        return "this batch is going on; stop it first"
    return None


def ask_stop_batch(context: AppContext, folder: BatchFolder) -> None:
    """Later (running rows finish) or now, after a question."""
    choices = (
        Choice("no", "let it go on", key="n"),
        Choice("later", "start nothing more; running rows finish", key="l"),
        Choice("now", "stop running rows too", key="y"),
    )
    picker = Picker(f"Stop batch {folder.id}?", choices, ("no",), hint="y now  l later  n no  Esc back")

    def answered(answer: tuple[str, ...] | None) -> None:
        if answer and answer[0] in ("later", "now"):
            _stop(context, folder, cast(Literal["later", "now"], answer[0]))

    context.push_screen(picker, answered)


def _stop(context: AppContext, folder: BatchFolder, how: Literal["later", "now"]) -> None:
    context.say(f"stopping {folder.id}…")

    def work() -> Callable[[], None]:
        try:
            folder.ask_stop(how)
        except OSError as error:
            raise UserError(f"{folder.path}: {error.strerror}", "Free some disk space") from error
        words = "its runs are being ended" if how == "now" else "running rows finish"
        return lambda: context.say(f"{folder.id}: nothing more is started; {words}")

    context.in_thread(work, "stop-batch")


def go_on(context: AppContext, folder: BatchFolder) -> None:
    """A keeper for a batch that has none."""

    def work() -> Callable[[], None]:
        from trnui_runner.batch.keeper_process import start_keeper

        began = start_keeper(folder)
        return lambda: context.say(f"{folder.id} goes on" if began else f"{folder.id} is going on already")

    context.in_thread(work, "go-on-batch")


def again(context: AppContext, folder: BatchFolder, n: int, model: str) -> None:
    """One row once more, whatever it ended with."""

    def work() -> Callable[[], None]:
        from trnui_runner.batch.keeper_process import start_keeper
        from trnui_runner.batch.retry_by_hand import put_back

        put_back(folder, [n])
        start_keeper(folder)
        return lambda: context.say(f"{model} is to be run again")

    context.in_thread(work, "again-in-batch")


def ask_delete(context: AppContext, folder: BatchFolder, then: Callable[[], None]) -> None:
    """The batch's folder; its runs stay in the list."""

    def remove() -> None:
        def work() -> Callable[[], None]:
            if folder.kept():
                raise UserError(f"{folder.id} is going on", "Stop it first")
            try:
                shutil.rmtree(folder.path)
            except OSError as error:
                raise UserError(f"{folder.path}: {error.strerror}", "Delete the folder by hand") from error
            return then

        context.in_thread(work, "delete-batch")

    ask(context, f"Delete batch {folder.id}? The runs of this host stay.", "delete it", "keep it", remove)
