"""Which rows of a log stand on the screen: places in it, moving by rows, wrap, and only the matching lines. No Textual in here."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

from trnui.tui.log.index import CUT, LineIndex, LogLine, piece_text, pieces, text_of, wrapped
from trnui.tui.log.search import Search


class Place(NamedTuple):
    """A row on the screen: the start of its line in the file, the part of a very long line, the row of the wrapped part."""

    start: int
    piece: int = 0
    row: int = 0


TOP = Place(0)


@dataclass(frozen=True, slots=True)
class Row:
    place: Place
    text: str
    cut: bool = False  # more of the line is in the file


class Window:
    """Reads rows of a file; `search` keeps only matching lines. Costs one small read a row, whatever the file's size."""

    def __init__(self, index: LineIndex, *, width: int = 80, wrap: bool = False, only: Search | None = None) -> None:
        self.index = index
        self.width = width
        self.wrap = wrap
        self.only = only

    def rows(self, place: Place, count: int) -> list[Row]:
        """`count` rows from `place` on; fewer at the end."""
        return list(islice(self._forward(place), count))

    def last_rows(self, count: int) -> list[Row]:
        return list(islice(self._backward(Place(self.index.file.size() + 1)), count))[::-1]

    def moved(self, place: Place, by: int, height: int) -> Place:
        """The top row after scrolling `by` rows, so that the last page stays full."""
        if by < 0:
            rows = list(islice(self._backward(place), -by))
            return rows[-1].place if rows else place
        ahead = self.rows(place, by + height)
        if len(ahead) < by + height:
            last = self.last_rows(height)
            return last[0].place if last else TOP
        return ahead[by].place

    def around(self, start: int, height: int) -> Place:
        """The top row for which the line at `start` stands in the upper third, with the last page full."""
        place = Place(start)
        rows = list(islice(self._backward(place), height // 3))
        top = rows[-1].place if rows else place
        last = self.last_rows(height)
        return min(top, last[0].place) if last else TOP

    def first(self) -> Place:
        if self.only is None:
            return TOP
        start = self.only.after(-1)
        return Place(start or 0)

    # -- lines

    def _forward(self, place: Place) -> Iterator[Row]:
        line = self._line(place.start, down=True)
        piece, skip = (place.piece, place.row) if line is not None and line.start == place.start else (0, 0)
        while line is not None:
            count = pieces(self.index.file, line) if self.wrap else 1
            while piece < count:
                yield from self._rows(line, piece, count)[skip:]
                piece, skip = piece + 1, 0
            line, piece = self._next(line), 0

    def _backward(self, place: Place) -> Iterator[Row]:
        size = self.index.file.size()
        if place.start <= size and (place.piece or place.row):
            line = self.index.line(place.start, size)
            count = pieces(self.index.file, line)
            yield from reversed(self._rows(line, place.piece, count)[: place.row])
            for piece in range(place.piece - 1, -1, -1):
                yield from reversed(self._rows(line, piece, count))
        previous = self._previous(place.start)
        while previous is not None:
            count = pieces(self.index.file, previous) if self.wrap else 1
            for piece in range(count - 1, -1, -1):
                yield from reversed(self._rows(previous, piece, count))
            previous = self._previous(previous.start)

    def _rows(self, line: LogLine, piece: int, count: int) -> list[Row]:
        if not self.wrap:
            text, cut = text_of(self.index.file, line, CUT)
            return [Row(Place(line.start), text, cut)]
        texts = wrapped(piece_text(self.index.file, line, piece, count), self.width)
        return [Row(Place(line.start, piece, n), text) for n, text in enumerate(texts)]

    def _line(self, start: int, *, down: bool) -> LogLine | None:
        size = self.index.file.size()
        if self.only is not None:
            found = self.only.after(start - 1)
            return None if found is None else self.index.line(found, size)
        return self.index.line(start, size) if start < size else None

    def _next(self, line: LogLine) -> LogLine | None:
        if self.only is None:
            return self.index.after(line, self.index.file.size())
        found = self.only.after(line.start)
        return None if found is None else self.index.line(found, self.index.file.size())

    def _previous(self, start: int) -> LogLine | None:
        size = self.index.file.size()
        if self.only is not None:
            found = self.only.before(start)
            return None if found is None else self.index.line(found, size)
        if start > size:
            return self.index.last_line(size)
        return self.index.before(start)
