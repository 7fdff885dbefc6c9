"""`trnui views`: the saved views, each with the `trnui list` line that it stands for."""

from __future__ import annotations

import click

from trnui.cli.choices import NearestChoice
from trnui.cli.shared_options import global_options, note
from trnui.cli.shell_completion import saved_views
from trnui_runner.common.errors import Exit


@click.command("views")
@click.option("--remove", metavar="NAME", shell_complete=saved_views, help="Remove this view.")
@click.option("--format", "format_", type=NearestChoice(["text", "json"]), default="text", show_default=True)
@global_options
def command(remove: str | None, format_: str) -> int:
    """Saved views: name and command line, a tab between them. `trnui list … --save NAME` makes one, `--saved NAME` shows it."""
    from trnui.catalog import saved_views as views
    from trnui.catalog.list_line import list_line

    if remove is not None:
        views.remove(remove)
        note(f"saved view {remove} removed")
        return Exit.OK
    found, problems = views.load()
    lines = {name: list_line(view.query, columns=view.columns) for name, view in found.items()}
    if format_ == "json":
        from trnui.catalog.analysis.export import dumps

        records = [{"name": name, **views.as_table(view), "command": lines[name]} for name, view in found.items()]
        print(dumps(records, indent=1))
    else:
        for name, line in lines.items():
            print(f"{name}\t{line}")
    for problem in problems:
        note(problem)
    if not found and not problems:
        note("none yet: trnui list … --save NAME makes one")
    return Exit.FAILED if problems else Exit.OK
