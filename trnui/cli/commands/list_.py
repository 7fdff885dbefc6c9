"""`trnui list`: rows of a view, filtered and sorted; counts and provenance on stderr."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from trnui.cli.list_columns import listed
from trnui.cli.shared_options import Options, global_options
from trnui.cli.shell_completion import results, tasks
from trnui.cli.stack_options import split, stack_options, tell, with_stack
from trnui.cli.table_output import chosen_format, output_options, put
from trnui_runner.common.errors import DataError, Exit, UsageError
from trnui_runner.common.text import one_line, thousands

if TYPE_CHECKING:
    from trnui.catalog.engine.catalog import Catalog
    from trnui.catalog.engine.result_set import Table
    from trnui.catalog.query import Query

VIEWS: Final = ("selected", "trending", "downloads", "runs", "failures")
STATUSES: Final = ("PASS", "FAIL", "EXCLUDED", "UNTESTED", "OTHER")


@click.command("list")
@click.option("--view", type=click.Choice(VIEWS), default="selected", help="Which rows (default: selected).")
@click.option("--task", metavar="T", shell_complete=tasks, help="Task, as text-generation.")
@click.option(
    "--search", metavar="TEXT", default="", help="Any part of the model's name; every character is an ordinary one."
)
@click.option(
    "--anywhere", metavar="TEXT", default="", help="Any part of name, notes, exclusion or the head of the error."
)
@click.option(
    "--result",
    "result_",
    metavar="R,…",
    multiple=True,
    shell_complete=results,
    help="PASS, FAIL, EXCLUDED, UNTESTED, OTHER.",
)
@stack_options
@click.option("--max-cores", metavar="N", type=click.IntRange(min=1), help="At most N Trainium cores.")
@click.option("--sort", metavar="COL[:desc]", help="Sort by a column; absent values come last.")
@click.option("--limit", metavar="N", type=click.IntRange(min=0), help="At most N rows.")
@click.option(
    "--columns", metavar="shown|all|C,…", help="Columns (default: shown; json, jsonl and parquet: all but run_py)."
)
@output_options
@global_options
@click.pass_obj
def command(
    options: Options,
    view: str,
    task: str | None,
    search: str,
    anywhere: str,
    result_: tuple[str, ...],
    neuronx_cc: tuple[str, ...],
    library: str | None,
    library_version: tuple[str, ...],
    max_cores: int | None,
    sort: str | None,
    limit: int | None,
    columns: str | None,
    format_: str | None,
    output: Path | None,
    no_truncate: bool,
    spreadsheet_safe: bool,
) -> int:
    """Rows of a view: one model on one stack each."""
    from trnui.catalog.dataset.normalize_sql import TASK_NAMES
    from trnui.catalog.engine.catalog import open_catalog
    from trnui.catalog.engine.sql_builder import RANKED
    from trnui.catalog.query import Query, View
    from trnui_runner.common.dataset_schema import TASKS

    chosen = View(view)
    column, _, direction = (sort or "").partition(":")
    if direction not in ("", "asc", "desc"):
        raise UsageError(f"--sort {sort}: after the colon comes asc or desc")
    query = Query(
        view=chosen,
        task=task,
        text=search,
        anywhere=anywhere,
        results=statuses(result_),
        max_cores=max_cores,
        sort=column or None,
        descending=direction == "desc",
        limit=limit,
    )
    catalog = open_catalog(options, own=chosen is View.RUNS, rankings=chosen in RANKED)
    query = with_stack(catalog, query, neuronx_cc, library, library_version)
    tasks_known = TASKS if chosen in RANKED else TASK_NAMES
    if task is not None and task not in tasks_known:
        raise UsageError(f"--task {one_line(task, 80)}: no such task", f"Tasks: {', '.join(tasks_known)}")
    format_ = chosen_format(format_, output)
    if chosen is View.FAILURES and columns is None:
        return _by_cause(catalog, query, options, format_, output, no_truncate, spreadsheet_safe)
    table = listed(catalog, query, columns, format_)
    if chosen in RANKED and not table.total:
        raise DataError(f"no {view} list of {task or 'text-generation'} on disk", "trnui sync fetches the Hub's lists.")
    put(table, options, format_=format_, output=output, no_truncate=no_truncate, spreadsheet_safe=spreadsheet_safe)
    tell(
        catalog,
        counts(table, query),
        ranking_words(query.task) if chosen in RANKED else "",
        hint(catalog, query, table),
    )
    return Exit.OK


def hint(catalog: Catalog, query: Query, table: Table) -> str:
    """Where a filter matches nothing here, how much it would match on other stacks."""
    from trnui.catalog.analysis.elsewhere import matches_elsewhere

    if table.count:
        return ""
    count = matches_elsewhere(catalog.database, query, catalog.connection)
    if not count:
        return ""
    rows = f"{thousands(count)} row{'s' * (count != 1)}"
    return f"{rows} on other stacks: --neuronx-cc all --library-version all shows {'it' if count == 1 else 'them'}"


def ranking_words(task: str | None) -> str:
    """Whose list this is and how old."""
    from trnui.catalog.dataset.rankings import load
    from trnui_runner.common.dataset_schema import TASKS

    found = load(task or TASKS[0])
    return found.words if found else ""


def _by_cause(
    catalog: Catalog, query: Query, options: Options, format_: str, output: Path | None, no_truncate: bool, safe: bool
) -> int:
    """Failing rows by cause. The rows themselves: `--columns shown`, or `--result FAIL` in another view."""
    from trnui.catalog.analysis.failures import COLUMNS, group
    from trnui.catalog.analysis.failures import table as lines
    from trnui.catalog.engine.result_set import Table

    causes = group(catalog.database, query, catalog.connection)
    rows = lines(causes[: query.limit], names=format_ in ("json", "jsonl"))
    put(
        Table(COLUMNS, tuple(rows)),
        options,
        format_=format_,
        output=output,
        no_truncate=no_truncate,
        spreadsheet_safe=safe,
    )
    _, stacks = catalog.database.resolve(query)
    rows_, causes_ = sum(c.rows for c in causes), len(causes)
    failing = f"{thousands(rows_)} failing row{'s' * (rows_ != 1)}, {thousands(causes_)} cause{'s' * (causes_ != 1)}"
    where = f"stack {stacks[0]}" if len(stacks) == 1 else f"{len(stacks)} stacks" if stacks else "all stacks"
    tell(catalog, f"{failing} · {where}", "--columns shown lists the rows themselves")
    return Exit.OK


def statuses(words: tuple[str, ...]) -> tuple[str, ...]:
    """Names of results, in any case, several with commas. Raises UsageError."""
    found = tuple(
        word.upper().replace("NOT TESTED", "UNTESTED").replace("NOT_TESTED", "UNTESTED") for word in split(words)
    )
    for word in found:
        if word not in STATUSES:
            raise UsageError(f"--result {word}: no such result", f"Results: {', '.join(STATUSES)}")
    return found


def counts(table: Table, query: Query) -> str:
    """`29 of 910 rows · 1 excluded · stack 2.28.7631.0+0a1b2c3d / transformers 5.20.2`; a cut list says so."""
    words = f"{thousands(table.count)} of {thousands(table.total)} rows"
    parts = [words]
    if len(table.rows) < table.count:
        parts.append(f"only the first {thousands(len(table.rows))} shown")
    if table.excluded:
        parts.append(f"{thousands(table.excluded)} excluded")
    if len(table.stacks) == 1:
        parts.append(f"stack {table.stacks[0]}")
    elif query.view != "runs":
        parts.append(f"{len(table.stacks)} stacks" if table.stacks else "all stacks")
    if "wall_s" in table.columns and table.rows:
        parts.append("wall_s includes compilation")
    return " · ".join(parts)
