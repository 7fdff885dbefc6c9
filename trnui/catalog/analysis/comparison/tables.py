"""A comparison as tables: every column of both sides for programs, one line a change for a person, and the counts."""

from __future__ import annotations

from typing import Final

from trnui.catalog.analysis.comparison.compare import Change, Comparison, Side
from trnui.catalog.engine.result_set import Table

COLUMNS: Final = (
    "change", "model_id", "result_a", "result_b", "kind_a", "kind_b", "tp_a", "tp_b", "wall_s_a", "wall_s_b", "hbm_peak_gb_a",
    "hbm_peak_gb_b", "cause", "since", "reason_a", "reason_b",
)  # fmt: skip
SHORT: Final = ("change", "model_id", "result", "kind", "tp", "wall_s", "hbm_peak_gb", "cause", "since", "reason")
_FIELDS: Final = ("kind", "tp", "wall_s", "hbm_peak_gb")


def table(comparison: Comparison) -> list[tuple[object, ...]]:
    """The changes as rows of `COLUMNS`."""
    rows: list[tuple[object, ...]] = []
    for c in comparison.changes:
        values = [value for name in _FIELDS for value in (getattr(c.a, name, None), getattr(c.b, name, None))]
        reasons = (c.a.reason if c.a else None, c.b.reason if c.b else None)
        rows.append(
            (c.what.value, c.model_id, shown_result(c.a), shown_result(c.b), *values, c.cause, c.since, *reasons)
        )
    return rows


def short(comparison: Comparison, arrow: str = "→") -> list[tuple[object, ...]]:
    """The changes for a person, as rows of `SHORT`: `FAIL → PASS`, one value where both sides agree."""

    def both(a: object, b: object) -> object:
        return a if a == b else f"{'–' if a is None else a} {arrow} {'–' if b is None else b}"

    rows: list[tuple[object, ...]] = []
    for c in comparison.changes:
        a, b = c.a, c.b
        side = b or a
        if a is None or b is None:
            values: list[object] = [getattr(side, name) for name in _FIELDS]
            result: object = shown_result(side)
        else:
            values = [both(getattr(a, name), getattr(b, name)) for name in _FIELDS]
            result = both(shown_result(a), shown_result(b))
        rows.append((c.what.value, c.model_id, result, *values, c.cause, c.since, why(c)))
    return rows


def why(change: Change) -> str | None:
    a, b = change.a, change.b
    return why_of(a.reason if a else None, b.reason if b else None, both=a is not None and b is not None)


def why_of(a: str | None, b: str | None, *, both: bool) -> str | None:
    """B's reason; A's is marked as A's where `both` sides have a row, so that an old error is not read as today's."""
    if not both or (a or None) == (b or None):
        return b or a
    return b if not a else f"A: {a}" if not b else f"B: {b} · A: {a}"


def shown_result(side: Side | None) -> str | None:
    """The row's own word; EXCLUDED and the like where it has none, nothing where there is no row."""
    return None if side is None else side.result if side.result and side.status != "EXCLUDED" else side.status


def counts(c: Comparison, *, zeros: bool = False) -> Table:
    """One line a kind of change, of which a model may have several, then how many models changed, how many did not, and all."""
    rows: list[tuple[object, ...]] = [(what.value, count) for what, count in c.counts if count or zeros]
    rows += [
        ("changed", c.changed),
        ("unchanged", c.same),
        ("in both", c.both),
        ("in A", c.models_a),
        ("in B", c.models_b),
    ]
    return Table(("change", "models"), tuple(rows))


def changes(c: Comparison, *, short_arrow: str | None = None) -> Table:
    """Every change: both sides in columns of their own, or for a person `FAIL → PASS` in one."""
    if short_arrow is not None:
        return Table(SHORT, tuple(short(c, short_arrow)), count=len(c.changes))
    return Table(COLUMNS, tuple(table(c)), count=len(c.changes))
