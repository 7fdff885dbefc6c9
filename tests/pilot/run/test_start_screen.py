"""From `r` to a run: what the screen before it says, what consent and lights do, and the way out where it cannot start."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.visit import Visit, visit
from trnui.tui.run.run_screen import RunScreen
from trnui.tui.run.start_screen import StartScreen
from trnui_runner.common.dataset_schema import COLUMNS
from trnui_runner.preflight import gather
from trnui_runner.preflight.report import Preflight
from trnui_runner.run_folder.folder import RunFolder
from trnui_runner.supervise import launcher

SCRIPT = 'from transformers import AutoModelForCausalLM\nAutoModelForCausalLM.from_pretrained("trnui-sample/recites")\n'


def write(folder: Path, **changes: Any) -> Path:
    row: dict[str, Any] = dict.fromkeys(COLUMNS)
    row |= {
        "model_id": "trnui-sample/recites", "library": "transformers", "tp": 1, "runner": "trnui/cpu", "result": "PASS (CPU)",
        "wall_s": 24.0, "neuronx_cc": "2.28.1", "library_version": "5.24.0", "tested_at": datetime(2026, 11, 1),
    }  # fmt: skip
    folder.mkdir()
    pq.write_table(pa.Table.from_pylist([row | changes]), folder / "rows.parquet")
    return folder


@pytest.fixture
def begun(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Runs that were to be started; none is."""
    found: list[Any] = []

    def start(recipe: Any, script: bytes, steps: Any, terms: Any) -> RunFolder:
        json.dumps([recipe.to_json(), terms.to_json()])  # as it is handed over
        found.append((recipe, script))
        return RunFolder.create(recipe, script)

    monkeypatch.setattr(launcher, "start", start)
    return found


async def looked(here: Visit) -> None:
    """`r`, and the host has been looked at."""
    await here.press("r")
    await here.until(lambda: isinstance(here.app.screen, StartScreen) and "looking at this host" not in here.text, 30)


async def test_a_green_run_starts_with_enter_and_opens_its_screen(tmp_path: Path, begun: list[Any]) -> None:
    async with visit(write(tmp_path / "rows"), size=(100, 40)) as here:
        await looked(here)
        await here.shows(
            "READY", "CPU, NOT TRAINIUM", "it ships with trnui", "PASS (CPU), 0:24 incl. compilation", "OK      device"
        )
        await here.press("enter")
        await here.until(lambda: isinstance(here.app.screen, RunScreen))
        ((recipe, script),) = begun
        assert (recipe.device, recipe.script, recipe.model) == ("cpu", "bundled", "trnui-sample/recites")
        assert recipe.row["result"] == "PASS (CPU)"
        assert b"from_pretrained" in script


async def test_someones_script_wants_one_more_word_once(tmp_path: Path, begun: list[Any]) -> None:
    rows = write(tmp_path / "rows", run_py=SCRIPT)
    async with visit(rows, size=(100, 45)) as here:
        await looked(here)
        await here.shows("CONFIRM", "third-party code", "It runs with your rights", "SHA-256", "from_pretrained")
        await here.press("enter")
        await here.shows("press y to confirm")
        assert begun == []
        await here.press("a")
        await here.shows("no commit that a consent could hold for")
        await here.press("y")
        await here.until(lambda: isinstance(here.app.screen, RunScreen))
        assert begun[0][1] == SCRIPT.encode()
    async with visit(rows, size=(100, 45)) as here:
        await looked(here)
        await here.shows("READY", "you approved this script")


async def test_a_trainium_row_without_a_trainium_leads_to_the_sample_or_the_cpu(
    tmp_path: Path, begun: list[Any]
) -> None:
    async with visit(write(tmp_path / "rows", runner="neuron", result="PASS"), size=(80, 24)) as here:
        await looked(here)
        await here.shows("CANNOT START", "no Neuron device on this host", "run a row of the bundled sample here")
        await here.press("y")
        await here.shows("it cannot start: no Neuron device")
        assert begun == []
        await here.press("c")
        await here.shows("CONFIRM", "CPU, NOT TRAINIUM", "bundled script", seconds=30)
        await here.press("y")
        await here.until(lambda: isinstance(here.app.screen, RunScreen))
        assert begun[0][0].device == "cpu"


async def test_without_torch_it_says_which_line_installs_it_and_how_large_it_is(
    tmp_path: Path, begun: list[Any]
) -> None:
    bare = tmp_path / "bare"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(bare)], check=True)
    async with visit(write(tmp_path / "rows"), size=(100, 40), python=str(bare)) as here:
        await looked(here)
        await here.shows("CANNOT START", "has no torch", "one line, Y copies it", "about 1.2 GB")
        copied: list[str] = []
        here.app.copy = lambda text, what: copied.append(text)  # type: ignore[method-assign,assignment]
        await here.press("Y")
        assert copied[0].startswith(str(bare))
        assert " -m pip install " in copied[0]
        assert "torch>=" in copied[0]
        assert begun == []


async def test_options_change_the_run_and_say_what_is_not_the_protocol(tmp_path: Path, begun: list[Any]) -> None:
    async with visit(write(tmp_path / "rows"), size=(100, 40)) as here:
        await here.press("R")
        await here.shows("with options", "new tokens")
        await here.press("tab")
        await here.type("two")
        await here.press("enter")
        await here.shows("cores: 'two' is not a number")
        await here.press("backspace", "backspace", "backspace", "tab", "tab", "tab")
        await here.type("8")
        await here.press("enter")
        await here.shows("not the protocol: 8 new tokens instead of 32", seconds=30)
        await here.press("enter")
        await here.until(lambda: isinstance(here.app.screen, RunScreen))
        assert begun[0][0].max_new_tokens == 8


async def test_esc_leaves_without_a_run(tmp_path: Path, begun: list[Any]) -> None:
    async with visit(write(tmp_path / "rows"), size=(80, 24)) as here:
        await looked(here)
        await here.press("escape")
        assert len(here.app.screen_stack) == 1
        assert begun == []


async def test_the_samples_way_starts_where_no_trainium_is(tmp_path: Path, begun: list[Any]) -> None:
    async with visit(write(tmp_path / "rows", runner="neuron", result="PASS"), size=(80, 24)) as here:
        await looked(here)
        await here.shows("CANNOT START")
        await here.press("S")
        await here.shows("trnui-sample/recites", "CPU, NOT TRAINIUM", "sample", seconds=30)
        await here.until(lambda: "READY" in here.text or "CONFIRM" in here.text)
        await here.press("y")
        await here.until(lambda: isinstance(here.app.screen, RunScreen))
        ((recipe, _),) = begun
        assert (recipe.device, recipe.source.dataset) == ("cpu", "sample")


async def test_a_failing_row_is_told_where_its_model_passes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[tuple[object, object]] = []
    look = gather.preflight

    def looks(order: Any, known: Any) -> Any:
        told.append((known.siblings, known.newest))
        return look(order, known)

    monkeypatch.setattr(gather, "preflight", looks)
    rows = write(tmp_path / "rows", result="FAIL", runner="neuron", error="x")
    older = pq.read_table(rows / "rows.parquet").to_pylist()[0] | {"neuronx_cc": "2.27.1", "result": "PASS"}
    pq.write_table(pa.Table.from_pylist([older]), rows / "older.parquet")
    async with visit(rows) as here:
        await looked(here)
        assert told == [((), "neuronx-cc 2.27.1, transformers 5.24.0")]


async def test_marked_rows_come_before_the_user_one_after_the_other(tmp_path: Path, begun: list[Any]) -> None:
    rows = write(tmp_path / "rows")
    one = pq.read_table(rows / "rows.parquet").to_pylist()[0]
    more = [one | {"model_id": f"trnui-sample/{name}"} for name in ("llama", "gpt2")]
    pq.write_table(pa.Table.from_pylist([one, *more]), rows / "rows.parquet")
    async with visit(rows, size=(100, 40)) as here:
        await here.press("space", "j", "space")
        for n, model in enumerate(("recites", "gpt2"), 1):
            if n == 1:
                await here.press("r")
            await here.shows(f"trnui-sample/{model}", "READY", f"{n} of 2 marked", seconds=30)
            await here.press("enter")
        await here.until(lambda: here.app.screen.id == "runs" or type(here.app.screen).__name__ == "RunsScreen", 20)
        assert [recipe.model for recipe, _ in begun] == ["trnui-sample/recites", "trnui-sample/gpt2"]


async def test_offline_reaches_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[Any] = []
    monkeypatch.setattr(gather, "preflight", lambda order, *_: given.append(order) or Preflight(()))
    async with visit(write(tmp_path / "rows")) as here:
        await here.press("r")
        await here.until(lambda: given)
        assert given[0].supervision.offline
