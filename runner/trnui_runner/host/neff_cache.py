"""The NEFF cache: its folder for a compiler version, what is in it, and the bucket that could fill it, with who named that bucket."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from trnui_runner.common.files import cache_dir
from trnui_runner.common.text import one_line, size, thousands

PREFIX: Final = "neuronxcc-"
# Buckets as they are written in cards, notes and scripts: hf://buckets/OWNER/NAME, or the Hub's page of one.
_BUCKET = re.compile(r"(?:hf://buckets/|huggingface\.co/buckets/)([A-Za-z0-9][\w.-]{0,95})/([A-Za-z0-9][\w.-]{0,95})")
_NAME = re.compile(r"([A-Za-z0-9][\w.-]{0,95})/([A-Za-z0-9][\w.-]{0,95})")
_VERSION = re.compile(r"[A-Za-z0-9][\w.+-]{0,80}")


@dataclass(frozen=True)
class Bucket:
    """`name` is owner/name; `source` says who named it, in words."""

    name: str
    source: str


@dataclass(frozen=True)
class Cache:
    """One compiler version's folder. `broken`: empty .neff files, which an interrupted transfer leaves: TorchNeuron would load them."""

    path: Path
    neuronx_cc: str | None
    files: int = 0
    bytes: int = 0
    broken: tuple[str, ...] = ()
    newest: float | None = None  # UTC epoch seconds
    origin: str = "the user's cache"

    @property
    def words(self) -> str:
        """`63 graphs, 29.0 MiB, for neuronx-cc 2.28.7631.0`."""
        if not self.files:
            full = "empty: the first run compiles everything"
        else:
            full = f"{thousands(self.files)} graph{'s' if self.files > 1 else ''}, {size(self.bytes)}"
        if self.broken:
            full += f", {len(self.broken)} empty file{'s' if len(self.broken) > 1 else ''} of a broken transfer"
        return f"{full}, for neuronx-cc {self.neuronx_cc or 'of unknown version'}"

    def to_json(self) -> dict[str, Any]:
        return asdict(self) | {"path": str(self.path), "broken": list(self.broken)}


def root(setting: str = "") -> Path:
    """The folder of all versions' caches."""
    return Path(setting).expanduser() if setting else cache_dir() / "neff"


def folder(neuronx_cc: str | None, setting: str = "", environ: Mapping[str, str] = os.environ) -> tuple[Path, str]:
    """(folder, who chose it): what the user's environment sets wins, as in a run. Each compiler version has a folder of its own."""
    chosen = environ.get("TORCH_NEURONX_NEFF_CACHE_DIR")
    if chosen:
        return Path(chosen).expanduser(), "TORCH_NEURONX_NEFF_CACHE_DIR of this shell, for all compiler versions"
    version = neuronx_cc if neuronx_cc and _VERSION.fullmatch(neuronx_cc) else "unknown"
    return root(setting) / f"{PREFIX}{version}", "the setting neff_cache" if setting else "the user's cache"


def cache(neuronx_cc: str | None, setting: str = "", environ: Mapping[str, str] = os.environ) -> Cache:
    """The state on disk of the cache that a run with this compiler uses. A folder that does not exist is an empty cache."""
    path, origin = folder(neuronx_cc, setting, environ)
    return look(path, neuronx_cc, origin)


def look(path: Path, neuronx_cc: str | None, origin: str = "the user's cache") -> Cache:
    files, total, newest, broken = 0, 0, None, list[str]()
    for entry in _neffs(path):
        try:
            info = entry.stat()
        except OSError:
            continue  # replaced meanwhile
        if info.st_size == 0:
            broken.append(str(Path(entry.path).relative_to(path)))
            continue
        files, total = files + 1, total + info.st_size
        newest = max(newest or 0.0, info.st_mtime)
    return Cache(path, neuronx_cc, files, total, tuple(sorted(broken)), newest, origin)


def all_caches(setting: str = "") -> tuple[Cache, ...]:
    """Every version's cache below the root, by name."""
    try:
        names = sorted(e.name for e in os.scandir(root(setting)) if e.is_dir() and e.name.startswith(PREFIX))
    except OSError:
        return ()
    return tuple(look(root(setting) / name, name.removeprefix(PREFIX)) for name in names)


def _neffs(path: Path) -> list[os.DirEntry[str]]:
    found: list[os.DirEntry[str]] = []
    todo = [(str(path), 0)]
    while todo:
        here, depth = todo.pop()
        try:
            with os.scandir(here) as entries:
                for entry in entries:
                    if entry.name.endswith(".neff") and entry.is_file(follow_symlinks=False):
                        found.append(entry)
                    elif depth < 2 and len(entry.name) == 2 and entry.is_dir(follow_symlinks=False):
                        todo.append((entry.path, depth + 1))
        except OSError:
            continue
    return found


def bucket(
    setting: str = "", *, card: str | None = None, notes: str | None = None, run_py: str | None = None
) -> Bucket | None:
    """The setting, else the first one named in the dataset's card, the row's notes or its script. None: nobody names one."""
    plain = setting.strip().removeprefix("hf://buckets/").strip("/")
    if plain:
        found = _NAME.match(plain)
        return Bucket(f"{found[1]}/{found[2]}", "the setting neff_bucket") if found else None
    for text, source in ((card, "the dataset's card"), (notes, "the row's notes"), (run_py, "the row's run.py")):
        match = _BUCKET.search(text or "")
        if match:
            return Bucket(f"{match[1]}/{match[2]}".rstrip(".-"), source)
    return None


def address(bucket: Bucket, neuronx_cc: str) -> str:
    """Where a compiler version's graphs are in the bucket. Raises ValueError for what is no version."""
    if not _VERSION.fullmatch(neuronx_cc):
        raise ValueError(f"not a compiler version: {one_line(neuronx_cc, 80)}")
    return f"hf://buckets/{bucket.name}/{PREFIX}{neuronx_cc}"


def command(bucket: Bucket, neuronx_cc: str, path: Path) -> str:
    """The Hub's own command that copies the graphs straight into the cache; `trnui cache --fill` does it by way of a staging folder."""
    return shlex.join(["hf", "buckets", "sync", address(bucket, neuronx_cc), str(path)])
