"""A run's output is read while it grows, and told once when it begins to mean something."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from trnui_runner.run_folder.folder import RunFolder
from trnui_runner.supervise.live_diagnosis import Meaning


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    return RunFolder(tmp_path)


def grow(run: RunFolder, text: str) -> None:
    with open(run.path / "output.log", "ab") as file:
        file.write(text.encode())


def test_a_quiet_run_is_not_looked_into(run: RunFolder) -> None:
    meaning = Meaning(run)
    assert meaning.poll(0.0) == []
    grow(run, "Loading checkpoint shards: 100%|█| 2/2\n" * 50)
    assert meaning.poll(2.0) == []
    assert meaning._stream is None


def test_trouble_is_told_once_with_what_stood_before_it(run: RunFolder) -> None:
    meaning = Meaning(run)
    grow(run, "NEURON_CC_WRAPPER: Call compiler with cmd: neuronx-cc compile\n....\n")
    assert meaning.poll(0.0) == []
    grow(run, "Killed\n")
    assert meaning.poll(0.5) == []  # a look a second
    (event,) = meaning.poll(1.5)
    assert (event.event, event.cls, event.severity) == ("diagnosis", "host_oom", "fail")
    assert "compiling" in event.summary
    grow(run, "Killed\n")
    assert meaning.poll(3.0) == []
    grow(run, "RuntimeError: [NCC_EVRF001] An unsupported operator was used: sort\n")
    assert [e.cls for e in meaning.poll(5.0)] == ["unsupported_op"]


def test_the_last_piece_is_read_when_a_step_has_ended(run: RunFolder) -> None:
    meaning = Meaning(run)
    meaning.poll(100.0)
    grow(run, "RuntimeError: nrt_load status=4")
    assert [e.cls for e in meaning.last()] == ["hbm_oom"]


def test_far_behind_it_skips_instead_of_reading_everything(run: RunFolder) -> None:
    meaning = Meaning(run)
    grow(run, "x" * (9 << 20) + "\nMemoryError\n")
    assert [e.cls for e in meaning.poll(0.0)] == ["host_oom"]


def test_a_supervisor_does_not_load_the_rules_for_a_run_without_trouble() -> None:
    import subprocess

    code = "import sys, trnui_runner.supervise.event_sources; print('trnui_runner.diagnosis.rules' in sys.modules)"
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
        == "False"
    )
