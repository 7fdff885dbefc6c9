"""`trnui run`: one checkpoint's test on this host, told in plain lines until it ends, or detached."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from runner.asking import fields, how_to_run, what_to_run
from runner.errors import UsageError
from trnui.commands.common import Options, global_options, note

if TYPE_CHECKING:
    from runner.order import Prepared
    from runner.telling import Format
    from trnui.catalog.answers import Detail, Provenance


@click.command("run")
@click.argument("model", metavar="MODEL|FOLDER")
@what_to_run
@click.option("--neuronx-cc", metavar="V", help="Which row to reproduce; default: this host's stack, else the newest.")
@click.option("--library-version", metavar="V", help="Likewise.")
@how_to_run
@global_options
@click.pass_obj
def command(
    options: Options, /, model: str, yes: bool, dry_run: bool, detach: bool, format_: Format, **given: Any
) -> int:
    """Run a checkpoint's test here and say what came out.

    MODEL is a Hub id; its row in the dataset, if there is one, is reproduced with the row's own script. A folder with a
    checkpoint of your own runs with the bundled script. Ctrl-C ends the run; a closed terminal does not.
    """
    from runner.managing import run_and_tell, show_plan, sweep
    from runner.order import prepare
    from trnui.ordering import order_for

    sweep(note)
    stack = {name: given.pop(name) for name in ("neuronx_cc", "library_version")}
    detail, provenance = find_row(options, model, stack)
    prepared = prepare(order_for(model, options.settings, detail, provenance, **fields(given)))
    for words in prepared.notes:
        note(words)
    for words in prepared.recipe.departures():
        note(f"not the protocol: {words}")
    if dry_run:
        return show_plan(prepared, format_)
    consent(prepared, yes)
    return run_and_tell(prepared, detach, format_, note)


def find_row(options: Options, model: str, stack: dict[str, str | None]) -> tuple[Detail | None, Provenance | None]:
    """The row to reproduce and where it is from; none for a folder, nor for a model without a tested row."""
    from pathlib import Path

    if Path(model).expanduser().is_dir():
        return None, None
    from trnui.catalog.catalog import open_catalog

    with open_catalog(options) as catalog:
        row = catalog.row_to_run(model, stack.get("neuronx_cc"), stack.get("library_version"))
        return (row, catalog.provenance) if row is not None else (None, None)


def consent(prepared: Prepared, yes: bool) -> None:
    """A script that is not ours is someone's code. Raises UsageError when nobody has said yes to it."""
    from runner import script

    if prepared.recipe.script != "published" or script.is_ours(prepared.script):
        return
    if not yes:
        raise UsageError(
            f"This row's run.py is someone's code (SHA-256 {prepared.recipe.script_sha256[:16]}…); it would run with your rights.",
            "Read it with: trnui script MODEL. Then say --yes, or use --script bundled.",
        )
