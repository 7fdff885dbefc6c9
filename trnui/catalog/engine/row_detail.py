"""One row in full, by file and row number: long texts, unknown columns, packages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from trnui.catalog.dataset.column_mapping import FileMapping, quoted
from trnui.catalog.dataset.file_limits import LONGEST
from trnui.catalog.dataset.loader import glob_safe, unreadable
from trnui.catalog.dataset.packages import packages_of
from trnui.catalog.engine.database import OWN_BASE, UNTESTED_BASE, Database
from trnui.catalog.engine.elsewhere import elsewhere_of
from trnui.catalog.engine.script_facts import parallelism_in, task_in
from trnui.catalog.messages import Detail
from trnui_runner.common.dataset_schema import COLUMNS, Status
from trnui_runner.common.errors import DataError

if TYPE_CHECKING:
    import duckdb

_FOLDED = ("status", "kind", "device", "task", "parallelism")


def detail(database: Database, cursor: duckdb.DuckDBPyConnection, identity: int) -> Detail | None:
    """None for an identity that is no row (any more). Raises DataError when the row's file cannot be read now."""
    if identity >= UNTESTED_BASE:
        return _untested(cursor, identity)
    table, place = ("own", f"line = {OWN_BASE - identity}") if identity < 0 else ("r", f"rowid = {identity}")
    found = cursor.execute(f"SELECT file, line, model_id, {', '.join(_FOLDED)} FROM {table} WHERE {place}").fetchall()
    if not found:
        return None
    number, line, model, *words = found[0]
    folded: dict[str, Any] = dict(zip(_FOLDED, words, strict=True))
    if identity < 0:
        row = database.own[line]
        values = {c: row.get(c) for c in COLUMNS} | {k: v for k, v in row.items() if k not in COLUMNS}
        folded |= {"file": None, "row": None, "path": None, "run": row.get("run")}
    else:
        path = database.files[number]
        values = _read(database, cursor, number, line)
        if str(values.get("model_id"))[:LONGEST] != str(model):
            raise DataError(
                f"{database.names[number]} has changed since it was loaded.", "Start again to read it anew."
            )
        folded |= {"file": database.names[number], "row": line, "path": str(path), "run": None}
    script = str(values.get("run_py") or "")
    folded["task"] = folded["task"] or task_in(script)
    if folded["parallelism"] is None and (values.get("tp") or 0) > 1:
        folded["parallelism"] = parallelism_in(script)
    pair = (values.get("neuronx_cc"), values.get("library"), values.get("library_version"))
    folded["elsewhere"] = elsewhere_of(cursor, str(model), pair) if model and identity >= 0 else None
    packages = tuple((p.requirement, p.origin) for p in packages_of(values))
    return Detail(identity, values, folded, packages)


def _read(database: Database, cursor: duckdb.DuckDBPyConnection, number: int, line: int) -> dict[str, Any]:
    import duckdb

    path, mapping = database.files[number], database.mappings[number]
    mapped = ", ".join(f"{mapping.sql(c)} AS {quoted('canonical ' + c)}" for c in COLUMNS)
    sql = (
        f"SELECT {mapped}, * EXCLUDE (file_row_number) FROM read_parquet(?, hive_partitioning = false, file_row_number = true) "
        "WHERE file_row_number = ?"
    )
    try:
        cursor.execute(sql, [glob_safe(path), line])
        names = [column[0] for column in cursor.description or ()]
        rows = cursor.fetchall()
    except duckdb.InterruptException:
        raise
    except duckdb.Error as error:
        raise DataError(f"{database.names[number]} {unreadable(path, error)}") from error
    if not rows:
        return {}
    values: dict[str, Any] = dict(zip(COLUMNS, rows[0], strict=False))
    raw = dict(zip(names[len(COLUMNS) :], rows[0][len(COLUMNS) :], strict=True))
    kept = {name: value for name, value in raw.items() if _worth_showing(name, value, values, mapping)}
    return values | {f"{name} (in the file)" if name in COLUMNS else name: value for name, value in kept.items()}


def _worth_showing(name: str, value: object, values: Mapping[str, Any], mapping: FileMapping) -> bool:
    """A file's own column beside the canonical ones: unknown, read under another name, or not usable as it stands."""
    exact = next((m for m in mapping.mapped if m.source == name and m.how == "name"), None)
    if exact is None or name not in COLUMNS:
        return exact is None or exact.lost is not None
    return values[name] is None and value is not None


def _untested(cursor: duckdb.DuckDBPyConnection, identity: int) -> Detail | None:
    columns = ("model_id", "task", "rank", "downloads", "trending_score", "parameters", "gated")
    found = cursor.execute(
        f"SELECT {', '.join(columns)} FROM rankings WHERE rowid = {identity - UNTESTED_BASE}"
    ).fetchall()
    if not found:
        return None
    known = dict(zip(columns, found[0], strict=True))
    values = dict.fromkeys(COLUMNS) | {"model_id": known["model_id"]} | {k: known[k] for k in columns[2:]}
    folded = {"status": Status.UNTESTED.value, "task": known["task"]}
    folded |= dict.fromkeys(("kind", "device", "parallelism", "file", "row", "path", "run"))
    folded["elsewhere"] = elsewhere_of(cursor, str(known["model_id"]))
    return Detail(identity, values, folded, ())
