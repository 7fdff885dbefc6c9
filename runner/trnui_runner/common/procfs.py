"""The one reader of /proc: a process's parent, name, times and memory, its environment and command, and who descends from whom.

A process may end while it is read: then there is None, or nothing of it. Other users' environments cannot be read.
"""

from __future__ import annotations

import os
import pwd
from collections.abc import Mapping
from dataclasses import dataclass

MARK = "TRNUI_RUN_ID"  # the variable that every process of a run carries
_TICK = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True)
class Stat:
    """A line of /proc/PID/stat. cpu: seconds, of its own. cpu_of_all: with the children it has waited for. rss: bytes.
    started: ticks of the boot clock, which with the pid name a process for good."""

    pid: int
    parent: int
    name: str
    state: str
    cpu: float
    cpu_of_all: float
    threads: int
    started: int
    rss: int

    @property
    def zombie(self) -> bool:
        return self.state == "Z"


def stat(pid: int) -> Stat | None:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            head, _, rest = file.read().rpartition(b")")
        f = rest.split()
        times = [int(n) for n in f[11:15]]
        return Stat(
            pid,
            int(f[1]),
            head.partition(b"(")[2].decode("utf-8", "replace"),
            f[0].decode("ascii", "replace"),
            (times[0] + times[1]) / _TICK,
            sum(times) / _TICK,
            int(f[17]),
            int(f[19]),
            int(f[21]) * _PAGE,
        )
    except (OSError, IndexError, ValueError):
        return None


def numbers() -> list[int]:
    """The pid of every process."""
    return [int(name) for name in os.listdir("/proc") if name.isdecimal()]


def processes() -> dict[int, Stat]:
    """Every process, in one pass over /proc."""
    return {pid: found for pid in numbers() if (found := stat(pid)) is not None}


def below(everyone: Mapping[int, Stat], root: int) -> set[int]:
    """Descendants of `root` among `everyone`."""
    children_of: dict[int, list[int]] = {}
    for process in everyone.values():
        children_of.setdefault(process.parent, []).append(process.pid)
    found, todo = set[int](), [root]
    while todo:
        new = children_of.get(todo.pop(), [])
        found.update(new)
        todo += new
    return found


def children(pid: int) -> list[int]:
    """Asked of each thread: cheaper than a pass over /proc where there are few."""
    found: list[int] = []
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children", encoding="ascii") as file:
                found += map(int, file.read().split())
    except (OSError, ValueError):
        pass  # it has gone meanwhile
    return found


def descendants(pid: int) -> set[int]:
    todo, seen = [pid], set[int]()
    while todo:
        for child in children(todo.pop()):
            if child not in seen:
                seen.add(child)
                todo.append(child)
    return seen


def born(pid: int) -> str:
    """When a process started, in this boot: with its number this names it for good. Empty if it is gone."""
    found = stat(pid)
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as boot:
            return f"{boot.read().strip()}:{found.started}" if found is not None else ""
    except OSError:
        return ""


def age(pid: int) -> float | None:
    """Seconds since the process started, by the boot clock: a change of the wall clock does not matter."""
    found = stat(pid)
    try:
        with open("/proc/uptime", encoding="ascii") as up:
            now = float(up.read().split()[0])
    except (OSError, IndexError, ValueError):
        return None
    return max(0.0, now - found.started / _TICK) if found is not None else None


def peak_rss(pid: int) -> int | None:
    """VmHWM in bytes: the kernel's own peak of a process's resident size. (Not ru_maxrss, which a child inherits.)"""
    try:
        with open(f"/proc/{pid}/status", encoding="utf-8", errors="replace") as file:
            for line in file:
                if line.startswith("VmHWM:"):
                    return int(line.split()[1]) << 10
    except (OSError, ValueError, IndexError):
        pass
    return None


def environment(pid: int) -> dict[bytes, bytes]:
    """As the process was started with it; empty when it cannot be read."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            pairs = file.read(1 << 20).split(b"\0")
    except OSError:
        return {}
    return {name: value for name, _, value in (pair.partition(b"=") for pair in pairs)}


def command(pid: int) -> list[bytes]:
    """Its words; empty when it cannot be read."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return file.read(4096).rstrip(b"\0").split(b"\0")
    except OSError:
        return []


def user(pid: int) -> str | None:
    try:
        return pwd.getpwuid(os.stat(f"/proc/{pid}").st_uid).pw_name
    except (OSError, KeyError):
        return None
