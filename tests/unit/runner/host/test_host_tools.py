"""Host tools: asked with a timeout, absent as a normal answer; nothing they started stays."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from trnui_runner.common.subprocesses import ask, host_root, is_stand_in, locate


def script(path: Path, body: str) -> str:
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return str(path)


def test_absent_is_an_answer() -> None:
    answer = ask("no-such-tool-at-all")
    assert (answer.ok, answer.present, answer.problem) == (False, False, "not installed")


def test_failure_names_the_last_line_without_control_codes(tmp_path: Path) -> None:
    answer = ask(script(tmp_path / "t", "echo first >&2; printf '\\033]0;title\\007no driver\\n' >&2; exit 3"))
    assert answer.problem == "ended with 3: no driver"


def test_hanging_tool_is_ended_with_what_it_started(tmp_path: Path) -> None:
    mark = tmp_path / "alive"
    tool = script(tmp_path / "t", f"(sleep 1.2; touch {mark}) & sleep 60")
    began = time.monotonic()
    assert ask(tool, timeout=0.3).problem == "no answer in 0.30 s"
    assert time.monotonic() - began < 1
    time.sleep(1.3)
    assert not mark.exists()


def test_tool_that_cannot_be_started(tmp_path: Path) -> None:
    (tmp_path / "t").write_text("no shebang, not executable")
    assert ask(str(tmp_path / "t")).problem.startswith("cannot be started")


def test_aws_folder_is_looked_in_without_being_on_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "opt/aws/neuron/bin"
    folder.mkdir(parents=True)
    tool = script(folder / "neuron-thing", "true")
    assert not is_stand_in()
    monkeypatch.setenv("TRNUI_HOST_ROOT", str(tmp_path))
    assert host_root() == tmp_path
    assert is_stand_in()
    assert locate("neuron-thing") == tool
