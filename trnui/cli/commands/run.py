"""`trnui run`: one checkpoint's test on this host, followed in plain lines until it ends, or detached."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from trnui.cli.shared_options import GlobalOptions, global_options, note
from trnui.cli.shell_completion import models
from trnui.cli.stack_options import stack_options
from trnui_runner.cli.options import fields, how_to_run, what_to_run

if TYPE_CHECKING:
    from trnui.catalog.engine.catalog import Catalog
    from trnui.catalog.messages import Detail
    from trnui_runner.cli.console import Format


@click.command("run")
@click.argument("model", metavar="MODEL|FOLDER", shell_complete=models)
@what_to_run
@stack_options
@how_to_run
@global_options
@click.pass_obj
def command(
    options: GlobalOptions,
    /,
    model: str,
    neuronx_cc: tuple[str, ...],
    library: str | None,
    library_version: tuple[str, ...],
    yes: bool,
    dry_run: bool,
    detach: bool,
    format_: Format,
    **given: Any,
) -> int:
    """Run a checkpoint's test here and say what came out.

    MODEL is a Hub id; its row in the dataset, if there is one, is reproduced with the row's own script. A folder with a
    checkpoint of your own runs with the bundled script. Ctrl-C ends the run; a closed terminal does not.
    """
    from trnui.run_requests import known_elsewhere, request_for
    from trnui_runner.cli.run_commands import run_and_tell, sweep
    from trnui_runner.cli.start import confirmed, show_preflight
    from trnui_runner.preflight.gather import preflight

    sweep(note)
    catalog, detail = find_row(options, model, neuronx_cc, library, library_version)
    name = str(detail.values["model_id"]) if detail else model
    provenance = catalog.provenance if catalog else None
    request = request_for(name, options.settings, detail, provenance, offline=options.offline, **fields(given))
    source, database = (catalog.source, catalog.database) if catalog else (None, None)
    found = preflight(request, known_elsewhere(request, options.settings, source, database))
    if dry_run:
        return show_preflight(found, format_)
    return run_and_tell(confirmed(found, yes, note), detach, format_, note)


def find_row(
    options: GlobalOptions,
    model: str,
    neuronx_cc: tuple[str, ...],
    library: str | None,
    library_version: tuple[str, ...],
) -> tuple[Catalog | None, Detail | None]:
    """The dataset and the row to reproduce. Neither for a folder; no row for a model that the dataset does not have: it runs
    with the bundled script all the same."""
    from trnui_runner.request.checkpoint import is_folder

    if is_folder(model):
        return None, None
    from trnui.catalog.engine.catalog import UnknownModelError, open_catalog
    from trnui.cli.row_choice import chosen_row

    catalog = open_catalog(options)
    try:
        detail = chosen_row(catalog, model, neuronx_cc, library, library_version)
    except UnknownModelError as error:
        if neuronx_cc or library_version:
            raise
        near = f"; near: {', '.join(error.near)}" if error.near else ""
        note(f"{model} is not in {catalog.provenance.dataset}{near}: nothing to compare with")
        return None, None
    note(("SAMPLE, CPU: " if catalog.provenance.sample else "") + catalog.provenance.words)
    return catalog, detail
