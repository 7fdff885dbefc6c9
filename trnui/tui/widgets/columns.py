"""Columns of a list as values: what each shows of a row, and which of them a width has room for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from rich.cells import cell_len

from trnui.catalog.messages import Record
from trnui.tui.widgets.palette import style_of

MARGIN = 2  # cells left of the first column, for the mark
LEAST = 30  # cells of a model's name
HINT = 2  # cells of the mark that there are more columns
ROOMY = 100  # cells from which columns stand two apart


@dataclass(frozen=True)
class Column:
    """`name` is what it sorts by; `grow`: takes the room that is left."""

    name: str
    title: str
    width: int
    show: Callable[[Record], str]
    align: Literal["left", "right"] = "left"
    style: str | Callable[[Record], str] = "plain"
    grow: bool = False


@dataclass(frozen=True)
class ColumnLayout:
    """Columns with their final widths, `gap` cells apart; the first `fixed` ones do not scroll sideways."""

    columns: tuple[Column, ...]
    fixed: int = 2
    marks: tuple[str, ...] = ("identity",)  # values that name a row for a mark
    gap: int = 1
    width: int = 80

    def mark_key(self, record: Record) -> tuple[object, ...]:
        return tuple(record.get(n) for n in self.marks)

    def shown(self, side: int) -> tuple[Column, ...]:
        """The fixed columns, then those from the `side`th scrolling one on that fit as a whole (one at least)."""
        kept = self.columns[: self.fixed]
        rest = self.columns[self.fixed + side :]
        left = self.width - MARGIN - sum(c.width + self.gap for c in kept)
        fitting = _fitting(rest, left, self.gap)
        chosen = list(rest[: max(1, fitting)])
        last = len(chosen) - 1 if chosen and not fitting else None
        growing = next((n for n, c in enumerate(chosen) if c.grow), last)
        if growing is not None:
            used = sum(c.width + self.gap for c in chosen) - self.gap - chosen[growing].width
            more = HINT if len(chosen) < len(rest) else 0
            chosen[growing] = replace(chosen[growing], width=max(1, left - used - more))
        return (*kept, *chosen)

    @property
    def last_side(self) -> int:
        """The furthest step to the right: from there on the last column is seen."""
        scrolling = len(self.columns) - self.fixed
        return next(
            (n for n in range(scrolling) if self.shown(n)[-1].name == self.columns[-1].name), max(0, scrolling - 1)
        )


def plan(
    columns: Sequence[Column],
    width: int,
    fixed: int = 2,
    marks: tuple[str, ...] = ("identity",),
    name: int = LEAST,
) -> ColumnLayout:
    """The model's column (the last fixed one) gives way down to `name` cells; what then has no room is scrolled to."""
    chosen = list(columns)
    gap = 2 if width >= ROOMY else 1
    named = fixed - 1
    ideal = chosen[named].width
    least = min(name, ideal)
    left = width - MARGIN - sum(c.width + gap for c in chosen[:fixed]) + ideal - least
    rest = chosen[fixed:]
    fitting = _fitting(rest, left, gap)
    spare = (
        left
        - sum(c.width + gap for c in rest[:fitting])
        + (gap if fitting else 0)
        - (HINT if fitting < len(rest) else 0)
    )
    chosen[named] = replace(chosen[named], width=max(least, min(ideal, least + spare)))
    return ColumnLayout(tuple(chosen), fixed, marks, gap, width)


def fitted(columns: Sequence[Column], records: Sequence[Record]) -> tuple[Column, ...]:
    """Columns no wider than what they show of these records: the room goes to the one that grows, often the words at the end."""
    return tuple(
        c if c.grow else replace(c, width=min(c.width, max([len(c.title), *(cell_len(c.show(r)) for r in records)])))
        for c in columns
    )


def _fitting(columns: Sequence[Column], room: int, gap: int) -> int:
    """How many of the columns fit as a whole; where not all do, the hint that there are more needs its room too."""
    used = 0
    for n, column in enumerate(columns):
        needed = used + column.width + (HINT if n + 1 < len(columns) else 0)
        if needed > room and used + sum(c.width + gap for c in columns[n:]) - gap > room:
            return n
        used += column.width + gap
    return len(columns)


def many(count: int, what: str) -> str:
    """`1 cause`, `2,750 rows`."""
    return f"{count:,} {what}{'s' * (count != 1)}"


def result_style(record: Record) -> str:
    return style_of(
        str(record.get("status") or ""), str(record.get("kind") or ""), str(record.get("device") or "") or None
    )
