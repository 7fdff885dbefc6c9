"""A host that is unkind: the app killed again and again, many at once on one state folder, full and read-only disks, an endless log."""

from __future__ import annotations

import contextlib
import os
import pty
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.recorded import FAIL, PASS, recorded
from trnui_runner.result.bug_report import report
from trnui_runner.run_folder.run_index import entry_of


def command(*words: str, **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "trnui", *words],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=ROOT,
        env=os.environ | environ,
    )


def app() -> tuple[int, int]:
    """The app in a terminal of its own: (pid, terminal)."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(ROOT)
        os.execv(sys.executable, [sys.executable, "-m", "trnui", "--dataset", "sample"])
    return pid, terminal


def killed(pid: int, terminal: int, after: float) -> None:
    end = time.monotonic() + after
    os.set_blocking(terminal, False)
    while time.monotonic() < end:
        try:
            os.read(terminal, 1 << 16)
        except OSError:
            time.sleep(0.01)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    os.close(terminal)


@pytest.mark.slow
def test_the_app_killed_fifty_times_loses_nothing() -> None:
    recorded(PASS), recorded(FAIL)
    draw = random.Random(7)
    for _ in range(50):
        killed(*app(), after=draw.uniform(0.05, 2.5))
    done = command("runs")
    assert done.returncode == 0, done.stderr
    assert PASS in done.stdout
    assert FAIL in done.stdout
    assert "internal error" not in done.stderr


@pytest.mark.slow
def test_two_apps_and_three_commands_on_one_state_folder() -> None:
    recorded(PASS)
    two = [app(), app()]
    three = [("runs",), ("--dataset", "sample", "list"), ("--dataset", "sample", "list", "--view", "runs")]
    for _ in range(4):
        running = [
            subprocess.Popen(
                [sys.executable, "-m", "trnui", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT
            )
            for words in three
        ]
        for child in running:
            out, err = child.communicate(timeout=120)
            assert child.returncode == 0, err
            assert out
    for pid, terminal in two:
        killed(pid, terminal, 0.1)


def test_a_log_of_five_gigabytes(home: Path) -> None:
    run = recorded(PASS)
    os.truncate(run.path / "output.log", 5 << 30)
    with (run.path / "output.log").open("ab") as file:
        file.write(b"\nthe very last line\n")
    began = time.monotonic()
    assert entry_of(run).outcome == "PASS"
    text = report(run)
    assert "the very last line" in text
    assert "of 5.0 GiB" in text
    assert time.monotonic() - began < 20.0


@pytest.fixture
def disk(tmp_path: Path) -> Path:
    """A file system of half a megabyte, to be filled or made read-only."""
    if os.geteuid() != 0:
        pytest.skip("only root can mount a small file system")
    place = tmp_path / "disk"
    place.mkdir()
    if subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=512k,mode=0700", "tmpfs", str(place)], capture_output=True
    ).returncode:
        pytest.skip("no tmpfs can be mounted here")
    yield place  # type: ignore[misc]
    subprocess.run(["umount", "-l", str(place)], check=False)


@pytest.mark.parametrize("which", ["TRNUI_CACHE_DIR", "TMPDIR", "TRNUI_STATE_DIR", "TRNUI_CONFIG_DIR"])
@pytest.mark.parametrize("how", ["full", "read-only"])
def test_a_disk_that_takes_nothing(disk: Path, which: str, how: str) -> None:
    if how == "full":
        with contextlib.suppress(OSError), open(disk / "ballast", "wb", buffering=0) as file:
            while True:
                file.write(b"x" * 65536)
    else:
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    for words in (("--dataset", "sample", "list"), ("runs",), ("consent",)):
        done = command(*words, **{which: str(disk)})
        assert "Traceback" not in done.stderr
        assert "internal error" not in done.stderr, done.stderr
        assert done.returncode in (0, 1, 3), done.stderr
        assert done.stdout or done.stderr
