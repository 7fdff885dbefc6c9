"""What a filter would match on the other stacks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trnui.catalog.engine.sql_builder import build, counts_sql
from trnui.catalog.query import ALL, Query, View

if TYPE_CHECKING:
    import duckdb

    from trnui.catalog.engine.database import Database


def matches_elsewhere(database: Database, query: Query, cursor: duckdb.DuckDBPyConnection | None = None) -> int:
    """How many rows pass the query's filters on stacks other than those it means; 0 for a query about all of them."""
    if query.view not in (View.SELECTED, View.FAILURES):
        return 0
    ids, _ = database.resolve(query)
    if ids is None:
        return 0
    cursor = cursor or database.connection.cursor()
    everywhere = query.but(neuronx_cc=(ALL,), library_version=(ALL,), sort=None, limit=None)
    counted = []
    for one, stacks in ((everywhere, database.resolve(everywhere)[0]), (query.but(sort=None, limit=None), ids)):
        sql = build(one, stacks)
        counted.append(int(cursor.execute(counts_sql(sql), sql.all_parameters).fetchall()[0][1]))
    return counted[0] - counted[1]
