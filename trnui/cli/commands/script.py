"""`trnui script MODEL`: the run.py of a row, byte for byte into a pipe or a file, cleaned on a terminal."""

from __future__ import annotations

import sys

import click

from trnui.cli.row_choice import chosen_row, stack_words
from trnui.cli.shared_options import GlobalOptions, global_options
from trnui.cli.shell_completion import models
from trnui.cli.stack_options import stack_options, tell
from trnui_runner.common.errors import DataError, Exit
from trnui_runner.common.text import clean


@click.command("script")
@click.argument("model", shell_complete=models)
@stack_options
@global_options
@click.pass_obj
def command(
    options: GlobalOptions,
    model: str,
    neuronx_cc: tuple[str, ...],
    library: str | None,
    library_version: tuple[str, ...],
) -> int:
    """The run.py that was executed for MODEL's row."""
    from trnui.catalog.engine.catalog import open_catalog

    catalog = open_catalog(options)
    detail = chosen_row(catalog, model, neuronx_cc, library, library_version)
    script = detail.values.get("run_py")
    place = (
        f"{detail.values['model_id']} · {stack_words(detail)} · {detail.derived['file']} row {detail.derived['row']}"
    )
    if not script:
        status = detail.derived["status"]
        raise DataError(
            f"{place}: this row has no run.py ({status})", "Another stack may have one: trnui show lists them."
        )
    if sys.stdout.isatty():
        print(clean(script))
    else:
        sys.stdout.buffer.write(str(script).encode("utf-8", "surrogatepass"))
        sys.stdout.buffer.flush()
    tell(catalog, place)
    return Exit.OK
