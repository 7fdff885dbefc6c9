"""What the model's page asks of the database: the model's rows on every stack, own runs, siblings.

Blocking, for a thread; every question uses a cursor of its own. No Textual in here.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING

from trnui.catalog.messages import Detail, Record
from trnui.catalog.query import ALL, Query, View

if TYPE_CHECKING:
    from trnui.catalog.dataset.snapshot import DatasetSource
    from trnui.catalog.engine.database import Database

MOST = 400  # siblings, or rows that fail alike
_SIZE = re.compile(r"(?i)^(?:[ea]?\d+(?:\.\d+)?(?:x\d+)?[bmk]|\d{4,}|a\d+b)$")


@dataclass(frozen=True)
class ModelRows:
    """`rows`: all stacks; `siblings`: the family on the asked stack; `family`: by which part of the name they were found."""

    rows: tuple[Record, ...] = ()
    own: tuple[Record, ...] = ()
    siblings: tuple[Record, ...] = ()
    family: str = ""


def model_rows(database: Database, model: str) -> ModelRows:
    every = Query(neuronx_cc=(ALL,), library_version=(ALL,), models=(model,))
    name = family(model)
    siblings = [r for r in records(database, Query(text=name)) if r["model_id"] != model] if name else []
    return ModelRows(
        tuple(records(database, every)),
        tuple(records(database, every.but(view=View.RUNS))),
        tuple(sorted(siblings, key=lambda r: str(r["model_id"]).lower())),
        name,
    )


def marked_rows(database: Database, query: Query, marked: Collection[tuple[object, ...]]) -> list[Detail]:
    """Rows named by (model, compiler, library version), in full, in the order of the view; whatever the filters say by now."""
    models = tuple(dict.fromkeys(str(m[0]) for m in marked))
    wide = Query(view=query.view, task=query.task, neuronx_cc=(ALL,), library_version=(ALL,), models=models)
    found = [
        row_in_full(database, int(str(r["identity"])))
        for r in records(database, wide)
        if (r["model_id"], r["neuronx_cc"], r["library_version"]) in marked
    ]
    return [detail for detail in found if detail is not None]


def row_in_full(database: Database, identity: int) -> Detail | None:
    from trnui.catalog.engine.row_detail import detail

    cursor = database.connection.cursor()
    try:
        return detail(database, cursor, identity)
    finally:
        cursor.close()


def family(model: str) -> str:
    """The part of a model's name before its size: `iris2-vl` of `org/Iris2-VL-4B-Instruct`; the whole name without a size."""
    name = model.rpartition("/")[2].lower()
    kept = []
    for part in re.split(r"[-_]", name):
        if _SIZE.match(part):
            break
        kept.append(part)
    return "-".join(kept) if kept else name


def records(database: Database, query: Query) -> list[Record]:
    """The rows of a query as records, at most `MOST`."""
    from trnui.catalog.engine.sql_builder import build, rows_sql

    ids, _ = database.resolve(query)
    sql = build(query, ids)
    cursor = database.connection.cursor()
    try:
        rows = cursor.execute(rows_sql(sql, limit=MOST), sql.all_parameters).fetchall()
    finally:
        cursor.close()
    return [{"identity": row[0], **dict(zip(sql.columns, row[1:], strict=True))} for row in rows]


def identity_of(database: Database, query: Query, model: str) -> int | None:
    """The identity of the model's first row in this list; None when it is not there. For any thread."""
    from trnui.catalog.engine.sql_builder import build, rows_sql

    ids, _ = database.resolve(query)
    sql = build(query.but(models=(model,)), ids)
    cursor = database.connection.cursor()
    try:
        found = cursor.execute(rows_sql(sql, limit=1), sql.all_parameters).fetchall()
    finally:
        cursor.close()
    return int(found[0][0]) if found else None


def records_of(
    source: DatasetSource, database: Database, query: Query, columns: tuple[str, ...]
) -> list[dict[str, object]]:
    """Rows of a query with any columns that the commands know, long texts included. For any thread."""
    from trnui.catalog.engine.catalog import Catalog

    cursor = database.connection.cursor()
    try:
        return Catalog.over(source, database, cursor).rows(query, columns).records()
    finally:
        cursor.close()
