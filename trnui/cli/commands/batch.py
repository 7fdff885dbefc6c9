"""`trnui batch`: many rows on one host or several; new, list, attach, stop, retry, report, export."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from trnui.cli.batch.new import new
from trnui.cli.shared_options import global_options, note
from trnui.cli.stack_options import split
from trnui_runner.common.errors import Exit, UsageError, UserError

if TYPE_CHECKING:
    from trnui_runner.batch.folder import BatchFolder


@click.group("batch", invoke_without_command=True)
@global_options
@click.pass_context
def command(ctx: click.Context) -> int | None:
    """Many rows at once, packed on this host's cores; survives crashes and restarts. Without a command: the list."""
    if ctx.invoked_subcommand is None:
        return int(ctx.invoke(list_batches, format_="table"))
    return None


command.add_command(new)


@command.command("list")
@click.option("--format", "format_", type=click.Choice(["table", "json"]), default="table", show_default=True)
@global_options
def list_batches(format_: str) -> int:
    """Every batch of this host, newest first."""
    from trnui_runner.batch.folder import all_batches
    from trnui_runner.batch.lines import batch_json, batch_state, counts_words, time_words

    now, found, rows = time.time(), [], []
    for folder in all_batches():
        try:
            status = folder.status()
        except UserError as error:
            note(f"{folder.id}: {error}")
            continue
        found.append(batch_json(folder, status, now))
        rows.append((folder.id, batch_state(status, folder.kept()), counts_words(status), time_words(status, now)))
    if format_ == "json":
        print(json.dumps(found, indent=1))
        return Exit.OK
    if not rows:
        note("No batches yet: trnui batch new --help")
    widths = [max((len(row[n]) for row in rows), default=0) for n in range(4)]
    for row in rows:
        print("  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip())
    return Exit.OK


@command.command("attach")
@click.argument("batch", default="last", metavar="[ID]")
@click.option("--ray", metavar="ADDRESS", help="Resume over the hosts of a Ray cluster.")
@click.option("--open-port", is_flag=True, help="With --ray: accept a cluster that asks for no token.")
@click.option("--format", "format_", type=click.Choice(["text", "jsonl"]), default="text", show_default=True)
@global_options
def attach(batch: str, ray: str | None, open_port: bool, format_: str) -> int:
    """Follow a batch until its end; one that was interrupted or stopped goes on. Ctrl-C detaches."""
    from trnui.cli.batch.follow import follow_batch
    from trnui_runner.batch.folder import one_batch

    return follow_batch(one_batch(batch), format_, note, ray=ray, open_port=open_port)


@command.command("stop")
@click.argument("batch", default="last", metavar="[ID]")
@click.option("--now", is_flag=True, help="Stop the running rows too; otherwise they finish.")
@global_options
def stop(batch: str, now: bool) -> int:
    """Start no more rows of a batch. `trnui batch attach` goes on with it."""
    from trnui_runner.batch.folder import one_batch
    from trnui_runner.batch.stopping import stop_batch

    return stop_batch(one_batch(batch), now=now, say=note)


@command.command("retry")
@click.argument("batch", default="last", metavar="[ID]")
@click.option(
    "--only",
    multiple=True,
    metavar="WORD,…",
    help="Rows that ended so: fail, timeout, unchecked, lost, refused, … or a model's name.",
)
@click.option("--detach", is_flag=True, help="Start it and return.")
@global_options
def retry(batch: str, only: tuple[str, ...], detach: bool) -> int:
    """Run rows of a batch again: those that said nothing about their model, or those that --only names."""
    from trnui.cli.batch.follow import follow_batch
    from trnui_runner.batch.folder import one_batch
    from trnui_runner.batch.keeper_process import start_keeper
    from trnui_runner.batch.retry_by_hand import again

    folder = one_batch(batch)
    count = again(folder, split(only))
    note(f"{count} row{'s' * (count != 1)} of {folder.id} to be run again")
    if not detach:
        return follow_batch(folder, "text", note)
    start_keeper(folder)
    return Exit.OK


@command.command("report")
@click.argument("batch", default="last", metavar="[ID]")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="report.html, or .json; default: HTML on stdout.",
)
@global_options
def report(batch: str, output: Path | None) -> int:
    """A batch as one HTML page: what changed first, then every row; no script, nothing fetched."""
    from trnui_runner.batch.folder import one_batch
    from trnui_runner.batch.lines import batch_json
    from trnui_runner.batch.report_html import report_html
    from trnui_runner.common.files import write_given

    folder = one_batch(batch)
    status = folder.status()
    if output is not None and output.suffix.lower() not in (".html", ".htm", ".json"):
        raise UsageError(f"{output}: a report is HTML or JSON", "Name a file that ends in .html or .json.")
    as_json = output is not None and output.suffix.lower() == ".json"
    text = (
        json.dumps(batch_json(folder, status, time.time()), indent=1) + "\n"
        if as_json
        else report_html(folder, status, time.time())
    )
    if output is None or str(output) == "-":
        print(text, end="")
        return Exit.OK
    try:
        write_given(output, text)
    except OSError as error:
        raise UserError(f"{output}: cannot be written ({error.strerror})", "Choose another file with -o.") from error
    note(f"written: {output}")
    return Exit.OK


@command.command("export")
@click.argument("batch", default="last", metavar="[ID]")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Folder for the files; default: the batch's name.",
)
@global_options
def export(batch: str, output: Path | None) -> int:
    """A batch's results as Parquet: one file a stack, the dataset's 24 columns, every row saying where it ran."""
    from trnui.catalog.dataset.own_results import export as write
    from trnui_runner.batch.folder import one_batch

    folder = one_batch(batch)
    rows, gone = batch_rows(folder)
    target = output or Path(folder.id)
    try:
        written = write(target, rows)
    except OSError as error:
        raise UserError(
            f"{target}: cannot write ({error.strerror or error})", "Choose another folder with -o."
        ) from error
    for path, count in written:
        print(f"{path}\t{count}")
    total, left = sum(count for _, count in written), sum(bool(row["untested"]) for row in rows)
    note(
        f"{total} of {len(folder.batch().rows)} rows written"
        + (f"; {left} say nothing about their model" if left else "")
    )
    if gone:
        note(f"{gone} run folders are not there any more")
    return Exit.OK


@command.command("kubernetes")
@click.argument("batch", default="last", metavar="[ID]")
@click.option("--image", required=True, metavar="IMAGE", help="Container image with trnui and the Neuron stack.")
@click.option("--claim", metavar="NAME", help="PersistentVolumeClaim that keeps the run folders.")
@global_options
def kubernetes(batch: str, image: str, claim: str | None) -> int:
    """A batch as Kubernetes Jobs, one a row, on stdout: for kubectl apply -f -. Nothing is started or watched."""
    from trnui_runner.batch.engines.kubernetes import manifests
    from trnui_runner.batch.folder import one_batch

    text = manifests(one_batch(batch).batch(), image, claim)
    if not text:
        raise UsageError(f"Batch {batch} has no row for a NeuronCore.", "Jobs are printed for rows on Trainium alone.")
    print(text, end="")
    return Exit.OK


def batch_rows(folder: BatchFolder) -> tuple[list[dict[str, object]], int]:
    """(a row of the dataset's columns for every run that is done, how many run folders are gone)."""
    from trnui.catalog.dataset.own_results import own_row
    from trnui_runner.batch.journal import RowState

    runs = [folder.run(at.run) for at in folder.status().rows if at.state is RowState.DONE]
    rows = [row for run in runs if run is not None and (row := own_row(run)) is not None]
    return rows, sum(run is None for run in runs)
