"""Which columns `trnui list` shows, and the rows with them; `elsewhere` is worked out for the rows listed, not stored."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from trnui.cli.stack_options import split
from trnui_runner.common.errors import UsageError

if TYPE_CHECKING:
    from trnui.catalog.analysis.what_if import WhatIf
    from trnui.catalog.engine.catalog import Catalog
    from trnui.catalog.engine.result_set import Table
    from trnui.catalog.query import Query, View

ELSEWHERE_ROWS: Final = 200_000  # more rows in all than this, and `elsewhere` has to be asked for


def listed(catalog: Catalog, query: Query, words: str | None, format_: str, what_if: WhatIf | None = None) -> Table:
    """The rows of a query with the columns that `--columns` (`words`) means; with `what_if` also what that host would hold.
    Raises UsageError."""
    from trnui.catalog.engine.sql_builder import ELSEWHERE

    names = column_names(words, format_, query.view)
    if what_if is not None:
        return _with_host(catalog, query, names, what_if)
    asked_for = words not in (None, "shown") or format_ not in ("table", "markdown")
    if not asked_for and (catalog.database.rows > ELSEWHERE_ROWS or len(catalog.stacks()) < 2):
        names = tuple(c for c in names if c != ELSEWHERE)
    return catalog.rows(query, names)


def _with_host(catalog: Catalog, query: Query, names: tuple[str, ...], what_if: WhatIf) -> Table:
    """The rows with `fits`, `cores_there` and `usd` in place of what else is worked out for a list."""
    from dataclasses import replace

    from trnui.catalog.analysis.what_if import COLUMNS, estimate
    from trnui.catalog.dataset.rankings import stored

    stored_names = tuple(c for c in names if c not in ("elsewhere", *COLUMNS))
    needed = ("model_id", "status", "tp", "wall_s", "device")
    table = catalog.rows(query, tuple(dict.fromkeys((*stored_names, *needed))))
    sizes = {m.model_id.lower(): m.weight_bytes for r in stored() for m in (*r.trending, *r.downloads)}
    rows = []
    for row, record in zip(table.rows, table.records(), strict=True):
        found = estimate(what_if, record, sizes.get(str(record["model_id"]).lower()))
        rows.append((*row, found.fits, found.cores, None if found.usd is None else round(found.usd, 4)))
    whole = replace(table, columns=(*table.columns, *COLUMNS), rows=tuple(rows))
    chosen = stored_names if "reason" not in stored_names else tuple(c for c in stored_names if c != "reason")
    return whole.only((*chosen, *COLUMNS, *(("reason",) if "reason" in stored_names else ())))


def column_names(words: str | None, format_: str, view: View) -> tuple[str, ...]:
    """csv and tsv have `tested_at` besides what a person sees, and `elsewhere` when it is named."""
    from trnui.catalog.columns import printed, whole_row

    if words == "all":
        return whole_row(view)
    if words in (None, "shown"):
        if words is None and format_ in ("json", "jsonl", "parquet"):
            return whole_row(view, scripts=False)
        if format_ not in ("table", "markdown"):
            return (*(c for c in printed(view) if c != "elsewhere"), "tested_at")
        return printed(view)
    found = split((words or "",))
    if not found:
        raise UsageError("--columns names no column", "shown, all, or names with commas between them.")
    return found
