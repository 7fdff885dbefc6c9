"""`trnui runs`: the runs of this host, newest first."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from trnui.cli.choices import NearestChoice
from trnui.cli.shared_options import global_options, note

if TYPE_CHECKING:
    from trnui_runner.cli.run_commands import ListFormat


@click.command("runs")
@click.option("--format", "format_", type=NearestChoice(["table", "json", "jsonl"]), default="table", show_default=True)
@click.option("--limit", type=click.IntRange(1), metavar="N", help="The newest N only.")
@global_options
def command(format_: ListFormat, limit: int | None) -> int:
    """Runs on this host: id, model, outcome or present stage, verdict, device, start and wall time.

    As rows of the dataset's own schema: trnui list --view runs.
    """
    from trnui_runner.cli.run_commands import show_runs, sweep

    sweep(note)
    return show_runs(format_, limit, note)
