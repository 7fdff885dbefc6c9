"""Who holds cores: the process, its age, whether it belongs to a run of ours, and whether that run has already ended."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from trnui_runner.common import procfs
from trnui_runner.common.text import age, decode, one_line
from trnui_runner.run_folder.folder import find_run

MARK = procfs.MARK.encode()


@dataclass(frozen=True)
class Owner:
    """`cores` is None when it is unknown which cores of the device it holds. `run` is our run's id; `leftover`: that run has ended."""

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
    """The process as /proc shows it now; what cannot be read (another user's environment) is None."""
    environ = procfs.environment(pid)
    run = decode(environ[MARK]) if MARK in environ else None
    return Owner(
        pid,
        command or one_line(b" ".join(procfs.command(pid)), 300),
        visible_cores(decode(environ.get(b"NEURON_RT_VISIBLE_CORES", b""))),
        procfs.age(pid),
        procfs.user(pid),
        run,
        run is not None and _ended(run),
    )


def visible_cores(text: str) -> tuple[int, ...] | None:
    """`0-3,7` → (0, 1, 2, 3, 7); None when it cannot be parsed."""
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
