"""Small datasets for tests: a row is written as what matters of it, the rest of the 24 columns is filled in."""

from __future__ import annotations

import io
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from trnui.catalog.dataset.own_results import arrow_schema
from trnui.catalog.dataset.snapshot import DatasetSource, resolve
from trnui.catalog.engine.database import Database
from trnui.catalog.query import Stack

OLD = Stack("2.28.100.0+aaaaaaaa", "5.24.0")
NEW = Stack("2.29.5.0+bbbbbbbb", "5.24.0")


def row(model: str, result: str | None = "PASS", stack: Stack = OLD, **more: Any) -> dict[str, Any]:
    """A row of the dataset: one core, 100 s, checked against the CPU, unless `more` says otherwise."""
    usual = {"tp": 1, "wall_s": 100, "hbm_peak_gb": 4.0, "hbm_capacity_gb": 24.0, "cpu_match": "32/32"}
    stamp = datetime(2026, 11, 1, tzinfo=UTC)
    versions = {"neuronx_cc": stack.neuronx_cc, "library": stack.library, "library_version": stack.library_version}
    return {
        "model_id": model,
        "result": result,
        "tested_at": stamp,
        "run_py": "print(1)\n",
        **versions,
        **usual,
        **more,
    }


def parquet(rows: Sequence[dict[str, Any]]) -> bytes:
    """With the published files' schema."""
    sink = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(list(rows), schema=arrow_schema()), sink)
    return sink.getvalue()


def folder(path: Path, *rows: dict[str, Any]) -> DatasetSource:
    """One file a stack, as published."""
    path.mkdir(parents=True, exist_ok=True)
    pairs: dict[str, list[dict[str, Any]]] = {}
    for one in rows:
        pairs.setdefault(f"{one['neuronx_cc']}_{one['library']}-{one['library_version']}.parquet", []).append(one)
    for name, found in pairs.items():
        (path / name).write_bytes(parquet(found))
    return resolve(str(path))


def database(path: Path, *rows: dict[str, Any]) -> Database:
    source = folder(path, *rows)
    found = Database(source.files, source.names)
    found.open()
    found.load()
    return found
