"""Every format: golden output, values that come back as they went, nothing that a terminal or a spreadsheet would obey."""

from __future__ import annotations

import csv
import io
import json
from datetime import UTC, datetime
from typing import Any

import duckdb
import pytest

from trnui.catalog.analysis.export import FORMATS, as_table, cell, dumps, parquet, write
from trnui.catalog.columns import printed, whole_row
from trnui.catalog.engine.result_set import Table
from trnui.catalog.query import View
from trnui_runner.common.dataset_schema import COLUMNS

WHEN = datetime(2026, 11, 12, 9, 14, 30, 118_000, tzinfo=UTC)
TABLE = Table(
    ("model_id", "status", "kind", "tp", "hbm_peak_gb", "tested_at", "notes"),
    (
        ("org/plain", "PASS", "cpu-match", 1, 3.5, WHEN, None),
        ("示例/模型", "PASS", "english", 16, None, None, ""),
        ('q"uote,comma', "UNTESTED", None, None, float("nan"), None, "two\nlines | and * a pipe\\"),
        ("=cmd|'/c calc'!A1", "FAIL", None, 4, -1.0, None, "\x1b[31mred\x1b[0m \u202eevil\u202c\x9b"),
    ),
)
EMPTY = Table(TABLE.columns, ())

GOLDEN = {
    "table": """\
model_id           status      kind       tp  hbm_peak_gb  tested_at                 notes
org/plain          PASS        cpu-match   1          3.5  2026-11-12T09:14:30.118Z  –
示例/模型          PASS        english    16            –  –                         –
q"uote,comma       NOT TESTED  –           –            –  –                         two lines | and * a pipe\\
=cmd|'/c calc'!A1  FAIL        –           4         -1.0  –                         red evil
""",
    "csv": """\
model_id,status,kind,tp,hbm_peak_gb,tested_at,notes
org/plain,PASS,cpu-match,1,3.5,2026-11-12T09:14:30.118Z,
示例/模型,PASS,english,16,,,""
"q""uote,comma",UNTESTED,,,,,"two
lines | and * a pipe\\"
=cmd|'/c calc'!A1,FAIL,,4,-1.0,,\x1b[31mred\x1b[0m \u202eevil\u202c\x9b
""",
    "tsv": """\
model_id	status	kind	tp	hbm_peak_gb	tested_at	notes
org/plain	PASS	cpu-match	1	3.5	2026-11-12T09:14:30.118Z⇥
示例/模型	PASS	english	16			""
"q""uote,comma"	UNTESTED					"two
lines | and * a pipe\\"
=cmd|'/c calc'!A1	FAIL		4	-1.0		\x1b[31mred\x1b[0m \u202eevil\u202c\x9b
""",
    "jsonl": """\
{"model_id": "org/plain", "status": "PASS", "kind": "cpu-match", "tp": 1, "hbm_peak_gb": 3.5, "tested_at": "2026-11-12T09:14:30.118Z", "notes": null}
{"model_id": "示例/模型", "status": "PASS", "kind": "english", "tp": 16, "hbm_peak_gb": null, "tested_at": null, "notes": ""}
{"model_id": "q\\"uote,comma", "status": "UNTESTED", "kind": null, "tp": null, "hbm_peak_gb": null, "tested_at": null, "notes": "two\\nlines | and * a pipe\\\\"}
{"model_id": "=cmd|'/c calc'!A1", "status": "FAIL", "kind": null, "tp": 4, "hbm_peak_gb": -1.0, "tested_at": null, "notes": "\\u001b[31mred\\u001b[0m \\u202eevil\\u202c\\u009b"}
""",
    "markdown": """\
| model_id | status | kind | tp | hbm_peak_gb | tested_at | notes |
| --- | --- | --- | ---: | ---: | --- | --- |
| org/plain | PASS | cpu-match | 1 | 3.5 | 2026-11-12T09:14:30.118Z | – |
| 示例/模型 | PASS | english | 16 | – | – | – |
| q"uote,comma | NOT TESTED | – | – | – | – | two lines \\| and \\* a pipe\\\\ |
| =cmd\\|'/c calc'!A1 | FAIL | – | 4 | -1.0 | – | red evil |
""",
}  # fmt: skip


def text(table: Table, format: str, **more: Any) -> str:
    stream = io.StringIO(newline="")
    write(table, format, stream, **more)
    return stream.getvalue()


@pytest.mark.parametrize("format", GOLDEN)
def test_golden(format: str) -> None:
    assert text(TABLE, format) == GOLDEN[format].replace("⇥", "\t")


def test_json_is_one_list_with_a_row_a_line() -> None:
    whole = text(TABLE, "json")
    assert json.loads(whole) == [json.loads(line) for line in text(TABLE, "jsonl").splitlines()]
    assert len(whole.splitlines()) == len(TABLE.rows) + 2


@pytest.mark.parametrize("mark", ["csv", "tsv"])
def test_separated_values_come_back_as_they_went(mark: str) -> None:
    rows = list(csv.reader(io.StringIO(text(TABLE, mark), newline=""), delimiter="," if mark == "csv" else "\t"))
    assert rows[0] == list(TABLE.columns)
    for got, went in zip(rows[1:], TABLE.rows, strict=True):
        assert got[0] == went[0]
        assert got[6] == (went[6] or "")
    odd = Table(("a",), (("",), (None,), ("x\r\ny",), (" pad ",), ('"',), ("\ufeff",), ("\r",)))
    assert [r[0] for r in list(csv.reader(io.StringIO(text(odd, mark), newline=""), delimiter="," if mark == "csv" else "\t"))[1:]] == [
        "", "", "x\r\ny", " pad ", '"', "\ufeff", "\r",
    ]  # fmt: skip


def test_another_reader_tells_absent_from_empty(tmp_path: Any) -> None:
    file = tmp_path / "x.csv"
    file.write_text(text(TABLE, "csv"))
    found = duckdb.execute(
        "SELECT notes FROM read_csv(?, allow_quoted_nulls = false, all_varchar = true, header = true)", [str(file)]
    ).fetchall()
    assert [r[0] for r in found[:2]] == [None, ""]


def test_a_spreadsheet_runs_nothing() -> None:
    rows = tuple((v, -5) for v in ("=1+1", "+1", "-1", "@x", "\t=1", "＝1", "a=1", "'=1"))
    safe = list(csv.reader(io.StringIO(text(Table(("x", "n"), rows), "csv", spreadsheet_safe=True), newline="")))[1:]
    assert [r[0] for r in safe] == ["'=1+1", "'+1", "'-1", "'@x", "'\t=1", "'＝1", "a=1", "'=1"]
    assert {r[1] for r in safe} == {"-5"}  # a number stays one


@pytest.mark.parametrize("format", [f for f in FORMATS if f != "parquet"])
def test_no_terminal_obeys_what_a_row_holds(format: str) -> None:
    written = text(TABLE, format, terminal=True)
    assert not any(c in written for c in "\x1b\x9b\u202e\u202c")


@pytest.mark.parametrize("format", FORMATS)
def test_without_rows_the_headers_are_the_columns(format: str) -> None:
    if format == "parquet":
        columns = [
            c[0] for c in duckdb.sql("SELECT * FROM read_parquet(?)", params=[_file(parquet(EMPTY))]).description
        ]
        assert columns == list(EMPTY.columns)
        return
    written = text(EMPTY, format)
    if format.startswith("json"):
        assert [json.loads(x) for x in written.splitlines()] == ([[]] if format == "json" else [])
    else:
        assert all(c in (written if format == "html" else written.splitlines()[0]) for c in EMPTY.columns)


def _file(data: bytes) -> str:
    import tempfile

    with tempfile.NamedTemporaryFile(suffix=".parquet", delete=False) as file:
        file.write(data)
    return file.name


def test_parquet_has_the_datasets_types_and_page_checksums(tmp_path: Any) -> None:
    columns = (*COLUMNS, "status", "row", "rank", "trending_score")
    row = dict.fromkeys(columns) | {"model_id": "o/a", "tp": 4, "tested_at": WHEN, "row": 3, "run_py": "x\ud800"}
    (tmp_path / "x.parquet").write_bytes(parquet(Table(columns, (tuple(row[c] for c in columns),))))
    from trnui.catalog.dataset.checksums import has_page_checksums

    assert has_page_checksums(tmp_path / "x.parquet")
    con = duckdb.connect()
    con.execute("SET TimeZone = 'UTC'")
    found = con.execute("SELECT * FROM read_parquet(?)", [str(tmp_path / "x.parquet")])
    kinds = {d[0]: str(d[1]) for d in found.description}
    assert {c: kinds[c] for c in COLUMNS} == COLUMNS
    assert (kinds["row"], kinds["rank"], kinds["trending_score"], kinds["status"]) == (
        "BIGINT",
        "INTEGER",
        "DOUBLE",
        "VARCHAR",
    )
    values = dict(zip(columns, found.fetchall()[0], strict=True))
    assert (values["tp"], values["row"], values["run_py"], values["tested_at"]) == (4, 3, "x\ufffd", WHEN)


@pytest.mark.parametrize("width", [20, 40, 60, 80, 120, 200])
def test_only_the_table_is_cut_and_only_to_fit(width: int) -> None:
    from trnui_runner.common.text import cells

    long = Table(
        ("model_id", "status", "tp", "reason"),
        (("o/" + "long" * 20, "PASS", 1, "why " * 30), ("o/示例" * 9, "FAIL", 16, None)),
    )
    lines, left_out = as_table(long, width)
    assert all(cells(line) <= width for line in lines)
    assert lines[0].split()[0] == "model_id"
    assert set(left_out) <= set(long.columns[1:])
    whole, none = as_table(long)
    assert none == ()
    assert "long" * 20 in whole[1]
    assert all(c.isascii() for c in as_table(TABLE, 60, ascii_only=True)[0])


def test_one_core_and_sharded_passes_are_told_apart_in_every_format() -> None:
    for format in GOLDEN:
        first, second = (
            GOLDEN[format].splitlines()[-5:-3] if format in ("table", "markdown") else (GOLDEN[format], GOLDEN[format])
        )
        assert "cpu-match" in first + second
        assert "english" in GOLDEN[format]
    assert "kind" in printed(View.SELECTED)
    assert "kind" in whole_row(View.SELECTED)


def test_odd_values_are_json() -> None:
    assert json.loads(dumps({"a": float("inf"), "b": b"\x00", "c": [WHEN], "d": "\U000e0041\ud800", 1: (True, None)})) == {
        "a": None, "b": "00", "c": ["2026-11-12T09:14:30.118Z"], "d": "\U000e0041\ud800", "1": [True, None],
    }  # fmt: skip


@pytest.mark.parametrize("width", [20, 40, 80])
def test_a_device_that_is_no_trainium_stays_beside_the_result(width: int) -> None:
    columns = ("model_id", "status", "kind", "device", "wall_s")
    ours = Table(columns, (("org/a-long-name-for-a-model-1B", "PASS", "cpu-match", "cpu", 1),) * 3)
    lines, left_out = as_table(ours, width)
    assert "device" not in left_out
    assert all("cpu" in line for line in lines[1:])
    real = Table(columns, tuple((*row[:3], "neuron", 1) for row in ours.rows))
    assert "device" in as_table(real, 40)[1]


@pytest.mark.parametrize("first", ["=", "+", "-", "@", "\t", "\r", "＝", "＋", "－", "＠"])
def test_every_first_character_of_a_formula_is_guarded(first: str) -> None:
    table = Table(("x",), ((f"{first}1",),))
    guarded = text(table, "csv", spreadsheet_safe=True).partition("\n")[2].strip('"\n')
    assert guarded == f"'{first}1".rstrip("\n")
    assert "'" not in text(table, "csv")


def test_figures_and_absent_values_alone_decide_where_a_column_stands() -> None:
    table = Table(("words", "none", "mixed", "n"), (("a", None, 1, 1), ("b", None, "x", None)))
    assert text(table, "markdown").splitlines()[1] == "| --- | --- | --- | ---: |"
    lines, _ = as_table(table)
    assert lines[1].endswith("1")
    assert lines[2].endswith("–")


def test_a_table_that_just_fits_is_not_cut() -> None:
    table = Table(("model", "reason"), (("a" * 34, "b" * 14),))
    exact = 34 + 2 + 14
    assert as_table(table, exact) == as_table(table)
    cut, left_out = as_table(table, exact - 1)
    assert (left_out, cut[1].endswith("…"), len(cut[1])) == ((), True, exact - 1)
    least, _ = as_table(table, 32 + 2 + 12)
    assert [len(part) for part in least[1].split("  ")] == [32, 12]
    assert as_table(table, 32 + 2 + 11)[1] == ("reason",)
    assert as_table(table, exact - 1, ascii_only=True)[0][1].endswith("~")


def test_columns_that_say_the_same_give_way_first_and_only_for_room() -> None:
    table = Table(("m", "stack", "tp"), (("a" * 20, "2.28", 1), ("b" * 20, "2.28", 2)))
    assert as_table(table, 29)[1] == ("stack",)
    assert as_table(table, 80)[1] == ()
    assert as_table(Table(("m", "stack", "tp"), table.rows[:1]), 29)[1] == ("tp",)  # one row: nothing says it twice


@pytest.mark.parametrize(
    ("column", "values", "kind"),
    [
        ("tp", [1, None], "int32"), ("tp", [1 << 40], "int64"), ("tp", [1 << 80], "string"), ("tp", [1.5], "double"), ("tp", ["x"], "string"),
        ("wall", [-(1 << 31) - 1], "int64"), ("wall", [1, 2.5], "double"), ("wall", [1 << 63, 2.5], "string"), ("flag", [True, None], "bool"),
        ("flag", [True, 1], "string"), ("none", [None], "string"), ("hbm_peak_gb", [1], "double"), ("rank", [3], "int32"),
        ("tested_at", [WHEN], "timestamp[ms, tz=UTC]"), ("tested_at", ["x"], "string"), ("when", [WHEN], "timestamp[ms, tz=UTC]"),
        ("hbm_peak_gb", [None], "double"), ("row", [(1 << 63) - 1], "int64"), ("tp", [-(1 << 31), (1 << 31) - 1], "int32"),
    ],
)  # fmt: skip
def test_the_type_of_a_parquet_column(column: str, values: list[Any], kind: str) -> None:
    import pyarrow.parquet as pq

    found = pq.read_table(io.BytesIO(parquet(Table((column,), tuple((v,) for v in values)))))
    assert str(found.schema.field(0).type) == kind
    written = found.column(0).to_pylist()
    assert [v is None for v in written] == [v is None for v in values]  # absent stays absent, in text too
    if kind == "string":
        assert all(v is None or isinstance(v, str) for v in written)


def test_whole_and_broken_numbers_are_figures_together_and_only_a_status_is_worded() -> None:
    assert text(Table(("n",), ((1,), (2.5,))), "markdown").splitlines()[1] == "| ---: |"
    assert cell("status", "UNTESTED") == "NOT TESTED"
    assert [cell("status", "odd"), cell("result", "UNTESTED"), cell("status", 3)] == ["odd", "UNTESTED", "3"]


def test_a_wide_figure_is_never_squeezed() -> None:
    table = Table(("model", "n"), (("m" * 60, 10**30),))
    assert as_table(table, 80)[0][1].endswith(str(10**30))
