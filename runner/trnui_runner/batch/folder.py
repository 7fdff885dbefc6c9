"""The batch folder: where everything of a batch lies, and who works on it. Nothing else knows its layout.

<state>/batches/<id>/   batch.json (frozen) rows.jsonl checkpoints.jsonl requests/<n>.json scripts/<sha256>.py
                        runs/<run id>/ (brought home from other hosts) asks/<n> (logs that somebody wants to see)
                        lock (held by the keeper) stop keeper.log
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Final, Literal

from trnui_runner.batch.batch_file import Batch, check_id, read_batch
from trnui_runner.batch.journal import Journal
from trnui_runner.batch.request_file import read_request, write_request
from trnui_runner.batch.status import BatchStatus, fold
from trnui_runner.common.errors import UsageError, UserError
from trnui_runner.common.files import private_dir, runs_dir, state_dir, write_json
from trnui_runner.common.text import one_line
from trnui_runner.request.request import RunRequest
from trnui_runner.run_folder.folder import RunFolder

Stop = Literal["", "later", "now"]
_NEW: Final = ".new-"  # a folder that is being made


def batches_dir() -> Path:
    """`<state>/batches`: one folder a batch."""
    return state_dir() / "batches"


class BatchFolder:
    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def id(self) -> str:
        return self.path.name

    @classmethod
    def create(cls, batch: Batch, requests: Iterable[RunRequest]) -> BatchFolder:
        """All of it or nothing. `requests` in the order of the rows. Raises UserError."""
        folder = cls(batches_dir() / check_id(batch.id))
        part = folder.path.with_name(f"{_NEW}{batch.id}-{os.getpid()}")
        try:
            private_dir(part)
            for n, request in enumerate(requests):
                write_request(part, n, request)
            write_json(part / "batch.json", batch.to_json())
            os.rename(part, folder.path)
        except FileExistsError:
            raise _exists(batch.id) from None
        except OSError as error:
            if folder.path.exists():
                raise _exists(batch.id) from None
            raise UserError(
                f"No batch folder: {error}", "Free some disk space, or set TRNUI_STATE_DIR to another place."
            ) from error
        finally:
            shutil.rmtree(part, ignore_errors=True)
        return folder

    # -- reading

    def batch(self) -> Batch:
        """Raises BatchFileError."""
        return read_batch(self.path / "batch.json")

    def request(self, n: int) -> RunRequest:
        """Raises UserError."""
        return read_request(self.path, n)

    def journal(self) -> Journal:
        return Journal(self.path / "rows.jsonl")

    def status(self) -> BatchStatus:
        """Where it stands now. Raises BatchFileError."""
        return fold(self.batch(), self.journal().news())

    @property
    def runs(self) -> Path:
        """Run folders brought home from other hosts."""
        return self.path / "runs"

    def run(self, run_id: str) -> RunFolder | None:
        """A row's run folder: brought home, or of this host; None when neither is there (any more)."""
        if not run_id:
            return None
        for parent in (self.runs, runs_dir()):
            if (parent / run_id / "recipe.json").exists():
                return RunFolder(parent / run_id)
        return None

    # -- the keeper

    def lock(self) -> int | None:
        """The descriptor that makes the caller the batch's keeper; None when there is one. Raises OSError."""
        fd = os.open(self.path / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        for _ in range(20):  # whoever looks whether it is held has it for a moment
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                time.sleep(0.005)
            else:
                return fd
        os.close(fd)
        return None

    def kept(self) -> bool:
        """Whether a keeper is at work."""
        try:
            fd = os.open(self.path / "lock", os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return False
        try:
            fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(fd)
        return False

    def ask_stop(self, how: Literal["later", "now"]) -> None:
        """later: nothing more is started; now: what goes on is ended too."""
        (self.path / "stop").write_text(how, encoding="ascii")

    def stop_asked(self) -> Stop:
        try:
            return "now" if (self.path / "stop").read_text(encoding="ascii").strip() == "now" else "later"
        except (OSError, UnicodeDecodeError):
            return ""

    def go_on(self) -> None:
        """Takes back a request to stop."""
        (self.path / "stop").unlink(missing_ok=True)

    def ask_log(self, n: int) -> None:
        """The keeper brings what there is of this row's log from its host, again and again while the file is young."""
        private_dir(self.path / "asks")
        (self.path / "asks" / str(n)).touch()

    def logs_asked(self, within: float = 30.0) -> tuple[int, ...]:
        """Rows whose log somebody has asked for in the last `within` seconds."""
        found = []
        with contextlib.suppress(OSError):
            for entry in os.scandir(self.path / "asks"):
                if entry.name.isdecimal() and abs(time.time() - entry.stat().st_mtime) < within:
                    found.append(int(entry.name))
        return tuple(found)

    def keeper_log(self) -> str:
        """What the keeper said on stderr: empty, unless something is wrong with it."""
        try:
            return (self.path / "keeper.log").read_text(encoding="utf-8", errors="replace")
        except OSError:
            return ""


def _exists(batch_id: str) -> UsageError:
    return UsageError(
        f"There is a batch {batch_id} already.",
        f"Go on with it: trnui batch attach {batch_id}; or choose another --name.",
    )


def all_batches() -> list[BatchFolder]:
    """Every batch, newest first."""
    try:
        found = [
            Path(e.path)
            for e in os.scandir(batches_dir())
            if not e.name.startswith(".") and e.is_dir(follow_symlinks=False)
        ]
    except OSError:
        return []
    made = [(p, t) for p in found if (t := _made(p)) is not None]
    return [BatchFolder(p) for p, _ in sorted(made, key=lambda one: (one[1], one[0].name), reverse=True)]


def _made(path: Path) -> float | None:
    try:
        return (path / "batch.json").stat().st_mtime
    except OSError:
        return None


def one_batch(text: str) -> BatchFolder:
    """The batch that `text` names: its id, a part of it, or "last". Raises UsageError."""
    every = all_batches()
    if text == "last":
        found = every[:1]
    else:
        found = [b for b in every if b.id == text] or [b for b in every if text and text in b.id]
    if len(found) == 1:
        return found[0]
    if not found:
        raise UsageError(
            f"There is no batch {one_line(text)!r}.",
            "`trnui batch list` lists them; a part of an id will do, or `last`.",
        )
    some = ", ".join(b.id for b in found[:5])
    raise UsageError(
        f"{len(found)} batches have {one_line(text)!r} in their id: {some}{' …' if len(found) > 5 else ''}"
    )
