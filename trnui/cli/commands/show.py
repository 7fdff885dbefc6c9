"""`trnui show MODEL`: everything known about a model, as text or JSON."""

from __future__ import annotations

import shutil
import sys

import click

from trnui.cli.choices import NearestChoice
from trnui.cli.shared_options import GlobalOptions, global_options
from trnui.cli.shell_completion import instances, models
from trnui.cli.stack_options import stack_options, tell, with_stack
from trnui_runner.common.errors import Exit


@click.command("show")
@click.argument("model", shell_complete=models)
@stack_options
@click.option("--full", is_flag=True, help="The whole error and the whole notes.")
@click.option("--online", is_flag=True, help="Look a name up on the Hub that is in no list on disk.")
@click.option(
    "--host",
    metavar="INSTANCE",
    shell_complete=instances,
    help="What trn2.3xlarge, trn2.48xlarge, … would hold, and the cost.",
)
@click.option("--format", "format_", type=NearestChoice(("text", "json")), default="text")
@global_options
@click.pass_obj
def command(
    options: GlobalOptions,
    model: str,
    neuronx_cc: tuple[str, ...],
    library: str | None,
    library_version: tuple[str, ...],
    full: bool,
    online: bool,
    host: str | None,
    format_: str,
) -> int:
    """Everything about MODEL: result, stack, packages, error, all other stacks, commands."""
    from trnui.catalog.analysis.export import dumps
    from trnui.catalog.analysis.model_report import ROW_COLUMNS, Sheet
    from trnui.catalog.analysis.nearest_lookup import suggestions
    from trnui.catalog.analysis.what_if import named as instance
    from trnui.catalog.engine.catalog import UnknownModelError, open_catalog
    from trnui.catalog.hub import inference_catalog
    from trnui.catalog.query import Query, View

    what_if = instance(host, options.settings.price_per_hour) if host is not None else None
    catalog = open_catalog(options, own=True, rankings=True)
    query = with_stack(catalog, Query(), neuronx_cc, library, library_version)
    try:
        name = catalog.find(model)
    except UnknownModelError:
        if not online:
            raise
        from trnui.catalog.hub.lookup import look_up

        detail = look_up(model, options.settings, offline=options.offline)
        name = str(detail.values["model_id"])
        usual = True
    else:
        identity = catalog.identity_of(name, query)
        detail = catalog.detail(identity)
        usual = identity == catalog.identity_of(name, Query())
    rows = catalog.rows_of(name, ROW_COLUMNS)
    runs = catalog.rows_of(name, ("run", "status", "kind", "device", "tp", "wall_s"), View.RUNS)
    found = suggestions(catalog.database, detail, catalog.provenance.dataset, catalog.connection)
    recipes = inference_catalog.load()
    sheet = Sheet(
        detail,
        rows,
        runs,
        catalog.provenance,
        options.settings.neuron_index,
        usual,
        found,
        recipes.of(name) if recipes else (),
        what_if,
    )
    if format_ == "json":
        print(dumps(sheet.to_json(), indent=1))
    else:
        width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
        for line in sheet.lines(full=full, width=width):
            print(line)
    tell(catalog)
    return Exit.OK
