"""What several screens do with a run: ask and stop it, run it again, copy its command. Work is done beside the screen."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from trnui.tui.dialogs.question import ask
from trnui_runner.common.text import one_line
from trnui_runner.run_folder.folder import RunFolder
from trnui_runner.run_folder.recipe import Recipe

if TYPE_CHECKING:
    from trnui.tui.context import AppContext


def ask_stop(context: AppContext, run: RunFolder, model: str) -> None:
    """Stops after a yes; says when nothing of the run is alive any more, or what is."""

    def stop() -> None:
        context.say(f"stopping {run.id}…")

        def work() -> Callable[[], None]:
            from trnui_runner.supervise.launcher import stop as end

            stopped = end(run)
            if stopped.left:
                words = ", ".join(f"{p.name} (pid {p.pid})" for p in stopped.left[:5])
                return lambda: context.say(f"{run.id}: {stopped.outcome}, but still alive: {words}", "bad")
            return lambda: context.say(f"{run.id}: {stopped.outcome}; nothing of it is alive")

        context.in_thread(work, "stop-run")

    ask(context, f"Stop the run of {one_line(model, 60)}?", "stop it, with all its processes", "let it go on", stop)


def again(context: AppContext, run: RunFolder, recipe: Recipe) -> None:
    """The same once more, through the same look at this host and the same consent as the first time."""
    from trnui.tui.run.start_screen import open_again

    open_again(context, run, recipe)


def copy_command(context: AppContext, recipe: Recipe) -> None:
    from trnui.run_requests import command_of

    context.copy(command_of(recipe), "the command")
