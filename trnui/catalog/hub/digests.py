"""What a file of a dataset must hash to, as the Hub says it, and whether what lies on disk does.

A large file (LFS) is named by its SHA-256, a small one by its git blob id (SHA-1 of `blob <size>\\0` and the bytes).
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from trnui.catalog.dataset.snapshot import FetchRecord, read_record
from trnui_runner.common.errors import DataError

_HEX: Final = {40: "git", 64: "sha256"}
_CHUNK: Final = 1 << 20
_AGAIN: Final = "Fetch it again: trnui sync."


def is_digest(text: str) -> bool:
    """40 or 64 hexadecimal digits: what a Hub names a file or a commit by, and all that may become part of a path."""
    return len(text) in _HEX and re.fullmatch(r"[0-9a-f]+", text) is not None


def expected(sibling: Any) -> str | None:
    """The digest in a Hub's description of a file (RepoSibling with `files_metadata`); None where it gives none that is one."""
    lfs = getattr(sibling, "lfs", None)
    value = lfs.get("sha256") if isinstance(lfs, dict) else getattr(lfs, "sha256", None)
    value = value or getattr(sibling, "blob_id", None)
    return value if isinstance(value, str) and is_digest(value) else None


def digest_of(path: Path, like: str, beat: Callable[[], object] = lambda: None) -> str:
    """Of the kind that `like` is. `beat` is called for every MiB. Raises OSError."""
    size = os.stat(path).st_size
    found = hashlib.sha256() if _HEX[len(like)] == "sha256" else hashlib.sha1(b"blob %d\0" % size)
    with open(path, "rb") as file:
        while piece := file.read(_CHUNK):
            found.update(piece)
            beat()
    return found.hexdigest()


def damaged(record: FetchRecord, beat: Callable[[], object] = lambda: None) -> tuple[str, ...]:
    """Files of a snapshot whose bytes are not what the Hub said; those of which no digest is known are left out."""
    found = []
    for name, digest in record.digests:
        path = Path(record.folder) / name
        try:
            if digest_of(path, digest, beat) != digest:
                found.append(name)
        except OSError:
            found.append(name)
    return tuple(found)


def require_sound(dataset: str, commit: str | None, name: str) -> None:
    """That the file which a row's script comes from is what the Hub said it is; hashed once while it stays as it is.

    Nothing is required of data without a recorded digest: a folder, a sample, a record of another commit. Raises DataError.
    """
    record = read_record(dataset) if commit else None
    digest = dict(record.digests).get(name) if record is not None and record.commit == commit else None
    if record is None or digest is None:
        return
    path = Path(record.folder) / name
    try:
        info = os.stat(path)
        sound = _hashed(path, digest, (info.st_ino, info.st_size, info.st_mtime_ns, info.st_ctime_ns))
    except OSError as error:
        raise DataError(f"{name} of {dataset} cannot be read: {error.strerror}.", _AGAIN) from error
    if not sound:
        words = f"{name} of {dataset} is damaged: its bytes are not those of commit {record.commit[:8]} on the Hub. No script of it is run."
        raise DataError(words, _AGAIN)


@lru_cache(maxsize=256)
def _hashed(path: Path, digest: str, _state: tuple[int, ...]) -> bool:
    return digest_of(path, digest) == digest


def discard(path: Path, blobs: Path) -> None:
    """Takes a file of a snapshot out of the Hugging Face cache: the link and, where it lies in `blobs`, what it points to."""
    target = Path(os.path.realpath(path))
    for one in (path, *([target] if target.parent == Path(os.path.realpath(blobs)) else [])):
        with contextlib.suppress(FileNotFoundError):
            one.unlink()


def known(pairs: Iterable[tuple[str, str | None]]) -> tuple[tuple[str, str], ...]:
    """(name, digest) of the files that have one, by name."""
    return tuple(sorted((name, digest) for name, digest in pairs if digest is not None))
