"""Rows for people and programs outside the app: named columns, values, and honest counts. Made by Catalog, written by export.py."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from trnui.catalog.engine.sql_builder import columns_of
from trnui.catalog.query import Stack, View
from trnui_runner.common.dataset_schema import COLUMNS

OURS: Final = ("status", "kind", "device", "task", "parallelism", "view", "source", "row")
"""What we add to the dataset's columns: `source` and `row` are the file and the line (from 0) a row is from."""
_SHOWN: Final = (
    "model_id", "status", "kind", "device", "tp", "wall_s", "hbm_peak_gb", "neuronx_cc", "library", "library_version", "reason",
)  # fmt: skip


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


def shown_columns(view: View) -> tuple[str, ...]:
    """As a list shows them: the view's own columns (rank, run) and the usual ones."""
    own = tuple(c for c in columns_of(view) if c not in columns_of(View.SELECTED))
    return (*own, *_SHOWN)


def all_columns(view: View, *, scripts: bool = True) -> tuple[str, ...]:
    """The dataset's columns, ours, and the view's own; `scripts` with the long text of run_py."""
    own = tuple(c for c in columns_of(view) if c not in columns_of(View.SELECTED))
    return (*(c for c in COLUMNS if scripts or c != "run_py"), *OURS, *own)
