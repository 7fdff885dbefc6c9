"""Small questions to the database that a screen asks in a thread: where a model is now, the rankings as the list needs them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from trnui.catalog.query import Query

if TYPE_CHECKING:
    from trnui.catalog.database import Database
    from trnui.catalog.rankings import Ranking


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


def ranking_rows(rankings: Iterable[Ranking]) -> list[tuple[Any, ...]]:
    """As Database.set_rankings takes them."""
    return [
        (view, r.task, m.rank, m.model_id, m.downloads, m.trending_score, m.parameters, m.gated)
        for r in rankings
        for view, models in (("trending", r.trending), ("downloads", r.downloads))
        for m in models
    ]
