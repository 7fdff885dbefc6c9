"""The end of a run: when the log is asked why, and what its last line says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from trnui_runner.common.errors import Exit
from trnui_runner.result.finalize import asks_why, last_line, result_of
from trnui_runner.result.termination import Ending
from trnui_runner.result.verdict import exit_code
from trnui_runner.run_folder.event_reading import event_of
from trnui_runner.run_folder.folder import Result, RunFolder
from trnui_runner.run_folder.progress import Progress
from trnui_runner.run_folder.recipe import Recipe

GENERATED = {"event": "generate", "state": "end", "n": 1, "pid": 7, "new_ids": [1]}


def progress(*events: dict[str, Any]) -> Progress:
    found = Progress()
    for event in events:
        found.add(event_of(event))
    return found


@pytest.mark.parametrize(
    ("ending", "events", "asked"),
    [
        (Ending("finished", codes={"run": 1}), (GENERATED,), True),
        (Ending("finished", codes={"run": 0}), (), True),  # it printed its error and went on, perhaps
        (Ending("finished", codes={"run": 0}), (GENERATED,), False),
        (Ending("timeout"), (), True),
        (Ending("cancelled"), (), False),
    ],
)
def test_log_is_asked_why_where_nothing_came_out(
    ending: Ending, events: tuple[dict[str, Any], ...], asked: bool
) -> None:
    assert asks_why(ending, progress(*events)) is asked


def test_last_line_is_one_that_says_something() -> None:
    assert last_line(b"usage: run.py [-h]\nrun.py: error: unrecognized arguments: --cores\n\n \x1b[0m\n") == (
        "run.py: error: unrecognized arguments: --cores"
    )
    assert last_line(b"") == ""


def ended(tmp_path: Path, log: bytes, code: int, *events: dict[str, Any]) -> Result:
    (tmp_path / "output.log").write_bytes(log)
    recipe = Recipe("r", "owner/name", script="published", device="neuron")
    return result_of(RunFolder(tmp_path), recipe, progress(*events), Ending("finished", codes={"run": code}), b"")


def test_script_that_wants_other_arguments_says_so_and_is_no_failure_of_the_model(tmp_path: Path) -> None:
    found = ended(
        tmp_path, b"usage: run.py [-h] --model MODEL\nrun.py: error: the following arguments are required: --model\n", 2
    )
    assert found.outcome == "UNCHECKED"
    assert found.reason == (
        "run.py wants other arguments: run.py ended with exit code 2: run.py: error: the following arguments are required: --model"
    )
    assert exit_code(found) == Exit.UNCHECKED


def test_script_that_prints_its_error_and_ends_with_nought_keeps_the_diagnosis(tmp_path: Path) -> None:
    log = b"loading\nRuntimeError: NRT allocation failed for size 4294967296 (OOM)\nskipped: out of memory\n"
    found = ended(tmp_path, log, 0)
    assert (found.outcome, found.reason) == ("UNCHECKED", "run.py never called generate()")
    assert found.diagnosis is not None
    assert found.diagnosis["class"] == "hbm_oom"


def test_run_that_generated_needs_no_diagnosis(tmp_path: Path) -> None:
    assert ended(tmp_path, b"RuntimeError: got over it\n", 0, GENERATED).diagnosis is None
