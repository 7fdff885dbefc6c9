"""The columns that `r` does not hold, or only the heads of, for many rows at once: read file by file, by line."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from trnui.catalog.dataset.loader import HEADS, READ_NUMBERED, glob_safe, unreadable
from trnui.catalog.engine.database import OWN_BASE, UNTESTED_BASE, Database
from trnui_runner.common.dataset_schema import COLUMNS
from trnui_runner.common.errors import DataError

if TYPE_CHECKING:
    import duckdb

DEEP: Final = (*HEADS, "runner", "cpu_match", "english", "run_py")
"""The dataset's columns that are read from the files."""


def deep_values(
    database: Database, cursor: duckdb.DuckDBPyConnection, ids: Sequence[int], columns: Sequence[str]
) -> dict[int, tuple[object, ...]]:
    """The `columns` (of DEEP) of rows by identity; models without a row are left out. Raises DataError."""
    found: dict[int, tuple[object, ...]] = {}
    for identity in ids:
        if identity < 0:
            row = database.own[OWN_BASE - identity]
            found[identity] = tuple(row.get(c) for c in columns)
    wanted = [i for i in ids if 0 <= i < UNTESTED_BASE]
    for number, lines in _places(cursor, wanted).items():
        for line, values in _lines(database, cursor, number, lines, columns):
            found[lines[line]] = values
    return found


def _places(cursor: duckdb.DuckDBPyConnection, ids: Sequence[int]) -> dict[int, dict[int, int]]:
    """File number → line → identity."""
    places: dict[int, dict[int, int]] = defaultdict(dict)
    if ids:
        sql = "SELECT rowid, file, line FROM r WHERE rowid IN (SELECT unnest(?::BIGINT[])) ORDER BY rowid"
        for identity, file, line in cursor.execute(sql, [list(ids)]).fetchall():
            places[file][line] = identity
    return places


def _lines(
    database: Database, cursor: duckdb.DuckDBPyConnection, number: int, lines: dict[int, int], columns: Sequence[str]
) -> list[tuple[int, tuple[object, ...]]]:
    import duckdb

    path, mapping = database.files[number], database.mappings[number]
    chosen = ", ".join(mapping.sql(c) for c in columns if c in COLUMNS)
    sql = f"SELECT file_row_number, {chosen} FROM {READ_NUMBERED} WHERE file_row_number IN (SELECT unnest(?::BIGINT[]))"
    try:
        rows = cursor.execute(sql, [glob_safe(path), list(lines)]).fetchall()
    except duckdb.InterruptException:
        raise
    except duckdb.Error as error:
        raise DataError(f"{database.names[number]} {unreadable(path, error)}") from error
    return [(row[0], row[1:]) for row in rows]
