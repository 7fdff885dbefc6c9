"""`trnui run` before anything runs: what is looked at, what stops it, and what is asked once more."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from trnui.cli.shared_options import note
from trnui.run_requests import Choices
from trnui.sample.models import folder_of
from trnui_runner.cli.start import confirmed
from trnui_runner.common.errors import Exit, UsageError, UserError
from trnui_runner.preflight.gather import preflight
from trnui_runner.preflight.report import Check, CheckStatus, Preflight
from trnui_runner.request.prepare import prepare
from trnui_runner.request.request import RunRequest


@pytest.fixture
def recites() -> Path:
    folder = folder_of("trnui-sample/recites")
    assert folder is not None
    return folder


def trnui(*words: str) -> subprocess.CompletedProcess[str]:
    """The command in a process of its own, without a terminal, in the test's home."""
    return subprocess.run(
        [sys.executable, "-m", "trnui", "run", *words],
        capture_output=True,
        text=True,
        timeout=120,
        env=dict(os.environ),
        stdin=subprocess.DEVNULL,
    )


def runs(home: Path) -> list[Path]:
    return [*(home / "state" / "runs").glob("*")]


def test_dry_run_of_a_folder_says_all_and_starts_nothing(recites: Path, home: Path) -> None:
    done = trnui(str(recites), "--dry-run", "--format", "jsonl")
    assert done.returncode == Exit.OK, done.stderr
    told = json.loads(done.stdout)
    assert told["plan"]["recipe"]["device"] == "cpu"
    assert told["plan"]["recipe"]["script"] == "bundled"
    assert {item["name"] for item in told["preflight"]["checks"]} >= {"device", "checkpoint", "script"}
    assert runs(home) == []


def test_no_such_folder_is_a_usage_error() -> None:
    done = trnui("/no/such/folder")
    assert done.returncode == Exit.USAGE
    assert done.stderr.endswith("Give a Hub id (owner/name) or a folder with a checkpoint.\n")
    assert done.stdout == ""


def test_neuron_without_a_device_ends_with_the_way_of_the_sample(recites: Path) -> None:
    done = trnui(str(recites), "--device", "neuron")
    assert done.returncode == Exit.NO_DEVICE
    assert "trnui-sample/recites" in done.stderr
    assert "Traceback" not in done.stderr


def test_what_differs_is_said_and_asks_for_a_confirmation(recites: Path, capsys: pytest.CaptureFixture[str]) -> None:
    prepared = prepare(RunRequest(str(recites)))
    check = Check("stack", CheckStatus.WARNING, "torch 2.13 here, 2.14 in the row")
    found = Preflight((check,), prepared, approval="it ships with trnui")
    with pytest.raises(UsageError, match="Not started"):
        confirmed(found, False, note)
    assert "torch 2.13 here, 2.14 in the row" in capsys.readouterr().err
    assert confirmed(found, True, note) is found.prepared


def test_an_error_never_starts_whatever_is_said(recites: Path) -> None:
    found = Preflight((Check("disk", CheckStatus.ERROR, "no room", "Make room."),), prepare(RunRequest(str(recites))))
    with pytest.raises(UserError) as caught:
        confirmed(found, True, note)
    assert (caught.value.message, caught.value.remedy, caught.value.code) == (
        "cannot start: no room",
        "Make room.",
        Exit.FAILED,
    )


def test_yes_to_a_published_script_holds_for_that_script(recites: Path) -> None:
    row = {
        "model_id": "owner/name",
        "result": "PASS (CPU)",
        "runner": "trnui/cpu",
        "tp": 1,
        "run_py": "print('theirs')\n",
    }
    found = preflight(RunRequest("owner/name", row=row, checkpoint=recites))
    assert found.approval is None
    with pytest.raises(UsageError, match="Not started"):
        confirmed(found, False, note)
    assert preflight(RunRequest("owner/name", row=row, checkpoint=recites)).approval is None  # asked, not answered
    confirmed(found, True, note)
    assert preflight(RunRequest("owner/name", row=row, checkpoint=recites)).approval
    other = RunRequest("owner/name", row={**row, "run_py": "print('other')\n"}, checkpoint=recites)
    assert preflight(other).approval is None


@pytest.mark.parametrize("value", ["nan", "inf", "-inf", "-1", "soon", ""])
def test_timeout_that_no_clock_reaches_is_refused(value: str, home: Path) -> None:
    done = trnui("trnui-sample/recites", "--dataset", "sample", "--dry-run", f"--timeout={value}")
    assert (done.returncode, done.stdout) == (Exit.USAGE, "")
    assert "--timeout" in done.stderr


def test_timeout_of_0_is_never(home: Path) -> None:
    done = trnui("trnui-sample/recites", "--dataset", "sample", "--dry-run", "--timeout=0", "--format=jsonl")
    assert done.returncode == Exit.OK
    assert not json.loads(done.stdout)["plan"]["recipe"]["timeout_s"]


@pytest.mark.parametrize("value", ["nan", "inf", "0", "-1"])
def test_timeout_typed_in_the_app_is_a_number_of_seconds_too(value: str) -> None:
    with pytest.raises(UsageError, match=r"too small|not a number"):
        Choices(timeout_s=value).changes()


def test_options_typed_in_the_app_are_fields_of_a_request() -> None:
    typed = Choices(cores=" 4 ", parallelism="ep", dtype="float32", revision="v2", python="/env", timeout_s="0.5")
    assert typed.changes() == {
        "cores": 4, "parallelism": "ep", "dtype": "float32", "revision": "v2", "python": "/env", "timeout_s": 0.5,
    }  # fmt: skip
    assert Choices().changes() == {}
    with pytest.raises(UsageError, match="parallelism: both is neither tp nor ep"):
        Choices(parallelism="both").changes()
