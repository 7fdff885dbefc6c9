"""Small questions to the database that a screen asks in a thread: where a model is now."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trnui.catalog.query import Query

if TYPE_CHECKING:
    from trnui.catalog.database import Database
    from trnui.catalog.snapshot import Source


def identity_of(database: Database, query: Query, model: str) -> int | None:
    """The identity of the model's first row in this list; None when it is not there. For any thread."""
    from trnui.catalog.sql import build, rows_sql

    ids, _ = database.resolve(query)
    sql = build(query.but(models=(model,)), ids)
    cursor = database.connection.cursor()
    try:
        found = cursor.execute(rows_sql(sql, limit=1), sql.all_parameters).fetchall()
    finally:
        cursor.close()
    return int(found[0][0]) if found else None


def records_of(source: Source, database: Database, query: Query, columns: tuple[str, ...]) -> list[dict[str, object]]:
    """Rows of a query with any columns that the commands know, long texts included. For any thread."""
    from trnui.catalog.catalog import Catalog

    cursor = database.connection.cursor()
    try:
        return Catalog.over(source, database, cursor).rows(query, columns).records()
    finally:
        cursor.close()
