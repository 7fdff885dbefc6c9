"""The bundled rows: real, marked, complete, and nobody who knows only the 24 columns takes one for a Trainium's."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from trnui.catalog.dataset.own_results import arrow_schema
from trnui.sample import models
from trnui_runner.request.render_script import is_ours

FILES = sorted((Path(models.__file__).parent).glob("*.parquet"))
ROWS = [row for path in FILES for row in pq.read_table(path).to_pylist()]
RUN = [row for row in ROWS if row["result"]]


def named(row: dict[str, object]) -> str:
    return f"{row['model_id']}-{row['library_version']}"


def test_two_versions_in_the_datasets_own_schema() -> None:
    assert len({row["library_version"] for row in ROWS}) == 2
    for path in FILES:
        assert pq.read_schema(path).equals(arrow_schema())


def test_there_is_something_of_everything() -> None:
    assert {row["result"] for row in ROWS} == {"PASS (CPU)", "FAIL (CPU)", None}
    assert any(row["english"] for row in RUN)
    assert any(row["cpu_match"] for row in RUN)
    assert any(row["exclusion"] for row in ROWS)
    assert any("AutoModelForImageTextToText" in row["run_py"] for row in RUN)


def test_a_reader_of_24_columns_counts_no_pass() -> None:
    assert not [row for row in ROWS if row["result"] in ("PASS", "pass", "ok")]


@pytest.mark.parametrize("row", ROWS, ids=named)
def test_rows_say_where_they_ran(row: dict[str, object]) -> None:
    assert row["runner"] == "trnui/cpu"
    assert row["neuronx_cc"] is row["torch_neuronx"] is row["hbm_peak_gb"] is row["hbm_capacity_gb"] is None
    assert models.name_of(str(row["model_id"]))


@pytest.mark.parametrize("row", RUN, ids=named)
def test_rows_have_their_scripts_and_no_path_of_a_machine(row: dict[str, str]) -> None:
    assert is_ours(row["run_py"].encode())
    assert f"MODEL = '{row['model_id']}'" in row["run_py"]
    for column in ("run_py", "error", "notes"):
        assert not re.search(r"/(?:root|home|work|tmp|farm)/", row[column] or "")


@pytest.mark.parametrize("row", [r for r in RUN if r["result"] == "FAIL (CPU)"], ids=named)
def test_a_fail_has_its_error(row: dict[str, str]) -> None:
    assert row["error"]
