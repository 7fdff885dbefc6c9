"""`trnui list`: rows of a view, filtered and sorted; counts and provenance on stderr."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from trnui.cli.choices import NearestChoice
from trnui.cli.list_columns import listed
from trnui.cli.list_query import query_of
from trnui.cli.shared_options import GlobalOptions, global_options, note
from trnui.cli.shell_completion import columns as column_names
from trnui.cli.shell_completion import instances, models, results, saved_views, sort_columns, tasks
from trnui.cli.stack_options import stack_options, tell, with_stack
from trnui.cli.table_output import Output, chosen_format, output_options, put_in, put_text
from trnui_runner.common.errors import DataError, Exit, UsageError
from trnui_runner.common.text import thousands

if TYPE_CHECKING:
    from trnui.catalog.engine.catalog import Catalog
    from trnui.catalog.engine.result_set import Table
    from trnui.catalog.query import Query

FEW: Final = 5  # times as many rows on another stack, and the newest one has few
VIEWS: Final = ("selected", "trending", "downloads", "runs", "failures")


@click.command("list")
@click.option("--view", type=NearestChoice(VIEWS), default="selected", help="Which rows (default: selected).")
@click.option("--task", metavar="T", shell_complete=tasks, help="Task, as text-generation.")
@click.option("--search", metavar="TEXT", default="", help="Any part of the model's name; no wildcards.")
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
@click.option(
    "--model", "model", metavar="M", multiple=True, shell_complete=models, help="Exactly this model; repeatable."
)
@click.option("--mine", is_flag=True, help="Models in the Hub's cache on this host, each with its best known result.")
@click.option(
    "--from", "from_", metavar="FILE|-", multiple=True, help="The same for the models named in a file, one a line."
)
@click.option("--org", metavar="O", help="The same for the models of an organisation on the Hub.")
@click.option("--collection", metavar="C", help="The same for a collection of the Hub: owner/name, or its address.")
@click.option(
    "--host",
    metavar="INSTANCE",
    shell_complete=instances,
    help="What trn2.3xlarge, trn2.48xlarge, … would hold, and the cost.",
)
@click.option("--max-cores", metavar="N", type=click.IntRange(min=1), help="At most N Trainium cores.")
@click.option(
    "--sort", metavar="COL[:desc]", shell_complete=sort_columns, help="Sort by a column; absent values come last."
)
@click.option("--limit", metavar="N", type=click.IntRange(min=0), help="At most N rows.")
@click.option(
    "--columns",
    metavar="shown|all|C,…",
    shell_complete=column_names,
    help="Columns (default: shown; json, jsonl and parquet: all but run_py).",
)
@click.option(
    "--saved", metavar="NAME", shell_complete=saved_views, help="A saved view; other options count on top of it."
)
@click.option("--save", metavar="NAME", help="Save these filters and columns under a name.")
@output_options
@global_options
@click.pass_obj
def command(
    options: GlobalOptions,
    view: str,
    task: str | None,
    search: str,
    anywhere: str,
    result_: tuple[str, ...],
    neuronx_cc: tuple[str, ...],
    library: str | None,
    library_version: tuple[str, ...],
    model: tuple[str, ...],
    mine: bool,
    from_: tuple[str, ...],
    org: str | None,
    collection: str | None,
    host: str | None,
    max_cores: int | None,
    sort: str | None,
    limit: int | None,
    columns: str | None,
    saved: str | None,
    save: str | None,
    format_: str | None,
    output: Path | None,
    no_truncate: bool,
    spreadsheet_safe: bool,
) -> int:
    """Rows of a view: one model on one stack each. With --mine, --from, --org or --collection: one line a model."""
    from trnui.catalog import saved_views as views
    from trnui.catalog.analysis.what_if import named as instance
    from trnui.catalog.columns import RANKED
    from trnui.catalog.engine.catalog import open_catalog
    from trnui.catalog.query import View

    start = views.named(saved) if saved is not None else None
    query = query_of(
        start, view=view, task=task, search=search, anywhere=anywhere, result=result_, max_cores=max_cores, models=model,
        sort=sort, limit=limit,
    )  # fmt: skip
    columns = columns or (start.columns if start else "") or None
    what_if = instance(host, options.settings.price_per_hour) if host is not None else None
    where = Output(chosen_format(format_, output), output, no_truncate, spreadsheet_safe)
    named = mine or bool(from_) or org is not None or collection is not None
    if named:
        _refuse_with_names(query, columns)
    catalog = open_catalog(options, own=query.view is View.RUNS, rankings=named or query.view in RANKED)
    if query.view is View.RUNS:
        from trnui.catalog.dataset.own_results import damaged_runs

        for run_id, problem in damaged_runs():
            note(f"run {run_id} cannot be read: {problem}")
    query = with_stack(
        catalog,
        query,
        neuronx_cc or query.neuronx_cc,
        library or query.library,
        library_version or query.library_version,
    )
    if save is not None:
        replaced = views.save(save, views.SavedView(query, columns or ""))
        note(f"saved view {save}{' replaced' if replaced else ''}: trnui list --saved {save}")
    if named:
        from trnui.cli.list_mine import list_mine

        return list_mine(options, catalog, query, mine, from_, org, collection, what_if, where)
    if query.view is View.FAILURES and columns is None:
        return _by_cause(catalog, query, options, where)
    table = listed(catalog, query, columns, where.format, what_if)
    if query.view in RANKED and not table.total:
        raise DataError(
            f"no {query.view} list of {query.task or 'text-generation'} on disk", "trnui sync fetches the Hub's lists."
        )
    if where.format == "html":
        from trnui.catalog.analysis.html_report import table_page

        put_text(
            table_page(f"trnui list: {query.view}", table, catalog.provenance, (counts(table, query),)),
            where.file,
            "list",
        )
    else:
        put_in(table, options, where)
    tell(
        catalog,
        counts(table, query),
        ranking_words(query.task) if query.view in RANKED else "",
        hint(catalog, query, table),
        what_if.words if what_if else "",
    )
    return Exit.OK


def _refuse_with_names(query: Query, columns: str | None) -> None:
    """What a line a model, with its best result, cannot be filtered by."""
    from trnui.catalog.query import Query

    usual = Query()
    for name, option in (
        ("view", "--view"),
        ("task", "--task"),
        ("anywhere", "--anywhere"),
        ("max_cores", "--max-cores"),
        ("models", "--model"),
        ("sort", "--sort"),
    ):
        if getattr(query, name) != getattr(usual, name):
            raise UsageError(
                f"{option} does not go with --mine, --from, --org and --collection",
                "--search, --result, --limit and the stack options do.",
            )
    if columns is not None:
        raise UsageError("--columns does not go with --mine, --from, --org and --collection", "Leave it out.")


def hint(catalog: Catalog, query: Query, table: Table) -> str:
    """Where a filter matches nothing here, how much it would match on other stacks."""
    from trnui.catalog.analysis.elsewhere import matches_elsewhere

    if table.count:
        return few_here(catalog, query)
    count = matches_elsewhere(catalog.database, query, catalog.connection)
    if not count:
        return ""
    rows = f"{thousands(count)} row{'s' * (count != 1)}"
    return f"{rows} on other stacks: --neuronx-cc all --library-version all shows {'it' if count == 1 else 'them'}"


def few_here(catalog: Catalog, query: Query) -> str:
    """That the stack which nobody asked for has few rows beside the others, as when a new version has just come."""
    from trnui.catalog.query import View

    if query.neuronx_cc or query.library_version or query.library or query.view is not View.SELECTED:
        return ""
    here, most = catalog.default_share()
    if not here or here * FEW > most:
        return ""
    rows = f"{thousands(here)} row{'s' * (here != 1)}"
    return f"only {rows} on the newest stack, up to {thousands(most)} on others: --neuronx-cc all --library-version all shows them"


def ranking_words(task: str | None) -> str:
    """Whose list this is and how old."""
    from trnui.catalog.dataset.rankings import load
    from trnui_runner.common.dataset_schema import TASKS

    found = load(task or TASKS[0])
    return found.words if found else ""


def _by_cause(catalog: Catalog, query: Query, options: GlobalOptions, where: Output) -> int:
    """Failing rows by cause. The rows themselves: `--columns shown`, or `--result FAIL` in another view."""
    from trnui.catalog.analysis.failures import COLUMNS, group
    from trnui.catalog.analysis.failures import table as lines
    from trnui.catalog.engine.result_set import Table

    causes = group(catalog.database, query, catalog.connection)
    if where.format != "html":
        rows = lines(causes[: query.limit], names=where.format in ("json", "jsonl"))
        put_in(Table(COLUMNS, tuple(rows)), options, where)
    _, stacks = catalog.database.resolve(query)
    rows_, causes_ = sum(c.rows for c in causes), len(causes)
    failing = f"{thousands(rows_)} failing row{'s' * (rows_ != 1)}, {thousands(causes_)} cause{'s' * (causes_ != 1)}"
    on = f"stack {stacks[0]}" if len(stacks) == 1 else f"{len(stacks)} stacks" if stacks else "all stacks"
    if where.format == "html":
        from trnui.catalog.analysis.html_report import failures_page

        put_text(failures_page(causes[: query.limit], catalog.provenance, f"{failing} · {on}"), where.file, "failures")
    tell(catalog, f"{failing} · {on}", "--columns shown lists the rows themselves")
    return Exit.OK


def counts(table: Table, query: Query) -> str:
    """`29 of 910 rows · 1 excluded · stack 2.28.7631.0+0a1b2c3d / transformers 5.20.2`; a cut list says so."""
    words = f"{thousands(table.count)} of {thousands(table.total)} row{'s' * (table.total != 1)}"
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
