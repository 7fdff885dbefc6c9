"""Looks up, in the loaded dataset and the inference catalog on disk, what `nearest.py` decides among; adds the command that runs it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from trnui.catalog.analysis.checkpoint_names import parsed
from trnui.catalog.analysis.nearest import ASKS, Asked, Nearest, Passing, nearest
from trnui.catalog.dataset.normalize_sql import lowered
from trnui.catalog.engine.recency import RECENCY
from trnui.catalog.hub import inference_catalog
from trnui.catalog.query import Stack
from trnui.settings import DATASET
from trnui_runner.request.command_line import row_line

if TYPE_CHECKING:
    import duckdb

    from trnui.catalog.engine.database import Database
    from trnui.catalog.messages import Detail

_MOST: Final = 2_000  # rows of siblings looked at


@dataclass(frozen=True)
class Suggestion:
    """What works, in one line, and the command to copy; no command for a recipe, which is not run here."""

    nearest: Nearest
    command: str

    @property
    def words(self) -> str:
        return self.nearest.words

    def to_json(self) -> dict[str, Any]:
        row, recipe = self.nearest.passing, self.nearest.recipe
        return {
            "way": self.nearest.way.name.lower(),
            "model_id": self.nearest.model_id,
            "neuronx_cc": row.stack.neuronx_cc if row else None,
            "library": row.stack.library if row else None,
            "library_version": row.stack.library_version if row else None,
            "tp": row.cores if row else None,
            "kind": row.kind if row else None,
            "device": row.device if row else None,
            "tested_at": row.tested_at if row else None,
            "recipe": recipe.id if recipe else None,
            "engine": recipe.engine if recipe else None,
            "words": self.words,
            "command": self.command or None,
        }


def suggestions(
    database: Database,
    detail: Detail,
    dataset: str,
    cursor: duckdb.DuckDBPyConnection | None = None,
) -> tuple[Suggestion, ...]:
    """For a row in full, the smallest change first; empty where its result asks for none, and where nothing else passed.
    `dataset` as the commands are to name it. A model without a row is asked about on the default stack."""
    if detail.derived.get("status") not in ASKS:
        return ()
    asked = _asked(detail, database.default)
    cursor = cursor or database.connection.cursor()
    catalog = inference_catalog.load()
    recipes = catalog.of(asked.model_id) if catalog else ()
    found = nearest(asked, passing(cursor, asked.model_id), recipes)
    return tuple(Suggestion(n, _command(n, dataset)) for n in found)


def _asked(detail: Detail, default: Stack | None) -> Asked:
    values = detail.values
    stack = Stack(*(str(values.get(c) or "") for c in ("neuronx_cc", "library_version", "library")))
    if not stack.neuronx_cc and not stack.library_version and default is not None:
        stack = default
    cores = values.get("tp")
    task = detail.derived.get("task")
    return Asked(str(values.get("model_id") or ""), stack, cores if isinstance(cores, int) else None, task)


def passing(cursor: duckdb.DuckDBPyConnection, model: str) -> tuple[Passing, ...]:
    """Rows that passed of a model and of those that its name makes siblings: the newest of each on each stack and number of cores."""
    name = parsed(model)
    conditions, parameters = [f"r.lower_id = {lowered('?')}"], [model]
    if name is not None:
        conditions.append("(contains(r.lower_id, ?) AND contains(r.lower_id, ?))")
        parameters += [name.family.split("-")[0], name.size]
    newest = (
        f"SELECT arg_max(r.rowid, {RECENCY}) FROM r JOIN s ON s.id = r.stack "
        f"WHERE {' OR '.join(conditions)} GROUP BY r.lower_id, s.neuronx_cc, s.library_version, s.library, r.tp"
    )
    sql = (
        "SELECT r.model_id, s.neuronx_cc, s.library_version, s.library, r.tp, r.kind::VARCHAR, r.device::VARCHAR, r.task::VARCHAR, "
        f"CAST(r.tested_at AS TIMESTAMP) FROM r JOIN s ON s.id = r.stack WHERE r.status = 'PASS' AND r.rowid IN ({newest}) "
        f"ORDER BY r.lower_id = {lowered('?')} DESC, r.rowid LIMIT {_MOST}"
    )
    found = []
    for row_model, compiler, version, library, tp, *rest in cursor.execute(sql, [*parameters, model]).fetchall():
        found.append(Passing(row_model, Stack(compiler or "", version or "", library or ""), tp, *rest))
    return tuple(found)


def _command(found: Nearest, dataset: str) -> str:
    if found.passing is None:
        return ""
    stack = found.passing.stack
    row: Mapping[str, Any] = {
        "neuronx_cc": stack.neuronx_cc,
        "library": stack.library,
        "library_version": stack.library_version,
    }
    return row_line("run", found.model_id, row, None if dataset == DATASET else dataset)
