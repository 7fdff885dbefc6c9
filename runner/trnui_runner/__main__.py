"""`trnui-runner` (also `python -m trnui_runner`): run a checkpoint's test, list, follow and stop runs, without the explorer."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from trnui_runner.cli.options import fields, how_to_run, what_to_run
from trnui_runner.common.errors import Exit, UsageError, UserError

if TYPE_CHECKING:
    from trnui_runner.cli.console import Format
    from trnui_runner.cli.run_commands import ListFormat
    from trnui_runner.request.request import RunRequest


def note(words: str) -> None:
    """One line for a person, on stderr."""
    from trnui_runner.common.text import clean

    print(clean(words), file=sys.stderr)


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def cli() -> None:
    """Run a checkpoint's test on this host, in a folder of its own that outlives the terminal.

    Data goes to stdout, words to stderr. Exit codes: 0 PASS, 1 FAIL or LOST, 2 usage, 4 device absent or busy, 5 ran but
    UNCHECKED or NOT COMPARABLE, 124 TIMEOUT, 130 CANCELLED or interrupted.
    """
    from trnui_runner.cli.run_commands import sweep

    sweep(note)


@cli.command()
@click.argument("model", metavar="MODEL|FOLDER", required=False)
@click.option(
    "--row", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="A row to reproduce, as JSON."
)
@click.option("--checkpoint", type=click.Path(exists=True, file_okay=False, path_type=Path), help="A copy of MODEL.")
@what_to_run
@how_to_run
def run(
    model: str | None,
    row: Path | None,
    checkpoint: Path | None,
    yes: bool,
    dry_run: bool,
    detach: bool,
    format_: Format,
    **given: Any,
) -> int:
    """Run a checkpoint's test here and say what came out.

    MODEL is a Hub id or a folder; with --row (as `trnui show MODEL --format json` gives it) the row's own script runs.
    Ctrl-C ends the run; a closed terminal does not.
    """
    from trnui_runner.cli.run_commands import run_and_tell
    from trnui_runner.cli.start import confirmed, show_preflight
    from trnui_runner.preflight.gather import preflight

    found = preflight(asked(model, row, checkpoint, given))
    if dry_run:
        return show_preflight(found, format_)
    return run_and_tell(confirmed(found, yes, note), detach, format_, note)


SAMPLE = "trnui-sample/"  # the owner of the models that come with trnui; their folders are known there alone


def asked(model: str | None, row: Path | None, checkpoint: Path | None, given: dict[str, Any]) -> RunRequest:
    """Raises UsageError when neither model nor row say what to run, or it is one that the Hub does not have."""
    from trnui_runner.common.text import one_line
    from trnui_runner.request.checkpoint import is_local
    from trnui_runner.request.command_line import row_line
    from trnui_runner.request.request import RunRequest

    columns = read_row(row) if row else None
    name = model or (columns or {}).get("model_id")
    if not isinstance(name, str) or not name:
        raise UsageError("No model given.", "Give a Hub id, a folder, or --row FILE.json.")
    at_hand = checkpoint is not None or is_local(name) or os.environ.get("TRNUI_CHECKPOINT")
    if name.startswith(SAMPLE) and not at_hand:
        raise UsageError(
            f"{one_line(name)} is part of trnui's sample: use `trnui run`.",
            f"`{row_line('run', name, None, 'sample')}`; or give its folder with --checkpoint.",
        )
    return RunRequest(model=name, row=columns, checkpoint=checkpoint.resolve() if checkpoint else None, **fields(given))


def read_row(path: Path) -> dict[str, Any]:
    """A JSON object with the dataset's columns. Raises UsageError."""
    try:
        value = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise UsageError(
            f"{path}: cannot read a row from it: {error}", "It takes a JSON object with the dataset's columns."
        ) from error
    if not isinstance(value, dict) or not isinstance(value.get("model_id"), str):
        raise UsageError(f"{path}: not a row: it has no model_id", "It takes a JSON object with the dataset's columns.")
    return value


@cli.command()
@click.option("--format", "format_", type=click.Choice(["table", "json", "jsonl"]), default="table", show_default=True)
@click.option("--limit", type=click.IntRange(1), metavar="N", help="The newest N only.")
def runs(format_: ListFormat, limit: int | None) -> int:
    """Runs on this host, newest first."""
    from trnui_runner.cli.run_commands import show_runs

    return show_runs(format_, limit, note)


@cli.command()
@click.argument("run_id", metavar="ID")
@click.option("--format", "format_", type=click.Choice(["text", "jsonl"]), default="text", show_default=True)
@click.option("--log", is_flag=True, help="The script's own output instead, from its beginning.")
def attach(run_id: str, format_: Format, log: bool) -> int:
    """Follow a run until its end; Ctrl-C detaches. The exit code is the run's."""
    from trnui_runner.cli.run_commands import attach as follow
    from trnui_runner.cli.run_commands import one_run

    return follow(one_run(run_id), format_, log, note)


@cli.command()
@click.argument("run_id", metavar="ID")
def stop(run_id: str) -> int:
    """End a run and every process of it."""
    from trnui_runner.cli.run_commands import one_run
    from trnui_runner.cli.run_commands import stop as end

    return end(one_run(run_id), note)


def main() -> None:
    """Turns every end into words and an exit code."""
    code: int = Exit.OK
    try:
        result = cli.main(standalone_mode=False)
        code = result if isinstance(result, int) else Exit.OK
    except click.exceptions.Exit as error:
        code = error.exit_code
    except (click.exceptions.Abort, KeyboardInterrupt):
        code = Exit.INTERRUPTED
    except click.ClickException as error:
        error.show()
        code = Exit.USAGE
    except UserError as error:
        note(f"trnui-runner: {error}")
        code = error.code
    except Exception as error:  # noqa: BLE001 a fault of ours: kept whole in a file, told in two lines
        code = _told(error)
    sys.exit(code)


def _told(error: Exception) -> int:
    """The exit code, after words for a person."""
    from trnui_runner.common.crash_log import kept
    from trnui_runner.common.errors import host_error

    if isinstance(error, BrokenPipeError):  # the reader of our stdout has left: nothing more to say
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return Exit.OK
    told = host_error(error)
    note(f"trnui-runner: {told or f'internal error, {type(error).__name__}: {error}'}")
    if told is None:
        note(kept(error))
    return Exit.FAILED


if __name__ == "__main__":
    main()
