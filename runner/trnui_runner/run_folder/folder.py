"""The run folder: reading and writing it. Nothing else knows its layout.

    <state>/runs/<id>/   recipe.json run.py output.log events/<pid>.jsonl events.jsonl state.json result.json
                         reports/ inputs/ lock stop family.json work/ (where the script runs)
                         guard.log neuron.log metrics/ (TorchNeuron's own)

A follower never sees half of a file: JSON is written beside and renamed, logs are appended and read up to the last
whole line. A full disk stops nothing: what is lost is counted and said, and `result.json` has its room taken at the start.

The run's own processes may write all of it, so only what its supervisor says of the end counts: a result is one when its
SHA-256 stands in state.json beside its outcome, and nobody watches the run any more (see `guarded`).
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import json
import os
import re
import shutil
import stat
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

from trnui_runner.common.files import Unreadable, open_private, private_dir, read_bounded, runs_dir, write_json
from trnui_runner.common.text import Safe, words
from trnui_runner.run_folder import recipe as recipe_file
from trnui_runner.run_folder import result as result_file
from trnui_runner.run_folder import state as state_file
from trnui_runner.run_folder.event_reading import read_event
from trnui_runner.run_folder.events import Event
from trnui_runner.run_folder.fields import Damaged, load
from trnui_runner.run_folder.outcome import OUTCOMES as OUTCOMES
from trnui_runner.run_folder.outcome import STAGES as STAGES
from trnui_runner.run_folder.outcome import Going
from trnui_runner.run_folder.outcome import Outcome as Outcome
from trnui_runner.run_folder.outcome import Verdict as Verdict
from trnui_runner.run_folder.recipe import Recipe
from trnui_runner.run_folder.result import Result as Result
from trnui_runner.run_folder.state import State as State
from trnui_runner.run_folder.watched import watched

RESERVE: Final = 256 << 10  # room for result.json, allocated at the start
TMP_PREFIX: Final = "trnui-"
YOUNG: Final = 5.0  # seconds in which a recipe without state is queued, not LOST
SCRIPT_MOST: Final = 64 << 20  # bytes
GUARD_LOG_MOST: Final = 1 << 20
FAMILY_MOST: Final = 4 << 20
EVENT_MOST: Final = 1 << 20  # bytes of a line of events.jsonl
_ID = re.compile(r"\d{8}-\d{6}-.+")
_NOT_HELD: Final = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.EISDIR, errno.ENXIO)


class RunFolder:
    """One run's folder. Reading never raises on what a run may have left there; writing raises OSError unless said."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __repr__(self) -> str:
        return f"RunFolder({self.path.name})"

    @property
    def id(self) -> str:
        return self.path.name

    @classmethod
    def create(cls, recipe: Recipe, script: bytes, parent: Path | None = None) -> RunFolder:
        """A new folder, mode 0700, with the script byte for byte and then the recipe. Raises OSError."""
        run = cls(private_dir(parent or runs_dir()) / recipe.id)
        run.path.mkdir(mode=0o700)
        names = ("events", "inputs", "reports", "work") + (() if recipe.device == "cpu" else ("metrics",))
        try:
            for name in names:
                (run.path / name).mkdir(mode=0o700)
            (run.path / "run.py").write_bytes(script)
            write_json(run.path / "recipe.json", recipe.to_json())
        except OSError:
            shutil.rmtree(run.path, ignore_errors=True)
            raise
        return run

    # -- reading

    def recipe(self) -> Recipe | None:
        """None when it is absent or damaged (`problem` says how)."""
        with contextlib.suppress(Damaged):
            return self._recipe()
        return None

    def state(self) -> State | None:
        with contextlib.suppress(Damaged):
            return self._state()
        return None

    def result(self) -> Result | None:
        """What the supervisor wrote at the end; None before it, and for whatever somebody else wrote."""
        with contextlib.suppress(Damaged):
            found = self._result()
            return None if found is None or self.guarded() else found
        return None

    def ended(self) -> bool:
        return self.result() is not None

    def problem(self) -> Safe:
        """What of this folder cannot be read, in words; empty when all of it is well."""
        try:
            if self._recipe() is None and not self._young():
                return Safe("recipe.json is missing")
            self._state()
            self._result()
        except Damaged as error:
            return words("{}", error)
        return Safe("")

    def _recipe(self) -> Recipe | None:
        value = load(self.path / recipe_file.NAME, recipe_file.MOST)
        return None if value is None else Recipe.from_json(value)

    def _state(self) -> State | None:
        value = load(self.path / state_file.NAME, state_file.MOST)
        return None if value is None else State.from_json(value)

    def _result(self) -> Result | None:
        """Raises Damaged for one that is not what the supervisor wrote."""
        state = self._state() or State(v=1)
        if state.outcome is None and (state.v > 1 or self._sealed()):
            return None
        try:
            data = read_bounded(self.path / result_file.NAME, result_file.MOST)
            value: object = None if data is None else json.loads(data)
        except (Unreadable, ValueError, RecursionError) as error:
            raise Damaged(f"{result_file.NAME}: {error}") from error
        if data is None:
            return None
        if (state.v > 1 or self._sealed()) and state.result_sha256 != hashlib.sha256(data).hexdigest():
            raise Damaged(f"{result_file.NAME} is not what the run's supervisor wrote")
        return Result.from_json(value)

    def _sealed(self) -> bool:
        """Whether the run was started by a version that seals its results."""
        recipe = self.recipe()
        return recipe is not None and recipe.v > 1

    def events(self) -> Iterator[Event]:
        """All events so far; lines that are none are left out. (To follow a run, see trnui_runner.run_folder.follower.)"""
        try:
            fd = os.open(self.path / "events.jsonl", os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            return
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            os.close(fd)
            return
        with os.fdopen(fd, "rb") as file:
            while line := file.readline(EVENT_MOST):
                event = read_event(line)
                if event is not None:
                    yield event

    def guard_log(self) -> str:
        """What guard and supervisor said on stderr: empty, unless something is wrong with them."""
        return self._read("guard.log", GUARD_LOG_MOST).decode("utf-8", "replace")

    def script(self) -> bytes:
        """`run.py`, byte for byte; empty if the folder has none."""
        return self._read("run.py", SCRIPT_MOST)

    def _read(self, name: str, most: int) -> bytes:
        try:
            return read_bounded(self.path / name, most) or b""
        except Unreadable:
            return b""

    def outcome(self) -> Outcome | Going:
        """An outcome, "queued", "running", or "LOST" (no result and nobody watches)."""
        if self._held() or self.guarded():
            return "running"
        with contextlib.suppress(Damaged):
            result = self._result()
            if result is not None:
                return result.outcome
        return "queued" if self._young() and self.state() is None else "LOST"

    def _young(self) -> bool:
        for name in (recipe_file.NAME, "."):
            with contextlib.suppress(OSError):
                return abs(time.time() - os.lstat(self.path / name).st_mtime) < YOUNG
        return False

    def _held(self) -> bool:
        """Somebody holds the lock. A lock that cannot be asked counts as held: nobody is to end a run because of that."""
        try:
            fd = os.open(self.path / "lock", os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as error:
            return error.errno not in _NOT_HELD
        try:
            fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(fd)
        return False

    def guarded(self) -> bool:
        """Its guard or its supervisor is alive, whatever the run's own processes have done to the folder and its lock."""
        return watched(self.path)

    # -- writing (the supervisor, unless said)

    def write_state(self, state: State) -> bool:
        """False if the disk would not take it: the run goes on, the next second tries again."""
        return self._put("state.json", vars(state))

    def write_family(self, family: dict[str, str]) -> bool:
        return self._put("family.json", family)

    def _put(self, name: str, value: object) -> bool:
        """Atomic for readers; not synced, for the next second brings another, and there is one writer alone."""
        part = f"{self.path}/.{name}.part"
        try:
            fd = open_private(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NONBLOCK)
            data = json.dumps(value).encode()
            try:
                whole = os.write(fd, data) == len(data)
            finally:
                os.close(fd)
            if not whole:
                return False
            os.replace(part, f"{self.path}/{name}")
        except OSError:
            return False
        return True

    def family(self) -> dict[str, str]:
        with contextlib.suppress(Damaged):
            value = load(self.path / "family.json", FAMILY_MOST)
            return {str(k): str(v) for k, v in value.items()} if isinstance(value, dict) else {}
        return {}

    def reserve(self) -> None:
        """Takes the room of `result.json` (not a promise on copy-on-write file systems). Raises OSError when there is none."""
        fd = self._part()
        try:
            os.posix_fallocate(fd, 0, RESERVE)
        finally:
            os.close(fd)

    def _part(self) -> int:
        """The file that will be result.json: a plain one of ours with this name alone, or a new one. Raises OSError."""
        part = self.path / ".result.json.part"
        with contextlib.suppress(OSError):
            fd = open_private(part, os.O_RDWR | os.O_CREAT | os.O_NONBLOCK)
            info = os.fstat(fd)
            if stat.S_ISREG(info.st_mode) and info.st_nlink == 1 and info.st_uid == os.getuid():
                return fd
            os.close(fd)
        clear(part)
        return open_private(part, os.O_RDWR | os.O_CREAT | os.O_EXCL)

    def finish(self, result: Result, state: State | None = None) -> str:
        """Writes the end, in the room reserved, in the place of whatever the run's processes left there; returns the SHA-256
        of result.json. state: as it is at the end. For whoever watches the run, once no process of it is left. Raises OSError.
        """
        data = result.encoded()
        fd = self._part()
        try:
            if not _written(fd, data):  # no room for all of it: without the long texts it fits what was reserved
                data = result.shortened().encoded()
                os.pwrite(fd, data, 0)
            os.ftruncate(fd, len(data))
            os.fsync(fd)
        finally:
            os.close(fd)
        digest = hashlib.sha256(data).hexdigest()
        state = replace(
            state or self.state() or State(),
            stage="done",
            outcome=result.outcome,
            silent_since=None,
            result_sha256=digest,
            v=state_file.VERSION,
        )
        for name in (state_file.NAME, result_file.NAME):
            if os.path.isdir(self.path / name):
                clear(self.path / name)
        if not self.write_state(state):
            self._write_in_place(state_file.NAME, json.dumps(vars(state)).encode())
        os.replace(self.path / ".result.json.part", self.path / result_file.NAME)
        return digest

    def _write_in_place(self, name: str, data: bytes) -> None:
        """On a full disk: over the blocks that the file has. Raises OSError."""
        fd = open_private(self.path / name, os.O_RDWR | os.O_CREAT)
        try:
            os.pwrite(fd, data, 0)
            os.ftruncate(fd, len(data))
        finally:
            os.close(fd)

    def holds(self, name: str, data: bytes) -> bool:
        """Whether the file is there and has exactly these bytes."""
        with contextlib.suppress(Unreadable):
            return read_bounded(self.path / name, len(data)) == data
        return False

    def written(self, digest: str) -> bool:
        """Whether result.json is the one that was written with this digest."""
        return hashlib.sha256(self._read(result_file.NAME, result_file.MOST)).hexdigest() == digest

    def keep_tmp(self, target: Path) -> None:
        """Notes the run's own TMPDIR, which lies elsewhere: socket paths in it have to be short. Raises OSError."""
        os.symlink(target, self.path / "tmp")

    def tidy(self, tmp: Path | None = None) -> None:
        """Takes away the run's TMPDIR (`tmp`, for whoever knows it although the folder may be gone) and torn files; never raises."""
        with contextlib.suppress(OSError):  # there is none, or it has gone
            target = tmp or Path(os.readlink(self.path / "tmp"))
            info = os.lstat(target)
            if stat.S_ISDIR(info.st_mode) and info.st_uid == os.getuid() and target.name.startswith(TMP_PREFIX):
                shutil.rmtree(target, ignore_errors=True)
        with contextlib.suppress(OSError):
            os.unlink(self.path / "tmp")
        for part in self.path.glob(".*.part"):
            if part.name != ".result.json.part":
                part.unlink(missing_ok=True)

    def ask_stop(self) -> None:
        """Anybody's way to stop the run: a file whose appearance the supervisor watches for."""
        os.close(open_private(self.path / "stop", os.O_WRONLY | os.O_CREAT | os.O_NONBLOCK))

    def stop_asked(self) -> bool:
        return os.path.exists(f"{self.path}/stop")

    def lock(self, *, tries: int = 20) -> int | None:
        """The descriptor that holds the run, or None if somebody else does. Forks share it; the last to end frees it."""
        try:
            fd = open_private(self.path / "lock", os.O_RDWR | os.O_CREAT)
        except OSError:
            return None
        for attempt in range(tries):
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                if attempt + 1 < tries:  # a follower that looks holds it for a moment
                    time.sleep(0.005)
            else:
                return fd
        os.close(fd)
        return None

    def remove(self) -> None:
        """Deletes a run that has ended. Raises OSError; the caller has asked `outcome` before."""
        shutil.rmtree(self.path)


def clear(path: Path) -> None:
    """Takes away whatever stands in the place of a file of ours. Raises OSError."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _written(fd: int, data: bytes) -> bool:
    try:
        return os.pwrite(fd, data, 0) == len(data)
    except OSError:
        return False


def all_runs(parent: Path | None = None) -> list[RunFolder]:
    """Every run folder, newest first (their names begin with the time), damaged ones too."""
    base = parent or runs_dir()
    try:
        names = sorted((e.name for e in os.scandir(base) if e.is_dir(follow_symlinks=False)), reverse=True)
    except OSError:
        return []
    return [RunFolder(base / n) for n in names if _ID.fullmatch(n) or (base / n / recipe_file.NAME).exists()]


def find_run(text: str, parent: Path | None = None) -> list[RunFolder]:
    """Runs whose id is `text`, else those whose id begins or ends with it or contains it as a part; "last" is the newest."""
    runs = all_runs(parent)
    if text == "last":
        return runs[:1]
    exact = [r for r in runs if r.id == text]
    return exact or [r for r in runs if text and text in r.id]
