"""A run outlives the app and the terminal that it was started from, and the next start finds it, going on or over."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.terminal.session import Session
from trnui_runner.common.dataset_schema import COLUMNS
from trnui_runner.run_folder.folder import RunFolder, all_runs

pytestmark = pytest.mark.terminal
APP = [sys.executable, "-m", "trnui", "--offline", "--dataset"]
SCRIPT = """import os, time
for n in range(1200):
    if os.path.exists({end!r}):
        break
    print("tick", n, flush=True)
    time.sleep(0.25)
print("the script came to its end", flush=True)
"""


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    """One CPU row whose own run.py needs nothing and goes on until there is a file `end` beside the rows."""
    row = dict.fromkeys(COLUMNS) | {
        "model_id": "trnui-sample/recites", "library": "transformers", "tp": 1, "runner": "trnui/cpu", "result": "PASS (CPU)", "wall_s": 3.0,
        "neuronx_cc": "2.28.1", "library_version": "5.24.0", "transformers": "5.24.0", "run_py": SCRIPT.format(end=str(tmp_path / "end")),
    }  # fmt: skip
    folder = tmp_path / "rows"
    folder.mkdir()
    pq.write_table(pa.Table.from_pylist([row]), folder / "rows.parquet")
    (tmp_path / "checkpoint").mkdir()
    return folder


def started(session: Session) -> RunFolder:
    """Presses the keys that start the row's run, as a user does."""
    session.until("trnui-sample/recites", 30)
    session.send("r")
    session.until("CONFIRM", 60)
    assert "with your rights" in session.text
    session.send("y")
    session.until("tick 1", 60)
    (run,) = all_runs()
    assert run.outcome() == "running"
    return run


def ended(run: RunFolder, seconds: float = 90.0) -> str:
    end = time.monotonic() + seconds
    while (run.result() is None or run.outcome() in ("queued", "running")) and time.monotonic() < end:
        time.sleep(0.1)
    return run.outcome()


def kill(session: Session) -> None:
    os.kill(session.pid, signal.SIGKILL)


def hang_up(session: Session) -> None:
    """The SSH connection drops: the terminal is gone."""
    os.close(session.fd)


@pytest.mark.parametrize("end", [kill, hang_up])
def test_a_run_goes_on_without_app_and_terminal(rows: Path, end: Callable[[Session], None]) -> None:
    with Session([*APP, str(rows)], size=(80, 24)) as session:
        run = started(session)
        end(session)
        deadline = time.monotonic() + 60
        while os.path.exists(f"/proc/{session.pid}") and time.monotonic() < deadline:
            pid, _ = os.waitpid(session.pid, os.WNOHANG)
            if pid:
                session.code = 0
                break
            time.sleep(0.05)
        assert session.code == 0, "the app is still there"
    assert run.outcome() == "running"
    with Session([*APP, str(rows)], size=(80, 24)) as again:  # while it goes on
        again.until("trnui-sample/recites", 30)
        again.send("4")
        again.until("1 going on", 30)
        again.send("\r")
        again.until(r"tick \d+", 30)
        (rows.parent / "end").touch()
        assert ended(run) == "UNCHECKED"  # it never called generate: nothing to check
        again.until("UNCHECKED on CPU", 30)
    with Session([*APP, str(rows)], size=(80, 24)) as later:  # and after it ended
        later.until("trnui-sample/recites", 30)
        later.send("4")
        later.until("UNCHECKED", 30)
        later.send("\r")
        later.until("the script came to its end", 30)


def test_following_a_run_costs_few_bytes(rows: Path) -> None:
    """A going-on run whose log grows four times a second: at 80x24 under 6 kB a second, over SSH."""
    with Session([*APP, str(rows)], size=(80, 24), env={"SSH_CONNECTION": "1 2 3 4"}) as session:
        started(session)
        session.until("tick 6", 30)
        begun, before = time.monotonic(), len(session.sent)
        session.pump(2.0)
        rate = (len(session.sent) - before) / (time.monotonic() - begun)
        assert 50 < rate < 6_000, f"{rate:.0f} bytes a second"
        session.send("s")
        session.until("Stop the run of trnui-sample/recites", 10)
        session.send("y")
        session.until("CANCELLED on CPU", 30)
