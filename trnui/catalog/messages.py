"""What the store tells its owner: frozen values, delivered from its threads. Screens draw them and ask for nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from trnui.catalog.query import Query, Stack

Record = Mapping[str, object]  # column name → value, and "identity"
Row = tuple[object, ...]  # row[0] is the row's identity, the rest are the values of `Listed.columns`


@dataclass(frozen=True)
class Problem:
    """A file, or a part of one, that could not be read; the rest was loaded."""

    file: str
    words: str


@dataclass(frozen=True)
class Provenance:
    """Where the rows come from, for the header of every screen and the notes of every command."""

    dataset: str  # Hub id, folder, file, or "sample"
    words: str  # one line: source, commit, age
    sample: bool = False
    commit: str | None = None
    fetched: float | None = None  # UTC epoch seconds
    stale: str | None = None  # why it could not be refreshed, if it could not


@dataclass(frozen=True)
class Loaded:
    """One more file is in; `stacks` are the pairs that exist so far, newest first."""

    done: int
    files: int
    rows: int
    problems: tuple[Problem, ...]
    stacks: tuple[Stack, ...] = ()
    default: Stack | None = None


@dataclass(frozen=True)
class Listed:
    """The answer to a query: exact counts, one page of rows, and where the remembered row is now."""

    generation: int
    query: Query  # as asked
    stack: tuple[Stack, ...]  # the stacks that it was resolved to; empty: all
    columns: tuple[str, ...]
    count: int
    total: int  # rows of the view and stack without the other filters
    excluded: int
    rows: tuple[Row, ...]
    page: int
    cursor: int


@dataclass(frozen=True)
class PageOf:
    generation: int
    page: int
    rows: tuple[Row, ...]


@dataclass(frozen=True)
class Detail:
    """A row in full, long texts and unknown columns included; values as the file has them."""

    identity: int
    values: dict[str, Any]  # the 24 columns (None where absent), then the file's unknown ones
    derived: dict[str, Any]  # status, kind, device, task, parallelism, source file and row
    packages: tuple[tuple[str, str], ...]  # (requirement, origin)


@dataclass(frozen=True)
class Failed:
    """A query failed; `words` are DuckDB's, cleaned."""

    generation: int
    words: str


Answer = Loaded | Listed | PageOf | Detail | Failed
