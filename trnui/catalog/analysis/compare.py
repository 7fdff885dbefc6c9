"""Two stacks side by side: what passes now, what fails now, what takes other cores, time or memory, and what only one has.

A model counts once on a stack: where it has several rows there, the newest one does.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from trnui.catalog.dataset.versions import MAIN_LIBRARY, begins, is_dev, key, matching, newest_first, stack_key
from trnui.catalog.query import ALL, Stack
from trnui_runner.common.errors import UsageError
from trnui_runner.common.text import one_line

if TYPE_CHECKING:
    import duckdb

    from trnui.catalog.engine.database import Database

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
    """A model's row on one stack. `reason`: the exclusion or the first line of the error."""

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
    cause: str | None = None  # of a newly failing one, see causes.py


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
    def changed(self) -> int:
        """Models of both with one change or several: with the unchanged ones, all of both."""
        return self.both - self.same

    def only(self, kinds: Container[What]) -> Comparison:
        """The same comparison with the changes of these kinds alone; its counts stay."""
        return replace(self, changes=tuple(c for c in self.changes if c.what in kinds))


COLUMNS: Final = (
    "change", "model_id", "result_a", "result_b", "kind_a", "kind_b", "tp_a", "tp_b", "wall_s_a", "wall_s_b", "hbm_peak_gb_a",
    "hbm_peak_gb_b", "cause", "reason_a", "reason_b",
)  # fmt: skip


def compare(database: Database, a: Stack, b: Stack, cursor: duckdb.DuckDBPyConnection | None = None) -> Comparison:
    """Reads from `cursor`, or from one of its own. Only models that may have changed leave the database."""
    cursor = cursor or database.connection.cursor()
    one, other = _newest(database, a), _newest(database, b)
    counts = f"SELECT count(a.model_id), count(b.model_id), count(*) FILTER (a.model_id = b.model_id) FROM {one} a FULL JOIN {other} b USING (model_id)"
    models_a, models_b, both = cursor.execute(counts).fetchall()[0]
    sides = ", ".join(f"{side}.model_id IS NOT NULL, {', '.join(_FIELDS).format(side)}" for side in "ab")
    sql = f"SELECT coalesce(a.model_id, b.model_id) AS name, {sides} FROM {one} a FULL JOIN {other} b USING (model_id) WHERE {_MAY_DIFFER} ORDER BY lower(name), name"
    found = []
    for name, *values in cursor.execute(sql).fetchall():
        half = len(values) // 2
        left, right = (Side(*v[1:]) if v[0] else None for v in (values[:half], values[half:]))
        found.append((name, left, right))
    return compared(a, b, models_a, models_b, both, found)


_FIELDS: Final = (
    "{0}.status::VARCHAR", "{0}.result", "{0}.kind::VARCHAR", "{0}.tp", "{0}.wall_s", "{0}.hbm_peak_gb",
    "coalesce(nullif({0}.exclusion, ''), nullif(trim(split_part(ltrim({0}.error), chr(10), 1)), ''))", "{0}.identity",
)  # fmt: skip
# Coarser than `classify`, which decides: whatever passes here without a change counts as the same.
_MAY_DIFFER: Final = (
    "a.model_id IS NULL OR b.model_id IS NULL OR a.status <> b.status OR a.tp IS DISTINCT FROM b.tp OR a.kind IS DISTINCT FROM b.kind "
    f"OR (a.status = 'OTHER' AND a.result IS DISTINCT FROM b.result) OR abs(a.wall_s - b.wall_s) > {TIME_S} "
    f"OR abs(a.hbm_peak_gb - b.hbm_peak_gb) > {MEMORY_GB}"
)


def _newest(database: Database, stack: Stack) -> str:
    """SQL of the newest row of every model on a stack."""
    ids = ", ".join(str(i) for i in database.ids_of(stack)) or "-1"
    return (
        "(SELECT *, rowid AS identity FROM r WHERE rowid IN (SELECT arg_max(rowid, (coalesce(epoch_us(tested_at), -1), rowid)) FROM r "
        f"WHERE stack IN ({ids}) AND model_id IS NOT NULL GROUP BY model_id))"
    )


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
    if a is None or b is None or abs(b - a) <= least or abs(b - a) <= share * a:
        return []
    return [more if b > a else less]


def table(comparison: Comparison) -> list[tuple[object, ...]]:
    """The changes as rows of `COLUMNS`."""
    fields = ("kind", "tp", "wall_s", "hbm_peak_gb")
    rows: list[tuple[object, ...]] = []
    for c in comparison.changes:
        values = [value for name in fields for value in (getattr(c.a, name, None), getattr(c.b, name, None))]
        rows.append((c.what.value, c.model_id, shown_result(c.a), shown_result(c.b), *values, c.cause, *_reasons(c)))
    return rows


def _reasons(change: Change) -> tuple[str | None, str | None]:
    return change.a.reason if change.a else None, change.b.reason if change.b else None


SHORT: Final = ("change", "model_id", "result", "kind", "tp", "wall_s", "hbm_peak_gb", "cause", "reason")


def short(comparison: Comparison, arrow: str = "→") -> list[tuple[object, ...]]:
    """The changes for a person, as rows of `SHORT`: `FAIL → PASS`, one value where both sides agree."""

    def both(a: object, b: object) -> object:
        return a if a == b else f"{'–' if a is None else a} {arrow} {'–' if b is None else b}"

    rows: list[tuple[object, ...]] = []
    for c in comparison.changes:
        a, b = c.a, c.b
        if a is None or b is None:
            side = a or b
            values: list[object] = [getattr(side, name) for name in ("kind", "tp", "wall_s", "hbm_peak_gb")]
            values += [c.cause, side.reason if side else None]
            rows.append((c.what.value, c.model_id, shown_result(side), *values))
            continue
        values = [both(getattr(a, name), getattr(b, name)) for name in ("kind", "tp", "wall_s", "hbm_peak_gb")]
        rows.append(
            (c.what.value, c.model_id, both(shown_result(a), shown_result(b)), *values, c.cause, b.reason or a.reason)
        )
    return rows


def shown_result(side: Side | None) -> str | None:
    """The row's own word; EXCLUDED and the like where it has none, nothing where there is no row."""
    return None if side is None else side.result if side.result and side.status != "EXCLUDED" else side.status


# -- which kinds and stacks are meant


def kinds(words: Iterable[str]) -> tuple[What, ...]:
    """Kinds by name, in any case, with spaces, dashes or underscores. Raises UsageError."""
    known = {_plain(what): what for what in What}
    found = []
    for word in words:
        if _plain(word) not in known:
            names = ", ".join(name.replace(" ", "-") for name in What)
            raise UsageError(f"--change {one_line(word, 80)}: no such kind of change", f"Kinds: {names}")
        found.append(known[_plain(word)])
    return tuple(found)


def _plain(word: str) -> str:
    return " ".join(word.lower().replace("-", " ").replace("_", " ").split())


def choose(stacks: Sequence[Stack], a: str, b: str, library: str | None = None) -> tuple[Stack, Stack]:
    """The two stacks that NEURONX_CC[/LIBRARY_VERSION], or a library version alone, name; "latest" works for either part.
    What a side leaves open is as on the other side if such a stack exists, else the newest. Raises UsageError."""
    pool = [s for s in stacks if library is None or s.library == library]
    left, right = _named(pool, a), _named(pool, b)

    def rank(pair: tuple[Stack, Stack]) -> tuple[object, ...]:
        x, y = pair
        alike = (x.library == y.library, (x.library_version == y.library_version) + (x.neuronx_cc == y.neuronx_cc))
        stable = sum(not is_dev(v) for s in pair for v in (s.neuronx_cc, s.library_version))
        return *alike, x.library == MAIN_LIBRARY, stable, stack_key(x), stack_key(y)

    return max(((x, y) for x in left for y in right), key=rank)


def _named(stacks: Sequence[Stack], text: str) -> list[Stack]:
    compiler, slash, version = text.partition("/")
    found = _with(stacks, "neuronx_cc", compiler) if compiler != ALL else list(stacks)
    if not compiler:  # as rows of a CPU have it; else any
        found = found or list(stacks)
    if slash and version:
        found = _with(found, "library_version", version)
    if not found and not slash:
        found = _with(stacks, "library_version", text)
    if not found:
        known = ", ".join(s.short for s in newest_first(stacks)[:6])
        raise UsageError(f"{one_line(text, 80)}: no such stack here", f"There are: {known or 'none'}.")
    return found


def _with(stacks: Sequence[Stack], half: str, word: str) -> list[Stack]:
    """Stacks whose compiler or library version is this one, or the newest that begins with its parts: 2.28 for 2.28.9000.0."""
    there = {str(getattr(s, half)) for s in stacks}
    names = matching(there, (word,))
    if names and all(begins(v, word) for v in names):
        names = {max(names, key=lambda v: (not is_dev(v), key(v)))}
    return [s for s in stacks if getattr(s, half) in names]
