"""Own finished runs as rows of the dataset, for the view `runs`, and as Parquet files that load beside the real ones.

What did not run on a Trainium says so in `result` and `runner`, here once more and whatever the run folder says: a reader
who knows only the 24 columns must not count such a PASS.
"""

from __future__ import annotations

import io
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from trnui_runner.common.dataset_schema import COLUMNS, MARKS, RUNNERS
from trnui_runner.common.files import write_atomic
from trnui_runner.common.text import Safe
from trnui_runner.result.dataset_row import make_row
from trnui_runner.result.verdict import nothing_tested
from trnui_runner.run_folder.folder import Result, RunFolder, all_runs

if TYPE_CHECKING:
    import pyarrow as pa

_INTEGERS: Final = ("tp", "wall_s")
_REALS: Final = ("hbm_peak_gb", "hbm_capacity_gb")


def own_rows(parent: Path | None = None) -> list[dict[str, Any]]:
    """A row for every run that has ended, newest first: the 24 columns in their types, then `run` (its id),
    `outcome` (marked as `result` is) and `untested` (it says nothing about the model: not exported)."""
    found = (own_row(run) for run in all_runs(parent))
    return [row for row in found if row is not None]


def damaged_runs(parent: Path | None = None) -> list[tuple[str, Safe]]:
    """(id, what is wrong) of every run whose folder cannot be read; they are not among the rows."""
    return [(run.id, problem) for run in all_runs(parent) if (problem := run.problem())]


def own_row(run: RunFolder) -> dict[str, Any] | None:
    """None for a run that has not ended, or whose folder cannot be read."""
    result, recipe = run.result(), run.recipe()
    if result is None or recipe is None:
        return None
    row = result.row
    if not isinstance(row, dict):
        sure = replace(result, device=result.device if result.device in RUNNERS else recipe.device)
        row = make_row(recipe, sure, error=None, script=run.script())
    where = result.device if result.device in RUNNERS else recipe.device
    own = {"run": run.id, "outcome": result.outcome + MARKS[where], "untested": nothing_tested(result)}
    return typed(marked(row, result, recipe.device)) | own


def marked(row: Mapping[str, Any], result: Result, device: str) -> dict[str, Any]:
    """The row with `runner` and the mark in `result` as its device wants them; `device` counts where the result names none."""
    where = result.device if result.device in RUNNERS else device
    word = str(row.get("result") or result.outcome)
    for mark in MARKS.values():
        word = word.removesuffix(mark) if mark else word
    return {**row, "runner": RUNNERS[where], "result": word + MARKS[where]}


def typed(row: Mapping[str, Any]) -> dict[str, Any]:
    """Exactly the 24 columns, each in its type; None where the value is absent or none of that type."""
    return {name: _value(name, row.get(name)) for name in COLUMNS}


def _value(name: str, value: object) -> object:
    if value is None or value == "":
        return None
    if name in _INTEGERS or name in _REALS:
        number = value if isinstance(value, int | float) and not isinstance(value, bool) else None
        return number if number is None or name in _REALS else round(number)
    if name == "tested_at":
        return _time(value)
    return str(value).lower() if isinstance(value, bool) else str(value)


def _time(value: object) -> datetime | None:
    """From ISO 8601 or UTC epoch seconds."""
    try:
        if isinstance(value, int | float):
            return datetime.fromtimestamp(value, UTC)
        found = datetime.fromisoformat(str(value))
    except (ValueError, OverflowError, OSError):
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


# -- as files


def arrow_schema() -> pa.Schema:
    """The schema of the published files, field by field."""
    import pyarrow as pa

    kinds = {
        "VARCHAR": pa.string(),
        "INTEGER": pa.int32(),
        "DOUBLE": pa.float64(),
        "TIMESTAMP WITH TIME ZONE": pa.timestamp("ms", tz="UTC"),
    }
    return pa.schema([(name, kinds[kind]) for name, kind in COLUMNS.items()])


def file_name(neuronx_cc: str | None, library: str | None, version: str | None) -> str:
    """One file for each pair, as the dataset has it, under names that no published file has."""
    compiler = f"neuronx_cc-{neuronx_cc.partition('+')[0]}" if neuronx_cc else "no-neuronx_cc"
    name = f"trnui-own_{compiler}_{library or 'library'}-{version or 'unknown'}"
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name)[:200] + ".parquet"


def export(folder: Path, rows: Iterable[Mapping[str, Any]]) -> list[tuple[Path, int]]:
    """Writes rows of `own_rows` below `folder`, one file a pair; returns (file, rows). Raises OSError."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    pairs: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for row in rows:
        if not row.get("untested"):
            pairs[file_name(row["neuronx_cc"], row["library"], row["library_version"])].append(row)
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name, found in sorted(pairs.items()):
        table = pa.Table.from_pylist([typed(row) for row in found], schema=arrow_schema())
        sink = io.BytesIO()
        pq.write_table(table, sink)
        write_atomic(folder / name, sink.getvalue(), 0o644)
        written.append((folder / name, len(found)))
    return written
