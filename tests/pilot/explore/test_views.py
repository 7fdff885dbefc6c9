"""The other screens: the model's page, compare, failures, SQL, help, the card, exporting."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.visit import Visit, visit
from trnui.tui.model.matrix_view import MatrixView
from trnui.tui.widgets.result_table import ResultTable
from trnui.tui.widgets.text_view import TextView


async def open_first(v: Visit) -> None:
    await v.press("enter")
    await v.shows("rows on 5 stacks", "[Row]", "tested_at")


async def test_the_models_page_shows_every_stack_and_the_row_in_full(dataset: Path) -> None:
    async with visit(dataset, size=(120, 40)) as v:
        model = v.ids[0][0]
        await open_first(v)
        await v.shows(model, "2.27.5334.0", "2.26.6360.0", "5.20.2", "incl. compilation", "neuron_driver")
        matrix = v.app.screen.query_one(MatrixView)
        before = matrix.record
        await v.press("right_square_bracket")
        await v.until(lambda: matrix.record is not before)
        await v.press("m", "j")
        await v.until(lambda: matrix.record is not None and str(matrix.record["neuronx_cc"]).startswith("2.26"))
        await v.press("escape", "escape")
        await v.shows("40 rows")


async def test_tabs_show_stack_packages_script_and_siblings(dataset: Path) -> None:
    async with visit(dataset, size=(120, 40)) as v:
        await open_first(v)
        await v.press("tab")
        await v.shows("this host", "torch-neuronx", "missing here", seconds=30)
        await v.press("tab")
        await v.shows("beside the stack", "column torch_neuronx", "one command")
        await v.press("tab")
        await v.shows("Invented run.py", "import torch")
        await v.press("slash")
        await v.type("max_new")
        await v.press("enter")
        await v.until(lambda: "1 line holds" in v.foot)
        await v.press("n")
        assert "match 1 of 1" in v.foot


async def test_an_error_of_250_kb_opens_at_once_and_wraps(tmp_path: Path) -> None:
    import time

    import pyarrow as pa
    import pyarrow.parquet as pq

    error = (
        "Traceback (most recent call last):\n"
        + "x" * 250_000
        + "\nRuntimeError: [NCC_EVRF001] An unsupported operator was used: erfinv"
    )
    pq.write_table(
        pa.Table.from_pylist(
            [{"model_id": "o/m", "result": "FAIL", "error": error, "neuronx_cc": "2.1", "library_version": "5.1"}]
        ),
        tmp_path / "a.parquet",
    )
    async with visit(tmp_path, size=(100, 30)) as v:
        await v.press("enter")
        await v.shows("[Row]", "characters: see its tab")
        begun = time.monotonic()
        await v.press("tab", "tab", "tab", "tab")
        await v.shows("xxxxxxxxxx")
        assert time.monotonic() - begun < 1.5
        await v.shows("erfinv")  # the diagnosis, above the text
        view = v.app.screen.query_one("#content", TextView)
        await v.press("G")
        await v.until(lambda: view.top > 2000)
        assert "RuntimeError: [NCC_EVRF001]" in v.text


async def test_the_same_error_is_found_in_other_models(dataset: Path) -> None:
    async with visit(dataset, size=(120, 40)) as v:
        await v.press("s", "j", "space", "enter")
        table = v.app.screen.query_one(ResultTable)
        await v.until(lambda: table.count < 40)
        await open_first(v)
        for _ in range(7):
            await v.press("tab")
        await v.until(lambda: "Same error " in v.text and v.app.screen.query_one("#rows", ResultTable).count > 0)


async def test_compare_names_its_stacks_and_its_kinds(dataset: Path) -> None:
    async with visit(dataset, size=(140, 40)) as v:
        await v.press("5")
        await v.shows("A neuronx-cc 2.26.6360.0", "B neuronx-cc 2.27.5334.0", "newly passing", "unchanged")
        await v.press("w")
        await v.shows("A neuronx-cc 2.27.5334.0")
        await v.press("s")
        await v.shows("Kinds of change")
        await v.press("x", "enter")
        await v.until(lambda: "slower" in v.text)
        await v.press("slash")
        await v.type("zzz")
        await v.shows("No name here has “zzz”")
        await v.press("escape", "escape")
        await v.shows("40 rows")


async def test_compare_says_since_when_and_reproduces_either_side(dataset: Path) -> None:
    async with visit(dataset, size=(160, 40)) as v:
        await v.press("5")
        await v.shows("first bad version", "  neuronx-cc 2.27.5334.0")
        first = next(line for line in v.lines if "newly failing" in line and "PASS → FAIL" in line)
        assert v.lines.index(first) < min(n for n, line in enumerate(v.lines) if "FAIL → PASS" in line)
        await v.press("equals_sign")
        await v.shows("neuronx_cc", "2.26.6360.0", "2.27.5334.0")
        await v.press("escape")
        await v.shows("first bad version")
        await v.press("y")
        await v.shows("the same for CI")
        await v.press("escape")
        await v.press("r")
        await v.shows("Example-org".lower(), "2.27.5334.0")


async def test_failures_lead_from_cause_to_rows_to_the_model(dataset: Path) -> None:
    async with visit(dataset, size=(140, 40)) as v:
        await v.press("6", "a")
        await v.shows("causes", "NCC_EVRF001", "all stacks")
        await v.press("enter")
        await v.shows("failing rows of its")
        await v.press("enter")
        await v.shows("[Row]")
        await v.press("escape")
        await v.shows("failing rows of its")
        await v.press("escape")
        await v.shows("causes")
        await v.press("escape")
        await v.shows("40 rows")


async def test_sql_answers_and_refuses(dataset: Path) -> None:
    async with visit(dataset, size=(120, 32)) as v:
        await v.press("7")
        await v.shows("Enter runs the query", "FROM results")
        await v.press("enter")
        await v.shows("5 rows in", "2.27.5334.0", seconds=30)
        await v.press("slash", "ctrl+u")
        area = v.app.screen.query_one("#query")
        area.text = "DROP TABLE results"  # type: ignore[attr-defined]
        await v.press("enter")
        await v.shows("not run", "SELECT", seconds=30)


async def test_help_lists_the_keys_of_here_first(dataset: Path) -> None:
    async with visit(dataset, size=(100, 40)) as v:
        await v.press("question_mark")
        await v.shows("List of models  (here)", "Reproduce this row, or the marked ones")
        await v.press("escape")
        await v.shows("40 rows")


async def test_the_card_is_one_key_away(tmp_path: Path, dataset: Path) -> None:
    import shutil

    folder = tmp_path / "with card"
    shutil.copytree(dataset, folder)
    (folder / "README.md").write_text(
        "---\nlicense: apache-2.0\n---\n# Results\n`PASS` means [b]what[/b]\x1b[31m it says\n"
    )
    async with visit(folder) as v:
        await v.press("i")
        await v.shows("# Results", "`PASS` means [b]what[/b] it says")


async def test_export_writes_the_whole_view_by_the_commands_writer(
    dataset: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    async with visit(dataset) as v:
        await v.press("slash")
        await v.type("elm")
        await v.press("enter")
        wanted = v.ids
        await v.press("e")
        await v.shows("Export", "for a spreadsheet")
        await v.press("j", "j", "enter")
        await v.shows("Write json to")
        await v.press("enter")
        await v.until(lambda: list(tmp_path.glob("trnui-selected-*.json")))
        await v.shows("rows,", "written:")
    rows = json.loads(next(tmp_path.glob("*.json")).read_text())
    assert [(r["model_id"], r["neuronx_cc"], r["library_version"]) for r in rows] == wanted


async def test_copying_tells_the_truth(dataset: Path) -> None:
    async with visit(dataset) as v:
        model = v.ids[0][0]
        sent: list[str] = []
        await v.until(lambda: v.app._driver is not None)
        v.app._driver.write = sent.append  # type: ignore[union-attr, method-assign]
        await v.press("Y")
        assert "sent to the terminal's clipboard" in v.foot
        assert any("]52;c;" in s for s in sent)
        await v.press("y")
        await v.shows("install command", "run.py", "bytes")
        sent.clear()
        await v.press("i")
        import base64

        assert base64.b64decode(next(s for s in sent if "]52;" in s).split(";")[2][:-1]).decode() == model
