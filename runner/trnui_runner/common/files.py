"""Where files live (XDG, each overridable), and the one way to write one: atomically, private, locked."""

from __future__ import annotations

import contextlib
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


def private_dir(path: Path) -> Path:
    """The folder, made with mode 0700 if it is not there. Raises OSError."""
    path.mkdir(parents=True, exist_ok=True, mode=0o700)
    return path


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
    write_atomic(path, json.dumps(value, indent=1, ensure_ascii=False, default=str) + "\n", mode, sync=sync)


def read_json(path: Path) -> object:
    """The file's value; None if it is absent, unreadable or no JSON (it is written atomically, so torn means foreign)."""
    try:
        return json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None


@contextlib.contextmanager
def locked(path: Path, *, shared: bool = False, wait: bool = True) -> Iterator[bool]:
    """Holds a flock on `path` meanwhile; yields False when `wait` is off and somebody else holds it."""
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
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
