"""What of a dataset is on disk now: a Hub snapshot by commit, a folder, a file or the bundled sample. Never asks a network.

A Hub dataset lies in the Hugging Face cache (the files of one commit); a record of ours beside it holds the commit, the
time and the exact list of files, and is written only when all of them are there. So a fetch killed at any moment leaves
the record before it, and what `resolve` hands out is always one whole commit.
"""

from __future__ import annotations

import os
import re
import stat
import time
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Final, Literal

import trnui
from trnui.catalog.messages import Problem, Provenance
from trnui.settings import DATASET
from trnui_runner.common.errors import DataError
from trnui_runner.common.files import cache_dir, read_json
from trnui_runner.common.hub_env import hub_cache, is_offline
from trnui_runner.common.text import age, one_line

SAMPLE: Final = "sample"
HUB: Final = "https://huggingface.co"
VERSION: Final = 1
_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[\w.-]*[A-Za-z0-9]")
_HIDDEN = (".", "__")

Kind = Literal["hub", "folder", "file", "sample"]


@dataclass(frozen=True)
class DatasetSource:
    """Parquet files to read, in order, and where they come from.

    `dataset` is what is read ("sample" when it stands in), `asked` what was wanted. `names` are the files as the dataset
    calls them (relative to it), in the order of `files`. `card` is the dataset's README.md.
    """

    files: tuple[Path, ...]
    provenance: Provenance
    card: Path | None = None
    kind: Kind = "folder"
    dataset: str = ""
    asked: str = ""
    names: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()

    @property
    def looked_in(self) -> str:
        """For errors about what is not there: which data that is, and the way out where the sample stands in for a dataset."""
        found = self.provenance
        if not found.sample:
            return f"Looked in {one_line(found.words)}"
        way_out = ", --dataset names another" if self.hub else ""
        return f"Looked in SAMPLE, CPU: {one_line(found.words)}{way_out}"

    @property
    def hub(self) -> str | None:
        """The Hub id that a fetch would bring; None for a folder, a file and a sample that was asked for."""
        return self.asked if self.kind in ("hub", "sample") and is_hub_id(self.asked) else None


@dataclass(frozen=True)
class FetchRecord:
    """What `sync` last fetched of a Hub dataset. Times are UTC epoch seconds; `checked` is when the Hub last said
    that `commit` is its newest; `files` are (path in the dataset, bytes)."""

    dataset: str
    endpoint: str
    commit: str
    fetched: float
    checked: float
    folder: str
    files: tuple[tuple[str, int], ...]
    last_modified: float | None = None
    digests: tuple[tuple[str, str], ...] = ()  # (path, SHA-256 or git blob id) as the Hub gave them; see hub/digests.py
    v: int = VERSION

    def missing(self) -> tuple[str, ...]:
        """Files of the record that are not on disk any more, or not in their length."""
        return tuple(name for name, size in self.files if _size(Path(self.folder) / name) != size)

    def parquet(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.files if is_parquet(name))

    def to_json(self) -> dict[str, object]:
        return asdict(self)

    @classmethod
    def from_json(cls, value: object) -> FetchRecord | None:
        """None for anything that is no record of this version."""
        if not isinstance(value, dict) or value.get("v") != VERSION:
            return None
        try:
            files = tuple((str(name), int(size)) for name, size in value["files"])
            modified = value.get("last_modified")
            digests = tuple((str(name), str(digest)) for name, digest in value.get("digests") or ())
            return cls(
                dataset=str(value["dataset"]),
                endpoint=str(value["endpoint"]),
                commit=str(value["commit"]),
                fetched=float(value["fetched"]),
                checked=float(value["checked"]),
                folder=str(value["folder"]),
                files=files,
                last_modified=None if modified is None else float(modified),
                digests=digests,
            )
        except (KeyError, TypeError, ValueError):
            return None


def resolve(dataset: str, offline: bool = False) -> DatasetSource:
    """What is on disk of `dataset` now: a Hub id, a folder, a Parquet file, or "sample". Never the network.

    A Hub dataset of which nothing is there becomes the bundled sample, and the provenance says so. Raises DataError for a
    folder or file without data, and for a name that is none of these.
    """
    name = dataset.strip() or DATASET
    if name == SAMPLE:
        return _sample(name, "")
    path = Path(name).expanduser()
    if name != DATASET and path.is_dir():
        return _folder(name, path)
    if name != DATASET and path.is_file():
        words = f"file {path} · {age(time.time() - path.stat().st_mtime)}"
        return DatasetSource((path,), Provenance(name, words), None, "file", name, name, (path.name,))
    if not is_hub_id(name):
        raise DataError(
            f"{one_line(name)}: no such folder or file, and no Hub id",
            "--dataset takes owner/name, a folder, a Parquet file, or sample.",
        )
    return _hub(name, offline)


def is_hub_id(name: str) -> bool:
    return bool(_HUB_ID.fullmatch(name)) and not name.endswith(".parquet")


def is_parquet(name: str) -> bool:
    """Whether a path in a dataset is data: `.parquet`, in no hidden folder."""
    return (
        name.endswith(".parquet") and name[:1] != "/" and not any(part.startswith(_HIDDEN) for part in name.split("/"))
    )


def endpoint() -> str:
    """The Hub in use: HF_ENDPOINT or the public one."""
    return (os.environ.get("HF_ENDPOINT") or HUB).rstrip("/")


def record_path(dataset: str, hub: str | None = None) -> Path:
    """Where the record of a Hub dataset lies; Hubs other than the public one have their own."""
    hub = hub or endpoint()
    where = "" if hub == HUB else "@" + re.sub(r"[^A-Za-z0-9.-]+", "-", hub.partition("://")[2])
    return cache_dir() / "hub" / f"{dataset.replace('/', '--')}{where}.json"


def read_record(dataset: str, hub: str | None = None) -> FetchRecord | None:
    return FetchRecord.from_json(read_json(record_path(dataset, hub)))


def attempt_path(dataset: str, hub: str | None = None) -> Path:
    """Where the last failed attempt to reach the Hub is noted: {t, words}; taken away by one that succeeds."""
    return record_path(dataset, hub).with_suffix(".failed")


def last_failure(dataset: str, hub: str | None = None) -> str | None:
    """Why the last refresh failed, with its age; None if the last one went well."""
    found = read_json(attempt_path(dataset, hub))
    if not isinstance(found, dict) or not isinstance(found.get("words"), str):
        return None
    when = found.get("t")
    told = f" ({age(time.time() - when)})" if isinstance(when, int | float) else ""
    return one_line(found["words"]) + told


def _hub(dataset: str, offline: bool) -> DatasetSource:
    record = read_record(dataset)
    failure = "offline, as asked" if offline or is_offline() else last_failure(dataset)
    gone = ""
    if record is not None:
        missing = record.missing()
        if not missing:
            return _recorded(record, failure)
        gone = f"{len(missing)} of {len(record.files)} files of its snapshot are gone from the Hugging Face cache"
    cached = _cached(dataset, failure)
    if cached is not None:
        return cached
    why = gone or "none of it is on disk yet"
    return _sample(dataset, f"{why}; {failure}" if failure else why, failure)


def _recorded(record: FetchRecord, failure: str | None) -> DatasetSource:
    names = record.parquet()
    folder = Path(record.folder)
    words = f"{record.dataset} · commit {record.commit[:7]}"
    if record.last_modified:
        words += f" of {_day(record.last_modified)}"
    words += f" · checked {age(time.time() - record.checked)}"
    if record.endpoint != HUB:
        words += f" · from {one_line(record.endpoint, 60)}"
    if failure:
        words += f" · not refreshed: {failure}"
    provenance = Provenance(record.dataset, words, commit=record.commit, fetched=record.checked, stale=failure)
    problems = () if names else (Problem(record.dataset, "this commit holds no Parquet file"),)
    files = tuple(folder / name for name in names)
    return DatasetSource(files, provenance, _card(folder), "hub", record.dataset, record.dataset, names, problems)


def _cached(dataset: str, failure: str | None) -> DatasetSource | None:
    """A snapshot that another program (`hf download`) left in the Hugging Face cache: only one that is said to be whole, by the
    list of its commit's files, or that the branch points to; half-fetched ones of our own are neither."""
    repo = hub_cache() / f"datasets--{dataset.replace('/', '--')}"
    try:
        commit = (repo / "refs" / "main").read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return None
    folder = repo / "snapshots" / commit
    if not re.fullmatch(r"[0-9a-f]{40}", commit) or not folder.is_dir():
        return None
    names = tuple(_walk(folder, []))
    listed = _listed(repo / "trees" / f"{commit}.json")
    if not names or (listed is not None and set(listed) - set(names)):
        return None
    fetched = folder.stat().st_mtime
    words = f"{dataset} · commit {commit[:7]} · Hugging Face cache, {age(time.time() - fetched)}"
    words += "" if listed is not None else " · perhaps not all of its files"
    if failure:
        words += f" · not refreshed: {failure}"
    provenance = Provenance(dataset, words, commit=commit, fetched=fetched, stale=failure)
    return DatasetSource(tuple(folder / n for n in names), provenance, _card(folder), "hub", dataset, dataset, names)


def _listed(path: Path) -> tuple[str, ...] | None:
    """The Parquet files of a commit as huggingface_hub has listed them; None if it has not."""
    found = read_json(path)
    files = found.get("files") if isinstance(found, dict) else None
    return tuple(name for name in files if is_parquet(name)) if isinstance(files, dict) else None


def _folder(name: str, path: Path) -> DatasetSource:
    problems: list[Problem] = []
    names = tuple(_walk(path, problems))
    if not names:
        raise DataError(
            f"{one_line(name)}: no Parquet file in this folder or below it",
            "Give the folder that holds *.parquet files.",
        )
    files = tuple(path / n for n in names)
    newest = max((_mtime(f) for f in files), default=0.0)
    words = f"folder {path} · {len(files)} file{'s' * (len(files) != 1)} · newest {age(time.time() - newest)}"
    return DatasetSource(files, Provenance(name, words), _card(path), "folder", name, name, names, tuple(problems))


def _walk(folder: Path, problems: list[Problem]) -> list[str]:
    """Parquet files below `folder`, as paths relative to it, sorted; hidden folders are left out, links to folders not followed."""

    def failed(error: OSError) -> None:
        problems.append(Problem(str(error.filename), f"cannot be listed: {error.strerror}"))

    found = []
    for base, folders, files in os.walk(folder, onerror=failed):
        folders[:] = [f for f in folders if not f.startswith(_HIDDEN)]
        relative = os.path.relpath(base, folder)
        for file in files:
            if not file.endswith(".parquet") or file.startswith("."):
                continue
            name = file if relative == "." else f"{relative}/{file}".replace(os.sep, "/")
            if _waits(os.path.join(base, file)):
                problems.append(Problem(name, "is a pipe or a device, no file"))
            else:
                found.append(name)
    return sorted(found)


def _waits(path: str) -> bool:
    """Whether opening `path` may wait for ever: a pipe, a socket, a device. What is not there is told when it is read."""
    try:
        kind = os.stat(path).st_mode
    except OSError:
        return False
    return not stat.S_ISREG(kind)


def _sample(asked: str, why: str, failure: str | None = None) -> DatasetSource:
    folder = Path(trnui.__file__).parent / "sample"
    names = tuple(_walk(folder, []))
    words = "bundled sample · run on a CPU, no Trainium results"
    if why:
        words += f" · in place of {asked}: {why} · trnui sync fetches it"
    problems = () if names else (Problem("sample", "the bundled sample is missing from this installation"),)
    provenance = Provenance(SAMPLE, words, sample=True, stale=failure)
    return DatasetSource(
        tuple(folder / n for n in names), provenance, _card(folder), "sample", SAMPLE, asked, names, problems
    )


def _card(folder: Path) -> Path | None:
    card = folder / "README.md"
    return card if card.is_file() else None


def _size(path: Path) -> int | None:
    try:
        return path.stat().st_size
    except OSError:
        return None


def _mtime(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def _day(t: float) -> str:
    return datetime.fromtimestamp(t).astimezone().strftime("%Y-%m-%d")
