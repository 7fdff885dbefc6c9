"""Why the newly failing models of a comparison fail, by one diagnosis a row as view failures names causes, and since when."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from trnui.catalog.analysis.comparison.compare import Comparison, What
from trnui.catalog.analysis.comparison.first_failing import since
from trnui.catalog.analysis.failures import DIAGNOSED, label_of
from trnui.catalog.engine.long_columns import deep_values
from trnui_runner.diagnosis import diagnose_row

if TYPE_CHECKING:
    import duckdb

    from trnui.catalog.engine.database import Database

_READ: Final = ("error", "cpu_match", "english")


def explained(
    comparison: Comparison, database: Database, cursor: duckdb.DuckDBPyConnection | None = None
) -> Comparison:
    """Each newly failing change with its cause and since when. Beyond DIAGNOSED of them the cause is what the error itself names.
    Raises DataError when a file cannot be read any more."""
    failing = [c for c in comparison.changes if c.what is What.FAILING and c.b and c.b.identity is not None]
    ids = [c.b.identity for c in failing if c.b and c.b.identity is not None]
    cursor = cursor or database.connection.cursor()
    values = deep_values(database, cursor, ids, _READ)
    firsts = since(database, [c.model_id for c in failing], comparison.b, cursor)
    causes: dict[str, str] = {}
    for place, change in enumerate(failing):
        assert change.b is not None
        assert change.b.identity is not None
        row = dict(zip(_READ, values.get(change.b.identity, ()), strict=False))
        row |= {"result": change.b.result, "tp": change.b.tp}
        diagnosis = diagnose_row(row) if place < DIAGNOSED else None
        causes[change.model_id] = label_of(str(row.get("error") or ""), diagnosis)
    told = []
    for change in comparison.changes:
        first = firsts.get(change.model_id.lower())
        if change.what is What.FAILING:
            told.append(replace(change, cause=causes.get(change.model_id), since=first.words if first else None))
        else:
            told.append(change)
    return replace(comparison, changes=tuple(told))
