"""Rows for people and programs outside the app: named columns, values, and honest counts. Made by Catalog, written by export.py."""

from __future__ import annotations

from dataclasses import dataclass, replace

from trnui.catalog.query import Stack


@dataclass(frozen=True)
class Table:
    """`count` rows fit the query, `total` are in its view and stack, `excluded` of the fitting ones were left out of testing;
    `rows` may be fewer (limit). `ids` are the rows' identities."""

    columns: tuple[str, ...]
    rows: tuple[tuple[object, ...], ...]
    ids: tuple[int, ...] = ()
    count: int = 0
    total: int = 0
    excluded: int = 0
    stacks: tuple[Stack, ...] = ()

    def only(self, columns: tuple[str, ...]) -> Table:
        """The same rows with these of its columns, in this order."""
        at = [self.columns.index(c) for c in columns]
        return replace(self, columns=columns, rows=tuple(tuple(row[n] for n in at) for row in self.rows))

    def records(self) -> list[dict[str, object]]:
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]
