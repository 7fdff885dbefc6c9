"""Where files live (XDG, each overridable), and the one way to write one: atomically, private, locked."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

APP = "trnui"


def _dir(variable: str, kind: str) -> Path:
    """TRNUI_CONFIG_DIR, TRNUI_STATE_DIR and TRNUI_CACHE_DIR win over XDG."""
    chosen = os.environ.get(variable)
    if chosen:
        return Path(chosen).expanduser()
    import platformdirs

    found = {
        "config": platformdirs.user_config_path,
        "state": platformdirs.user_state_path,
        "cache": platformdirs.user_cache_path,
    }[kind]
    return Path(found(APP))


def config_dir() -> Path:
    return _dir("TRNUI_CONFIG_DIR", "config")


def state_dir() -> Path:
    return _dir("TRNUI_STATE_DIR", "state")


def cache_dir() -> Path:
    return _dir("TRNUI_CACHE_DIR", "cache")


def runs_dir() -> Path:
    """`<state>/runs`: one folder a run."""
    return state_dir() / "runs"


def leases_dir() -> Path:
    """`<state>/leases`: one locked file a NeuronCore in use by a run of ours."""
    return state_dir() / "leases"


class Unreadable(Exception):
    """A file that is there, and is not what may be read; the message says why."""


def private_dir(path: Path) -> Path:
    """The folder, ours alone: it and every parent that is missing are made with mode 0700, whatever the umask.

    Raises OSError; PermissionError, in words, for a folder that is another user's or that others may write into.
    """
    missing = []
    while not os.path.lexists(path):
        missing.append(path)
        path = path.parent
    for folder in reversed(missing):
        try:
            os.mkdir(folder, 0o700)
        except FileExistsError:
            continue  # made by another of ours at the same time; looked at below
        os.chmod(folder, 0o700)
    path = missing[0] if missing else path
    info = path.stat()
    if not stat.S_ISDIR(info.st_mode):
        raise NotADirectoryError(errno.ENOTDIR, "is no folder", str(path))
    problem = not_ours(info)
    if problem:
        raise PermissionError(errno.EPERM, f"{problem}; trnui keeps nothing there", str(path))
    return path


def not_ours(info: os.stat_result) -> str:
    """Why what a file or folder of this kind holds could be somebody else's doing; empty when it is ours alone."""
    if info.st_uid != os.getuid():
        return f"it belongs to the user with id {info.st_uid}"
    if info.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return f"other users may write into it (mode {stat.S_IMODE(info.st_mode):04o}; chmod go-w mends that)"
    return ""


def open_private(path: Path | str, flags: int) -> int:
    """A descriptor of a file of ours, made with mode 0600 where `flags` say so; never through a link. Raises OSError."""
    return os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)


def read_bounded(path: Path, most: int, *, private: bool = False) -> bytes | None:
    """The whole of a plain file; None if there is none. `private`: only if it is ours alone.

    Raises Unreadable for a link, a pipe, a file of more than `most` bytes, or one that cannot be read.
    """
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise Unreadable("a link" if error.errno == errno.ELOOP else error.strerror or str(error)) from error
    info = os.fstat(fd)
    if not stat.S_ISREG(info.st_mode):
        os.close(fd)
        raise Unreadable("no plain file")
    with os.fdopen(fd, "rb") as file:
        if private and (problem := not_ours(info)):
            raise Unreadable(problem)
        if info.st_size > most:
            raise Unreadable(f"{info.st_size:,} bytes, more than the {most:,} it may have")
        try:
            data = file.read(most + 1)
        except OSError as error:
            raise Unreadable(error.strerror or str(error)) from error
    if len(data) > most:
        raise Unreadable(f"more than the {most:,} bytes it may have")
    return data


def write_atomic(path: Path, data: str | bytes, mode: int = 0o600, *, sync: bool = True) -> None:
    """The whole of `data` or nothing: a temporary file beside `path`, then renamed over it. Raises OSError.

    Without `sync` a crash of the machine may lose it (for what is written every second).
    """
    raw = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data
    fd, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
    try:
        with os.fdopen(fd, "wb") as file:
            os.fchmod(fd, mode)
            file.write(raw)
            file.flush()
            if sync:
                os.fsync(fd)
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise


def write_given(path: Path, data: str | bytes, mode: int = 0o644) -> None:
    """A file that the user named: whole or not at all; a link is followed, an existing file keeps its mode, and what is no
    file (a device, a pipe) is written into, never replaced. Raises OSError."""
    path = Path(os.path.realpath(path))
    try:
        there = path.stat().st_mode
    except FileNotFoundError:
        write_atomic(path, data, mode)
        return
    if stat.S_ISREG(there):
        write_atomic(path, data, stat.S_IMODE(there))
        return
    with path.open("wb") as file:
        file.write(data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data)


def write_json(path: Path, value: object, mode: int = 0o600, *, sync: bool = True) -> None:
    write_atomic(path, json_text(value), mode, sync=sync)


def json_text(value: object) -> str:
    """As `write_json` writes it."""
    return json.dumps(value, indent=1, ensure_ascii=False, default=str) + "\n"


def read_json(path: Path) -> object:
    """The file's value; None if it is absent, unreadable or no JSON (it is written atomically, so torn means foreign)."""
    try:
        return json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None


@contextlib.contextmanager
def locked(path: Path, *, shared: bool = False, wait: bool = True) -> Iterator[bool]:
    """Holds a flock on `path` meanwhile; yields False when `wait` is off and somebody else holds it."""
    fd = open_private(path, os.O_RDWR | os.O_CREAT)
    try:
        how = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
        try:
            fcntl.flock(fd, how if wait else how | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
            return
        yield True
    finally:
        os.close(fd)
