"""Columns of a list as values: what each shows of a row, and which of them a width has room for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import Literal

from runner.text import ABSENT, count, shown
from trnui.catalog.schema import Device, Kind, Status
from trnui.widgets.tones import tone_of

Record = Mapping[str, object]  # column name → value, and "identity"


@dataclass(frozen=True)
class Column:
    """`name` is what it sorts by; `grow`: takes the room that is left."""

    name: str
    title: str
    width: int
    show: Callable[[Record], str]
    align: Literal["left", "right"] = "left"
    tone: str | Callable[[Record], str] = "plain"
    grow: bool = False


@dataclass(frozen=True)
class Plan:
    """Columns with their final widths; the first `fixed` ones do not scroll sideways."""

    columns: tuple[Column, ...]
    fixed: int = 2
    marks: tuple[str, ...] = ("identity",)  # values that name a row for a mark

    @property
    def last_side(self) -> int:
        return max(0, len(self.columns) - self.fixed - 1)

    @property
    def width(self) -> int:
        return 1 + sum(c.width + 1 for c in self.columns)

    def mark_key(self, record: Record) -> tuple[object, ...]:
        return tuple(record.get(n) for n in self.marks)


def plan(columns: Sequence[Column], width: int, fixed: int = 2, marks: tuple[str, ...] = ("identity",)) -> Plan:
    """The model's column (the last fixed one) gives and takes: as narrow as 24 cells, as wide as it asks; then the one that grows."""
    chosen = list(columns)
    room = width - 2 - sum(c.width + 1 for c in chosen if not c.grow)
    named = fixed - 1
    if room < 0:
        chosen[named] = replace(chosen[named], width=max(24, chosen[named].width + room))
        room = 0
    for n, column in enumerate(chosen):
        if column.grow:
            chosen[n] = replace(column, width=max(column.width, room - 1))
    return Plan(tuple(chosen), fixed, marks)


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


def result_tone(record: Record) -> str:
    return tone_of(
        str(record.get("status") or ""), str(record.get("kind") or ""), str(record.get("device") or "") or None
    )
