"""What ends a command: our exceptions, each with words for a person and a way out, and the documented exit codes."""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping
from enum import IntEnum
from pathlib import Path
from typing import Final

_FULL: Final = (errno.ENOSPC, errno.EDQUOT)
_GONE: Final = (errno.ESTALE, errno.EIO, errno.ENOTCONN, errno.EREMOTEIO)  # of a network file system, or a failing disk
_REFUSED: Final = (errno.EACCES, errno.EPERM, errno.EROFS)
_NO_FOLDER: Final = (errno.ENOENT, errno.ENOTDIR)
_NO_PROCESS: Final = (errno.EAGAIN, errno.ENOMEM)  # of fork and clone


class Exit(IntEnum):
    """Exit codes of every command (README, "Exit codes")."""

    OK = 0  # a run: PASS
    FAILED = 1  # run FAIL or LOST, query error, a preflight check with ERROR
    USAGE = 2  # wrong options, unknown model
    NO_DATA = 3  # dataset not available
    NO_DEVICE = 4  # device absent or busy
    UNCHECKED = 5  # ran, but UNCHECKED or NOT COMPARABLE
    TIMEOUT = 124
    INTERRUPTED = 130  # CANCELLED, Ctrl-C


class UserError(Exception):
    """Something the user can mend. `message` names the file, row, key or command; `remedy` says what to do."""

    def __init__(self, message: str, remedy: str = "", code: Exit = Exit.FAILED) -> None:
        super().__init__(message)
        self.message, self.remedy, self.code = message, remedy, code

    def __str__(self) -> str:
        return f"{self.message}\n{self.remedy}" if self.remedy else self.message


class UsageError(UserError):
    """The command line, a setting or a name is wrong: exit code 2."""

    def __init__(self, message: str, remedy: str = "") -> None:
        super().__init__(message, remedy, Exit.USAGE)


class DataError(UserError):
    """The dataset cannot be had: exit code 3."""

    def __init__(self, message: str, remedy: str = "") -> None:
        super().__init__(message, remedy, Exit.NO_DATA)


class DeviceError(UserError):
    """No device of the wanted kind here, or its cores are held by others: exit code 4."""

    def __init__(self, message: str, remedy: str = "") -> None:
        super().__init__(message, remedy, Exit.NO_DEVICE)


def storage_error(error: OSError, environ: Mapping[str, str] = os.environ) -> UserError | None:
    """A place that cannot be written, as an error for a person: a full disk, a folder of somebody else, a home that is not there.

    None for any other OSError: that is a fault of ours.
    """
    place = f" {error.filename}" if error.filename else ""
    if error.errno in _FULL:
        return UserError(f"Cannot write{place}: {error.strerror}.", "Free some disk space, or name another place.")
    if error.errno in _GONE:
        return UserError(
            f"Cannot reach{place or ' a file'}: {error.strerror}.",
            "The disk or the network file system does not answer: look at the mount, or name another place.",
        )
    home = Path(environ.get("HOME") or "~").expanduser()
    if error.errno not in _REFUSED and not (error.errno in _NO_FOLDER and not os.access(home, os.W_OK)):
        return None
    return UserError(
        f"Cannot write{place}: {error.strerror}." + ("" if os.access(home, os.W_OK) else f" HOME is {home}."),
        "Set HOME to a folder that you may write, or TRNUI_STATE_DIR, TRNUI_CACHE_DIR, TRNUI_CONFIG_DIR and HF_HOME.",
    )


def process_error(error: BaseException) -> UserError | None:
    """A process or thread that could not be started for want of room, as an error for a person; None for any other error."""
    if not (isinstance(error, OSError) and error.errno in _NO_PROCESS) and "can't start new thread" not in str(error):
        return None
    return UserError(
        f"No process could be started: {process_limit()}.",
        "End something of yours, or raise the limit (ulimit -u; pids.max of a container; TasksMax of a systemd unit).",
    )


def process_limit() -> str:
    """What may be the cause, with the limit of this shell."""
    import resource

    soft, _ = resource.getrlimit(resource.RLIMIT_NPROC)
    figure = "no limit in this shell" if soft == resource.RLIM_INFINITY else f"ulimit -u is {soft}"
    return f"the limit on processes and threads, or the memory, is used up ({figure})"


def host_error(error: BaseException) -> UserError | None:
    """What this host refuses (a place, a process) as an error for a person; None for a fault of ours."""
    return process_error(error) or (storage_error(error) if isinstance(error, OSError) else None)
