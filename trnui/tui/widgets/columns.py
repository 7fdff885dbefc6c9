"""Columns of a list as values: what each shows of a row, and which of them a width has room for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import Literal

from trnui.catalog.messages import Record
from trnui.tui.widgets.palette import style_of
from trnui_runner.common.dataset_schema import Device, Kind, Status
from trnui_runner.common.text import ABSENT, count, shown

MARGIN = 2  # cells left of the first column, for the mark
LEAST = 32  # cells of a model's name
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
        if chosen and (chosen[-1].grow or not fitting):
            used = sum(c.width + self.gap for c in chosen[:-1])
            more = HINT if len(chosen) < len(rest) else 0
            chosen[-1] = replace(chosen[-1], width=max(1, left - used - more))
        return (*kept, *chosen)

    @property
    def last_side(self) -> int:
        """The furthest step to the right: from there on the last column is seen."""
        scrolling = len(self.columns) - self.fixed
        return next(
            (n for n in range(scrolling) if self.shown(n)[-1].name == self.columns[-1].name), max(0, scrolling - 1)
        )


def plan(columns: Sequence[Column], width: int, fixed: int = 2, marks: tuple[str, ...] = ("identity",)) -> ColumnLayout:
    """The model's column (the last fixed one) gives way down to `LEAST` cells; what then has no room is scrolled to."""
    chosen = list(columns)
    gap = 2 if width >= ROOMY else 1
    named = fixed - 1
    ideal = chosen[named].width
    least = min(LEAST, ideal)
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


def number(name: str, unit: str = "", digits: int = 0) -> Callable[[Record], str]:
    """Right-aligned figures with their unit: `1,234 s`, `12.5 GB`."""

    def show(record: Record) -> str:
        value = record.get(name)
        if not isinstance(value, int | float) or value != value:
            return ABSENT
        return f"{value:,.{digits}f}{unit}"

    return show


def short(name: str) -> Callable[[Record], str]:
    def show(record: Record) -> str:
        value = record.get(name)
        return count(value) if isinstance(value, int | float) else ABSENT

    return show


def text(name: str) -> Callable[[Record], str]:
    return lambda record: shown(record.get(name))


def day(name: str) -> Callable[[Record], str]:
    def show(record: Record) -> str:
        value = record.get(name)
        return value.strftime("%Y-%m-%d") if isinstance(value, datetime | date) else shown(value)[:10]

    return show


def version(name: str) -> Callable[[Record], str]:
    """A version without its build (`+6f180f47`), which the detail shows."""
    return lambda record: shown(record.get(name)).partition("+")[0]


def result_word(record: Record) -> str:
    """The result as the row words it; absent means NOT TESTED. The device stands beside a word that is not Trainium's."""
    status = str(record.get("status") or Status.UNTESTED)
    if status == Status.OTHER:
        return shown(record.get("result"))
    word = Status(status).word if status in Status.__members__ else status
    device = record.get("device")
    if status in (Status.PASS, Status.FAIL) and device not in (None, "", Device.NEURON):
        return f"{word} ({'CPU' if device == Device.CPU else device})"
    return word


def checked(record: Record) -> str:
    """What a PASS was checked by: `tokens` are equal to a CPU run's, or the text is fluent `English`, no more."""
    return {Kind.CPU_MATCH.value: "tokens", Kind.ENGLISH.value: "English"}.get(str(record.get("kind") or ""), "")


def reason(record: Record) -> str:
    """Why a row is no PASS, in one line: its exclusion, or the first line of its error."""
    value = record.get("reason")
    return shown(value) if value else ""


def result_style(record: Record) -> str:
    return style_of(
        str(record.get("status") or ""), str(record.get("kind") or ""), str(record.get("device") or "") or None
    )
