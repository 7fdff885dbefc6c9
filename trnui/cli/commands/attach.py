"""`trnui attach`: follow a run that is going on, from anywhere, as often as one likes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from trnui.cli.shared_options import global_options, note
from trnui.cli.shell_completion import runs

if TYPE_CHECKING:
    from trnui_runner.cli.console import Format


@click.command("attach")
@click.argument("run_id", metavar="ID", shell_complete=runs)
@click.option("--format", "format_", type=click.Choice(["text", "jsonl"]), default="text", show_default=True)
@click.option("--log", is_flag=True, help="The script's own output instead, from its beginning.")
@global_options
def command(run_id: str, format_: Format, log: bool) -> int:
    """Follow a run until its end. Ctrl-C detaches: the run goes on. The exit code is the run's.

    ID is a run's id, a part of it, or `last`.
    """
    from trnui_runner.cli.run_commands import attach, one_run, sweep

    sweep(note)
    return attach(one_run(run_id), format_, log, note)
