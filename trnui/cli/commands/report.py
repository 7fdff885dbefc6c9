"""`trnui report`: a run as a bug report, redacted: Markdown, or one HTML file."""

from __future__ import annotations

from pathlib import Path

import click

from trnui.cli.shared_options import global_options, note
from trnui.cli.shell_completion import runs
from trnui_runner.common.errors import Exit, UserError


@click.command("report")
@click.argument("run_id", metavar="ID", shell_complete=runs)
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write to a file: .md or .html, one self-contained page.",
)
@global_options
def command(run_id: str, output: Path | None) -> int:
    """A run as a bug report: row, stack, commands, environment, first error, log tail; tokens, accounts, host names, home
    folders and addresses redacted.

    ID is a run's id, a part of it, or `last`.
    """
    from trnui_runner.cli.run_commands import one_run
    from trnui_runner.common.files import write_given
    from trnui_runner.result.bug_report import report

    run = one_run(run_id)
    if output is not None and output.suffix.lower() in (".html", ".htm"):
        from trnui.catalog.analysis.html_report import run_page

        text = run_page(run, report)
    else:
        text = report(run)
    if output is None or str(output) == "-":
        print(text, end="")
        return Exit.OK
    try:
        write_given(output, text, 0o600)
    except OSError as error:
        raise UserError(f"{output}: cannot be written ({error.strerror})") from error
    note(f"report of {run.id} written to {output}")
    return Exit.OK
