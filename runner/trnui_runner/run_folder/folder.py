"""The run folder: reading and writing it. Nothing else knows its layout.

    <state>/runs/<id>/   recipe.json run.py output.log events/<pid>.jsonl events.jsonl state.json result.json
                         reports/ inputs/ lock stop family.json work/ (where the script runs)
                         guard.log neuron.log metrics/ (TorchNeuron's own)

A follower never sees half of a file: JSON is written beside and renamed, logs are appended and read up to the last
whole line. A full disk stops nothing: what is lost is counted and said, and `result.json` has its room taken at the start.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import stat
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Literal, get_args

from trnui_runner.common.files import private_dir, read_json, runs_dir, write_json
from trnui_runner.run_folder.recipe import Recipe

VERSION = 1
RESERVE = 256 << 10  # room for result.json, allocated at the start
TMP_PREFIX = "trnui-"
YOUNG = 5.0  # seconds in which a recipe without state is queued, not LOST

Stage = Literal["queued", "preparing", "downloading", "loading", "compiling", "generating", "checking", "done"]
Outcome = Literal["PASS", "FAIL", "UNCHECKED", "CANCELLED", "TIMEOUT", "LOST"]
Verdict = Literal["REPRODUCED", "DIFFERS", "NOT COMPARABLE"]
STAGES: tuple[str, ...] = get_args(Stage)
OUTCOMES: tuple[str, ...] = get_args(Outcome)


@dataclass(frozen=True)
class State:
    """`state.json`: where a run is. Times are UTC epoch seconds; `updated` is written at least every second.

    silent_since: the last sign of life (output, an event) of a run that is going on.
    """

    stage: str = "queued"
    outcome: Outcome | None = None
    started: float = 0.0
    updated: float = 0.0
    elapsed: float = 0.0  # seconds since the start by a clock that never jumps
    pid: int = 0
    guard_pid: int = 0
    grace_s: float = 0.0
    cores_held: tuple[int, ...] = ()
    silent_since: float | None = None
    message: str = ""
    v: int = VERSION


@dataclass(frozen=True)
class Result:
    """`result.json`, written once. Sizes in bytes, times in seconds, times of day UTC epoch seconds.

    tokens: {new_ids, text, reference_ids, reference_text, first_difference, margin}; judge: {name, nll, surface};
    stages: {name: seconds}; memory: [{scope, source, peak, capacity}]; neff: {hits, misses, new};
    verdict: "REPRODUCED", "DIFFERS", "NOT COMPARABLE" or None (nothing to compare with), `differences` says in what;
    row: the run as one row of the dataset's own 24 columns.
    """

    outcome: Outcome
    reason: str = ""
    kind: str | None = None  # "cpu-match" or "english"
    device: str = ""
    verdict: Verdict | None = None
    differences: tuple[str, ...] = ()
    tokens: dict[str, Any] | None = None
    judge: dict[str, Any] | None = None
    stages: dict[str, float] = field(default_factory=dict)
    graphs: int | None = None
    compile_s: float | None = None
    wall_s: float | None = None
    memory: tuple[dict[str, Any], ...] = ()
    neff: dict[str, Any] | None = None
    stack: dict[str, Any] = field(default_factory=dict)
    diagnosis: dict[str, Any] | None = None
    exit_code: int | None = None
    row: dict[str, Any] | None = None
    notes: tuple[str, ...] = ()  # what else a reader must know: log cut, processes that would not end, not the protocol
    v: int = VERSION


def _encoded(result: Result) -> bytes:
    return json.dumps(asdict(result), indent=1, ensure_ascii=False, default=str).encode("utf-8", "surrogatepass")


def _written(fd: int, data: bytes) -> bool:
    try:
        return os.pwrite(fd, data, 0) == len(data)
    except OSError:
        return False


def _shortened(result: Result) -> Result:
    """The same without long texts."""

    def short(value: Any) -> Any:
        if isinstance(value, str):
            return value if len(value) <= 2000 else value[:2000] + "…"
        if isinstance(value, dict):
            return {k: short(v) for k, v in value.items()}
        return tuple(short(v) for v in value[:256]) if isinstance(value, list | tuple) else value

    return Result(**{f.name: short(getattr(result, f.name)) for f in fields(Result)})


def _known(kind: type, value: object) -> dict[str, Any] | None:
    if not isinstance(value, dict):
        return None
    names = {f.name for f in fields(kind)}
    return {k: tuple(v) if isinstance(v, list) else v for k, v in value.items() if k in names}


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
        try:
            return Recipe.from_json(read_json(self.path / "recipe.json"))
        except (ValueError, TypeError):
            return None

    def state(self) -> State | None:
        known = _known(State, read_json(self.path / "state.json"))
        return State(**known) if known is not None else None

    def result(self) -> Result | None:
        known = _known(Result, read_json(self.path / "result.json"))
        return Result(**known) if known is not None and "outcome" in known else None

    def ended(self) -> bool:
        """The result is written."""
        return (self.path / "result.json").exists()

    def events(self) -> Iterator[dict[str, Any]]:
        """All events so far; lines that are none are left out. (To follow a run, see trnui_runner.run_folder.follower.)"""
        try:
            with open(self.path / "events.jsonl", "rb") as file:
                for line in file:
                    try:
                        event = json.loads(line)
                    except (ValueError, RecursionError):
                        continue
                    if isinstance(event, dict):
                        yield event
        except OSError:
            return

    def guard_log(self) -> str:
        """What guard and supervisor said on stderr: empty, unless something is wrong with them."""
        try:
            return (self.path / "guard.log").read_text(encoding="utf-8", errors="replace")
        except OSError:
            return ""

    def script(self) -> bytes:
        """`run.py`, byte for byte; empty if the folder has none."""
        try:
            return (self.path / "run.py").read_bytes()
        except OSError:
            return b""

    def outcome(self) -> str:
        """An outcome, "queued", "running", or "LOST" (no result and nobody holds the lock)."""
        fd = self.lock(shared=True, tries=1)  # asked first: the result is written while the lock is held
        if fd is not None:
            os.close(fd)
        result = self.result()
        if result is not None:
            return result.outcome
        if fd is None and self.path.is_dir():
            return "running"
        try:
            young = abs(time.time() - (self.path / "recipe.json").stat().st_mtime) < YOUNG
        except OSError:
            return "LOST"
        return "queued" if young and self.state() is None else "LOST"

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
            fd = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
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
        value = read_json(self.path / "family.json")
        return {str(k): str(v) for k, v in value.items()} if isinstance(value, dict) else {}

    def reserve(self) -> None:
        """Takes the room of `result.json` (not a promise on copy-on-write file systems). Raises OSError when there is none."""
        fd = os.open(self.path / ".result.json.part", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            os.posix_fallocate(fd, 0, RESERVE)
        finally:
            os.close(fd)

    def finish(self, result: Result) -> bool:
        """Writes `result.json` in the room reserved; False if there is one already."""
        if self.ended():
            return False
        data = _encoded(result)
        part = self.path / ".result.json.part"
        fd = os.open(part, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            if not _written(fd, data):  # no room for all of it: without the long texts it fits what was reserved
                data = _encoded(_shortened(result))
                os.pwrite(fd, data, 0)
            os.ftruncate(fd, len(data))
            os.fsync(fd)
        finally:
            os.close(fd)
        os.replace(part, self.path / "result.json")
        return True

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
        (self.path / "stop").touch(mode=0o600)

    def stop_asked(self) -> bool:
        return os.path.exists(f"{self.path}/stop")

    def lock(self, *, shared: bool = False, tries: int = 20) -> int | None:
        """The descriptor that holds the run, or None if somebody else does. Forks share it; the last to end frees it."""
        try:
            fd = os.open(self.path / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError:
            return None
        for attempt in range(tries):
            try:
                fcntl.flock(fd, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
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


def all_runs(parent: Path | None = None) -> list[RunFolder]:
    """Every run folder, newest first (their names begin with the time)."""
    base = parent or runs_dir()
    try:
        names = sorted((e.name for e in os.scandir(base) if e.is_dir(follow_symlinks=False)), reverse=True)
    except OSError:
        return []
    return [RunFolder(base / name) for name in names if (base / name / "recipe.json").exists()]


def find_run(text: str, parent: Path | None = None) -> list[RunFolder]:
    """Runs whose id is `text`, else those whose id begins or ends with it or contains it as a part; "last" is the newest."""
    runs = all_runs(parent)
    if text == "last":
        return runs[:1]
    exact = [r for r in runs if r.id == text]
    return exact or [r for r in runs if text and text in r.id]
