"""Which commits of a dataset are on disk: a list of those that were fetched whole, kept beside the record of the newest,
and what else lies in the Hugging Face cache. Asks no network."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final

from trnui.catalog.dataset.snapshot import FetchRecord, is_parquet, read_record, record_path
from trnui_runner.common.errors import UsageError
from trnui_runner.common.files import read_json, write_json
from trnui_runner.common.hub_env import hub_cache
from trnui_runner.common.text import one_line

KEPT: Final = 50  # commits remembered
FILES: Final = 100_000  # files of all commits remembered together: the list itself stays small
LATEST: Final = "latest"
PREVIOUS: Final = "previous"
_SHA = re.compile(r"[0-9a-f]{40}")
_LISTED: Final = 6  # commits named in an error


@dataclass(frozen=True)
class Commit:
    """`names` are its Parquet files below `folder`. `when` (UTC epoch seconds) is its date on the Hub where that is known,
    else when it came; `whole`: fetched by us to the last file."""

    sha: str
    folder: Path
    names: tuple[str, ...]
    when: float
    whole: bool = True

    def __str__(self) -> str:
        doubt = "" if self.whole else ", perhaps not all of its files"
        return f"{self.sha[:7]} ({datetime.fromtimestamp(self.when).astimezone():%Y-%m-%d}{doubt})"


def history_path(dataset: str, hub: str | None = None) -> Path:
    return record_path(dataset, hub).with_suffix(".history")


def remember(record: FetchRecord) -> None:
    """Puts a commit that is whole on disk at the head of the list. Raises OSError."""
    old = [r for r in remembered(record.dataset, record.endpoint) if r.commit != record.commit]
    kept: list[FetchRecord] = []
    files = 0
    for one in [record, *old][:KEPT]:
        files += len(one.files)
        if kept and files > FILES:
            break
        kept.append(one)
    value = {"v": 1, "commits": [r.to_json() for r in kept]}
    write_json(history_path(record.dataset, record.endpoint), value)


def remembered(dataset: str, hub: str | None = None) -> tuple[FetchRecord, ...]:
    """Newest first; of these some may be gone from the cache."""
    value = read_json(history_path(dataset, hub))
    found = value.get("commits") if isinstance(value, dict) else None
    records = (FetchRecord.from_json(entry) for entry in found) if isinstance(found, list) else ()
    return tuple(r for r in records if r is not None and r.dataset == dataset)


def on_disk(dataset: str) -> tuple[Commit, ...]:
    """Every commit of which files are here, newest first."""
    found: dict[str, Commit] = {}
    now = read_record(dataset)
    for record in (*([now] if now else []), *remembered(dataset)):
        if record.commit not in found and not record.missing():
            when = record.last_modified or record.fetched
            found[record.commit] = Commit(record.commit, Path(record.folder), record.parquet(), when)
    snapshots = hub_cache() / f"datasets--{dataset.replace('/', '--')}" / "snapshots"
    for folder in sorted(snapshots.glob("*")) if snapshots.is_dir() else ():
        if _SHA.fullmatch(folder.name) and folder.name not in found:
            names = (str(file.relative_to(folder)) for file in folder.rglob("*.parquet") if file.is_file())
            chosen = tuple(sorted(n for n in names if is_parquet(n)))
            if chosen:
                found[folder.name] = Commit(folder.name, folder, chosen, folder.stat().st_mtime, whole=False)
    return tuple(sorted(found.values(), key=lambda c: (c.when, c.whole), reverse=True))


def commit_named(dataset: str, word: str) -> Commit:
    """By the first digits of its SHA, or `latest` (what is read now) and `previous` (the one before). Raises UsageError."""
    found = on_disk(dataset)
    record = read_record(dataset)
    latest = next((c for c in found if record and c.sha == record.commit), found[0] if found else None)
    if word == LATEST and latest is not None:
        return latest
    if word == PREVIOUS:
        older = [c for c in found if c is not latest]
        if older:
            return older[0]
    matching = [c for c in found if len(word) >= 4 and c.sha.startswith(word.lower())]
    if len(matching) == 1:
        return matching[0]
    what = f"{len(matching)} commits on disk begin so" if matching else "no such commit on disk"
    known = ", ".join(str(c) for c in found[:_LISTED]) or "none"
    more = f" and {len(found) - _LISTED} more" if len(found) > _LISTED else ""
    raise UsageError(
        f"{one_line(word, 80)}: {what}",
        f"On disk of {one_line(dataset)}: {known}{more}. Each trnui sync that brings a new commit leaves the older ones there.",
    )
