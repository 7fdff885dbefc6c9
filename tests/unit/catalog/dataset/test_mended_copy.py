"""A fault of one cell or one name costs that cell or that name, and not its file."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.called import called
from tests.datasets import NEW, OLD, folder, row
from trnui.catalog.dataset.mended_copy import mended
from trnui.catalog.dataset.snapshot import resolve
from trnui.catalog.engine.catalog import Catalog


def broken_text(path: Path) -> None:
    table = pa.table(
        {
            "model_id": ["o/a", "o/b"],
            "result": ["FAIL", "PASS"],
            "error": pa.array([b"he\xff\xfelo", None], pa.binary()),
        }
    )
    schema = table.schema.set(2, pa.field("error", pa.string()))
    arrays = [
        *table.columns[:2],
        pa.chunked_array([pa.Array.from_buffers(pa.string(), 2, table.column(2).chunk(0).buffers())]),
    ]
    pq.write_table(pa.table(arrays, schema=schema), path)


def test_a_broken_byte_costs_a_cell(tmp_path: Path) -> None:
    broken_text(tmp_path / "x.parquet")
    catalog = Catalog(resolve(str(tmp_path)))
    assert [p.words for p in catalog.problems] == ["1 value of error not UTF-8: � stands for what could not be read"]
    assert catalog.detail(0).values["error"] == "he\ufffd\ufffdlo"
    assert catalog.detail(1).values["model_id"] == "o/b"


@pytest.mark.parametrize("name", ["file_row_number", "FILE_ROW_NUMBER"])
def test_a_column_with_a_name_of_duckdbs_own_costs_its_name(tmp_path: Path, name: str) -> None:
    pq.write_table(pa.table({"model_id": ["o/a"], "result": ["PASS"], name: [7]}), tmp_path / "x.parquet")
    catalog = Catalog(resolve(str(tmp_path)))
    assert catalog.detail(0).values["file_row_number (in the file)"] == 7
    assert "is shown as file_row_number (in the file)" in catalog.problems[0].words


def test_other_faults_are_not_mended(tmp_path: Path) -> None:
    (tmp_path / "x.parquet").write_bytes(b"PAR1 and no more")
    assert mended(tmp_path / "x.parquet", "No magic bytes found") is None
    assert mended(tmp_path / "x.parquet", "value is not valid UTF8!") is None


def test_a_mistyped_dataset_is_not_the_sample(tmp_path: Path) -> None:
    done = called("--dataset", "mytypo/folder", "list")
    assert (done.code, done.out) == (3, "")
    assert "nothing of it is on disk" in done.err


def test_few_rows_on_the_newest_stack_are_said(tmp_path: Path) -> None:
    folder(tmp_path / "d", row("o/new", "PASS", NEW), *(row(f"o/{n}", "PASS", OLD) for n in range(5)))
    assert "only 1 row on the newest stack, up to 5 on others" in called("--dataset", tmp_path / "d", "list").err
    assert "newest stack" not in called("--dataset", tmp_path / "d", "list", "--neuronx-cc", "all").err
