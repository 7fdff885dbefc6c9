"""`trnui export`: own results as Parquet files in the dataset's layout, to load beside the published ones."""

from __future__ import annotations

from pathlib import Path

import click

from trnui.cli.shared_options import global_options, note
from trnui_runner.common.errors import Exit, UserError


@click.command("export")
@click.option("-o", "--output", metavar="DIR", default="trnui-results", show_default=True, help="Folder for the files.")
@global_options
def command(output: str) -> int:
    """Write own results as Parquet: one file a stack, the dataset's 24 columns, every row saying where it ran."""
    from trnui.catalog.dataset.own_results import damaged_runs, export, own_rows

    rows = own_rows()
    try:
        written = export(Path(output).expanduser(), rows)
    except OSError as error:
        raise UserError(
            f"{output}: cannot write ({error.strerror or error})", "Choose another folder with -o."
        ) from error
    for path, count in written:
        print(f"{path}\t{count}")
    left = [row["outcome"] for row in rows if row["untested"]]
    elsewhere = sum(not row["untested"] and row["runner"] != "trnui/neuron" for row in rows)
    total = sum(count for _, count in written)
    note(
        f"{total} finished run{'' if total == 1 else 's'} written"
        + (f"; {elsewhere} of them not on Trainium, and marked so" if elsewhere else "")
    )
    if left:
        note(f"{len(left)} left out ({', '.join(sorted(set(left)))}): they say nothing about a model")
    for run_id, problem in damaged_runs():
        note(f"run {run_id} cannot be read ({problem}): not exported")
    if not rows:
        note("No run has finished on this host yet; `trnui run MODEL` starts one.")
    return Exit.OK
