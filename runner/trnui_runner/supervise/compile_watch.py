"""Compilation seen from outside, as an event source: compilers alive, new NEFF files, who waits for which lock, TorchNeuron's own log.

TorchNeuron prints nothing while it compiles, so each of these counts and none is required.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from trnui_runner.common import procfs
from trnui_runner.common.procfs import Stat, below, processes
from trnui_runner.common.text import clean, decode, one_line, words
from trnui_runner.host.compiler_processes import Compiler, compilers
from trnui_runner.run_folder.events import Body, CompilersEvent, LockEnd, LockStart, NeffEvent, NoticeEvent

PERIOD = 1.0  # seconds between two looks at the processes
SCAN = 10.0  # between two looks at the cache when no compiler has ended
AGAIN = 10.0  # a compiler still at work is told again
PIECE = 1 << 20
_KEY = re.compile(r"\b(?:persistent_)?key= ?([0-9a-fA-F]{8,64})")


# -- locks


def held_locks(locks: str, inodes: Mapping[tuple[int, int, int], str]) -> dict[str, int]:
    """{key: pid} of the flocks in `/proc/locks` on files known by (major, minor, inode)."""
    found = {}
    for line in locks.splitlines():
        words = line.split()
        if len(words) < 6 or words[1] != "FLOCK":
            continue
        try:
            major, minor, inode = words[5].split(":")
            where = int(major, 16), int(minor, 16), int(inode)
            if where in inodes:
                found[inodes[where]] = int(words[4])
        except ValueError:
            continue
    return found


def _lock_files(folder: Path) -> dict[tuple[int, int, int], str]:
    found = {}
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.name.endswith(".lock"):
                    info = entry.stat(follow_symlinks=False)
                    found[os.major(info.st_dev), os.minor(info.st_dev), info.st_ino] = entry.name[:-5]
    except OSError:
        return found
    return found


def _openers(pids: set[int], folder: Path) -> dict[str, set[int]]:
    """{key: processes of the run that have its lock file open}."""
    found: dict[str, set[int]] = {}
    start = f"{folder}/"
    for pid in pids:
        try:
            for fd in os.listdir(f"/proc/{pid}/fd"):
                target = os.readlink(f"/proc/{pid}/fd/{fd}")
                if target.startswith(start) and target.endswith(".lock"):
                    found.setdefault(target[len(start) : -5], set()).add(pid)
        except OSError:
            continue
    return found


# -- the log


def log_event(line: str) -> NeffEvent | NoticeEvent | None:
    """What one line of TorchNeuron's log tells: a cache hit or miss, a wait for another's compile, a lock broken."""
    found = _KEY.search(line)
    key = clean(found[1][:64] if found else "")
    if "Persistent cache hit" in line:
        return NeffEvent("hit", key)
    if "Persistent cache miss" in line:
        return NeffEvent("miss", key)
    if "breaking stale lock" in line:
        return NoticeEvent(words("a compile lock was broken after its timeout: {}", one_line(line, 200)))
    return None


class Compiles:
    """An event source for one run, whose supervisor is `root`.

    `compilers {alive, oldest_s, cpu_s, cpu}` (cpu: percent of a CPU since the last look), `neff {new}` (total so far) and
    `neff {kind: hit/miss}` from the log, `lock {key, state, holder, holder_command, waiting, age_s}`.
    """

    def __init__(self, root: int, cache: Path, local: Path | None = None, log: Path | None = None) -> None:
        self.root, self.cache, self.log = root, cache, log
        self.locks = (local or cache.parent / "local") / "locks"
        self._before = neff_names(cache)
        self._new: set[str] = set()
        self._alive: tuple[int, ...] = ()
        self._told = self._looked = self._scanned = float("-inf")
        self._cpu = 0.0
        self._waits: dict[str, int] = {}
        self._read = 0

    def poll(self, now: float) -> list[Body]:
        """What has changed; never blocks, never raises."""
        events = self._log_lines()
        if now - self._looked < PERIOD:
            return events
        spent, self._looked = now - self._looked, now
        everyone = processes()
        family = below(everyone, self.root) & everyone.keys()
        events += self._compilers(compilers(everyone, family), now, spent)
        events += self._locks(family, everyone)
        return events

    def close(self) -> None:
        """Nothing to end."""

    def last(self) -> list[Body]:
        """A last look at cache and log, when the run has ended."""
        return self._log_lines() + self._files()

    def _compilers(self, alive: list[Compiler], now: float, spent: float) -> list[Body]:
        events: list[Body] = []
        pids = tuple(c.pid for c in alive)
        cpu_s = round(sum(c.cpu_s for c in alive), 2)
        if pids != self._alive or (alive and now - self._told >= AGAIN):
            oldest = round(alive[0].age_s or 0.0, 1) if alive else None
            same = alive and pids == self._alive and spent > 0
            share = round(max(0.0, cpu_s - self._cpu) / spent * 100) if same else None
            events.append(CompilersEvent(len(alive), oldest, cpu_s if alive else None, share))
            self._told = now
        if set(self._alive) - set(pids) or now - self._scanned >= SCAN:
            events += self._files()
            self._scanned = now
        self._alive, self._cpu = pids, cpu_s
        return events

    def _files(self) -> list[Body]:
        fresh = neff_names(self.cache) - self._before - self._new
        self._new |= fresh
        return [NeffEvent(new=len(self._new))] if fresh else []

    def _locks(self, family: set[int], everyone: Mapping[int, Stat]) -> list[Body]:
        inodes = _lock_files(self.locks)
        held: dict[str, int] = {}
        if inodes:
            try:
                held = held_locks(Path("/proc/locks").read_text(encoding="ascii"), inodes)
            except OSError:
                held = {}
        events: list[Body] = []
        waits: dict[str, int] = {}
        for key, pids in (_openers(family, self.locks) if held else {}).items():
            waiting = sorted(pids - {held.get(key, 0)})
            if key in held and waiting:
                waits[key] = held[key]
                if self._waits.get(key) != held[key]:
                    events.append(self._wait(key, held[key], waiting, everyone))
        events += [LockEnd(clean(key)) for key in self._waits if key not in waits]
        self._waits = waits
        return events

    def _wait(self, key: str, holder: int, waiting: list[int], everyone: Mapping[int, Stat]) -> LockStart:
        stat = everyone.get(holder)
        age = procfs.age(holder)
        command = clean(stat.name) if stat else None
        return LockStart(clean(key), holder, tuple(waiting), command, None if age is None else round(age, 1))

    def _log_lines(self) -> list[Body]:
        """Whole new lines of TorchNeuron's log, at most 1 MiB a look."""
        if self.log is None:
            return []
        try:
            with open(self.log, "rb") as file:
                file.seek(self._read)
                data = file.read(PIECE)
        except OSError:
            return []
        end = data.rfind(b"\n") + 1
        if not end and len(data) == PIECE:
            end, data = PIECE, b""
        self._read += end
        found = (log_event(decode(line)) for line in data[:end].splitlines())
        return [event for event in found if event is not None]


def neff_names(cache: Path) -> set[str]:
    """Names of the whole NEFF files in a cache (`ab/cd/<key>.neff`); those being written (`.tmp.*`) and empty ones are none."""
    found: set[str] = set()
    for first in _folders(cache):
        for second in _folders(Path(first)):
            try:
                with os.scandir(second) as entries:
                    found.update(e.name for e in entries if e.name.endswith(".neff") and e.stat().st_size > 0)
            except OSError:
                continue
    return found


def _folders(path: Path) -> list[str]:
    try:
        with os.scandir(path) as entries:
            return [e.path for e in entries if len(e.name) == 2 and e.is_dir(follow_symlinks=False)]
    except OSError:
        return []
