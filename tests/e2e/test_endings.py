"""However a run ends, nothing of it is left alive and its folder says truly how it ended."""

from __future__ import annotations

import contextlib
import os
import pty
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.victims import (
    HYDRA,
    MEMBERS,
    PRELUDE,
    QUIET,
    TREE,
    WAIT,
    alive,
    ended,
    kill,
    nothing_left,
    until,
    up,
    victim,
    watchers,
)
from trnui_runner.host.core_blocks import CoreRequest
from trnui_runner.request.steps import SupervisionOptions
from trnui_runner.run_folder.folder import RunFolder
from trnui_runner.run_folder.follower import Follower
from trnui_runner.supervise.launcher import stop, sweep, sweep_all

ROOT = Path(__file__).resolve().parents[2]


def test_script_that_leaves_five_behind_is_swept_up() -> None:
    run = victim(TREE)
    result = ended(run)
    assert result
    assert result.outcome == "UNCHECKED"
    assert result.exit_code == 0
    assert any(e.get("kind") == "stray" for e in (line.raw for line in run.events()))
    nothing_left(run)


def test_exit_code_of_the_script_is_a_fail() -> None:
    run = victim("raise SystemExit(3)")
    result = ended(run)
    assert result
    assert (result.outcome, result.exit_code) == ("FAIL", 3)
    nothing_left(run)


def test_interpreter_that_is_not_there() -> None:
    run = victim("", command=("/nowhere/python", "{run}/run.py"))
    result = ended(run)
    assert result
    assert result.outcome == "UNCHECKED"
    assert "/nowhere/python" in result.reason
    nothing_left(run)


def test_timeout() -> None:
    run = victim(WAIT, timeout_s=1.0)
    result = ended(run)
    assert result
    assert result.outcome == "TIMEOUT"
    assert "1 s" in result.reason
    nothing_left(run)


def test_stop_says_whom_it_ended() -> None:
    run = victim(WAIT)
    up(run)
    stopped = stop(run)
    assert (stopped.outcome, stopped.already, stopped.left) == ("CANCELLED", False, ())
    assert len(stopped.ended) == MEMBERS
    nothing_left(run)
    assert stop(run).already


def test_stop_of_a_tree_that_forks_on_and_on() -> None:
    run = victim(HYDRA)
    up(run)
    assert stop(run).outcome == "CANCELLED"
    nothing_left(run)


@pytest.mark.parametrize("whom", [0, 1], ids=["guard", "supervisor"])
def test_sigterm_to_a_watcher_is_a_stop(whom: int) -> None:
    run = victim(WAIT)
    up(run)
    kill(watchers(run)[whom], signal.SIGTERM)
    result = ended(run)
    assert result
    assert result.outcome == "CANCELLED"
    nothing_left(run)


@pytest.mark.parametrize("whom", [0, 1], ids=["guard", "supervisor"])
@pytest.mark.parametrize("tree", [WAIT, HYDRA], ids=["tree", "forking tree"])
def test_a_killed_watcher_is_survived_by_the_other_who_ends_the_run(whom: int, tree: str) -> None:
    run = victim(tree)
    up(run)
    kill(watchers(run)[whom])
    result = ended(run)
    assert result
    assert result.outcome == "LOST"
    assert ("guard was killed", "supervisor was killed")[whom] in result.reason
    assert result.row is not None
    assert result.row["result"].startswith("LOST")
    nothing_left(run)


@pytest.mark.parametrize("first", [0, 1], ids=["guard first", "supervisor first"])
@pytest.mark.parametrize("delay", [0.0, 0.001, 0.02])
def test_both_watchers_killed_is_swept_by_the_next_command(first: int, delay: float) -> None:
    run = victim(WAIT)
    up(run)
    until(lambda: len(run.family()) >= MEMBERS + 0)
    until(lambda: len(alive(run)) == MEMBERS)
    pids = watchers(run)
    kill(pids[first])
    time.sleep(delay)
    if RunFolder(run.path).outcome() == "running":
        with contextlib.suppress(ProcessLookupError):
            kill(pids[1 - first])
    until(lambda: run.outcome() == "LOST")
    sweep_all()
    result = run.result()
    assert result
    assert result.outcome == "LOST"
    nothing_left(run)
    assert sweep_all() == {}


def test_a_run_that_was_never_started_is_swept() -> None:
    run = victim("pass")
    ended(run)
    nothing_left(run)
    for name in ("result.json", "state.json"):
        (run.path / name).unlink()
    os.utime(run.path / "recipe.json", (1, 1))
    assert run.outcome() == "LOST"
    sweep(run)
    result = run.result()
    assert result
    assert "never started" in result.reason


def test_a_run_that_goes_on_is_not_swept() -> None:
    run = victim(QUIET.format(seconds=1.5))
    up(run)
    assert sweep_all() == {}
    assert run.outcome() == "running"
    assert stop(run).outcome == "CANCELLED"


def test_killed_rank_the_script_decides() -> None:
    run = victim(WAIT)
    rank, _ = up(run)
    kill(rank)
    until(lambda: len(alive(run)) == MEMBERS - 1)
    assert run.outcome() == "running"
    assert stop(run).outcome == "CANCELLED"
    nothing_left(run)


def test_killed_compiler_fails_the_script() -> None:
    run = victim(TREE + "\nsys.exit(compiler.wait() != 0)")
    _, compiler = up(run)
    kill(compiler)
    result = ended(run)
    assert result
    assert (result.outcome, result.exit_code) == ("FAIL", 1)
    nothing_left(run)


def test_main_process_killed_by_somebody() -> None:
    run = victim("import os, signal; os.kill(os.getpid(), signal.SIGKILL)")
    result = ended(run)
    assert result
    assert (result.outcome, result.exit_code) == ("FAIL", -9)
    assert "signal 9" in result.reason
    nothing_left(run)


def test_frozen_supervisor_does_not_keep_a_stop_from_working() -> None:
    run = victim(WAIT)
    up(run)
    guard, supervisor = watchers(run)
    kill(supervisor, signal.SIGSTOP)
    run.ask_stop()
    time.sleep(0.6)
    assert run.outcome() == "running"
    kill(guard, signal.SIGTERM)  # as launch.stop does after the grace
    kill(guard, signal.SIGALRM)  # as the guard's own alarm does later
    result = ended(run)
    assert result
    assert result.outcome == "LOST"
    nothing_left(run)


LAUNCHER = """
import sys, time, dataclasses
sys.path.insert(0, {root!r})
from tests.victims import victim, QUIET
print(victim(QUIET.format(seconds=1.5)).path, flush=True)
time.sleep(60)
"""


def test_launcher_killed_and_the_run_goes_on() -> None:
    app = subprocess.Popen([sys.executable, "-c", LAUNCHER.format(root=str(ROOT))], stdout=subprocess.PIPE, text=True)
    assert app.stdout
    run = RunFolder(Path(app.stdout.readline().strip()))
    up(run)
    app.kill()
    app.wait()
    app.stdout.close()
    result = ended(run)
    assert result
    assert result.outcome == "UNCHECKED"
    assert "end" in (run.path / "output.log").read_text()
    nothing_left(run)


@pytest.mark.terminal
def test_terminal_closed_and_the_run_goes_on() -> None:
    pid, terminal = pty.fork()
    if pid == 0:
        os.execv(sys.executable, [sys.executable, "-c", LAUNCHER.format(root=str(ROOT))])
    told = b""
    while b"\n" not in told:
        told += os.read(terminal, 4096)
    run = RunFolder(Path(told.decode().splitlines()[0].strip()))
    up(run)
    os.close(terminal)  # SIGHUP to its session
    os.waitpid(pid, 0)
    result = ended(run)
    assert result
    assert result.outcome == "UNCHECKED"
    assert "end" in (run.path / "output.log").read_text()
    nothing_left(run)


def test_folder_removed_under_a_run() -> None:
    run = victim(WAIT)
    up(run)
    _, supervisor = watchers(run)
    tmp = Path(os.readlink(run.path / "tmp"))
    shutil.rmtree(run.path)
    assert len(alive(run)) == MEMBERS
    kill(supervisor)
    until(lambda: not alive(run))
    until(lambda: not tmp.exists())


def test_second_step_runs_only_when_there_is_something_to_check() -> None:
    passed = victim("print('fine')", check="print('checked')")
    ended(passed)
    assert b"checked" in (passed.path / "output.log").read_bytes()
    failed = victim("raise SystemExit(1)", check="print('checked')")
    ended(failed)
    assert b"checked" not in (failed.path / "output.log").read_bytes()


def test_leftovers_of_the_run_are_gone_before_the_check() -> None:
    check = (
        "import os\nprint('others', sum(os.path.exists(f'/proc/{p}') for p in map(int, open('pids').read().split())))"
    )
    run = victim(TREE + "\nopen('pids', 'w').write(f'{ranks[0].pid} {compiler.pid}')", check=check)
    ended(run)
    assert b"others 0" in (run.path / "output.log").read_bytes()
    nothing_left(run)


def test_stop_during_the_check() -> None:
    run = victim("print('up', flush=True)", check="import time; print('checking', flush=True); time.sleep(60)")
    until(
        lambda: b"checking" in ((run.path / "output.log").read_bytes() if (run.path / "output.log").exists() else b"")
    )
    assert stop(run).outcome == "CANCELLED"
    nothing_left(run)


def test_many_orphans_are_reaped_while_it_runs() -> None:
    code = """
import os, time
for _ in range(100):
    if os.fork() == 0:
        if os.fork(): os._exit(0)
        time.sleep(.05); os._exit(0)
while True:
    try: os.wait()
    except ChildProcessError: break
time.sleep(.6); print('up', flush=True); time.sleep(300)
"""
    run = victim(code)
    up(run)
    from trnui_runner.common.procfs import descendants

    states = [Path(f"/proc/{p}/stat").read_text().rsplit(")", 1)[1].split()[0] for p in descendants(watchers(run)[0])]
    assert "Z" not in states
    assert stop(run).outcome == "CANCELLED"
    nothing_left(run)


def test_starting_and_stopping_leaks_nothing() -> None:
    before = len(os.listdir("/proc/self/fd"))
    slowest = 0.0
    for _ in range(5):
        began = time.monotonic()
        run = victim(QUIET.format(seconds=60))
        slowest = max(slowest, time.monotonic() - began)
        up(run)
        assert stop(run).outcome == "CANCELLED"
        nothing_left(run)
    assert len(os.listdir("/proc/self/fd")) == before
    assert slowest < 2.0  # the launcher's screen is free again


# --- leases


def test_second_run_on_busy_cores_is_refused_and_leaves_no_folder() -> None:
    from trnui_runner.common.errors import DeviceError, Exit
    from trnui_runner.run_folder.folder import all_runs

    supervision = SupervisionOptions(cores=CoreRequest(2, (0, 1)), wait=False)
    first = victim(QUIET.format(seconds=60), supervision=supervision, device="stand-in")
    up(first)
    with pytest.raises(DeviceError, match=first.id) as refused:
        victim("", supervision=SupervisionOptions(cores=CoreRequest(2, (1, 2)), wait=False), device="stand-in")
    assert refused.value.code == Exit.NO_DEVICE
    assert [r.id for r in all_runs()] == [first.id]
    stop(first)
    nothing_left(first)


def test_second_run_on_busy_cores_waits_and_then_runs() -> None:
    first = victim(QUIET.format(seconds=60), supervision=SupervisionOptions(cores=CoreRequest(2, (0, 1))))
    up(first)
    second = victim(QUIET.format(seconds=0.1), supervision=SupervisionOptions(cores=CoreRequest(1, (1,))))
    until(lambda: bool((s := second.state()) and first.id in s.message))
    assert second.state().stage == "queued"  # type: ignore[union-attr]
    stop(first)
    result = ended(second)
    assert result
    assert result.outcome == "UNCHECKED"
    assert result.stages["queued"] > 0
    assert (result.wall_s or 0) < 10
    nothing_left(first)
    nothing_left(second)


def test_a_waiting_run_takes_whichever_block_comes_free_first() -> None:
    host = (0, 1, 2, 3)
    one, two = (
        victim(QUIET.format(seconds=60), supervision=SupervisionOptions(cores=CoreRequest(2, host))) for _ in "12"
    )
    up(one)
    up(two)
    assert [run.state().cores_held for run in (one, two)] == [(0, 1), (2, 3)]  # type: ignore[union-attr]
    shown = PRELUDE + "print('up', os.environ.get('NEURON_RT_VISIBLE_CORES'), flush=True); time.sleep(60)"
    three = victim(shown, supervision=SupervisionOptions(cores=CoreRequest(2, host)))
    until(lambda: bool((s := three.state()) and "waiting for cores" in s.message))
    stop(two)
    until(lambda: "up" in (three.path / "output.log").read_text())
    assert (three.path / "output.log").read_text().split() == ["up", "2,3"]
    assert three.state().cores_held == (2, 3)  # type: ignore[union-attr]
    assert [e["ids"] for e in (line.raw for line in three.events()) if e["event"] == "cores"] == [[2, 3]]
    for run in (one, three):
        stop(run)
        nothing_left(run)


def test_waiting_run_can_be_stopped() -> None:
    first = victim(QUIET.format(seconds=60), supervision=SupervisionOptions(cores=CoreRequest(1, (3,))))
    up(first)
    second = victim(QUIET.format(seconds=0.1), supervision=SupervisionOptions(cores=CoreRequest(1, (3,))))
    until(lambda: second.state() is not None)
    assert stop(second).outcome == "CANCELLED"
    nothing_left(second)
    stop(first)


@pytest.mark.parametrize("whom", [0, 1], ids=["guard", "supervisor"])
def test_a_killed_watcher_frees_the_cores(whom: int) -> None:
    first = victim(WAIT, supervision=SupervisionOptions(cores=CoreRequest(1, (0,))))
    up(first)
    second = victim(QUIET.format(seconds=0.1), supervision=SupervisionOptions(cores=CoreRequest(1, (0,))))
    kill(watchers(first)[whom])
    result = ended(second)
    assert result
    assert result.outcome == "UNCHECKED"
    nothing_left(first)
    nothing_left(second)


# --- output and disk


@pytest.mark.parametrize("megabytes", [50, pytest.param(1024, marks=pytest.mark.slow)])
def test_output_without_a_newline(megabytes: int) -> None:
    code = f"""
import os, time
print('up', flush=True)
piece = b'x' * (1 << 20)
for _ in range({megabytes}):
    n = 0
    while n < len(piece): n += os.write(1, piece[n:])
time.sleep(1)
"""
    began = time.monotonic()
    run = victim(code)
    peak = 0
    while run.outcome() == "running":
        state = run.state()
        try:
            status = Path(f"/proc/{state.pid}/status").read_text() if state else ""
        except OSError:
            status = ""
        if "VmHWM" in status:
            peak = max(peak, int(status.split("VmHWM:")[1].split()[0]) // 1024)
        time.sleep(0.05)
    result = ended(run)
    assert result
    assert result.outcome == "UNCHECKED"
    assert (run.path / "output.log").stat().st_size == (megabytes << 20) + 3
    assert peak < 80
    opened = time.monotonic()
    with Follower(run) as follower:
        update = follower.poll()
    assert update.result is not None
    assert update.skipped > 0
    assert time.monotonic() - opened < 0.3
    print(f"{megabytes} MB in {opened - began:.1f} s, supervisor's peak {peak} MiB")
    nothing_left(run)


def test_log_limit_is_said_in_the_log() -> None:
    run = victim("print('y' * 5000); print('z' * 5000)", supervision=SupervisionOptions(log_limit=3000))
    result = ended(run)
    assert result
    log = (run.path / "output.log").read_bytes()
    assert log.startswith(b"y" * 3000)
    assert b"limit of 3000 bytes reached" in log
    assert b"z" not in log
    assert any("output.log" in note for note in result.notes)


@pytest.fixture
def small_disk(tmp_path: Path) -> Path:
    """A file system of one megabyte."""
    if os.geteuid() != 0:
        pytest.skip("only root can mount a small file system")
    place = tmp_path / "small"
    place.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(place)], capture_output=True).returncode:
        pytest.skip("no tmpfs can be mounted here")
    yield place  # type: ignore[misc]
    subprocess.run(["umount", "-l", str(place)], check=False)


def test_full_disk_stops_nothing_and_the_loss_is_said(small_disk: Path) -> None:
    code = """
import os
for i in range(200): print('y' * 100000, flush=True)
try: open(os.environ['TRNUI_RUN_DIR'] + '/events/1.jsonl', 'w').write('{"event":"x","t":1}\\n' * 9)
except OSError as e: print(e)
"""
    run = victim(code, parent=small_disk / "runs")
    result = ended(run)
    assert result
    assert (result.outcome, result.exit_code) == ("UNCHECKED", 0)
    assert any("not in output.log" in note for note in result.notes)
    nothing_left(run)


def test_no_room_for_a_run_is_said_before_it_starts(small_disk: Path) -> None:
    from trnui_runner.common.errors import UserError

    (small_disk / "filler").write_bytes(b"x" * (900 << 10))
    with pytest.raises(UserError, match=r"room|space"):
        victim("print(1)", parent=small_disk / "runs")
    assert not list((small_disk / "runs").glob("*"))


def test_stop_on_a_full_disk(small_disk: Path) -> None:
    run = victim(WAIT, parent=small_disk / "runs")
    up(run)
    with open(small_disk / "filler", "wb", buffering=0) as file:
        try:
            while True:
                file.write(b"x" * 4096)
        except OSError:
            pass
    for n in range(10_000):  # names cost room too
        try:
            (small_disk / f"f{n}").touch()
        except OSError:
            break
    stopped = stop(run)
    assert stopped.outcome == "CANCELLED"
    nothing_left(run)


# --- clocks

JUMPING = """
import os, random, socket, sys, time
from pathlib import Path
from trnui_runner.run_folder.folder import RunFolder
from trnui_runner.run_folder.recipe import Recipe, new_id
from trnui_runner.request.steps import Step, SupervisionOptions
from trnui_runner.supervise.supervisor import RunPlan, Supervisor
real = time.time
time.time = lambda: real() + random.choice((-86400, 0, 86400))   # as if somebody set the clock again and again
recipe = Recipe(new_id("a/b"), "a/b", python=sys.executable, timeout_s=60.0)
run = RunFolder.create(recipe, b"")
code = "import time; print('up', flush=True); time.sleep(1.5)"
plan = RunPlan(recipe, b"", (Step("run", (sys.executable, "-c", code)),), SupervisionOptions(silence_s=60), ({**os.environ},), Path("leases"))
mine, theirs = socket.socketpair()
supervisor = Supervisor(run, plan, theirs, None)
supervisor.conclude(supervisor.execute())
print(run.id)
"""


def test_a_clock_that_is_set_meanwhile_changes_neither_time_nor_outcome() -> None:
    done = subprocess.run([sys.executable, "-c", JUMPING], capture_output=True, text=True, timeout=60, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    from trnui_runner.common.files import runs_dir

    run = RunFolder(runs_dir() / done.stdout.strip())
    result = run.result()
    assert result
    assert result.outcome == "UNCHECKED"
    assert 1.5 <= (result.wall_s or 0) < 15
    assert sum(result.stages.values()) < 15
    seconds = [e["s"] for e in (line.raw for line in run.events())]
    assert seconds == sorted(seconds)
    assert not any(e.get("kind") == "silent" for e in (line.raw for line in run.events()))
