"""`trnui stop`: end a run and every process of it."""

from __future__ import annotations

import click

from trnui.cli.shared_options import global_options, note
from trnui.cli.shell_completion import runs


@click.command("stop")
@click.argument("run_id", metavar="ID", shell_complete=runs)
@global_options
def command(run_id: str) -> int:
    """End a run: SIGTERM, grace, then SIGKILL for whatever is left of it; says what was ended and that nothing is left.

    ID is a run's id, a part of it, or `last`.
    """
    from trnui_runner.cli.run_commands import one_run, stop, sweep

    sweep(note)
    return stop(one_run(run_id), note)
