"""`e`: a format, a file, written beside the screen by the commands' own writer; the words say what went where."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from trnui.catalog.query import Query
from trnui.tui.widgets.picker import Choice, Picker
from trnui.tui.widgets.text_prompt import TextPrompt
from trnui_runner.common.text import size

if TYPE_CHECKING:
    from trnui.catalog.dataset.snapshot import Source
    from trnui.catalog.engine.query_service import Store
    from trnui.catalog.engine.result_set import Table
    from trnui.tui.context import AppContext

FORMATS = (
    ("csv", "csv", "for a spreadsheet; every value whole"),
    ("tsv", "tsv", "the same with tabs"),
    ("json", "json", "one list of objects"),
    ("jsonl", "jsonl", "one object a line"),
    ("markdown", "md", "a table to paste"),
    ("parquet", "parquet", "the dataset's own types"),
)
Read = Callable[[], "Table"]


def export(context: AppContext, name: str, read: Read) -> None:
    """Asks for format and file, then reads and writes in a thread."""
    offered = [Choice(f, f, note) for f, _, note in FORMATS]

    def with_format(chosen: tuple[str, ...] | None) -> None:
        if not chosen:
            return
        ending = next(e for f, e, _ in FORMATS if f == chosen[0])
        file = Path.cwd() / f"trnui-{name}-{time.strftime('%Y%m%d-%H%M%S')}.{ending}"
        context.push_screen(
            TextPrompt(f"Write {chosen[0]} to", str(file)), lambda path: _write(context, read, chosen[0], path)
        )

    context.push_screen(Picker("Export", offered), with_format)


def _write(context: AppContext, read: Read, format_: str, path: str | None) -> None:
    if path is None:
        return
    file = Path(path).expanduser()
    safe = bool(context.settings.spreadsheet_safe)

    def work() -> Callable[[], None]:
        import io

        from trnui.catalog.analysis.export import write
        from trnui_runner.common.errors import UserError
        from trnui_runner.common.files import write_atomic

        table = read()
        sink, raw = io.StringIO(), io.BytesIO()
        write(table, format_, raw if format_ == "parquet" else sink, spreadsheet_safe=safe)
        data = raw.getvalue() if format_ == "parquet" else sink.getvalue().encode("utf-8", "surrogatepass")
        try:
            write_atomic(file, data, 0o644)
        except OSError as error:
            raise UserError(f"{file}: {error.strerror}", "Choose another folder.") from error
        return lambda: context.say(f"{len(table.rows):,} rows, {size(len(data))} written: {file}")

    context.in_thread(work, "export")


def list_table(
    source: Source, store: Store, query: Query, marked: Collection[tuple[object, ...]], marks: Sequence[str]
) -> Table:
    """Every row of the query, not only those on screen; with marks only the marked ones. For a thread."""
    from dataclasses import replace

    from trnui.catalog.engine.catalog import Catalog
    from trnui.catalog.engine.result_set import all_columns

    cursor = store.database.connection.cursor()
    try:
        found = Catalog.over(source, store.database, cursor).rows(query, all_columns(query.view, scripts=False))
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
