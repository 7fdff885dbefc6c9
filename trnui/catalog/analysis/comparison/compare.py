"""Two stacks side by side: what passes now, what fails now, what takes other cores, time or memory, and what only one has.

A model counts once on a stack: where it has several rows there, the newest one does.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from trnui.catalog.engine.recency import RECENCY
from trnui.catalog.query import Stack

if TYPE_CHECKING:
    import duckdb

    from trnui.catalog.engine.database import Database

# A difference smaller than these is noise. Times include compilation, which varies with the cache and the host.
TIME_SHARE: Final = 0.20
TIME_S: Final = 30
MEMORY_SHARE: Final = 0.10
MEMORY_GB: Final = 0.5
RULE: Final = (
    f"Time counts as changed beyond {TIME_SHARE:.0%} of the smaller value and {TIME_S} s, memory beyond {MEMORY_SHARE:.0%} and "
    f"{MEMORY_GB} GB, both only where the model passes on both stacks on the same cores. Times include compilation."
)


class What(StrEnum):
    """In the order in which they are counted and listed. A model may be under several."""

    FAILING = "newly failing"
    PASSING = "newly passing"
    TESTED = "newly tested"  # left out or untested before
    UNTESTED = "not tested now"  # left out now, for a reason or none; nothing has broken
    RESULT = "other result"
    CORES = "changed cores"
    CHECK = "changed check"
    SLOWER = "slower"
    FASTER = "faster"
    MORE_MEMORY = "more memory"
    LESS_MEMORY = "less memory"
    ONLY_A = "only in A"
    ONLY_B = "only in B"


@dataclass(frozen=True)
class Side:
    """A model's row on one stack. `reason`: why it was left out or failed, as the lists' column of that name."""

    status: str
    result: str | None = None
    kind: str | None = None
    tp: int | None = None
    wall_s: int | None = None
    hbm_peak_gb: float | None = None
    reason: str | None = None
    identity: int | None = None


@dataclass(frozen=True)
class Change:
    what: What
    model_id: str
    a: Side | None
    b: Side | None
    cause: str | None = None  # of a newly failing one, see compare_causes.py
    since: str | None = None  # of a newly failing one, see first_failing.py


@dataclass(frozen=True)
class Comparison:
    """`changes` in the order of What, then by name; `counts` has every What, zero included."""

    a: Stack
    b: Stack
    models_a: int
    models_b: int
    both: int
    same: int  # models of both without any change
    counts: tuple[tuple[What, int], ...]
    changes: tuple[Change, ...]
    rule: str = RULE

    @property
    def words(self) -> str:
        """The counts on one line, those that are not zero."""
        parts = [f"{count:,} {what}" for what, count in self.counts if count]
        return ", ".join([*parts, f"{self.same:,} of {self.both:,} unchanged"])

    @property
    def every(self) -> int:
        """All changes, those that `only` has taken out too; a model may have several."""
        return sum(count for _, count in self.counts)

    @property
    def shown(self) -> str:
        """`87 of 252 changes shown`, or `252 changes` where all are."""
        listed, every = len(self.changes), self.every
        if listed == every:
            return f"{every:,} change{'' if every == 1 else 's'}"
        return f"{listed:,} of {every:,} changes shown"

    def count(self, what: What) -> int:
        return dict(self.counts)[what]

    @property
    def changed(self) -> int:
        """Models of both with one change or several: with the unchanged ones, all of both."""
        return self.both - self.same

    def only(self, kinds: Container[What]) -> Comparison:
        """The same comparison with the changes of these kinds alone; its counts stay."""
        return replace(self, changes=tuple(c for c in self.changes if c.what in kinds))


def compare(database: Database, a: Stack, b: Stack, cursor: duckdb.DuckDBPyConnection | None = None) -> Comparison:
    """Reads from `cursor`, or from one of its own. Only models that may have changed leave the database."""
    cursor = cursor or database.connection.cursor()
    one, other = _newest(database, a), _newest(database, b)
    counts = f"SELECT count(a.model_id), count(b.model_id), count(*) FILTER (a.lower_id = b.lower_id) FROM {one} a FULL JOIN {other} b USING (lower_id)"
    models_a, models_b, both = cursor.execute(counts).fetchall()[0]
    sides = ", ".join(f"{side}.model_id IS NOT NULL, {', '.join(_FIELDS).format(side)}" for side in "ab")
    sql = (
        f"SELECT coalesce(b.model_id, a.model_id) AS name, {sides} FROM {one} a FULL JOIN {other} b USING (lower_id) "
        f"WHERE {_MAY_DIFFER} ORDER BY lower(name), name"
    )
    found = []
    for name, *values in cursor.execute(sql).fetchall():
        half = len(values) // 2
        left, right = (Side(*v[1:]) if v[0] else None for v in (values[:half], values[half:]))
        found.append((name, left, right))
    return compared(a, b, models_a, models_b, both, found)


_FIELDS: Final = (
    "{0}.status::VARCHAR", "{0}.result", "{0}.kind::VARCHAR", "{0}.tp", "{0}.wall_s", "{0}.hbm_peak_gb", "{0}.why", "{0}.identity",
)  # fmt: skip
# Coarser than `classify`, which decides: whatever passes here without a change counts as the same.
_MAY_DIFFER: Final = (
    "a.model_id IS NULL OR b.model_id IS NULL OR a.status <> b.status OR a.tp IS DISTINCT FROM b.tp OR a.kind IS DISTINCT FROM b.kind "
    f"OR (a.status = 'OTHER' AND a.result IS DISTINCT FROM b.result) OR abs(a.wall_s::BIGINT - b.wall_s) > {TIME_S} "
    f"OR abs(a.hbm_peak_gb - b.hbm_peak_gb) > {MEMORY_GB}"
)


def _newest(database: Database, stack: Stack) -> str:
    """SQL of the newest row of every model on a stack."""
    ids = ", ".join(str(i) for i in database.ids_of(stack)) or "-1"
    return (
        f"(SELECT r.*, r.rowid AS identity, r.reason AS why FROM r WHERE r.rowid IN (SELECT arg_max(r.rowid, {RECENCY}) "
        f"FROM r WHERE r.stack IN ({ids}) AND r.model_id IS NOT NULL GROUP BY r.lower_id))"
    )


def sides(
    database: Database, stack: Stack, cursor: duckdb.DuckDBPyConnection | None = None
) -> dict[str, tuple[str, Side]]:
    """Every model's side on a stack, by its name in lower case: (the name as the dataset spells it, its newest row)."""
    cursor = cursor or database.connection.cursor()
    sql = f"SELECT a.lower_id, a.model_id, {', '.join(_FIELDS).format('a')} FROM {_newest(database, stack)} a"
    return {lower: (name, Side(*values)) for lower, name, *values in cursor.execute(sql).fetchall()}


def compared(
    a: Stack, b: Stack, models_a: int, models_b: int, both: int, found: Iterable[tuple[str, Side | None, Side | None]]
) -> Comparison:
    """From the models that may have changed, in the order in which they are listed."""
    changes: dict[What, list[Change]] = {what: [] for what in What}
    changed = 0
    for model, one, other in found:
        whats = classify(one, other)
        changed += bool(whats) and one is not None and other is not None
        for what in whats:
            changes[what].append(Change(what, model, one, other))
    return Comparison(
        a, b, models_a, models_b, both, both - changed,
        tuple((what, len(listed)) for what, listed in changes.items()),
        tuple(change for listed in changes.values() for change in listed),
    )  # fmt: skip


def classify(a: Side | None, b: Side | None) -> tuple[What, ...]:
    """What differs between a model's rows on two stacks; empty when nothing does, or nothing beyond noise."""
    if a is None or b is None:
        return (What.ONLY_B,) if a is None else (What.ONLY_A,)
    found = []
    if a.status != b.status:
        found.append(_turn(a.status, b.status))
    elif a.status == "OTHER" and a.result != b.result:
        found.append(What.RESULT)
    if a.tp is not None and b.tp is not None and a.tp != b.tp:
        found.append(What.CORES)
    if a.status == b.status == "PASS":
        if a.kind != b.kind and None not in (a.kind, b.kind):
            found.append(What.CHECK)
        if a.tp == b.tp:
            found += _beyond(a.wall_s, b.wall_s, TIME_SHARE, TIME_S, What.SLOWER, What.FASTER)
            found += _beyond(a.hbm_peak_gb, b.hbm_peak_gb, MEMORY_SHARE, MEMORY_GB, What.MORE_MEMORY, What.LESS_MEMORY)
    return tuple(found)


def _turn(before: str, after: str) -> What:
    """Only what passed can break, and only what failed can be mended."""
    if {before, after} == {"PASS", "FAIL"}:
        return What.PASSING if after == "PASS" else What.FAILING
    if before in _RUN and after in _NOT_RUN:
        return What.UNTESTED
    return What.TESTED if before in _NOT_RUN and after in _RUN else What.RESULT


_RUN: Final = ("PASS", "FAIL")
_NOT_RUN: Final = ("EXCLUDED", "UNTESTED")


def _beyond(a: float | None, b: float | None, share: float, least: float, more: What, less: What) -> list[What]:
    """Measured against the smaller of the two, so that A and B may change places."""
    if a is None or b is None or abs(b - a) <= least or abs(b - a) <= share * min(a, b):
        return []
    return [more if b > a else less]
