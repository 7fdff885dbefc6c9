"""Two stacks side by side: what passes now, what fails now, what takes other cores, time or memory, and what only one has.

A model counts once on a stack: where it has several rows there, the newest one does.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from runner.errors import UsageError
from runner.text import one_line
from trnui.catalog.query import ALL, Stack
from trnui.catalog.versions import default_stack, is_dev, matching, newest, newest_first, stack_key

if TYPE_CHECKING:
    import duckdb

    from trnui.catalog.database import Database

# A difference smaller than these is noise. Times include compilation, which varies with the cache and the host.
TIME_SHARE: Final = 0.20
TIME_S: Final = 30
MEMORY_SHARE: Final = 0.10
MEMORY_GB: Final = 0.5
RULE: Final = (
    f"Time counts as changed beyond {TIME_SHARE:.0%} and {TIME_S} s, memory beyond {MEMORY_SHARE:.0%} and {MEMORY_GB} GB, both only "
    "where the model passes on both stacks on the same cores. Times include compilation."
)


class What(StrEnum):
    """In the order in which they are counted and listed. A model may be under several."""

    PASSING = "newly passing"
    FAILING = "newly failing"
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
    """A model's row on one stack. `reason`: the exclusion or the first line of the error."""

    status: str
    result: str | None = None
    kind: str | None = None
    tp: int | None = None
    wall_s: int | None = None
    hbm_peak_gb: float | None = None
    reason: str | None = None


@dataclass(frozen=True)
class Change:
    what: What
    model_id: str
    a: Side | None
    b: Side | None


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
        return ", ".join([*parts, f"{self.same:,} unchanged"])


COLUMNS: Final = (
    "change", "model_id", "result_a", "result_b", "kind_a", "kind_b", "tp_a", "tp_b", "wall_s_a", "wall_s_b", "hbm_peak_gb_a",
    "hbm_peak_gb_b", "reason_a", "reason_b",
)  # fmt: skip


def compare(database: Database, a: Stack, b: Stack, cursor: duckdb.DuckDBPyConnection | None = None) -> Comparison:
    """Reads from `cursor`, or from one of its own."""
    cursor = cursor or database.connection.cursor()
    both = sides(cursor, database, a), sides(cursor, database, b)
    return compared(a, b, *both)


def sides(cursor: duckdb.DuckDBPyConnection, database: Database, stack: Stack) -> dict[str, Side]:
    """The newest row of every model on a stack."""
    ids = [str(i) for i in database.ids_of(stack)]
    if not ids:
        return {}
    reason = "coalesce(nullif(exclusion, ''), nullif(trim(split_part(ltrim(error), chr(10), 1)), ''))"
    fields = f"status::VARCHAR, result, kind::VARCHAR, tp, wall_s, hbm_peak_gb, {reason}"
    newest_row = "ORDER BY tested_at DESC NULLS LAST, rowid DESC"
    sql = (
        f"SELECT model_id, {fields} FROM r WHERE stack IN ({', '.join(ids)}) AND model_id IS NOT NULL "
        f"QUALIFY row_number() OVER (PARTITION BY model_id {newest_row}) = 1"
    )
    return {row[0]: Side(*row[1:]) for row in cursor.execute(sql).fetchall()}


def compared(a: Stack, b: Stack, left: dict[str, Side], right: dict[str, Side]) -> Comparison:
    found: dict[What, list[Change]] = {what: [] for what in What}
    same = 0
    for model in sorted(left.keys() | right.keys(), key=str.lower):
        one, other = left.get(model), right.get(model)
        whats = classify(one, other)
        same += not whats
        for what in whats:
            found[what].append(Change(what, model, one, other))
    return Comparison(
        a, b, len(left), len(right), len(left.keys() & right.keys()), same,
        tuple((what, len(changes)) for what, changes in found.items()),
        tuple(change for changes in found.values() for change in changes),
    )  # fmt: skip


def classify(a: Side | None, b: Side | None) -> tuple[What, ...]:
    """What differs between a model's rows on two stacks; empty when nothing does, or nothing beyond noise."""
    if a is None or b is None:
        return (What.ONLY_B,) if a is None else (What.ONLY_A,)
    found = []
    if a.status != b.status:
        found.append({"PASS": What.PASSING, "FAIL": What.FAILING}.get(b.status, What.RESULT))
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


def _beyond(a: float | None, b: float | None, share: float, least: float, more: What, less: What) -> list[What]:
    if a is None or b is None or abs(b - a) <= least or abs(b - a) <= share * a:
        return []
    return [more if b > a else less]


def table(comparison: Comparison) -> list[tuple[object, ...]]:
    """The changes as rows of `COLUMNS`."""
    fields = ("kind", "tp", "wall_s", "hbm_peak_gb", "reason")
    rows: list[tuple[object, ...]] = []
    for c in comparison.changes:
        values = [value for name in fields for value in (getattr(c.a, name, None), getattr(c.b, name, None))]
        rows.append((c.what.value, c.model_id, shown_result(c.a), shown_result(c.b), *values))
    return rows


SHORT: Final = ("change", "model_id", "result", "kind", "tp", "wall_s", "hbm_peak_gb", "reason")


def short(comparison: Comparison, arrow: str = "→") -> list[tuple[object, ...]]:
    """The changes for a person, as rows of `SHORT`: `FAIL → PASS`, one value where both sides agree."""

    def both(a: object, b: object) -> object:
        return a if a == b else f"{'–' if a is None else a} {arrow} {'–' if b is None else b}"

    rows: list[tuple[object, ...]] = []
    for c in comparison.changes:
        a, b = c.a, c.b
        if a is None or b is None:
            side = a or b
            values: list[object] = [getattr(side, name) for name in ("kind", "tp", "wall_s", "hbm_peak_gb", "reason")]
            rows.append((c.what.value, c.model_id, shown_result(side), *values))
            continue
        values = [both(getattr(a, name), getattr(b, name)) for name in ("kind", "tp", "wall_s", "hbm_peak_gb")]
        rows.append((c.what.value, c.model_id, both(shown_result(a), shown_result(b)), *values, b.reason or a.reason))
    return rows


def shown_result(side: Side | None) -> str | None:
    """The row's own word; EXCLUDED and the like where it has none, nothing where there is no row."""
    return None if side is None else side.result if side.result and side.status != "EXCLUDED" else side.status


# -- which stacks are meant


def choose(stacks: Sequence[Stack], a: str, b: str, library: str | None = None) -> tuple[Stack, Stack]:
    """The two stacks that NEURONX_CC[/LIBRARY_VERSION] name; "latest" works for either part. Where a side names no library
    version it takes the other side's, else the newest that both compilers have, else its own newest. Raises UsageError."""
    pool = [s for s in stacks if library is None or s.library == library]
    left, right = _named(pool, a), _named(pool, b)
    if "/" not in a or "/" not in b:
        common = {(s.library, s.library_version) for s in left} & {(s.library, s.library_version) for s in right}
        best = newest(s for s in left if (s.library, s.library_version) in common)
        if best is not None:
            key = (best.library, best.library_version)
            left = [s for s in left if (s.library, s.library_version) == key]
            right = [s for s in right if (s.library, s.library_version) == key]
    first, second = default_stack(left), default_stack(right)
    assert first is not None and second is not None  # noqa: PT018  # _named gives at least one each
    return first, second


def _named(stacks: Sequence[Stack], text: str) -> list[Stack]:
    compiler, _, version = text.partition("/")
    found = list(stacks)
    if compiler != ALL:
        names = matching((s.neuronx_cc for s in found), (compiler,)) or _beginning(
            (s.neuronx_cc for s in found), compiler
        )
        found = [s for s in found if s.neuronx_cc in names]
    if version:
        names = matching((s.library_version for s in found), (version,))
        found = [s for s in found if s.library_version in names]
    if not found:
        known = ", ".join(f"{s.neuronx_cc.partition('+')[0]}/{s.library_version}" for s in newest_first(stacks)[:6])
        raise UsageError(f"{one_line(text, 80)}: no such stack here", f"There are: {known or 'none'}.")
    return found


def _beginning(versions: Iterable[str], prefix: str) -> set[str]:
    """The newest version that begins with these parts: 2.28 for 2.28.9000.0."""
    found = [v for v in set(versions) if v.startswith(prefix + ".")]
    best = max(found, key=lambda v: (not is_dev(v), stack_key(Stack(v, ""))), default=None)
    return {best} if best is not None else set()
