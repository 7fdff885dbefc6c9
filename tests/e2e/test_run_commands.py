"""`trnui runs`, `attach` and `stop`, and `trnui-runner`, as a shell sees them: stdout, stderr, exit codes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.recorded import FAIL, GOING_ON, PASS, REAL_FAIL, REAL_PASS, recorded
from tests.victims import MEMBERS, QUIET, WAIT, alive, ended, kill, nothing_left, until, up, victim, watchers
from trnui_runner.request.steps import SupervisionOptions
from trnui_runner.run_folder.folder import RunFolder


def shell(*words: str, program: str = "trnui") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", program, *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL)


@pytest.mark.parametrize("program", ["trnui", "trnui_runner"])
def test_runs_lists_them_newest_first_with_outcome_or_stage(program: str) -> None:
    recorded(PASS)
    recorded(FAIL)
    going = victim(QUIET.format(seconds=30))
    up(going)
    done = shell("runs", program=program)
    lines = done.stdout.splitlines()
    assert done.returncode == 0
    assert [line.split()[0] for line in lines] == ["id", going.id, FAIL, PASS]
    assert "preparing …" in lines[1]
    assert lines[2].split()[2:6] == ["FAIL", "(CPU)", "cpu", "REPRODUCED"]  # the device in the word and beside it
    as_json = json.loads(shell("runs", "--format", "json", program=program).stdout)
    assert [(r["id"], r["outcome"]) for r in as_json] == [(going.id, None), (FAIL, "FAIL"), (PASS, "PASS")]
    assert shell("stop", going.id, program=program).returncode == 0


def test_no_runs_is_said_on_stderr_and_json_stays_json() -> None:
    done = shell("runs", "--format", "json")
    assert json.loads(done.stdout) == []
    assert "No runs yet" in done.stderr


def test_stop_says_what_was_ended_and_that_nothing_is_left() -> None:
    run = victim(WAIT)
    up(run)
    done = shell("stop", run.id[-4:])
    assert done.returncode == 0
    assert "CANCELLED" in done.stdout
    assert f"stopped: {MEMBERS} × python" in done.stdout
    assert "nothing is left" in done.stdout
    nothing_left(run)
    again = shell("stop", run.id)
    assert again.returncode == 0
    assert "had already ended (CANCELLED)" in again.stdout


@pytest.mark.parametrize(("name", "code"), [(REAL_PASS, 0), (REAL_FAIL, 1)])
def test_attach_to_an_ended_run_tells_it_and_has_its_exit_code(name: str, code: int) -> None:
    recorded(name)
    done = shell("attach", name)
    assert done.returncode == code
    assert "compiling" in done.stdout
    assert ("PASS (CPU)" if code == 0 else "FAIL (CPU)") in done.stdout


def test_attach_streams_events_as_json_lines() -> None:
    recorded(REAL_PASS)
    done = shell("attach", "last", "--format", "jsonl")
    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert events[-1]["event"] == "result"
    assert sum(e["event"] == "token" for e in events) == 32
    assert "PASS (CPU)" in done.stderr


def test_attach_to_the_log_gives_clean_text() -> None:
    run = victim("print('one\\x1b[31m two\\x1b]0;owned\\x07'); print('three', end='')")
    ended(run)
    done = shell("attach", run.id, "--log")
    assert done.stdout.startswith("one two\nthree\n")
    assert done.returncode == 5  # UNCHECKED


def test_ctrl_c_detaches_and_the_run_goes_on() -> None:
    run = victim(QUIET.format(seconds=3))
    up(run)
    follower = subprocess.Popen(
        [sys.executable, "-m", "trnui", "attach", run.id], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert follower.stdout
    follower.stdout.readline()
    follower.send_signal(signal.SIGINT)
    _, words = follower.communicate(timeout=30)
    assert follower.returncode == 130
    assert "goes on" in words
    assert run.outcome() == "running"
    result = ended(run)
    assert result
    assert result.outcome == "UNCHECKED"


def test_a_killed_follower_disturbs_nothing() -> None:
    run = victim(QUIET.format(seconds=1.5))
    up(run)
    followers = [
        subprocess.Popen([sys.executable, "-m", "trnui_runner", "attach", run.id], stdout=subprocess.PIPE)
        for _ in range(2)
    ]
    for follower in followers:
        assert follower.stdout
        follower.stdout.readline()
        follower.kill()
        follower.communicate()
    result = ended(run)
    assert result
    assert result.outcome == "UNCHECKED"
    nothing_left(run)


@pytest.mark.parametrize("command", ["runs", "attach", "stop"])
def test_every_command_sweeps_what_both_killed_watchers_left(command: str) -> None:
    run = victim(WAIT)
    up(run)
    until(lambda: len(run.family()) >= MEMBERS)
    guard, supervisor = watchers(run)
    os.kill(guard, signal.SIGSTOP)  # so that neither can act before the other is killed
    os.kill(supervisor, signal.SIGSTOP)
    kill(guard)
    kill(supervisor)
    until(lambda: run.outcome() == "LOST")
    assert len(alive(run)) == MEMBERS
    done = shell(command, *([run.id] if command != "runs" else []))
    assert f"run {run.id} was lost" in done.stderr
    assert "6 remaining processes were stopped" in done.stderr
    nothing_left(run)


@pytest.mark.parametrize("command", ["attach", "stop"])
def test_unknown_and_ambiguous_ids(command: str) -> None:
    recorded(PASS)
    recorded(FAIL)
    unknown, several = shell(command, "nothing-like-it"), shell(command, "20261130")
    assert (unknown.returncode, several.returncode) == (2, 2)
    assert "Run not found: 'nothing-like-it'" in unknown.stderr
    assert "2 runs have" in several.stderr
    assert unknown.stdout == several.stdout == ""


def test_recorded_as_going_on_but_held_by_nobody_is_lost() -> None:
    recorded(GOING_ON)
    done = shell("attach", GOING_ON)
    assert done.returncode == 1
    assert "was lost" in done.stderr


def test_runner_starts_detached_and_is_followed(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="needs the run extra")
    from trnui.sample.models import folder_of

    script = tmp_path / "own.py"
    script.write_text("print('hello from a script of my own')")
    done = shell(
        "run",
        str(folder_of("trnui-sample/qwen3")),
        "--script",
        str(script),
        "--device",
        "cpu",
        "--python",
        sys.executable,
        "--detach",
        program="trnui_runner",
    )
    assert done.returncode == 0, done.stderr
    run_id = done.stdout.strip()
    follow = shell("attach", run_id, "--log", program="trnui_runner")
    assert "hello from a script of my own" in follow.stdout
    assert follow.returncode == 5
    from trnui_runner.common.files import runs_dir

    nothing_left(RunFolder(runs_dir() / run_id))


def test_silence_is_told_and_kills_nothing() -> None:
    run = victim(QUIET.format(seconds=3), supervision=SupervisionOptions(silence_s=1.0))
    result = ended(run)
    assert result
    assert result.outcome == "UNCHECKED"
    told = [e for e in (line.raw for line in run.events()) if e.get("kind") == "silent"]
    assert len(told) == 1
    assert "no compiler is busy" in told[0]["text"]


def test_a_busy_compiler_is_no_silence(tmp_path: Path) -> None:
    compiler = tmp_path / "neuronx-cc"
    compiler.symlink_to("/bin/sleep")
    run = victim(
        f"import subprocess; subprocess.run([{str(compiler)!r}, '4'])", supervision=SupervisionOptions(silence_s=1.0)
    )
    result = ended(run)
    assert result
    assert result.outcome == "UNCHECKED"
    quiet = [e["s"] for e in (line.raw for line in run.events()) if e.get("kind") == "silent"]
    busy = [e["s"] for e in (line.raw for line in run.events()) if e["event"] == "compilers"]
    assert busy
    assert not [s for s in quiet if busy[0] < s < busy[-1]]
    assert result.compile_s


def test_what_trouble_in_the_output_means_is_told_while_it_runs() -> None:
    code = "import sys, time\nprint('RuntimeError: NRT_RESOURCE: no HBM left', file=sys.stderr)\ntime.sleep(60)"
    run = victim(code)
    until(lambda: any(e["event"] == "diagnosis" for e in (line.raw for line in run.events())))
    told = next(e for e in (line.raw for line in run.events()) if e["event"] == "diagnosis")
    assert told["src"] == "supervisor"
    assert (told["class"], told["severity"]) == ("hbm_oom", "fail")
    assert shell("stop", run.id).returncode == 0
