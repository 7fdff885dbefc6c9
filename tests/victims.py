"""Runs that resist: scripts that ignore signals, fork away, start sessions of their own, and a count of who is still alive."""

from __future__ import annotations

import dataclasses
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from trnui_runner.host import core_leases
from trnui_runner.request.steps import Step, SupervisionOptions
from trnui_runner.run_folder.folder import Result, RunFolder
from trnui_runner.run_folder.recipe import Recipe, new_id
from trnui_runner.supervise import process_tree
from trnui_runner.supervise.launcher import start

PRELUDE = """
import os, signal, subprocess, sys, time
TOKEN = sys.argv[1]
def child(code, **k): return subprocess.Popen([sys.executable, '-S', '-c', code, TOKEN], **k)
def daemon(code, **k):                       # double fork, own session, descriptors closed
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.closerange(0, 100)
            os.execve(sys.executable, [sys.executable, '-S', '-c', code, TOKEN], k.get('env', dict(os.environ)))
        os._exit(0)
PROOF = 'import signal,time\\nfor s in (1,2,15): signal.signal(s, signal.SIG_IGN)\\ntime.sleep(300)'
"""
# Main, two ranks, a compiler in its own session, two daemons, one with an empty environment; all ignore TERM, INT and HUP.
TREE = (
    PRELUDE
    + """
for s in (1, 2, 15): signal.signal(s, signal.SIG_IGN)
ranks = [child(PROOF) for _ in range(2)]
compiler = child(PROOF, start_new_session=True)
daemon(PROOF); daemon(PROOF, env={})
print('up', ranks[0].pid, compiler.pid, flush=True)
"""
)
WAIT = TREE + "\ntime.sleep(300)"
MEMBERS = 6
# Five chains of processes that fork on and on, each time in a new session.
HYDRA = (
    PRELUDE
    + """
code = 'import os,time\\nwhile True:\\n if os.fork(): time.sleep(.01); os._exit(0)\\n os.setsid()'
for _ in range(5): daemon(code)
print('up', flush=True); time.sleep(300)
"""
)
QUIET = PRELUDE + "print('up', flush=True); time.sleep({seconds}); print('end')"


def victim(
    code: str,
    *,
    supervision: SupervisionOptions = SupervisionOptions(grace_s=0.5),  # noqa: B008 frozen
    command: tuple[str, ...] | None = None,
    check: str | None = None,
    parent: Path | None = None,
    **recipe: Any,
) -> RunFolder:
    """Starts `code` as a run (and `check`, if given, as its second step)."""
    wanted = Recipe(new_id("victim"), "tests/victim", python=sys.executable, **recipe)
    words = command or (sys.executable, "-S", "{run}/run.py", f"TOKEN-{wanted.id}")
    steps = [Step("run", words)]
    if check is not None:
        steps.append(Step("check", (sys.executable, "-S", "-c", check, f"TOKEN-{wanted.id}"), {}, "checking", False))
    return start(wanted, code.encode(), steps, dataclasses.replace(supervision, grace_s=0.5), parent=parent)


def up(run: RunFolder) -> list[int]:
    """Waits until the script has said "up" and the state is written; the pids it said."""
    words: list[str] = []

    def said() -> bool:
        text = (run.path / "output.log").read_text() if (run.path / "output.log").exists() else ""
        words[:] = text.split()
        return "up" in words and text.endswith("\n") and run.state() is not None

    until(said)
    time.sleep(0.15)
    return [int(w) for w in words[1:]]


def until(true: Callable[[], bool], limit: float = 20.0) -> None:
    end = time.monotonic() + limit
    while not true():
        assert time.monotonic() < end, "this did not come true in time"
        time.sleep(0.02)


def alive(run: RunFolder) -> list[int]:
    """Everyone of this run, found in a way that the runner does not use: by an argument that they all carry."""
    token, found = f"TOKEN-{run.id}".encode(), []
    for name in os.listdir("/proc"):
        if name.isdecimal():
            try:
                if token in Path(f"/proc/{name}/cmdline").read_bytes().split(b"\0"):
                    found.append(int(name))
            except OSError:
                pass
    return found


def ended(run: RunFolder, limit: float = 30.0) -> Result | None:
    """Waits until nobody holds the run; its result."""
    until(lambda: run.outcome() not in ("running", "queued"), limit)
    return run.result()


def watchers(run: RunFolder) -> tuple[int, int]:
    """(guard, supervisor)."""
    state = run.state()
    assert state is not None
    return state.guard_pid, state.pid


def kill(pid: int, sig: int = signal.SIGKILL) -> None:
    os.kill(pid, sig)


def free(run: RunFolder) -> bool:
    """Nobody holds the run's lock."""
    lock = run.lock()
    if lock is not None:
        os.close(lock)
    return lock is not None


def nothing_left(run: RunFolder) -> None:
    """No process, no lock, no lease, no temporary folder, no torn file; a true outcome in the folder."""
    until(lambda: not alive(run), 5.0)
    assert process_tree.marked(run.id) == set()
    until(lambda: free(run), 5.0)
    assert run.id not in core_leases.holders().values()
    assert run.result() is not None
    assert not (run.path / "tmp").is_symlink()
    assert not list(run.path.glob(".*.part"))
