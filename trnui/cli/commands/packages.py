"""`trnui packages MODEL`: what to install for a row, as a command, with where each requirement comes from."""

from __future__ import annotations

import click

from trnui.cli.row_choice import chosen_row, stack_words
from trnui.cli.shared_options import GlobalOptions, global_options
from trnui.cli.shell_completion import models
from trnui.cli.stack_options import stack_options, tell
from trnui_runner.common.errors import Exit
from trnui_runner.common.text import one_line


@click.command("packages")
@click.argument("model", shell_complete=models)
@stack_options
@click.option("--python", metavar="P", help="Interpreter, or an environment's folder, to install into.")
@click.option("--format", "format_", type=click.Choice(("text", "json")), default="text")
@global_options
@click.pass_obj
def command(
    options: GlobalOptions,
    model: str,
    neuronx_cc: tuple[str, ...],
    library: str | None,
    library_version: tuple[str, ...],
    python: str | None,
    format_: str,
) -> int:
    """What to install to reproduce MODEL's row. The text is a shell script: a command, and comments that say why."""
    from trnui.catalog.analysis.export import dumps
    from trnui.catalog.dataset.packages import NONE_NAMED, install_command, packages_of
    from trnui.catalog.engine.catalog import open_catalog
    from trnui_runner.host.interpreter import resolve

    catalog = open_catalog(options)
    detail = chosen_row(catalog, model, neuronx_cc, library, library_version)
    found = packages_of(detail.values)
    wanted = python or str(options.settings.python)
    interpreter = resolve(wanted) if wanted else "python3"
    install = install_command(found, options.settings.neuron_index, interpreter)
    extras = [p for p in found if p.extra]
    if format_ == "json":
        listed = [{"requirement": p.requirement, "origin": p.origin, "extra": p.extra} for p in found]
        words = None if extras else NONE_NAMED
        print(
            dumps(
                {
                    "model_id": detail.values["model_id"],
                    "packages": listed,
                    "install": install or None,
                    "extras": words,
                },
                indent=1,
            )
        )
    else:
        width = max((len(p.requirement) for p in found), default=0)
        for package in found:
            print(f"# {one_line(package.requirement):<{width}}  {one_line(package.origin)}")
        if not extras:
            print(f"# beyond the stack: {NONE_NAMED}")
        if detail.values.get("python"):
            print(f"# tested with Python {one_line(detail.values['python'])}")
        if install and not wanted:
            print("# installs into the first python3 on the PATH; --python or the setting python names another")
        print(install or "# nothing to install is named")
    tell(catalog, f"{detail.values['model_id']} · {stack_words(detail)}")
    return Exit.OK
