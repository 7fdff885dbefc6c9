"""The checkpoints of a batch on this host's disk: fetched ahead one after the other, and removed after their last run.

Removed is only what the batch itself has brought: `checkpoints.jsonl` says of each, before anything of it is fetched,
whether it was there already. One that another run uses stays until that run has ended.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from typing import Final

from trnui_runner.common.hub_env import hub_cache, without_token
from trnui_runner.host.system_info import free_space
from trnui_runner.request.checkpoint import folder_of, is_local

FETCH: Final = Path(__file__).resolve().parent / "fetch_checkpoint.py"


class Checkpoints:
    """A model is a repository's name here. budget: bytes that what the batch brings may take together, None for no such limit;
    spare: bytes of the disk that it leaves free."""

    def __init__(
        self,
        record: Path,
        *,
        budget: int | None,
        spare: int,
        token: bool = False,
        cache: Path | None = None,
        free: Callable[[Path], int | None] = free_space,
    ) -> None:
        self._record, self._budget, self._spare, self._token = record, budget, spare, token
        self._cache = cache or hub_cache()
        self._free = free
        self._before = dict(_recorded(record))  # model → was there before the batch
        self._child: subprocess.Popen[bytes] | None = None
        self._fetching = ""
        self._tried: set[str] = set()

    # -- room

    def at_hand(self, model: str) -> bool:
        """Nothing has to be fetched: it lies in the cache, or there is no repository that it would come from."""
        return not model or is_local(model) or folder_of(model) is not None

    def owned(self) -> tuple[str, ...]:
        """Models whose checkpoint the batch has brought and that are on the disk."""
        return tuple(m for m, before in self._before.items() if not before and self._folder(m).is_dir())

    def room(self, coming: Iterable[tuple[str, int]] = ()) -> int | None:
        """Bytes that one more checkpoint may take; None when nothing is known. coming: (model, bytes) of downloads under way."""
        here = {model: _size(self._folder(model)) for model in self.owned()}
        left = sum(max(0, weights - here.get(model, 0)) for model, weights in coming)
        free = self._free(self._cache)
        found = [] if free is None else [free - self._spare - left]
        if self._budget is not None:
            found.append(self._budget - sum(here.values()) - left)
        return min(found) if found else None

    # -- what the batch brings

    def claim(self, model: str) -> bool:
        """Before anything of it is fetched: notes whether it is there already. False when the note cannot be written."""
        if not model or is_local(model) or model in self._before:
            return True
        before = self._folder(model).is_dir()
        try:
            with open(self._record, "ab") as file:
                file.write(json.dumps({"model": model, "before": before}).encode() + b"\n")
                file.flush()
                os.fsync(file.fileno())
        except OSError:
            return False
        self._before[model] = before
        return True

    def release(self, model: str, used: Collection[str]) -> bool:
        """Removes it, if the batch has brought it and no model in `used` is it. Whether anything was removed."""
        if self._before.get(model, True) or model in used or model == self._fetching:
            return False
        folder = self._folder(model)
        if not folder.is_dir():
            return False
        shutil.rmtree(folder, ignore_errors=True)
        shutil.rmtree(self._cache / ".locks" / folder.name, ignore_errors=True)
        self._tried.discard(model)
        return True

    # -- fetched ahead

    @property
    def fetching(self) -> str:
        """The model that is being fetched ahead; empty when none is."""
        if self._child is not None and self._child.poll() is not None:
            self._child, self._fetching = None, ""
        return self._fetching

    def fetch(self, model: str, revision: str | None = None) -> bool:
        """Begins to fetch it in a child, if none is being fetched and it has not been tried. Whether it began."""
        if self.fetching or model in self._tried or self.at_hand(model) or not self.claim(model):
            return False
        env = dict(os.environ) if self._token else without_token(os.environ)
        env |= {"HF_HUB_DISABLE_TELEMETRY": "1", "HF_HUB_DISABLE_PROGRESS_BARS": "1", "HF_HUB_CACHE": str(self._cache)}
        env["PYTHONPATH"] = str(FETCH.parents[3])
        self._tried.add(model)
        try:
            self._child = subprocess.Popen(
                [sys.executable, "-P", str(FETCH), model, revision or "main"],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
                preexec_fn=_die_with_parent,
                env=env,
            )
        except OSError:
            return False
        self._fetching = model
        return True

    def close(self) -> None:
        if self._child is not None and self._child.poll() is None:
            self._child.send_signal(signal.SIGTERM)
            self._child.wait()

    def _folder(self, model: str) -> Path:
        return self._cache / f"models--{model.replace('/', '--')}"


class Unmanaged(Checkpoints):
    """On several hosts each run fetches what it needs into its host's cache, and nothing is removed there."""

    def __init__(self) -> None:
        super().__init__(Path(os.devnull), budget=None, spare=0)

    def at_hand(self, model: str) -> bool:
        return True

    def claim(self, model: str) -> bool:
        return True

    def room(self, coming: Iterable[tuple[str, int]] = ()) -> int | None:
        return None

    def release(self, model: str, used: Collection[str]) -> bool:
        return False

    def fetch(self, model: str, revision: str | None = None) -> bool:
        return False


def _die_with_parent() -> None:
    from trnui_runner.supervise.process_tree import die_with_parent

    die_with_parent()


def _recorded(path: Path) -> Iterable[tuple[str, bool]]:
    try:
        lines = path.read_bytes().splitlines()
    except OSError:
        return
    for line in lines:
        try:
            value = json.loads(line)
            yield str(value["model"]), bool(value["before"])
        except (ValueError, KeyError, TypeError):
            continue


def _size(folder: Path) -> int:
    """Bytes of the files below, links not followed."""
    total = 0
    for base, _, names in os.walk(folder):
        for name in names:
            try:
                info = os.lstat(os.path.join(base, name))
            except OSError:
                continue
            total += info.st_blocks * 512
    return total
