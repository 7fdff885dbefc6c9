"""The newest result of models on every stack, by name in lower case: what several questions start from."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING

from trnui.catalog.engine.recency import RECENCY
from trnui.catalog.query import Stack

if TYPE_CHECKING:
    import duckdb

    from trnui.catalog.engine.database import Database


@dataclass(frozen=True)
class ModelResult:
    """`model_id` as the dataset spells it."""

    model_id: str
    status: str
    result: str | None
    kind: str | None
    device: str | None
    cores: int | None
    wall_s: int | None
    identity: int


def newest_results(
    database: Database, models: Collection[str], cursor: duckdb.DuckDBPyConnection | None = None
) -> dict[str, dict[Stack, ModelResult]]:
    """For `models`, their names in any case; those without a row are left out."""
    cursor = cursor or database.connection.cursor()
    newest = (
        f"SELECT arg_max(r.rowid, {RECENCY}) FROM r JOIN s ON s.id = r.stack "
        "WHERE r.lower_id IN (SELECT unnest(?::VARCHAR[])) GROUP BY r.lower_id, s.neuronx_cc, s.library_version, s.library"
    )
    sql = (
        "SELECT r.lower_id, s.neuronx_cc, s.library_version, s.library, r.model_id, r.status::VARCHAR, r.result, r.kind::VARCHAR, "
        f"r.device::VARCHAR, r.tp, r.wall_s, r.rowid FROM r JOIN s ON s.id = r.stack WHERE r.rowid IN ({newest})"
    )
    found: dict[str, dict[Stack, ModelResult]] = defaultdict(dict)
    for lower, compiler, version, library, *values in cursor.execute(sql, [[m.lower() for m in models]]).fetchall():
        found[lower][Stack(compiler or "", version or "", library or "")] = ModelResult(*values)
    return dict(found)
