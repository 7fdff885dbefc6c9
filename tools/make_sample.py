"""Makes the bundled sample's rows: each one a real run by the bundled runner on this host's CPU, nothing else.

    python tools/make_sample.py --python ENV/bin/python [--python …] [--only NAME …]     one Transformers version each

Writes trnui/sample/cpu_transformers-<version>.parquet. A run takes about half a minute; the rows that were left out are
written down here with their reasons.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from trnui.catalog.dataset.own_results import arrow_schema, typed
from trnui.sample import models
from trnui_runner.common.dataset_schema import COLUMNS
from trnui_runner.payload.judge import WORD_ORDER
from trnui_runner.request.prepare import prepare
from trnui_runner.request.render_script import digest
from trnui_runner.request.request import RunRequest
from trnui_runner.run_folder.follower import Follower
from trnui_runner.run_folder.recipe import RowSource
from trnui_runner.supervise import launcher

ROOT: Final = Path(__file__).resolve().parent.parent
OUT: Final = ROOT / "trnui" / "sample"


@dataclass(frozen=True)
class Test:
    """One row to make. Random weights are run in float32: their margins are too small for a 16-bit comparison."""

    name: str
    cores: int = 1
    parallelism: str | None = None
    dtype: str | None = "float32"
    image: str | None = None


TESTS: Final = (
    Test("recites", dtype=None),
    Test("recites-moe", cores=2, parallelism="tp", dtype=None),
    Test("recites-picture", dtype=None, image="red-square.png"),
    Test("qwen3"),
    Test("llama"),
    Test("mamba"),
    Test("gpt2"),
    Test("qwen3-moe"),
    Test("gpt-oss"),
    Test("bloom"),
    Test("odd-heads", cores=2, parallelism="tp"),
    Test("new-type"),
)
EXCLUDED: Final = {
    "hybrid": "low priority: linear attention takes about a minute to trace on a CPU, too long for a sample",
    "llava": "random weights: it names no colour; recites-picture is the one to look at",
    "electra": "Transformers' static cache changes its answer on the CPU as well, so that no run of it says anything of a device",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", action="append", required=True)
    parser.add_argument("--only", nargs="*", default=[t.name for t in TESTS])
    parser.add_argument("--out", type=Path, default=OUT)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="sample-") as work:
        for kind in ("STATE", "CACHE", "CONFIG"):
            os.environ[f"TRNUI_{kind}_DIR"] = f"{work}/{kind.lower()}"
        os.environ.update(HF_HUB_OFFLINE="1", HF_HOME=f"{work}/hf")
        for python in args.python:
            rows = [run(test, python) for test in TESTS if test.name in args.only]
            rows += [left_out(name, reason, rows[0]) for name, reason in EXCLUDED.items()]
            write(rows, args.out)
    ship(args.out)


def run(test: Test, python: str) -> dict[str, Any]:
    model = f"{models.OWNER}/{test.name}"
    folder = models.folder_of(model)
    assert folder is not None
    order = RunRequest(
        model, source=RowSource("sample"), script="bundled", device="cpu", cores=test.cores, parallelism=test.parallelism,
        python=python, dtype=test.dtype, image=test.image, timeout_s=600.0, judge=WORD_ORDER, checkpoint=folder, force=True,
    )  # fmt: skip
    prepared = prepare(order)
    started = time.monotonic()
    running = launcher.start(prepared.recipe, prepared.script, prepared.steps, prepared.supervision)
    with Follower(running) as follower:
        while (update := follower.poll()) and not update.over:
            time.sleep(0.2)
    result = running.result()
    assert result is not None
    print(f"{test.name:16} {result.outcome:10} {time.monotonic() - started:5.1f} s  {result.reason}", file=sys.stderr)
    if result.outcome not in ("PASS", "FAIL") or result.row is None:
        sys.exit(f"{test.name}: {result.outcome} is no row for the sample: {result.reason}\n{running.path}")
    return {k: _portable(v, folder) if isinstance(v, str) else v for k, v in result.row.items()}


def _portable(text: str, folder: Path) -> str:
    """Without this machine's paths: the sample's folder by its model id, packages from site-packages on."""
    text = text.replace(str(folder), f"{models.OWNER}/{folder.name}")
    return re.sub(r"/[^\s'\":]*?/(site-packages|runs/[^/\s]+)/", r"\1/", text)


def left_out(name: str, reason: str, like: dict[str, Any]) -> dict[str, Any]:
    """A row without a result: what was not run has no cores, time or memory."""
    kept = ("library", "runner", "library_version", "transformers", "accelerate", "torch", "python", "tested_at")
    return (
        dict.fromkeys(COLUMNS)
        | {k: like[k] for k in kept}
        | {"model_id": f"{models.OWNER}/{name}", "exclusion": reason}
    )


def write(rows: list[dict[str, Any]], out: Path) -> None:
    path = out / f"cpu_transformers-{rows[0]['library_version']}.parquet"
    made = {
        r["model_id"]: r for r in (pq.read_table(path).to_pylist() if path.exists() else [])
    }  # --only keeps the others
    made |= {row["model_id"]: row for row in rows}
    order = [f"{models.OWNER}/{name}" for name in (*(t.name for t in TESTS), *EXCLUDED)]
    rows = [made[name] for name in order if name in made]
    table = pa.Table.from_pylist([typed(row) for row in rows], schema=arrow_schema())
    pq.write_table(table, path, compression="zstd")
    print(path.name, len(rows), file=sys.stderr)


def ship(out: Path) -> None:
    """The scripts of all rows by their SHA-256: they ship with trnui, so that nobody need be asked about them."""
    scripts = {
        s for path in out.glob("*.parquet") for s in pq.read_table(path, columns=["run_py"])["run_py"].to_pylist()
    }
    digests = sorted(digest(s.encode()) for s in scripts if s)
    (ROOT / "runner" / "trnui_runner" / "payload" / "templates" / "shipped.sha256").write_text(
        "\n".join(digests) + "\n", encoding="ascii"
    )


if __name__ == "__main__":
    main()
