"""The SQL prompt: one SELECT over three tables, nothing else, and limits that hold."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.datasets import NEW, OLD, folder, row
from tests.recorded import PASS, recorded
from trnui.catalog.dataset.snapshot import DatasetSource
from trnui.catalog.engine.sql_console import Prompt, SqlError, SqlLimits, SqlStopped, unique

LONG = "Traceback\n" + "x" * 1000 + "\n[NCC_EVRF001] at the end"
ENDLESS = "SELECT count(*) FROM range(100000000000) a, range(1000) b WHERE a.range % 7 = 3"
UNBREAKABLE = (
    "SELECT list(range(60000000)), list(range(60000000)), repeat('x', 2000000000)"  # hears no interrupt for long
)


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> DatasetSource:
    return folder(
        tmp_path_factory.mktemp("data"),
        row("o/a", "PASS", OLD, run_py="from transformers import AutoModelForCausalLM\n"),
        row("o/b", "FAIL", OLD, error=LONG),
        row("o/a", "PASS", NEW, tp=4, english="yes", cpu_match=None),
    )


@pytest.fixture
def prompt(source: DatasetSource) -> Iterator[Prompt]:
    found = Prompt(source, limits=SqlLimits(seconds=10, rows=50))
    yield found
    found.close()


def test_results_rankings_and_runs(prompt: Prompt) -> None:
    recorded(PASS)
    assert prompt.run("SELECT model_id, status, kind FROM results ORDER BY ALL").rows == (
        ("o/a", "PASS", "cpu-match"),
        ("o/a", "PASS", "english"),
        ("o/b", "FAIL", None),
    )
    assert prompt.run("SELECT run, result, status, device FROM runs").rows == ((PASS, "PASS (CPU)", "PASS", "cpu"),)
    assert prompt.run("FROM rankings").columns[:4] == ("ranking", "task", "rank", "model_id")
    assert prompt.run("SHOW TABLES").rows == (("rankings",), ("results",), ("runs",))


def test_all_columns_are_there_and_long_texts_are_whole(prompt: Prompt) -> None:
    every = prompt.run("SELECT * FROM results WHERE model_id = 'o/b'")
    values = dict(zip(every.columns, every.rows[0], strict=True))
    assert len(every.columns) == 31
    assert values["error"] == LONG
    assert values["source"].endswith(".parquet")
    assert prompt.run("SELECT model_id FROM results WHERE error LIKE '%EVRF001%'").rows == (("o/b",),)
    assert prompt.run("SELECT max(length(run_py)) FROM results").rows == (
        (len("from transformers import AutoModelForCausalLM\n"),),
    )
    assert prompt.run("SELECT r.error FROM results AS r WHERE tp = 1 AND r.status = 'FAIL'").rows == ((LONG,),)
    assert prompt.run("SELECT task FROM results WHERE run_py LIKE 'from%'").rows == (("text-generation",),)


@pytest.mark.parametrize(
    ("sql", "words"),
    [
        ("COPY results TO '{out}'", "COPY is not possible"),
        ("WITH x AS (COPY results TO '{out}') SELECT 1", "COPY QUERY inside a SELECT"),
        ("WITH x AS (DELETE FROM memory.r RETURNING *) SELECT * FROM x", "DELETE QUERY inside a SELECT"),
        ("SELECT * FROM query('WITH x AS (COPY results TO ''{out}'') SELECT 1')", "must be at the top level"),
        ("EXPORT DATABASE '{out}'", "EXPORT is not possible"),
        ("ATTACH '{out}' AS other", "ATTACH is not possible"),
        ("SELECT * FROM read_csv('/etc/passwd')", "disabled by configuration"),
        ("SELECT * FROM read_text('/etc/passwd')", "disabled by configuration"),
        ("SELECT * FROM glob('/etc/*')", "disabled by configuration"),
        ("SELECT * FROM '/etc/passwd'", "does not exist"),
        ("SELECT * FROM read_parquet('{data}/*.parquet')", "disabled by configuration"),
        ("SELECT * FROM sniff_csv('/etc/passwd')", "disabled by configuration"),
        ("SELECT * FROM enable_logging(storage = 'file', storage_config = {{'path': '{out}'}})", "locked"),
        ("PRAGMA database_list", "PRAGMA is not possible"),
        ("PRAGMA show_tables", "PRAGMA is not possible"),
        ("SET memory_limit = '90GB'", "SET is not possible"),
        ("RESET lock_configuration", "SET is not possible"),
        ("INSTALL httpfs", "LOAD is not possible"),
        ("LOAD httpfs", "LOAD is not possible"),
        ("UPDATE EXTENSIONS", "only SELECT"),
        ("CALL pragma_version()", "CALL is not possible"),
        ("SELECT 1; SELECT 2", "2 statements"),
        ("SELECT 1; DROP TABLE memory.r", "2 statements"),
        ("DROP VIEW results", "DROP is not possible"),
        ("CREATE TABLE x (a INTEGER)", "CREATE is not possible"),
        ("INSERT INTO memory.r SELECT * FROM memory.r", "INSERT is not possible"),
        ("EXPLAIN SELECT 1", "EXPLAIN is not possible"),
        ("PREPARE p AS SELECT 1", "PREPARE is not possible"),
        ("BEGIN", "TRANSACTION is not possible"),
        ("", "nothing to run"),
        ("-- a comment", "nothing to run"),
        ("SELECT * FROM prompt", "does not exist"),  # no Python variables either
    ],
)
def test_nothing_but_one_select(prompt: Prompt, sql: str, words: str, tmp_path: Path, source: DatasetSource) -> None:
    out = tmp_path / "out"
    with pytest.raises(SqlError) as error:
        prompt.run(sql.format(out=out, data=source.files[0].parent))
    assert words in error.value.message
    assert not out.exists()
    assert prompt.run("SELECT count(*) FROM results").rows == ((3,),)


def test_an_error_marks_its_position(prompt: Prompt) -> None:
    with pytest.raises(SqlError) as error:
        prompt.run("SELECT nope FROM results")
    lines = error.value.message.splitlines()
    assert lines[0] == 'Referenced column "nope" not found in FROM clause!'
    assert lines[-2:] == ["LINE 1: SELECT nope FROM results", "               ^^^^"]


def test_text_of_the_user_reaches_no_terminal_raw(prompt: Prompt) -> None:
    with pytest.raises(SqlError) as error:
        prompt.run('SELECT "\x1b]0;owned\x07" FROM results')
    assert "\x1b" not in error.value.message


def test_the_time_limit_ends_an_endless_query_and_the_next_one_works(source: DatasetSource) -> None:
    prompt = Prompt(source, limits=SqlLimits(seconds=1))
    try:
        prompt.run("SELECT 1")
        started = time.monotonic()
        with pytest.raises(SqlError, match="stopped after 1 s"):
            prompt.run(ENDLESS)
        assert time.monotonic() - started < 3
        assert prompt.run("SELECT count(*) FROM results").rows == ((3,),)
    finally:
        prompt.close()


def test_a_query_that_hears_no_interrupt_is_ended_too(source: DatasetSource) -> None:
    prompt = Prompt(source, limits=SqlLimits(seconds=0.5))
    try:
        prompt.run("SELECT 1")
        started = time.monotonic()
        with pytest.raises(SqlError, match="stopped"):
            prompt.run(UNBREAKABLE)
        assert time.monotonic() - started < 5
        assert prompt.run("SELECT count(*) FROM results").rows == ((3,),)
    finally:
        prompt.close()


def test_the_memory_limit_holds(source: DatasetSource) -> None:
    prompt = Prompt(source, limits=SqlLimits(seconds=60, memory=64 << 20))
    try:
        with pytest.raises(SqlError, match="memory"):
            prompt.run("SELECT list(i ORDER BY hash(i)) FROM range(30000000) t(i)")
        assert prompt.run("SELECT 1").rows == ((1,),)
    finally:
        prompt.close()


def test_too_many_rows_or_bytes_are_cut_and_said(source: DatasetSource) -> None:
    prompt = Prompt(source, limits=SqlLimits(rows=50, bytes=1 << 20))
    try:
        found = prompt.run("SELECT range FROM range(1000)")
        assert (len(found.rows), found.total, found.cut) == (50, 1000, "50 of 1,000 rows shown")
        assert prompt.run("SELECT range FROM range(1000); -- all of them").cut.endswith("50 rows")
        assert prompt.run("SELECT range FROM range(50)").cut == ""
        wide = prompt.run("SELECT repeat('x', 1000000) FROM range(50)")
        assert "of 50 rows shown" in wide.cut or len(wide.rows) == 50
    finally:
        prompt.close()


def test_rows_that_cannot_be_counted_in_time_are_shown_all_the_same(
    source: DatasetSource, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("trnui.catalog.engine.sql_console._COUNT", 0.2)
    slow = "SELECT i FROM range(5000000000) t(i) WHERE hash(i) % 2 = 0"
    prompt = Prompt(source, limits=SqlLimits(rows=50))
    try:
        found = prompt.run(slow)
        assert (len(found.rows), found.cut) == (50, "only the first 50 rows")
        assert prompt.run("SELECT 1").rows == ((1,),)
    finally:
        prompt.close()


def test_an_interrupt_from_another_thread(prompt: Prompt) -> None:
    prompt.run("SELECT 1")
    threading.Timer(0.3, prompt.interrupt).start()
    with pytest.raises(SqlStopped):
        prompt.run(ENDLESS)
    assert prompt.run("SELECT 1").rows == ((1,),)


def test_numbers_are_numbers(prompt: Prompt) -> None:
    found = prompt.run("SELECT 1.50, 12345678901234567890.12::DECIMAL(22, 2), sum(tp) FROM results").rows[0]
    assert found == (1.5, Decimal("12345678901234567890.12"), 6)
    assert [type(v) for v in found] == [float, Decimal, int]


def test_same_names_stay_apart() -> None:
    assert unique(["a", "a", "b", "a", ""]) == ("a", "a_2", "b", "a_3", "column")


# -- the command


def trnui(*args: str, **options: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "trnui", "sql", *args]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, **options)  # type: ignore[call-overload,no-any-return]


def raw(query: str, data: str) -> bytes:
    command = [sys.executable, "-m", "trnui", "sql", query, "--dataset", data, "--format", "parquet"]
    return subprocess.run(command, capture_output=True, timeout=60, check=True).stdout


def test_the_command_writes_rows_and_words_apart(source: DatasetSource) -> None:
    data = str(source.files[0].parent)
    done = trnui("SELECT model_id, tp FROM results ORDER BY ALL", "--dataset", data, "--format", "csv", "--limit", "2")
    assert done.stdout == "model_id,tp\no/a,1\no/a,4\n"
    assert "2 rows in" in done.stderr
    assert "2 of 3 rows shown; --limit allows more" in done.stderr
    kinds = pq.read_schema(io.BytesIO(raw("SELECT 'x' AS tp, 1 AS n, 1.5 AS d, tested_at FROM results", data)))
    assert [str(f.type) for f in kinds] == ["string", "int64", "double", "timestamp[ms, tz=UTC]"]
    piped = trnui("-", "--dataset", data, "--format", "jsonl", input="SELECT 1 AS one")
    assert piped.stdout == '{"one": 1}\n'


def test_a_wrong_query_is_exit_1_without_data(source: DatasetSource) -> None:
    done = trnui("SELECT nope FROM results", "--dataset", str(source.files[0].parent))
    assert (done.returncode, done.stdout) == (1, "")
    assert "^^^^" in done.stderr


def test_ctrl_c_is_exit_130(source: DatasetSource) -> None:
    command = [sys.executable, "-m", "trnui", "sql", ENDLESS, "--dataset", str(source.files[0].parent)]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    time.sleep(2)
    started = time.monotonic()
    os.kill(child.pid, signal.SIGINT)
    out, err = child.communicate(timeout=10)
    assert child.returncode == 130
    assert (out, b"Traceback" in err) == (b"", False)
    assert time.monotonic() - started < 3


def test_taking_a_query_apart_counts_for_its_limits(source: DatasetSource) -> None:
    many = ", ".join(map(str, range(500_000)))
    prompt = Prompt(source)
    with pytest.raises(SqlError, match="3,888,931 characters long; 100,000 are the limit"):
        prompt.run(f"SELECT count(*) FROM results WHERE tp IN ({many})")
    assert prompt._child is None, "nothing was started for it"
    short = Prompt(source, limits=SqlLimits(seconds=0.5, text=10_000_000))
    began = time.monotonic()
    with pytest.raises(SqlError, match=r"stopped after 0\.5 s"):
        short.run(f"SELECT count(*) FROM results WHERE tp IN ({many})")
    assert time.monotonic() - began < 10
    assert short.run("SELECT count(*) FROM results").rows == ((3,),)
    short.close()
