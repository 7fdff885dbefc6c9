"""What a refresh brought: rows, results and stacks that differ between two snapshots of a dataset, in words."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from trnui.catalog.dataset.column_mapping import pair_in
from trnui.catalog.dataset.snapshot import FetchRecord
from trnui.catalog.dataset.versions import public
from trnui.catalog.query import Stack

Key = tuple[str, Stack]  # a model on a stack
Blob = tuple[str, str]  # a file's name in the dataset and where its bytes lie
Results = Mapping[Key, tuple[str, ...]]  # the words of its rows there, sorted


@dataclass(frozen=True)
class Changes:
    """`rows` counts models on stacks; `first` means that there was nothing before."""

    rows: int = 0
    gone: int = 0
    result: int = 0
    stacks: tuple[Stack, ...] = ()
    first: bool = False

    def words(self) -> str:
        """`12 new rows, 3 changed result, new stack 2.28.9000.0/5.24.0`."""
        if self.first:
            return f"{self.rows:,} row{_s(self.rows)}, {len(self.stacks)} stack{_s(len(self.stacks))}"
        parts = []
        if self.rows:
            parts.append(f"{self.rows:,} new row{_s(self.rows)}")
        if self.gone:
            parts.append(f"{self.gone:,} row{_s(self.gone)} gone")
        if self.result:
            parts.append(f"{self.result:,} changed result")
        if self.stacks:
            shown = [s.short for s in self.stacks[:3]]
            more = f" and {len(self.stacks) - 3} more" if len(self.stacks) > 3 else ""
            parts.append(f"new stack{_s(len(self.stacks))} " + ", ".join(shown) + more)
        return ", ".join(parts) or "a new commit, no result changed"


def diff(before: Results, after: Results, known: Iterable[Stack], now: Iterable[Stack]) -> Changes:
    return Changes(
        rows=len(after.keys() - before.keys()),
        gone=len(before.keys() - after.keys()),
        result=sum(before[key] != after[key] for key in before.keys() & after.keys()),
        stacks=tuple(sorted(set(now) - set(known), key=str)),
    )


def changes(before: FetchRecord | None, after: FetchRecord, columns: Mapping[str, str] | None = None) -> Changes:
    """Between two snapshots; an earlier one whose files are gone counts as none. Files that both have are left unread, but for
    those that may hold a stack that looks new."""
    if before is None or before.missing():
        rows, _, stacks = _read(after, _blobs(after), columns)
        return Changes(rows=rows, stacks=stacks, first=True)
    old_blobs, new_blobs = _blobs(before), _blobs(after)
    _, old, known = _read(before, old_blobs - new_blobs, columns)
    _, new, now = _read(after, new_blobs - old_blobs, columns)
    strange = set(now) - set(known)
    if strange:
        _, _, there = _read(after, {b for b in old_blobs & new_blobs if _may_hold(b, strange)}, columns)
        known = (*known, *there)
    return diff(old, new, known, now)


def _may_hold(blob: Blob, stacks: Iterable[Stack]) -> bool:
    """By the file's name: a part of it that names another version rules it out."""
    pair = pair_in(blob[0])
    compiler, version = pair.get("neuronx_cc", ""), pair.get("library_version", "")
    return any(
        (not compiler or public(compiler) == public(s.neuronx_cc)) and (not version or version == s.library_version)
        for s in stacks
    )


def collect(rows: Iterable[tuple[str, str, str, str, str]]) -> Results:
    """From (model, neuronx-cc, library, library version, result word)."""
    found: dict[Key, list[str]] = {}
    for model, compiler, library, version, word in rows:
        found.setdefault((model, Stack(compiler, version, library)), []).append(word)
    return {key: tuple(sorted(words)) for key, words in found.items()}


def _read(
    record: FetchRecord, blobs: Collection[Blob], columns: Mapping[str, str] | None
) -> tuple[int, Results, tuple[Stack, ...]]:
    """Of these files: the number of rows, their words by model and stack (an EXCLUDED one counts by that), the stacks."""
    if not blobs:
        return 0, {}, ()
    from trnui.catalog.engine.database import Database

    names = sorted(name for name, _ in blobs)
    database = Database([Path(record.folder) / n for n in names], names, columns=columns)
    connection = database.open()
    try:
        database.load()
        word = "CASE WHEN r.status = 'EXCLUDED' THEN 'EXCLUDED' ELSE coalesce(r.result, '') END"
        text = ", ".join(f"coalesce({c}, '')" for c in ("r.model_id", "s.neuronx_cc", "s.library", "s.library_version"))
        sql = f"SELECT {text}, {word} FROM r JOIN s ON s.id = r.stack"
        return database.rows, collect(connection.execute(sql).fetchall()), database.stacks
    finally:
        connection.close()


def _blobs(record: FetchRecord) -> frozenset[Blob]:
    return frozenset((name, os.path.realpath(Path(record.folder) / name)) for name in record.parquet())


def _s(count: int) -> str:
    return "" if count == 1 else "s"
