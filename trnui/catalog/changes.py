"""What a refresh brought: rows, results and stacks that differ between two snapshots of a dataset, in words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from trnui.catalog.query import Stack
from trnui.catalog.snapshot import Record

Key = tuple[str, Stack]  # a model on a stack
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
            shown = [f"{s.neuronx_cc.partition('+')[0]}/{s.library_version}" for s in self.stacks[:3]]
            more = f" and {len(self.stacks) - 3} more" if len(self.stacks) > 3 else ""
            parts.append(f"new stack{_s(len(self.stacks))} " + ", ".join(shown) + more)
        return ", ".join(parts) or "a new commit, no result changed"


def diff(before: Results | None, after: Results) -> Changes:
    stacks = {stack for _, stack in after}
    if before is None:
        return Changes(rows=len(after), stacks=tuple(stacks), first=True)
    known = {stack for _, stack in before}
    return Changes(
        rows=len(after.keys() - before.keys()),
        gone=len(before.keys() - after.keys()),
        result=sum(before[key] != after[key] for key in before.keys() & after.keys()),
        stacks=tuple(sorted(stacks - known, key=str)),
    )


def changes(before: Record | None, after: Record) -> Changes:
    """Between two snapshots; an earlier one whose files are gone counts as none."""
    old = None if before is None or before.missing() else results(before)
    return diff(old, results(after))


def collect(rows: Iterable[tuple[str, str, str, str, str]]) -> Results:
    """From (model, neuronx-cc, library, library version, result word)."""
    found: dict[Key, list[str]] = {}
    for model, compiler, library, version, word in rows:
        found.setdefault((model, Stack(compiler, version, library)), []).append(word)
    return {key: tuple(sorted(words)) for key, words in found.items()}


def results(record: Record) -> Results:
    import duckdb

    con = duckdb.connect()
    rows = []
    for name in record.parquet():
        path = str(Path(record.folder) / name)
        try:
            rows += con.execute("SELECT model_id, neuronx_cc, library, library_version, coalesce(result, '') FROM read_parquet(?)", [path]).fetchall()
        except duckdb.Error:
            continue
    return collect(rows)


def _s(count: int) -> str:
    return "" if count == 1 else "s"
