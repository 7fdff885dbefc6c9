"""Files that are not as expected: what can be read is read right, what cannot is named, and no other file suffers."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.datasets import parquet, row
from tests.unit.catalog.dataset.drift import CASES, WHOLE, Case, load
from trnui.catalog.dataset.snapshot import resolve
from trnui.catalog.engine.catalog import Catalog
from trnui.catalog.query import Query

FIXTURES = ROOT / "tests" / "fixtures" / "parquet"


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_what_can_be_read_is_read_and_the_rest_is_named(case: Case, tmp_path: Path) -> None:
    file = tmp_path / case.file
    file.parent.mkdir(parents=True, exist_ok=True)
    case.make(file)
    catalog = Catalog(resolve(str(tmp_path)))
    assert catalog.database.rows == case.rows
    words = [p.words for p in catalog.problems]
    assert len(words) == len(case.problems), words
    for expected, found in zip(case.problems, words, strict=True):
        assert expected in found
    assert all(p.file == case.file for p in catalog.problems)
    if case.rows:
        detail = catalog.detail(0)
        got = {**detail.values, **detail.derived}
        assert {k: got[k] for k in case.values} == case.values


def test_a_bad_file_takes_no_other_with_it(tmp_path: Path) -> None:
    for n, case in enumerate(CASES):
        file = tmp_path / f"{n:02d} {case.file}"
        file.parent.mkdir(parents=True, exist_ok=True)
        case.make(file)
    database = load(tmp_path)
    assert database.rows == sum(c.rows for c in CASES)
    assert len(database.problems) == sum(len(c.problems) for c in CASES)


@pytest.mark.parametrize("folder", sorted(p for p in FIXTURES.iterdir() if p.is_dir()), ids=lambda p: p.name)
def test_recorded_sets_load_as_they_say(folder: Path) -> None:
    expect = json.loads(folder.with_suffix(".json").read_text())["expect"]
    database = load(folder)
    con = database.connection
    counts = dict(con.execute("SELECT CAST(status AS VARCHAR), count(*) FROM r GROUP BY 1").fetchall())
    found = {
        "rows": database.rows,
        "columns": 24,
        "pass": counts.get("PASS", 0),
        "fail": counts.get("FAIL", 0),
        "excluded": counts.get("EXCLUDED", 0),
        "exclusion_not_null": con.execute("SELECT count(*) FROM r WHERE exclusion <> ''").fetchall()[0][0],
        "error_not_null": con.execute("SELECT count(*) FROM r WHERE error IS NOT NULL").fetchall()[0][0],
        "unreadable": sorted(p.file for p in database.problems),
    }
    assert {k: found[k] for k in expect} == expect
    assert bool(database.problems) == ("unreadable" in expect)


def test_settings_can_name_the_column(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    inside = pa.array([{"cc": "2.9.0"}], pa.struct([("cc", pa.string())]))
    pq.write_table(
        pa.table({"which": ["o/a"], "result": ["PASS"], "verdict2": ["FAIL"], "about": inside}), tmp_path / "x.parquet"
    )
    assert load(tmp_path).rows == 0
    columns = {"model_id": "which", "result": "verdict2", "neuronx_cc": "about.cc", "tp": "absent"}
    database = load(tmp_path, columns=columns)
    sql = "SELECT model_id, status, neuronx_cc FROM r JOIN s ON s.id = r.stack"
    assert database.connection.execute(sql).fetchall() == [("o/a", "FAIL", "2.9.0")]
    assert [p.words for p in database.problems] == ["settings: [columns] tp = absent: no such column in this file"]
    mapping = database.mappings[0]
    assert {(m.canonical, m.source, m.how) for m in mapping.mapped} == {
        ("model_id", "which", "setting"), ("result", "verdict2", "setting"), ("neuronx_cc", "about → cc", "setting"),
    }  # fmt: skip
    assert ("result", "VARCHAR") in mapping.unknown


def test_rows_without_a_pair_are_in_the_default_stack_of_their_file(tmp_path: Path) -> None:
    rows = [row("o/a", None, exclusion="low", neuronx_cc=None, library_version=None, library=None), row("o/b")]
    (tmp_path / "x.parquet").write_bytes(parquet(rows))
    (tmp_path / "y.parquet").write_bytes(WHOLE)
    table = Catalog(resolve(str(tmp_path))).rows(Query())
    assert table.count == 4
    assert table.excluded == 1


def test_a_file_that_changes_under_us_is_not_shown_as_the_row_it_was(tmp_path: Path) -> None:
    from trnui_runner.common.errors import DataError

    file = tmp_path / "x.parquet"
    file.write_bytes(parquet([row("o/a"), row("o/b")]))
    catalog = Catalog(resolve(str(tmp_path)))
    file.write_bytes(parquet([row("o/b"), row("o/a")]))
    with pytest.raises(DataError, match="has changed"):
        catalog.detail(0)
    file.unlink()
    with pytest.raises(DataError, match="cannot be read"):
        catalog.detail(0)


def test_what_is_no_file_is_named_and_never_waited_for(tmp_path: Path) -> None:
    (tmp_path / "x.parquet").write_bytes(WHOLE)
    os.mkfifo(tmp_path / "pipe.parquet")
    (tmp_path / "gone.parquet").symlink_to("/nowhere/at-all")
    (tmp_path / "folder.parquet").mkdir()
    source = resolve(str(tmp_path))
    assert [p.file for p in source.problems] == ["pipe.parquet"]
    catalog = Catalog(source)
    assert {p.file for p in catalog.problems} == {"pipe.parquet", "gone.parquet"}
    assert catalog.rows(Query()).count > 0
