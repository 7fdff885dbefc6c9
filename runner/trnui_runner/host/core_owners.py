"""Who holds cores: a process, how old, since when, whether it is a run of ours, and whether that run should still be there."""

from __future__ import annotations

import os
import pwd
from dataclasses import asdict, dataclass
from typing import Any

from trnui_runner.common.text import age, one_line
from trnui_runner.run_folder.folder import find_run
from trnui_runner.supervise.process_tree import MARK


@dataclass(frozen=True)
class Owner:
    """`cores` is None when nothing says which cores of the device it holds. `run` is our run's id; `leftover`: that run has ended."""

    pid: int
    command: str
    cores: tuple[int, ...] | None = None
    age_s: float | None = None
    user: str | None = None
    run: str | None = None
    leftover: bool = False

    @property
    def words(self) -> str:
        """`pid 4242, since 3 h ago, python3 train.py`."""
        parts = [f"pid {self.pid}", f"started {age(self.age_s)}" if self.age_s is not None else "age unknown"]
        if self.run is not None:
            parts.append(f"{'a leftover of ' if self.leftover else ''}our run {self.run}")
        return ", ".join([*parts, one_line(self.command, 80)])

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def owner(pid: int, command: str = "") -> Owner:
    """The process as /proc shows it now; what it does not show (other users' environments) stays None."""
    environ = _environ(pid)
    run = environ.get(MARK)
    return Owner(
        pid,
        command or _command(pid),
        visible_cores(environ.get("NEURON_RT_VISIBLE_CORES", "")),
        process_age(pid),
        _user(pid),
        run,
        run is not None and _ended(run),
    )


def visible_cores(text: str) -> tuple[int, ...] | None:
    """`0-3,7` → (0, 1, 2, 3, 7); None when it says nothing."""
    ids: list[int] = []
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        if not first.isdecimal() or (dash and not last.isdecimal()):
            return None
        ids += range(int(first), min(int(last or first), int(first) + 4096) + 1)
    return tuple(ids) or None


def _ended(run: str) -> bool:
    found = find_run(run)
    return not found or found[0].outcome() not in ("running", "queued")


def _environ(pid: int) -> dict[str, str]:
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            pairs = file.read(1 << 20).split(b"\0")
    except OSError:
        return {}
    return {
        k.decode("utf-8", "replace"): v.decode("utf-8", "replace") for k, _, v in (p.partition(b"=") for p in pairs)
    }


def _command(pid: int) -> str:
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return one_line(file.read(4096).replace(b"\0", b" "), 300)
    except OSError:
        return ""


def process_age(pid: int) -> float | None:
    """Seconds since the process started, by the boot clock: a change of the wall clock does not matter."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            started = int(file.read().rpartition(b")")[2].split()[19]) / os.sysconf("SC_CLK_TCK")
        with open("/proc/uptime", encoding="ascii") as up:
            return max(0.0, float(up.read().split()[0]) - started)
    except (OSError, IndexError, ValueError):
        return None


def process_cpu(pid: int) -> float | None:
    """CPU seconds that the process has used itself."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    except (OSError, IndexError, ValueError):
        return None


def _user(pid: int) -> str | None:
    try:
        return pwd.getpwuid(os.stat(f"/proc/{pid}").st_uid).pw_name
    except (OSError, KeyError):
        return None
