"""What several screens do with a run: start it from a row, stop it, run it again, copy its command. Work is done beside the screen."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from trnui.tui.dialogs.question import ask
from trnui.tui.run.start_screen import StartScreen
from trnui_runner.common.text import one_line
from trnui_runner.request.request import RunRequest
from trnui_runner.run_folder.folder import RunFolder
from trnui_runner.run_folder.recipe import Recipe

if TYPE_CHECKING:
    from trnui.catalog.messages import Detail
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
            return lambda: context.say(f"{run.id}: {stopped.outcome}; no process of it is left")

        context.in_thread(work, "stop-run")

    ask(context, f"Stop the run of {one_line(model, 60)}?", "stop it, with all its processes", "let it go on", stop)


def copy_command(context: AppContext, recipe: Recipe) -> None:
    from trnui.run_requests import command_of

    context.copy(command_of(recipe), "the command")


def open_run(context: AppContext, detail: Detail, *, options: bool = False) -> None:
    """`r` on a row; with `options`, `R`."""
    if options:
        from trnui.tui.run.options_screen import OptionsScreen

        context.push_screen(OptionsScreen(context, detail))
        return
    context.push_screen(StartScreen(str(detail.values.get("model_id") or ""), request_of_row(context, detail)))


def open_marked(context: AppContext, details: Sequence[Detail]) -> None:
    """`r` with marked rows: one after the other comes before the user, and each that is started waits for the cores of those before."""
    screens = [
        StartScreen(
            str(detail.values.get("model_id") or ""),
            request_of_row(context, detail),
            place=f"{n} of {len(details)} marked",
        )
        for n, detail in enumerate(details, 1)
    ]
    for screen, following in pairwise(screens):
        screen.following = following
    context.push_screen(screens[0])


def request_of_row(context: AppContext, detail: Detail) -> Callable[[], RunRequest]:
    """What is reproduced, with the dataset and the settings of now."""
    settings, provenance, offline = context.settings, context.provenance, context.offline

    def making() -> RunRequest:
        from trnui.run_requests import request_for

        return request_for(str(detail.values.get("model_id") or ""), settings, detail, provenance, offline=offline)

    return making


def again(context: AppContext, run: RunFolder, recipe: Recipe) -> None:
    """The same once more, through the same look at this host and the same consent as the first time."""
    from trnui.run_requests import request_again, supervision_of

    supervision = supervision_of(context.settings, context.offline)
    context.push_screen(
        StartScreen(recipe.model, lambda: dataclasses.replace(request_again(recipe, run), supervision=supervision))
    )
