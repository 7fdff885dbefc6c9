"""The sample's rows as a real batch on the CPU, from the command line: one yes, a killed keeper, exit code, report and export."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from trnui_runner.batch.folder import all_batches
from trnui_runner.batch.journal import BATCH

pytestmark = pytest.mark.e2e


def trnui(*words: str, timeout: float = 280) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "trnui", "--dataset", "sample", "batch", *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False)


def keeper_of(folder: Path) -> int:
    for entry in Path("/proc").iterdir():
        try:
            line = (entry / "cmdline").read_bytes()
        except OSError:
            continue
        if b"keeper_process.py" in line and os.fsencode(folder) in line:
            return int(entry.name)
    return 0


def test_the_sample_as_a_batch_survives_its_keeper(home: Path, tmp_path: Path) -> None:
    started = trnui("new", "trnui-sample/recites", "trnui-sample/gpt2", "--yes", "--detach")
    assert started.returncode == 0, started.stderr
    folder = all_batches()[0]
    assert started.stdout.strip() == folder.id
    end = time.monotonic() + 120
    while not folder.status().counts()["going"]:
        assert time.monotonic() < end
        time.sleep(0.2)
    os.kill(keeper_of(folder.path.resolve()), signal.SIGKILL)
    done = trnui("new", "trnui-sample/recites", "trnui-sample/gpt2", "--yes")  # the same command goes on
    assert done.returncode == 0, done.stdout + done.stderr
    assert "has the same rows and is not finished" in done.stderr
    assert "PASS (CPU)  trnui-sample/recites" in done.stdout
    assert [b.id for b in all_batches()] == [folder.id]
    ends = [event.n for event in folder.journal().news() if event.n != BATCH and event.state.over]
    assert sorted(ends) == [0, 1]
    assert trnui("report", "-o", str(tmp_path / "r.json")).returncode == 0
    rows = json.loads((tmp_path / "r.json").read_text())["rows"]
    assert [row["outcome"] for row in rows] == ["PASS", "PASS"]
    assert trnui("export", "-o", str(tmp_path / "x")).returncode == 0
    table = pq.read_table(next((tmp_path / "x").iterdir()))
    assert len(table.column_names) == 24
    assert set(table["result"].to_pylist()) == {"PASS (CPU)"}
