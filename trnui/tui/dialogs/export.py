"""`e`: a format, a file, written beside the screen by the commands' own writer; the words say what went where."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from trnui.catalog.query import Query
from trnui.tui.dialogs.save_file import ask_path
from trnui.tui.widgets.picker import Choice, Picker
from trnui_runner.common.text import size

if TYPE_CHECKING:
    from trnui.catalog.dataset.snapshot import DatasetSource
    from trnui.catalog.engine.query_service import Store
    from trnui.catalog.engine.result_set import Table
    from trnui.tui.context import AppContext

FORMATS = (
    ("csv", "csv", "for a spreadsheet; every value whole", "c"),
    ("tsv", "tsv", "the same with tabs", "t"),
    ("json", "json", "one list of objects", "o"),
    ("jsonl", "jsonl", "one object a line", "l"),
    ("markdown", "md", "a table to paste", "m"),
    ("parquet", "parquet", "the dataset's own types", "p"),
)
Read = Callable[[], "Table"]


def export(context: AppContext, name: str, read: Read) -> None:
    """Asks for format and file, then reads and writes in a thread."""
    offered = [Choice(f, f, note, key) for f, _, note, key in FORMATS]

    def with_format(chosen: tuple[str, ...] | None) -> None:
        if not chosen:
            return
        ending = next(e for f, e, _, _ in FORMATS if f == chosen[0])
        file = Path.cwd() / f"trnui-{name}-{time.strftime('%Y%m%d-%H%M%S')}.{ending}"
        safe = context.settings.spreadsheet_safe
        ask_path(context, f"Write {chosen[0]} to", str(file), lambda path: _write(read, chosen[0], path, safe))

    context.push_screen(Picker("Export", offered, hint="a letter, or Enter takes  Esc back"), with_format)


def _write(read: Read, format_: str, file: Path, safe: bool) -> str:
    """Reads and writes, in a thread; the words say what went where."""
    import io

    from trnui.catalog.analysis.export import write
    from trnui_runner.common.files import write_atomic

    table = read()
    sink, raw = io.StringIO(), io.BytesIO()
    write(table, format_, raw if format_ == "parquet" else sink, spreadsheet_safe=safe)
    data = raw.getvalue() if format_ == "parquet" else sink.getvalue().encode("utf-8", "surrogatepass")
    write_atomic(file, data, 0o644)
    rows = len(table.rows)
    cut = f" of {table.count:,}" if table.count > rows else ""
    return f"{rows:,}{cut} row{'s' * (rows != 1)}, {size(len(data))} written: {file}"


def list_table(
    source: DatasetSource, store: Store, query: Query, marked: Collection[tuple[object, ...]], marks: Sequence[str]
) -> Table:
    """Every row of the query, not only those on screen; with marks only the marked ones. For a thread."""
    from dataclasses import replace

    from trnui.catalog.columns import whole_row
    from trnui.catalog.engine.catalog import Catalog

    cursor = store.database.connection.cursor()
    try:
        found = Catalog.over(source, store.database, cursor).rows(query, whole_row(query.view, scripts=False))
    finally:
        cursor.close()
    if not marked:
        return found
    at = [found.columns.index(n) for n in marks]
    kept = [n for n, row in enumerate(found.rows) if tuple(row[i] for i in at) in marked]
    return replace(
        found, rows=tuple(found.rows[n] for n in kept), ids=tuple(found.ids[n] for n in kept), count=len(kept)
    )


def rows_table(names: Sequence[str], rows: Sequence[Sequence[object]]) -> Table:
    """Rows that a sheet has at hand."""
    from trnui.catalog.engine.result_set import Table

    return Table(tuple(names), tuple(tuple(r) for r in rows), (), len(rows), len(rows))
