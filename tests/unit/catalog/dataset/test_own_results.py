"""Own runs as rows and files: beside the published ones, and never mistaken for them."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.parquet as pq
import pytest

from tests.datasets import OLD, folder, row
from tests.recorded import CANCELLED, FAIL, GOING_ON, PASS, recorded
from trnui.catalog.dataset.own_results import arrow_schema, export, own_rows
from trnui.catalog.dataset.snapshot import resolve
from trnui.catalog.engine.database import Database
from trnui_runner.common.dataset_schema import COLUMNS
from trnui_runner.common.files import runs_dir
from trnui_runner.run_folder.folder import Result, RunFolder
from trnui_runner.run_folder.recipe import Recipe


def ended(
    number: int, device: str, outcome: str = "PASS", stack: dict[str, Any] | None = None, **made: Any
) -> RunFolder:
    """A finished run on a device, whose row says whatever `made` says."""
    recipe = Recipe(id=f"20261130-1200{number:02d}-m-000{number}", model="o/m", device=device)  # type: ignore[arg-type]
    run = RunFolder.create(recipe, b"print(1)\n")
    made = {"model_id": "o/m", "library": "transformers", "tp": 1, "result": outcome, **(stack or {}), **made}
    run.finish(Result(outcome, device=device, kind="cpu-match", wall_s=12.6, row=made, exit_code=0))
    return run


def test_finished_runs_become_rows_newest_first() -> None:
    for name in (PASS, FAIL, CANCELLED, GOING_ON):
        recorded(name)
    rows = own_rows()
    assert [r["run"] for r in rows] == [CANCELLED, FAIL, PASS]
    assert list(rows[0])[: len(COLUMNS)] == list(COLUMNS)
    assert (rows[2]["result"], rows[2]["runner"], rows[2]["wall_s"]) == ("PASS (CPU)", "trnui/cpu", 20)
    assert rows[2]["tested_at"].tzinfo is not None


@pytest.mark.parametrize(
    ("device", "word", "runner"),
    [
        ("cpu", "PASS (CPU)", "trnui/cpu"),
        ("stand-in", "PASS (stand-in)", "trnui/stand-in"),
        ("neuron", "PASS", "trnui/neuron"),
    ],
)
def test_the_device_marks_the_row_whatever_the_row_says(device: str, word: str, runner: str) -> None:
    ended(1, device, result="PASS", runner="trnui/neuron")
    ended(2, device, result="PASS (CPU)", runner="")
    assert {(r["result"], r["runner"]) for r in own_rows()} == {(word, runner)}


def test_a_run_without_a_row_gets_one() -> None:
    run = ended(1, "cpu", "FAIL")
    result = run.result()
    assert result is not None
    (run.path / "result.json").unlink()
    run.finish(replace(result, row=None))
    (only,) = own_rows()
    assert (only["model_id"], only["result"], only["wall_s"], only["run_py"]) == ("o/m", "FAIL (CPU)", 13, "print(1)\n")


def test_export_has_exactly_the_published_schema(tmp_path: Path) -> None:
    ended(1, "cpu", stack={"library_version": "5.24.0"})
    ended(2, "neuron", stack={"library_version": "5.24.0", "neuronx_cc": "2.28.1.0+abc"})
    written = export(tmp_path / "out", own_rows())
    assert [(path.name, count) for path, count in written] == [
        ("trnui-own_neuronx_cc-2.28.1.0_transformers-5.24.0.parquet", 1),
        ("trnui-own_no-neuronx_cc_transformers-5.24.0.parquet", 1),
    ]
    for path, _ in written:
        schema = pq.read_schema(path)
        assert schema.equals(arrow_schema(), check_metadata=True)
        assert [str(f.type) for f in schema] == [
            {"VARCHAR": "string", "INTEGER": "int32", "DOUBLE": "double"}.get(k, "timestamp[ms, tz=UTC]")
            for k in COLUMNS.values()
        ]


def test_exported_files_load_beside_the_published_ones(tmp_path: Path) -> None:
    folder(tmp_path, row("o/a", "PASS", OLD))
    ended(1, "cpu", stack={"library_version": "5.24.0"})
    ended(2, "cpu", "FAIL")
    export(tmp_path, own_rows())
    source = resolve(str(tmp_path))
    db = Database(source.files, source.names)
    connection = db.open()
    db.load()
    assert db.problems == ()
    assert db.rows == 3
    assert connection.execute("SELECT count(*) FROM r WHERE status = 'PASS'").fetchall() == [(1,)]
    # a reader who knows the 24 columns and nothing else
    count = duckdb.sql(
        f"SELECT count(*) FROM read_parquet('{tmp_path}/*.parquet', union_by_name=true) WHERE result = 'PASS'"
    )
    assert count.to_arrow_table().to_pylist() == [{"count_star()": 1}]


def test_what_says_nothing_about_a_model_is_not_exported(tmp_path: Path) -> None:
    recorded(CANCELLED)
    assert export(tmp_path / "out", own_rows()) == []


def test_a_run_that_could_not_fetch_its_checkpoint_is_not_exported(tmp_path: Path) -> None:
    recipe = Recipe(id="20261130-120009-m-0009", model="o/m", device="cpu")
    RunFolder.create(recipe, b"").finish(Result("UNCHECKED", "could not be fetched", device="cpu", exit_code=1))
    ended(1, "cpu", "UNCHECKED")  # it generated, and nothing could be compared with
    assert [(r["outcome"], r["untested"]) for r in own_rows()] == [
        ("UNCHECKED (CPU)", True),
        ("UNCHECKED (CPU)", False),
    ]
    assert sum(count for _, count in export(tmp_path / "out", own_rows())) == 1


def test_outcome_says_where_it_ran() -> None:
    ended(1, "cpu")
    ended(2, "stand-in")
    ended(3, "neuron")
    assert [r["outcome"] for r in own_rows()] == ["PASS", "PASS (stand-in)", "PASS (CPU)"]


def test_the_command(tmp_path: Path) -> None:
    for name in (PASS, FAIL, CANCELLED):
        recorded(name)
    command = [sys.executable, "-m", "trnui", "export", "-o", str(tmp_path / "out")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    path, count = done.stdout.strip().split("\t")
    assert count == "2"
    assert Path(path).exists()
    assert "2 of them not on Trainium" in done.stderr
    assert "1 left out (CANCELLED (CPU))" in done.stderr
    assert runs_dir().exists()
