"""How a column's value reads on a screen: one function a kind of value, from a record to text. No Textual in here."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, datetime

from trnui.catalog.messages import Record
from trnui_runner.common.dataset_schema import Device, Kind, Status
from trnui_runner.common.text import ABSENT, count, shown

Format = Callable[[Record], str]
_STANDING = re.compile(
    r"(?:PASS on (?P<passing>[^·]+?)(?: \+(?P<more>\d+))?)?(?: · )?(?:FAIL on (?P<fails>\d+) \w+)?(?: · )?(?:EXCLUDED on \d+ \w+)?"
)


def number(name: str, unit: str = "", digits: int = 0) -> Format:
    """Figures with their unit: `1,234 s`, `12.5 GB`."""

    def show(record: Record) -> str:
        value = record.get(name)
        if not isinstance(value, int | float) or value != value:
            return ABSENT
        return f"{value:,.{digits}f}{unit}"

    return show


def short(name: str) -> Format:
    """Large counts in few characters: `1.2M`."""

    def show(record: Record) -> str:
        value = record.get(name)
        return count(value) if isinstance(value, int | float) else ABSENT

    return show


def text(name: str) -> Format:
    return lambda record: shown(record.get(name))


def words(name: str) -> Format:
    """Text that is blank where there is none: most rows have nothing to say here."""
    return lambda record: shown(record[name]) if record.get(name) else ""


def standing(record: Record) -> str:
    """The column `elsewhere` in few cells: `8 PASS 2 FAIL`, of the newest rows on the other stacks."""
    found = _STANDING.fullmatch(str(record.get("elsewhere") or ""))
    if found is None:
        return ""
    passes = 1 + int(found["more"] or 0) if found["passing"] else 0
    fails = int(found["fails"] or 0)
    return " ".join(f"{n} {word}" for n, word in ((passes, "PASS"), (fails, "FAIL")) if n)


def day(name: str) -> Format:
    def show(record: Record) -> str:
        value = record.get(name)
        return value.strftime("%Y-%m-%d") if isinstance(value, datetime | date) else shown(value)[:10]

    return show


def version(name: str) -> Format:
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
