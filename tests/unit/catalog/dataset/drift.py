"""Files as other people, other years and broken disks write them. Each case says what must come of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tests.datasets import parquet, row
from trnui.catalog.engine.database import Database

WHEN = datetime(2026, 11, 12, 9, 14, 30, tzinfo=UTC)


@dataclass(frozen=True)
class Case:
    """`make` writes the file; `rows` load; `values` of the first row (as lists and details have them); words of the problems."""

    name: str
    make: Callable[[Path], object]
    rows: int
    values: dict[str, Any]
    problems: tuple[str, ...] = ()
    file: str = "data.parquet"


def table(**columns: list[Any]) -> pa.Table:
    return pa.table(columns)


def written(value: pa.Table) -> Callable[[Path], object]:
    return lambda path: pq.write_table(value, path)


def raw(data: bytes) -> Callable[[Path], object]:
    return lambda path: path.write_bytes(data)


WHOLE = parquet([row("o/a"), row("o/b", "FAIL", error="[NCC_EVRF001] no")])
VERSIONS = {"neuronx_cc": "2.27.1.0+ab", "library_version": "5.20.0", "torch": "2.14.0"}
STRUCT = pa.array([VERSIONS], pa.struct([(k, pa.string()) for k in VERSIONS]))
MAP = pa.array([list(VERSIONS.items())], pa.map_(pa.string(), pa.string()))

CASES = (
    Case("as published", raw(WHOLE), 2, {"model_id": "o/a", "status": "PASS", "tp": 1, "wall_s": 100}),
    Case("aliases", written(table(
        model=["o/a"], status=["✅ Passing"], num_cores=[4], duration_ms=[61_400], peak_device_memory_mb=[12_800.0],
        error_message=[None], skip_reason=[""], timestamp=["2026-11-12T09:14:30Z"], fluent=["yes"], compiler_version=["2.27.1.0"],
        transformers_version=["5.20.0"], script=["print(1)"], color=["red"],
    )), 1, {
        "model_id": "o/a", "status": "PASS", "kind": "english", "tp": 4, "wall_s": 61, "hbm_peak_gb": 12.8, "neuronx_cc": "2.27.1.0",
        "library_version": "5.20.0", "transformers": "5.20.0", "tested_at": WHEN, "run_py": "print(1)", "color": "red",
    }),
    Case("names in other letters and with other marks", written(table(
        **{"Model-ID": ["o/a"], "RESULT": ["fail"], "Wall S": [12], "neuronx.cc": ["2.27.1.0"], "library-version": ["5.9.0"]},
    )), 1, {"model_id": "o/a", "status": "FAIL", "wall_s": 12, "neuronx_cc": "2.27.1.0", "library_version": "5.9.0"}),
    Case("text for numbers", written(table(
        model_id=["o/a", "o/b", "o/c"], tp=["4", "four", ""], wall_s=["61", "n/a", "1e3"], hbm_peak_gb=["3.5", "3,5", "NaN"], result=["PASS"] * 3,
    )), 3, {"tp": 4, "wall_s": 61, "hbm_peak_gb": 3.5}, ("1 value of tp (VARCHAR) not usable as tp", "1 value of hbm_peak_gb")),
    Case("fractions of seconds are rounded, fractions of cores are said to be lost", written(table(
        model_id=["o/a", "o/b"], wall_s=[61.4, 62.0], tp=[1.5, 2.0], result=["PASS", "PASS"],
    )), 2, {"wall_s": 61}, ("1 value of tp (DOUBLE) not usable as tp",)),
    Case("no result at all", written(table(model_id=["o/a"])), 1, {"status": "UNTESTED"}, ("no column holds the results",)),
    Case("numbers too large", written(table(model_id=["o/a"], result=["PASS"] * 1, wall_s=[5_000_000_000], tp=[2])), 1, {"wall_s": None, "wall_s (in the file)": 5_000_000_000, "tp": 2},
         ("1 value of wall_s (BIGINT) not usable as wall_s",)),
    Case("truth for results", written(table(model_id=["o/a", "o/b", "o/c"], passed=[True, False, None])), 3, {"status": "PASS", "result": "true"}),
    Case("truth for numbers is no number", written(table(model_id=["o/a"], result=["PASS"] * 1, tp=[True])), 1, {"tp": None}, ("1 value of tp (BOOLEAN)",)),
    Case("struct stack", written(table(model_id=["o/a"], result=["PASS"], versions=STRUCT)), 1,
         {**VERSIONS, "versions": VERSIONS}),
    Case("map stack", written(table(model_id=["o/a"], result=["PASS"], stack=MAP)), 1, VERSIONS),
    Case("JSON stack", written(table(
        model_id=["o/a", "o/b"], result=["PASS", "PASS"], env=[json.dumps(VERSIONS | {"it's \"q\"": 1}), "{broken"],
    )), 2, VERSIONS),
    Case("struct error", written(table(
        model_id=["o/a"], result=["FAIL"],
        error=pa.array([{"type": "ValueError", "message": "no"}], pa.struct([("type", pa.string()), ("message", pa.string())])),
    )), 1, {"error": "ValueError: no"}),
    Case("lists for text", written(table(model_id=["o/a"], result=["PASS"], notes=[["a", "b"]])), 1, {"notes": '["a","b"]'}),
    Case("binary for text", written(table(model_id=[b"o/a", b"o/b"], result=[b"PASS", b"\xff\xfe"])), 2,
         {"model_id": "o/a", "status": "PASS"}, ("1 value of result (BLOB) not usable as result",)),
    Case("epochs for times", written(table(model_id=["o/a"], result=["PASS"] * 1, tested_at=[int(WHEN.timestamp() * 1000)])), 1, {"tested_at": WHEN}),
    Case("days for times", written(table(model_id=["o/a"], result=["PASS"] * 1, tested_at=[WHEN.date()])), 1, {"tested_at": datetime(2026, 11, 12, tzinfo=UTC)}),
    Case("words for times", written(table(model_id=["o/a"], result=["PASS"] * 1, tested_at=["last week"])), 1, {"tested_at": None},
         ("1 value of tested_at (VARCHAR) not usable as tested_at",)),
    Case("bytes without a unit", written(table(model_id=["o/a", "o/b", "o/c"], result=["PASS"] * 3, peak_memory=[12_800_000_000, 24, 90_000])), 3,
         {"hbm_peak_gb": 12.8}, ("1 value of peak_memory (BIGINT) not usable as hbm_peak_gb",)),
    Case("null columns", written(table(model_id=["o/a"], result=["PASS"], error=pa.nulls(1), tp=pa.nulls(1), tested_at=pa.nulls(1))), 1,
         {"status": "PASS", "error": None, "tp": None}),
    Case("more columns", written(table(model_id=["o/a"], result=["PASS"], **{"select": [1], 'quo"te': ["x"], "run": [None]})), 1,
         {"select": 1, 'quo"te': "x"}),
    Case("names for models only where they can be", written(table(name=["o/a", "just a title"], result=["PASS", "PASS"])), 2,
         {"model_id": "o/a"}, ("1 value of name (VARCHAR) not usable as model_id",)),
    Case("pair from the path", written(table(model_id=["o/a"], result=["PASS"])), 1,
         {"neuronx_cc": "2.28.7631.0+0a1b", "library": "transformers", "library_version": "5.20.2"},
         file="neuronx_cc-2.28.7631.0%2B0a1b_transformers-5.20.2.parquet"),
    Case("pair from folders", written(table(model_id=["o/a"], result=["PASS"])), 1, {"neuronx_cc": "2.1", "library_version": "5.9.0"},
         file="neuronx_cc=2.1/library_version=5.9.0/part 0.parquet"),
    Case("an excluded row without versions belongs to its file's pair", raw(parquet([
        row("o/a", None, exclusion="low priority", neuronx_cc=None, library_version=None, library=None), row("o/b"),
    ])), 2, {"status": "EXCLUDED"}),
    Case("odd file name", raw(WHOLE), 2, {"model_id": "o/a"}, file="a b+c%20[1] *?{x}'\".parquet"),
    Case("no rows", raw(parquet([])), 0, {}),
    Case("no columns", written(pa.table({})), 0, {}, ("cannot be read as Parquet",)),
    Case("no model", written(table(fare=[1.0], tip=[2.0])), 0, {}, ("no column names the model",)),
    Case("no bytes", raw(b""), 0, {}, ("is empty (0 bytes)",)),
    Case("cut in half", raw(WHOLE[: len(WHOLE) // 2]), 0, {}, ("is cut off after",)),
    Case("a web page", raw(b"<!DOCTYPE html><html>502 Bad Gateway</html>"), 0, {}, ("holds a web page",)),
    Case("a pointer", raw(b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n"), 0, {}, ("Git LFS pointer",)),
    Case("broken UTF-8", raw(WHOLE.replace(b"NCC_EVRF001", b"NCC_\xff\xfeRF001")), 2, {}, ("not UTF-8",)),
)  # fmt: skip


def load(path: Path, **more: Any) -> Database:
    """Every Parquet file below `path`."""
    files = sorted(path.rglob("*.parquet"))
    database = Database(files, [str(f.relative_to(path)) for f in files], **more)
    database.open()
    database.load()
    return database
