"""What the way a run ended says by itself: never a PASS, the exit code in words, and run.py's own time."""

from __future__ import annotations

import pytest

from trnui_runner.result.termination import Ending, How, plain
from trnui_runner.run_folder.event_reading import event_of
from trnui_runner.run_folder.folder import Result
from trnui_runner.run_folder.progress import Progress
from trnui_runner.run_folder.recipe import Recipe

RECIPE = Recipe(id="r", model="owner/name", device="cpu", script="published")


def ended(ending: Ending, progress: Progress | None = None) -> Result:
    return plain(RECIPE, progress or Progress(), ending)


@pytest.mark.parametrize(
    ("how", "outcome"),
    [("cancelled", "CANCELLED"), ("timeout", "TIMEOUT"), ("lost", "LOST"), ("unstarted", "UNCHECKED")],
)
def test_each_way_to_end_has_its_outcome_whatever_the_exit_code(how: How, outcome: str) -> None:
    for code in (0, 1, -9):
        assert ended(Ending(how, codes={"run": code})).outcome == outcome


@pytest.mark.parametrize(
    ("code", "outcome", "reason"),
    [
        (0, "UNCHECKED", "nothing was checked"),
        (1, "FAIL", "run.py ended with exit code 1"),
        (3, "FAIL", "run.py ended with exit code 3"),
        (-9, "FAIL", "run.py was killed by signal 9"),
    ],
)
def test_a_finished_run_fails_by_its_exit_code_and_is_never_a_pass(code: int, outcome: str, reason: str) -> None:
    found = ended(Ending("finished", codes={"run": code}))
    assert (found.outcome, found.reason, found.exit_code) == (outcome, reason, code)


def test_a_reason_that_was_given_stays() -> None:
    assert ended(Ending("finished", "the disk is full", {"run": 1})).reason == "the disk is full"
    assert ended(Ending("lost", "its supervisor is gone", {"run": 0})).reason == "its supervisor is gone"


def test_wall_time_is_that_of_run_py_without_our_check() -> None:
    progress = Progress()
    for s, event in (
        (0.0, {"event": "stage", "name": "generating"}),
        (10.0, {"event": "stage", "name": "checking"}),
        (14.0, {"event": "stage", "name": "done"}),
    ):
        progress.add(event_of({"pid": 7, "s": s, **event}))
    checking = progress.stage_seconds()["checking"]
    assert checking == pytest.approx(4.0)
    assert ended(Ending("finished", codes={"run": 0, "check": 0}, wall_s=14.2504), progress).wall_s == 10.25
    assert ended(Ending("finished", codes={"run": 0, "check": 0}, wall_s=1.0), progress).wall_s == 0.0
    assert ended(Ending("finished", codes={"run": 0}, wall_s=14.25), progress).wall_s == 14.25
    assert ended(Ending("finished", codes={"run": 0, "check": 0}), progress).wall_s is None


def test_notes_and_the_device_go_along() -> None:
    found = ended(Ending("finished", codes={"run": 0}, notes=("a note",)))
    assert (found.notes, found.device) == (("a note",), "cpu")
