"""`trnui sql "SELECT …"`: one read-only query over results, rankings and runs."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from trnui.cli.shared_options import GlobalOptions, global_options, note
from trnui.cli.table_output import chosen_format, output_options, put
from trnui_runner.common.errors import Exit, UsageError
from trnui_runner.common.text import seconds, thousands

ROWS = 10_000


@click.command("sql")
@click.argument("query", metavar="QUERY", required=False)
@click.option(
    "--limit", metavar="N", type=click.IntRange(min=1), default=ROWS, show_default=True, help="At most N rows."
)
@click.option(
    "--timeout", metavar="S", type=click.FloatRange(min=0.1), default=30.0, show_default=True, help="At most S seconds."
)
@click.option(
    "--memory",
    metavar="MIB",
    type=click.IntRange(min=64),
    default=1024,
    show_default=True,
    help="Memory limit, beyond the loaded data.",
)
@output_options
@global_options
@click.pass_obj
def command(
    options: GlobalOptions,
    query: str | None,
    limit: int,
    timeout: float,
    memory: int,
    format_: str | None,
    output: Path | None,
    no_truncate: bool,
    spreadsheet_safe: bool,
) -> int:
    """One SELECT over the tables results, rankings and runs; QUERY - or none reads it from stdin.

    results: the dataset's columns, then status, kind, device, task, parallelism, source (file) and row.
    rankings: ranking, task, rank, model_id, downloads, trending_score, parameters, gated. runs: own finished runs.
    `DESCRIBE results` lists columns.
    """
    from trnui.catalog.dataset.snapshot import resolve
    from trnui.catalog.engine.sql_console import SqlLimits, run_sql

    if query in (None, "-"):
        if sys.stdin.isatty():
            raise UsageError(
                "trnui sql: no query", 'As in: trnui sql "SELECT status, count(*) FROM results GROUP BY status"'
            )
        query = sys.stdin.read()
    source = resolve(options.settings.dataset, options.offline)
    limits = SqlLimits(seconds=timeout, memory=memory << 20, rows=limit)
    found = run_sql(query or "", source, columns=options.settings.columns, limits=limits)
    put(
        found, options, format_=chosen_format(format_, output), output=output, no_truncate=no_truncate,
        spreadsheet_safe=spreadsheet_safe,
    )  # fmt: skip
    note(("SAMPLE, CPU: " if source.provenance.sample else "") + source.provenance.words)
    note(f"{thousands(len(found.rows))} row{'s' * (len(found.rows) != 1)} in {seconds(found.seconds)}")
    if found.cut:
        note(f"{found.cut}; --limit allows more")
    return Exit.OK
