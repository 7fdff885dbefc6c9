"""Which columns `trnui list` shows, and the rows with them; `elsewhere` is worked out for the rows listed, not stored."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from trnui.cli.stack_options import split
from trnui_runner.common.errors import UsageError

if TYPE_CHECKING:
    from trnui.catalog.engine.catalog import Catalog
    from trnui.catalog.engine.result_set import Table
    from trnui.catalog.query import Query, View

ELSEWHERE_ROWS: Final = 5_000  # more rows than this for a person, and `elsewhere` has to be asked for


def listed(catalog: Catalog, query: Query, words: str | None, format_: str) -> Table:
    """The rows of a query with the columns that `--columns` (`words`) means. Raises UsageError."""
    from trnui.catalog.analysis.elsewhere import COLUMN, NEEDED, with_elsewhere

    names = column_names(words, format_, query.view)
    if COLUMN not in names:
        return catalog.rows(query, names)
    stored = tuple(c for c in names if c != COLUMN)
    table = catalog.rows(query, tuple(dict.fromkeys((*stored, *NEEDED))))
    asked_for = words not in (None, "shown") or format_ not in ("table", "markdown")
    if not asked_for and (len(table.rows) > ELSEWHERE_ROWS or len(catalog.stacks()) < 2):
        return table.only(stored)
    return with_elsewhere(catalog.database, table, catalog.connection).only(names)


def column_names(words: str | None, format_: str, view: View) -> tuple[str, ...]:
    """`elsewhere` is among those for a person and those of whole records; csv and tsv have it when it is named."""
    from trnui.catalog.analysis.elsewhere import COLUMN
    from trnui.catalog.engine.result_set import all_columns, shown_columns
    from trnui.catalog.query import View

    elsewhere = () if view is View.RUNS else (COLUMN,)
    if words == "all":
        return (*all_columns(view), *elsewhere)
    if words in (None, "shown"):
        if words is None and format_ in ("json", "jsonl", "parquet"):
            return (*all_columns(view, scripts=False), *elsewhere)
        shown = shown_columns(view)
        if format_ not in ("table", "markdown"):
            return (*shown, "tested_at")
        return (*shown[:-1], *elsewhere, shown[-1])
    found = split((words or "",))
    if not found:
        raise UsageError("--columns names no column", "shown, all, or names with commas between them.")
    return found
