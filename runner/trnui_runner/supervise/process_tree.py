"""Find and end every process of a run: by descent (we are a subreaper) and by the run's marker in its environment. Linux."""

from __future__ import annotations

import ctypes
import os
import signal
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from trnui_runner.common import procfs
from trnui_runner.common.procfs import MARK, Stat, below, born, descendants, stat

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
PATIENCE = 10.0
_libc = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True)
class Process:
    """One process as `ps` would name it; `rss` in bytes."""

    pid: int
    name: str
    rss: int = 0
    threads: int = 0


def become_subreaper() -> None:
    """Orphans below us are adopted by us, not by init."""
    _libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def die_with_parent(sig: int = signal.SIGTERM) -> None:
    """For a child between fork and exec: `sig` comes when the thread that forked it ends."""
    _libc.prctl(PR_SET_PDEATHSIG, sig, 0, 0, 0)


def marked(run_id: str) -> set[int]:
    """Processes started with the marker, wherever they hang in the tree. Other users' and zombies cannot be read."""
    mark, want = MARK.encode(), run_id.encode()
    return {pid for pid in procfs.numbers() if procfs.environment(pid).get(mark) == want}


def family(pid: int) -> dict[str, str]:
    """Our descendants as `family.json` names them."""
    return {str(p): born(p) for p in descendants(pid)}


def alive(family: Mapping[str, str]) -> set[int]:
    """Who of a recorded family is still that same process, with its descendants."""
    kin = {int(p) for p, start in family.items() if p.isdecimal() and start and born(int(p)) == start}
    return kin | {d for k in kin for d in descendants(k)}


def tree(pid: int) -> list[Process]:
    """Everyone below `pid`, in one pass over /proc: cheaper than `members` where they have many threads. For watching only."""
    everyone = procfs.processes()
    return [_process(everyone[p]) for p in below(everyone, pid)]


def members(pid: int) -> list[Process]:
    """The same by way of each thread's children: cheaper where they are few."""
    return [_process(found) for p in descendants(pid) if (found := stat(p)) is not None]


def names(pids: Iterable[int]) -> list[Process]:
    """The processes with their names; those that are gone, or wait as zombies to be noticed, are left out."""
    found = [stat(pid) for pid in sorted(pids)]
    return [Process(one.pid, one.name) for one in found if one is not None and not one.zombie]


def _process(found: Stat) -> Process:
    return Process(found.pid, found.name, found.rss, found.threads)


def reap() -> dict[int, int]:
    """Waits for whoever has ended, our own children and adopted orphans: {pid: wait status}."""
    ended: dict[int, int] = {}
    try:
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if not pid:
                break
            ended[pid] = status
    except ChildProcessError:
        pass
    return ended


def send(pids: Iterable[int], sig: int) -> None:
    for pid in pids:
        try:
            os.kill(pid, sig)
        except OSError:
            continue


def _ignore(ended: dict[int, int]) -> None:
    pass


def end_all(
    run_id: str,
    grace: float,
    pump: Callable[[dict[int, int]], None] = _ignore,
    patience: float = PATIENCE,
    known: Mapping[str, str] | None = None,
    spare: frozenset[int] = frozenset(),
) -> set[int]:
    """TERM, grace, then STOP and KILL in rounds. Returns who is still there after `patience` (a process in a system call).

    pump(ended) runs all the while, with what was reaped: the run's output has to flow on, or its handlers block.
    known, from `family`, stands for our own descendants when the caller is a stranger to the run: its children are not touched.
    spare: children of ours that are no part of the run.
    """
    me = os.getpid()

    def left() -> set[int]:
        return ((descendants(me) if known is None else alive(known)) | marked(run_id)) - {me} - spare

    def wait(seconds: float) -> bool:
        end = time.monotonic() + seconds
        while True:
            pump(reap() if known is None else {})
            if not left():
                return True
            if time.monotonic() >= end:
                return False
            time.sleep(0.01)

    if grace > 0:
        send(left(), signal.SIGTERM)
        if wait(grace):
            return set()
    elif known is None:  # in an emergency the quickest first: we may be next
        send(descendants(me), signal.SIGKILL)
    end = time.monotonic() + patience
    while time.monotonic() < end:
        send(left(), signal.SIGSTOP)  # frozen, nobody forks past the sweep
        send(left(), signal.SIGKILL)
        if wait(0.05):
            return set()
    return left()
