"""Long lines cut into rows: at words where there are any, and hung under the last span (a value behind its label) or the first word. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from trnui.tui.widgets.styled_lines import Line, Span, plain
from trnui_runner.common.text import cells

LABEL: Final = 36  # cells of what stands before a value, at most
INDENT: Final = 12  # the deepest indentation that goes on in the next row
LEAST: Final = 24  # cells that a hung row has at least


def hang_of(line: Line, width: int) -> int:
    """Where the further rows of a line begin."""
    before = 0 if isinstance(line, str) else sum(cells(text) for text, _ in line[:-1])
    if 0 < before <= LABEL:
        hang = before
    else:
        text = plain(line)
        hang = min(len(text) - len(text.lstrip(" ")), INDENT)
    return hang if width - hang >= LEAST else 0


def rows_of(text: str, width: int, hang: int = 0) -> list[tuple[int, int]]:
    """`text` as (begin, end) of its rows: the first of at most `width` cells, further ones of `width - hang`. The blanks at which
    a row is cut are in none."""
    found: list[tuple[int, int]] = []
    begin, room, size = 0, width, len(text)
    while True:
        end = _fits(text, begin, room)
        if end >= size:
            return [*found, (begin, size)]
        least = begin + (end - begin) // 2  # a word longer than half a row is cut like everything without blanks
        blank = end if text[end] == " " else text.rfind(" ", least, end)
        if blank > begin and text[begin:blank].strip(" "):
            found.append((begin, blank))
            begin = blank
            while begin < size and text[begin] == " ":
                begin += 1
            if begin == size:
                return found
        else:
            found.append((begin, end))
            begin = end
        room = width - hang


def pieces(text: str, width: int) -> list[tuple[int, int]]:
    """`text` cut into runs of at most `width` cells, wherever that falls."""
    found, begin = [], 0
    while begin < len(text):
        end = _fits(text, begin, width)
        found.append((begin, end))
        begin = end
    return found or [(0, 0)]


def _fits(text: str, begin: int, room: int) -> int:
    """The end of the longest run from `begin` on that takes at most `room` cells; one character at least."""
    if text[begin : begin + room].isascii():
        return min(begin + room, len(text))
    used, at = 0, begin
    while at < len(text):
        used += cells(text[at])
        if used > room and at > begin:
            return at
        at += 1
    return at


def part(parts: Sequence[Span], begin: int, end: int) -> tuple[Span, ...]:
    """The spans between two characters of their text."""
    found, at = [], 0
    for text, style in parts:
        low, high = max(begin - at, 0), min(end - at, len(text))
        if low < high:
            found.append((text[low:high], style))
        at += len(text)
    return tuple(found) or (("", "plain"),)
