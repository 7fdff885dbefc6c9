"""How long the data side takes against the bare DuckDB query that does the same: `python -m tests.benchmarks.data [ROWS …]`.

Prints one Markdown table. Both sides alternate in one process; times are medians, so that ratios mean something on a busy
machine. "Bare" is the shortest DuckDB query over a plain in-memory table without the long texts (for loading: the statement
that fills it; for opening a row: reading that row from its file).
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import duckdb

from trnui.catalog.analysis.comparison.compare import compare
from trnui.catalog.analysis.failures import group
from trnui.catalog.dataset.snapshot import DatasetSource, resolve
from trnui.catalog.engine.catalog import Catalog
from trnui.catalog.query import ALL, Query

ROOT = Path(__file__).resolve().parents[2]
SIZES = (10_000, 100_000, 1_000_000)
REPEAT = 7
PAGE = 200
NARROW = (
    "model_id, library, tp, runner, result, left(notes, 300) AS notes, left(error, 300) AS error, exclusion, wall_s, hbm_peak_gb, "
    "hbm_capacity_gb, cpu_match, english, neuronx_cc, library_version, transformers, accelerate, torch_neuronx, torch, nki, "
    "python, neuron_driver, tested_at, filename, file_row_number"
)
SHOWN = "model_id, result, tp, wall_s, hbm_peak_gb, neuronx_cc, library_version, tested_at"


@dataclass(frozen=True)
class Measured:
    rows: int
    what: str
    ours_ms: float
    bare_ms: float

    def line(self) -> str:
        return f"| {self.rows:,} | {self.what} | {self.ours_ms:,.1f} | {self.bare_ms:,.1f} | {self.ours_ms / self.bare_ms:.1f} × |"


def dataset(rows: int) -> Path:
    """An invented dataset of about so many rows with scripts of 4 kB, made once and kept in TRNUI_BENCH_DIR or the temporary folder."""
    folder = Path(os.environ.get("TRNUI_BENCH_DIR") or tempfile.gettempdir()) / f"trnui-bench-{rows}"
    if not folder.exists():
        compilers, libraries = (6, 7) if rows > 200_000 else (3, 4)
        models = -(-rows // (compilers * libraries - 1))
        making = folder.with_suffix(".making")
        sizes = ["--models", models, "--compilers", compilers, "--libraries", libraries, "--script-bytes", 4000]
        command = [sys.executable, ROOT / "tests" / "make_dataset.py", making, *sizes]
        subprocess.run([str(part) for part in command], check=True)
        making.rename(folder)
    return folder


def timed(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return (time.perf_counter() - started) * 1000


def both(ours: Callable[[], object], bare: Callable[[], object], repeat: int = REPEAT) -> tuple[float, float]:
    ours(), bare()  # once without counting
    times = [(timed(ours), timed(bare)) for _ in range(repeat)]
    return median(t for t, _ in times), median(t for _, t in times)


def plain_table(source: DatasetSource) -> duckdb.DuckDBPyConnection:
    con = duckdb.connect(config={"threads": 2})
    files = [str(f) for f in source.files]
    con.execute(
        f"CREATE TABLE t AS SELECT {NARROW} FROM read_parquet(?, union_by_name = true, filename = true, file_row_number = true)",
        [files],
    )
    return con


def measure(rows: int) -> list[Measured]:
    source = resolve(str(dataset(rows)))
    loads = both(lambda: Catalog(source).connection.close(), lambda: plain_table(source).close(), 3)
    catalog, bare = Catalog(source), plain_table(source)
    every = Query(neuronx_cc=(ALL,), library_version=(ALL,), limit=PAGE)
    one, other = catalog.stacks()[1], catalog.stacks()[-1]
    half = "SELECT DISTINCT ON (model_id) model_id, result, tp, wall_s, hbm_peak_gb FROM t WHERE neuronx_cc = ? AND library_version = ? ORDER BY ALL"
    joined = f"SELECT * FROM ({half}) a FULL JOIN ({half}) b USING (model_id) WHERE a.result IS DISTINCT FROM b.result OR a.tp <> b.tp OR abs(a.wall_s - b.wall_s) > 30"
    pair = [one.neuronx_cc, one.library_version, other.neuronx_cc, other.library_version]
    row = catalog.rows(every.but(text="iris2", limit=1)).ids[0]
    file, line = catalog.connection.execute("SELECT file, line FROM r WHERE rowid = ?", [row]).fetchall()[0]
    path = str(catalog.database.files[file])
    causes = "SELECT neuronx_cc, library_version, regexp_replace(error, '[0-9]+', '#', 'g'), list(model_id) FROM t WHERE result = 'FAIL' GROUP BY ALL"

    def run(sql: str, *values: object) -> Callable[[], object]:
        return lambda: bare.execute(sql, list(values)).fetchall()

    def listed(where: str) -> Callable[[], object]:
        """A page and the count beside it, as a list shows them."""
        page, count = run(f"SELECT {SHOWN} FROM t{where} LIMIT {PAGE}"), run(f"SELECT count(*) FROM t{where}")
        return lambda: (page(), count())

    found_by_name = " WHERE contains(lower(model_id), 'iris2')"
    pairs: list[tuple[str, Callable[[], object], Callable[[], object]]] = [
        ("list, first page", lambda: catalog.rows(every), listed("")),
        ("search a name", lambda: catalog.rows(every.but(text="Iris2")), listed(found_by_name)),
        (
            "sort by time",
            lambda: catalog.rows(every.but(sort="wall_s", descending=True)),
            run(f"SELECT {SHOWN} FROM t ORDER BY wall_s DESC NULLS LAST LIMIT {PAGE}"),
        ),
        ("compare two stacks", lambda: compare(catalog.database, one, other, catalog.connection), run(joined, *pair)),
        ("failures by cause, all stacks", lambda: group(catalog.database, every, catalog.connection), run(causes)),
        (
            "open a row, script included",
            lambda: catalog.detail(row),
            run("SELECT * FROM read_parquet(?, file_row_number = true) WHERE file_row_number = ?", path, line),
        ),
    ]
    count = catalog.database.rows
    found = [Measured(count, f"load {len(source.files)} files", *loads)]
    found += [Measured(count, what, *both(ours, plain)) for what, ours, plain in pairs]
    catalog.connection.close()
    bare.close()
    return found


def memory(rows: int) -> str:
    """Peak memory of a process that loads the dataset and lists a page."""
    code = (
        "import resource, sys; from trnui.catalog.dataset.snapshot import resolve; from trnui.catalog.engine.catalog import Catalog\n"
        "from trnui.catalog.query import Query; Catalog(resolve(sys.argv[1])).rows(Query(limit=200))\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
    )
    command = [sys.executable, "-c", code, str(dataset(rows))]
    done = subprocess.run(command, check=True, cwd=ROOT, capture_output=True, text=True)
    return f"{int(done.stdout) / 1024:.0f} MiB"


def main() -> None:
    sizes = [int(a.replace("_", "").replace(",", "")) for a in sys.argv[1:]] or list(SIZES)
    print("| rows | what | ours, ms | bare DuckDB, ms | ratio |")
    print("| ---: | --- | ---: | ---: | ---: |")
    peaks = []
    for rows in sizes:
        peaks.append(f"{rows:,} rows {memory(rows)}")
        for found in measure(rows):
            print(found.line(), flush=True)
    print(
        f"\nPeak memory of a process that loads and lists: {', '.join(peaks)}. Load average {os.getloadavg()[0]:.1f}."
    )


if __name__ == "__main__":
    main()
