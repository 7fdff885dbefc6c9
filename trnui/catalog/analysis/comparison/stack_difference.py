"""What two stacks differ in, package by package, as the rows tested on them say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from trnui.catalog.dataset.versions import key
from trnui.catalog.query import Stack
from trnui_runner.common.dataset_schema import STACK

if TYPE_CHECKING:
    import duckdb

    from trnui.catalog.engine.database import Database

COLUMNS: Final = ("package", "a", "b")


@dataclass(frozen=True)
class PackageDifference:
    """`a` and `b`: the versions that rows of each stack name, oldest first; several where the rows of one stack disagree."""

    package: str
    a: tuple[str, ...]
    b: tuple[str, ...]


def stack_difference(
    database: Database, a: Stack, b: Stack, cursor: duckdb.DuckDBPyConnection | None = None
) -> tuple[PackageDifference, ...]:
    """The packages whose versions differ, in the dataset's order of columns; `library_version` only where the library
    has no column of its own."""
    cursor = cursor or database.connection.cursor()
    one, other = (_versions(database, stack, cursor) for stack in (a, b))
    names = [n for n in STACK if n != "library_version" or not (one.get(a.library) or other.get(b.library))]
    return tuple(PackageDifference(n, one[n], other[n]) for n in names if one[n] != other[n])


def _versions(database: Database, stack: Stack, cursor: duckdb.DuckDBPyConnection) -> dict[str, tuple[str, ...]]:
    ids = ", ".join(str(i) for i in database.ids_of(stack)) or "-1"
    lists = ", ".join(f"list(DISTINCT {name}) FILTER ({name} <> '')" for name in STACK)
    found = cursor.execute(f"SELECT {lists} FROM s WHERE id IN ({ids})").fetchall()[0]
    return {name: tuple(sorted(values or (), key=key)) for name, values in zip(STACK, found, strict=True)}


def table(differences: tuple[PackageDifference, ...]) -> list[tuple[object, ...]]:
    """As rows of `COLUMNS`; None where no row of a stack names the package."""
    return [(d.package, ", ".join(d.a) or None, ", ".join(d.b) or None) for d in differences]
