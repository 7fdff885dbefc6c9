"""Core leases: which NeuronCores runs of ours hold. One locked file per core; a lease ends when its last holder exits, for whatever reason."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import stat
import time
from collections.abc import Iterable
from pathlib import Path

from trnui_runner.common.files import leases_dir, open_private, private_dir
from trnui_runner.common.text import one_line
from trnui_runner.host.core_blocks import CoreRequest


class Lease:
    """The held cores. Forks share it (the files are closed on exec), so guard and supervisor both hold it."""

    def __init__(self, cores: tuple[int, ...], descriptors: tuple[int, ...]) -> None:
        self.cores, self.descriptors = cores, descriptors

    def release(self) -> None:
        for fd in self.descriptors:
            os.close(fd)
        self.descriptors = ()


def _file(core: int, folder: Path | None) -> Path:
    return (folder or leases_dir()) / f"core-{core}"


def acquire(cores: Iterable[int], holder: str, folder: Path | None = None) -> Lease | None:
    """All of `cores` for `holder` (a run's id), or None if another run holds one of them. Raises OSError."""
    private_dir(folder or leases_dir())
    wanted, held = tuple(sorted(set(cores))), list[int]()
    try:
        for core in wanted:
            fd = _opened(_file(core, folder))
            held.append(fd)
            if not _locked(fd):
                Lease(wanted, tuple(held)).release()
                return None
    except OSError:
        Lease(wanted, tuple(held)).release()
        raise
    for fd in held:
        with contextlib.suppress(OSError):  # the name is for people; the lock is what counts
            os.ftruncate(fd, 0)
            os.pwrite(fd, holder.encode(), 0)
    return Lease(wanted, tuple(held))


def _opened(path: Path) -> int:
    """The lease's file; what stands in its place and is no plain file is taken away. Raises OSError."""
    for last in (False, True):
        try:
            fd = open_private(path, os.O_RDWR | os.O_CREAT | os.O_NONBLOCK)
            if stat.S_ISREG(os.fstat(fd).st_mode):
                return fd
            os.close(fd)
        except OSError as error:
            if last or error.errno not in (errno.ELOOP, errno.EISDIR, errno.ENXIO):
                raise
        if not last:
            path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink(missing_ok=True)
    raise OSError(errno.EINVAL, "is no plain file", str(path))


def acquire_block(request: CoreRequest, holder: str, folder: Path | None = None) -> Lease | None:
    """The best block that is free now, or None. First come, first served: a block that another run takes in the meantime is skipped."""
    for block in request.candidates(holders(folder)):
        lease = acquire(block, holder, folder)
        if lease is not None:
            return lease
    return None


def _locked(fd: int) -> bool:
    for _ in range(20):  # whoever looks who holds it has it for a moment
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(0.005)
        else:
            return True
    return False


def holders(folder: Path | None = None) -> dict[int, str]:
    """The cores in use now, each with the run that holds it."""
    found: dict[int, str] = {}
    try:
        names = sorted(e.name for e in os.scandir(folder or leases_dir()))
    except OSError:
        return found
    for name in names:
        number = name.removeprefix("core-")
        if number.isdecimal():
            holder = _holder(_file(int(number), folder))
            if holder is not None:
                found[int(number)] = holder
    return found


def _holder(path: Path) -> str | None:
    try:
        fd = open_private(path, os.O_RDONLY | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return one_line(os.pread(fd, 200, 0))
    finally:
        os.close(fd)
    return None


def held_by(cores: Iterable[int], folder: Path | None = None) -> str:
    """Who holds some of `cores`, in words: "core 0, 1 by 20261130-…"; empty when they are free."""
    wanted = set(cores)
    by_run: dict[str, list[int]] = {}
    for core, run in holders(folder).items():
        if core in wanted:
            by_run.setdefault(run or "another run", []).append(core)
    return "; ".join(f"core {', '.join(map(str, cores))} by {run}" for run, cores in by_run.items())
