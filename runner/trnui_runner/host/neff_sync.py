"""Fills a NEFF cache from a bucket: into a staging folder, sizes checked against the plan, then moved file by file.

The Hub's transfer creates empty files first and fills them later; an empty `.neff` in the cache would be loaded as a program.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final

from trnui_runner.common.errors import DataError, UserError
from trnui_runner.common.files import locked, private_dir
from trnui_runner.common.hub_env import without_token
from trnui_runner.common.text import decode, one_line, seconds

STALL_S: Final = 120.0  # without one byte more: ended and tried again
TRIES: Final = 3
LIST_S: Final = 120.0
_PATH = re.compile(r"[0-9A-Za-z]{2}/[0-9A-Za-z]{2}/[0-9A-Za-z][\w.-]{0,120}\.neff")

Say = Callable[[int, int], None]  # bytes done, bytes in all
Transfer = Callable[[str, Path, Say], None]


@dataclass(frozen=True)
class Planned:
    path: str  # below the version's folder, ab/cd/<key>.neff
    size: int


@dataclass(frozen=True)
class Filled:
    """The result of filling a cache. `broken`: arrived incomplete and left out. `foreign`: paths that are not NEFFs, not fetched."""

    moved: int = 0
    bytes: int = 0
    kept: int = 0  # already there, of the same size
    broken: tuple[str, ...] = ()
    foreign: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        parts = [f"{self.moved} graph{'' if self.moved == 1 else 's'} copied"]
        if self.kept:
            parts.append(f"{self.kept} were there")
        if self.broken:
            parts.append(f"{len(self.broken)} did not arrive whole and were left out")
        if self.foreign:
            parts.append(f"{len(self.foreign)} other files of the bucket were left")
        return ", ".join(parts)


def fill(
    source: str,
    target: Path,
    *,
    plan: Callable[[str], list[tuple[str, int]]] | None = None,
    transfer: Transfer | None = None,
    say: Say | None = None,
    token: bool = False,
) -> Filled:
    """Copies the graphs of `source` (hf://buckets/…) into the cache folder `target`.

    token: the Hub's client may use the token at hand. Whole files only are moved, also when the transfer breaks: then raises UserError after moving what came.
    Raises DataError when the bucket cannot be listed, UserError when another filling is at work.
    """
    listed = plan(source) if plan else hub_plan(source, token)
    wanted, foreign = sort_out(listed)
    todo = [p for p in wanted if not _whole(target / p.path, p.size)]
    kept = len(wanted) - len(todo)
    total = sum(p.size for p in todo)

    def tell(done: int, _: int) -> None:
        if say is not None:
            say(done, total)

    if not todo:
        return Filled(kept=kept, foreign=foreign)
    private_dir(target.parent)
    with locked(target.parent / f".{target.name}.fill", wait=False) as mine:
        if not mine:
            raise UserError(f"Another filling of {target} is at work.", "Wait for it to end.")
        _need_room(target.parent, total)
        staging = Path(tempfile.mkdtemp(prefix=f".{target.name}.staging-", dir=target.parent))
        failure: UserError | None = None
        try:
            try:
                if transfer:
                    transfer(source, staging, tell)
                else:
                    hub_transfer(source, staging, tell, token)
            except UserError as error:
                failure = error
            moved, broken = _move(staging, target, todo)
        finally:
            shutil.rmtree(staging, ignore_errors=True)
    done = Filled(len(moved), sum(p.size for p in moved), kept, tuple(p.path for p in broken), foreign)
    if failure is not None:
        raise UserError(
            f"The transfer broke off: {failure.message} ({done.words}).", "Run the same command again: it goes on."
        )
    return done


def sort_out(listed: list[tuple[str, int]]) -> tuple[list[Planned], tuple[str, ...]]:
    """(NEFFs, other paths). Only `ab/cd/<key>.neff` with something in it: a bucket's path never leads out of the cache."""
    good, other = [], []
    for path, bytes_ in listed:
        if _PATH.fullmatch(path) and ".." not in PurePosixPath(path).parts and bytes_ > 0:
            good.append(Planned(path, bytes_))
        else:
            other.append(one_line(path, 200))
    return good, tuple(other)


def _whole(path: Path, size: int) -> bool:
    try:
        return path.is_file() and path.stat().st_size == size
    except OSError:
        return False


def _need_room(folder: Path, size: int) -> None:
    free = shutil.disk_usage(folder).free
    if size > free:
        raise UserError(
            f"The graphs take {size} bytes, {folder} has {free} free.",
            "Free some disk space, or set neff_cache to another place.",
        )


def _move(staging: Path, target: Path, todo: list[Planned]) -> tuple[list[Planned], list[Planned]]:
    """Moves each complete file by a rename within one file system: a run that reads meanwhile sees all of it or nothing."""
    moved, broken = [], []
    private_dir(target)
    for planned in todo:
        here = staging / planned.path
        if here.is_symlink() or not _whole(here, planned.size):
            broken.append(planned)
            continue
        private_dir((target / planned.path).parent)
        os.replace(here, target / planned.path)
        moved.append(planned)
    return moved, broken


# -- the Hub's own client, in a child process that can be ended


def _hub_environment(token: bool, environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    found = dict(environ) if token else without_token(environ)
    return found | {
        "HF_HUB_DISABLE_UPDATE_CHECK": "1",
        "HF_HUB_DISABLE_TELEMETRY": "1",
        "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    }


def _hub(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "huggingface_hub.cli.hf", "buckets", "sync", *arguments]


def hub_plan(source: str, token: bool = False) -> list[tuple[str, int]]:
    """(path, size) of everything below `source`. Raises DataError."""
    with tempfile.TemporaryDirectory() as nowhere:
        try:
            done = subprocess.run(
                _hub(source, nowhere, "--dry-run"),
                capture_output=True,
                env=_hub_environment(token),
                timeout=LIST_S,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise DataError(f"{source} was not listed within {seconds(LIST_S)}.", "Try again later.") from None
    if done.returncode:
        raise DataError(
            f"{source} cannot be listed: {_last_line(done.stderr)}",
            "Check the bucket's name (setting neff_bucket) and the network.",
        )
    return parse_plan(done.stdout)


def parse_plan(out: bytes) -> list[tuple[str, int]]:
    """The operations of `hf buckets sync --dry-run`: JSON lines; what is no download is passed over."""
    found = []
    for line in out.splitlines():
        with contextlib.suppress(ValueError):
            value = json.loads(line)
            if isinstance(value, dict) and value.get("action") == "download" and isinstance(value.get("size"), int):
                found.append((str(value.get("path")), value["size"]))
    return found


def hub_transfer(source: str, staging: Path, say: Say, token: bool = False) -> None:
    """`hf buckets sync` into the staging folder; ended when no byte comes for STALL_S, and tried again. Raises UserError."""
    words = ""
    for _ in range(TRIES):
        words = _once(source, staging, say, token)
        if not words:
            return
    raise UserError(words)


def _once(source: str, staging: Path, say: Say, token: bool) -> str:
    """Empty when it succeeded, else what went wrong."""
    with tempfile.TemporaryFile() as errors:
        child = subprocess.Popen(
            _hub(source, str(staging), "--include", "*.neff", "-q"),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=errors,
            env=_hub_environment(token),
            start_new_session=True,
        )
        try:
            moved, last = time.monotonic(), -1
            while child.poll() is None:
                time.sleep(0.2)
                here = _bytes_below(staging)
                if here != last:
                    moved, last = time.monotonic(), here
                    say(here, 0)
                if time.monotonic() - moved > STALL_S:
                    return f"no byte came for {seconds(STALL_S)}"
        finally:
            if child.poll() is None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(child.pid, signal.SIGKILL)
                child.wait()
        errors.seek(0)
        return "" if child.returncode == 0 else _last_line(errors.read(1 << 20)) or f"it ended with {child.returncode}"


def _bytes_below(folder: Path) -> int:
    total = 0
    for here, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                total += os.lstat(os.path.join(here, name)).st_blocks * 512
    return total


def _last_line(data: bytes) -> str:
    lines = [line for line in decode(data).splitlines() if line.strip()]
    return one_line(lines[-1], 300) if lines else ""
