"""Rows that were kept are the rows that were loaded; what does not fit is loaded anew, and nobody else can put rows there."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.datasets import NEW, OLD, folder, parquet, row
from trnui.catalog.dataset.snapshot import DatasetSource, resolve
from trnui.catalog.engine import kept_rows
from trnui.catalog.engine.catalog import Catalog
from trnui.catalog.engine.database import Database
from trnui.catalog.engine.sql_console import run_sql
from trnui.catalog.query import ALL, Query, View
from trnui_runner.common.files import cache_dir

EVERY = Query(neuronx_cc=(ALL,), library_version=(ALL,))
SCRIPT = "from transformers import AutoModelForCausalLM\n"


@pytest.fixture(autouse=True)
def small_is_worth_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trnui.catalog.engine.database.WORTH_ROWS", 1)


@pytest.fixture
def source(tmp_path: Path) -> DatasetSource:
    rows = [row(f"org/Model-{n}", "PASS" if n % 3 else "FAIL", stack, tp=1 + n % 2, wall_s=n, error=None if n % 3 else f"error {n}")
            for n in range(40) for stack in (OLD, NEW)]  # fmt: skip
    folder(tmp_path / "data", *rows, row("org/script", "PASS", OLD, runner=None, run_py=SCRIPT))
    (tmp_path / "data" / "broken.parquet").write_bytes(b"PAR1")
    return resolve(str(tmp_path / "data"))


@pytest.fixture
def catalogs() -> Iterator[list[Catalog]]:
    made: list[Catalog] = []
    yield made
    for catalog in made:
        catalog.connection.close()


def kept_files() -> list[Path]:
    return sorted((cache_dir() / "rows").glob("*.db"))


def loaded(source: DatasetSource, catalogs: list[Catalog], **more: Any) -> Catalog:
    catalogs.append(Catalog(source, **more))
    return catalogs[-1]


def everything(catalog: Catalog) -> tuple[object, ...]:
    table = catalog.rows(EVERY.but(sort="wall_s", descending=True), ("model_id", "status", "task", "tp", "wall_s", "neuronx_cc", "tested_at", "run_py", "source", "row"))  # fmt: skip
    return table.rows, table.ids, table.count, catalog.stacks(), catalog.default_stack, catalog.problems


def test_the_second_start_has_the_same_rows_ids_stacks_and_problems(
    source: DatasetSource, catalogs: list[Catalog]
) -> None:
    first = loaded(source, catalogs)
    first.database.keep()
    second = loaded(source, catalogs)
    assert second.database.kept
    assert not first.database.kept
    assert everything(second) == everything(first)
    assert [p.file for p in second.problems] == ["broken.parquet"]
    identity = second.rows(EVERY.but(text="model-7")).ids[0]
    assert second.detail(identity) == first.detail(identity)


def test_what_changes_rows_changes_a_copy(source: DatasetSource, catalogs: list[Catalog]) -> None:
    first = loaded(source, catalogs)
    first.database.keep()
    (path,) = kept_files()
    before = path.read_bytes()
    second = loaded(source, catalogs)
    by_task = second.rows(EVERY.but(task="text-generation"))  # asks the scripts
    assert [r[0] for r in by_task.rows] == ["org/script"]
    assert not second.database.kept
    third = loaded(source, catalogs)  # kept again, with what the scripts say
    assert third.database.kept
    assert third.database.scripts_read
    assert everything(third) == everything(second)
    line = ("trending", "text-generation", 1, "ORG/model-1", 5, 1.0, 7, "no")
    third.database.set_rankings([line])
    assert not third.database.kept
    third.database.keep()
    assert kept_files() == [path], "rows with a task of the Hub's are not the files' alone"
    assert loaded(source, catalogs).database.kept
    assert path.read_bytes() != before


def test_ranked_views_own_runs_and_the_sql_prompt_work_on_kept_rows(
    source: DatasetSource, catalogs: list[Catalog]
) -> None:
    loaded(source, catalogs).database.keep()
    catalog = loaded(source, catalogs)
    catalog.database.set_own([row("org/Own", "PASS (CPU)", NEW, run="20260101-000000-own-0000")])
    assert [r[1] for r in catalog.rows(EVERY.but(view=View.RUNS), ("model_id", "run")).rows] == [
        "20260101-000000-own-0000"
    ]
    catalog.database.set_rankings([("trending", "text-generation", 1, "org/none", 5, 1.0, 7, "no")])
    assert catalog.rows(EVERY.but(view=View.TRENDING)).count == 1
    assert run_sql("SELECT count(*), count(DISTINCT model_id) FROM results", source).rows == ((81, 41),)


def test_other_threads_read_on_while_rows_become_writable(source: DatasetSource, catalogs: list[Catalog]) -> None:
    loaded(source, catalogs).database.keep()
    database = loaded(source, catalogs).database
    counts, done = set(), threading.Event()

    def read() -> None:
        cursor = database.connection.cursor()
        while not done.is_set():
            counts.add(cursor.execute("SELECT count(*) FROM r").fetchall()[0][0])

    reader = threading.Thread(target=read)
    reader.start()
    database.make_writable()
    database.connection.execute("UPDATE r SET task = NULL")
    done.set()
    reader.join()
    assert counts <= {81}


@pytest.mark.parametrize("how", ["touched", "rewritten", "other columns", "another host"])
def test_other_files_or_settings_are_loaded_anew(how: str, source: DatasetSource, catalogs: list[Catalog]) -> None:
    loaded(source, catalogs).database.keep()
    more: dict[str, Any] = {}
    path = source.files[0]
    if how == "touched":
        os.utime(path, ns=(1, 1))
    elif how == "rewritten":
        info = path.stat()
        path.write_bytes(path.read_bytes())
        os.utime(path, ns=(info.st_atime_ns, info.st_mtime_ns))
    elif how == "other columns":
        more["columns"] = {"notes": "error"}
    else:
        more["host"] = OLD  # its rows come first
    assert not loaded(source, catalogs, **more).database.kept


@pytest.mark.parametrize("damage", ["cut", "flipped", "text", "empty"])
def test_damaged_kept_rows_are_loaded_anew(damage: str, source: DatasetSource, catalogs: list[Catalog]) -> None:
    first = loaded(source, catalogs)
    first.database.keep()
    (path,) = kept_files()
    data = bytearray(path.read_bytes())
    if damage == "flipped":
        for at in range(0, len(data), 512):
            data[at] ^= 0xFF
    path.write_bytes({"cut": data[: len(data) // 2], "flipped": data, "text": b"no database", "empty": b""}[damage])
    second = loaded(source, catalogs)
    assert not second.database.kept
    assert everything(second) == everything(first)
    second.database.keep()
    assert loaded(source, catalogs).database.kept


@pytest.mark.parametrize("how", ["writable by others", "a link", "a folder that others may write"])
def test_rows_that_others_may_have_put_there_are_not_taken(
    how: str, source: DatasetSource, catalogs: list[Catalog]
) -> None:
    loaded(source, catalogs).database.keep()
    (path,) = kept_files()
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    if how == "writable by others":
        path.chmod(0o666)
    elif how == "a link":
        path.rename(path.with_name("elsewhere"))
        path.symlink_to(path.with_name("elsewhere"))
    else:
        path.parent.chmod(0o777)
    assert not loaded(source, catalogs).database.kept


def test_a_file_that_changes_while_it_is_loaded_is_not_kept(source: DatasetSource, catalogs: list[Catalog]) -> None:
    catalog = loaded(source, catalogs)
    source.files[0].write_bytes(parquet([row("org/new")]))
    catalog.database.keep()
    assert kept_files() == []


def test_a_cache_that_cannot_be_written_costs_nothing(
    source: DatasetSource, catalogs: list[Catalog], monkeypatch: pytest.MonkeyPatch
) -> None:
    blocked = cache_dir() / "rows"
    blocked.parent.mkdir(parents=True, exist_ok=True)
    blocked.write_text("a file")
    loaded(source, catalogs).database.keep()
    assert everything(loaded(source, catalogs))[2] == 81


def test_only_a_few_states_are_kept(tmp_path: Path) -> None:
    for n in range(kept_rows.MOST + 3):
        source = folder(tmp_path / str(n), row(f"org/{n}"))
        database = Database(source.files, source.names)
        database.open()
        database.load()
        database.keep()
        database.connection.close()
    assert len(kept_files()) == kept_rows.MOST
    assert not [p for p in (cache_dir() / "rows").iterdir() if p.suffix != ".db"]


def test_the_rows_of_each_stack_are_kept_and_are_those_that_were_counted(
    source: DatasetSource, catalogs: list[Catalog]
) -> None:
    first = loaded(source, catalogs)
    counted = dict(first.database.counts(first.connection))
    first.database.keep()
    again = loaded(source, catalogs)
    assert again.database.kept
    asked = dict(again.connection.execute("SELECT stack, count(*) FROM kept.r GROUP BY stack").fetchall())
    again.connection.close()  # what is known needs no query
    assert again.database.counts(again.connection) == counted == asked
    assert again.default_share() == first.default_share() == (40, 41)
