"""A model's results over all stacks as a grid: compilers down, library versions across, newest first; one cell is chosen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from textual.binding import BindingType
from textual.message import Message
from textual.strip import Strip

from trnui.catalog.column_formats import result_word
from trnui.catalog.messages import Record
from trnui.tui.bindings import ActionHost, bindings
from trnui.tui.widgets.columns import result_style
from trnui.tui.widgets.palette import Styled
from trnui.tui.widgets.styled_lines import Span, strip
from trnui_runner.common.text import ABSENT, fit

LABEL = 13  # cells of a compiler's name
CELL = 13
Place = tuple[int, int]  # row, column


@dataclass(frozen=True)
class Grid:
    """`cells` holds the rows of each pair, newest test first; a pair that has none is absent."""

    compilers: tuple[str, ...]
    libraries: tuple[tuple[str, str], ...]  # library, version
    cells: dict[Place, tuple[Record, ...]] = field(default_factory=dict)

    def places(self) -> list[Place]:
        """Every pair that has a row, the newest first."""
        return sorted(self.cells)


def grid(rows: Sequence[Record], order: Callable[[str], Any]) -> Grid:
    """`order` is the key by which versions compare."""
    compilers = tuple(sorted({_of(r, "neuronx_cc") for r in rows}, key=order, reverse=True))
    libraries = tuple(
        sorted(
            {(_of(r, "library"), _of(r, "library_version")) for r in rows},
            key=lambda p: (order(p[1]), p[0]),
            reverse=True,
        )
    )
    cells: dict[Place, list[Record]] = {}
    for row in rows:
        place = (
            compilers.index(_of(row, "neuronx_cc")),
            libraries.index((_of(row, "library"), _of(row, "library_version"))),
        )
        cells.setdefault(place, []).append(row)
    return Grid(
        compilers,
        libraries,
        {p: tuple(sorted(rs, key=_recency, reverse=True)) for p, rs in cells.items()},
    )


def _recency(row: Record) -> tuple[str, int]:
    """The rule of catalog.engine.sql_builder.newest_rows: the newest test, of equally new ones the last in the files."""
    identity = row.get("identity")
    return str(row.get("tested_at") or ""), identity if isinstance(identity, int) else 0


def _of(row: Record, name: str) -> str:
    return str(row.get(name) or "")


class MatrixView(ActionHost, Styled, can_focus=True):
    """Posts `Chosen` whenever another cell is chosen; empty cells are stepped over."""

    PLACE = "matrix"
    BINDINGS: ClassVar[list[BindingType]] = bindings("matrix")
    DEFAULT_CSS = """
    MatrixView { width: 1fr; height: 2; }
    """

    class Chosen(Message):
        def __init__(self, record: Record) -> None:
            super().__init__()
            self.record = record

    class Left(Message):
        """Enter or esc: back to the page."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.grid = Grid((), ())
        self.chosen: Place = (0, 0)
        self._top = self._side = 0

    def show(self, found: Grid, chosen: Place | None) -> None:
        self.grid = found
        places = found.places()
        if places:
            self.chosen = chosen if chosen in found.cells else places[0]
            self._reveal()
            self.post_message(self.Chosen(found.cells[self.chosen][0]))
        self.refresh()

    @property
    def record(self) -> Record | None:
        cell = self.grid.cells.get(self.chosen)
        return cell[0] if cell else None

    def step(self, by: int) -> bool:
        """To the next pair that has a row, in reading order; False at the end."""
        places = self.grid.places()
        at = places.index(self.chosen) + by if self.chosen in places else 0
        if not 0 <= at < len(places):
            return False
        self._choose(places[at])
        return True

    # -- keys

    def action_go(self, down: int, right: int) -> None:
        """To the nearest pair with a row in that direction."""
        row, column = self.chosen
        if right:
            found = [p for p in self.grid.places() if (p[1] - column) * right > 0]
            best = min(found, key=lambda p: (abs(p[1] - column), abs(p[0] - row)), default=None)
        else:
            found = [p for p in self.grid.places() if (p[0] - row) * down > 0]
            best = min(found, key=lambda p: (abs(p[0] - row), abs(p[1] - column)), default=None)
        if best is not None:
            self._choose(best)

    def action_leave(self) -> None:
        self.post_message(self.Left())

    def _choose(self, place: Place) -> None:
        self.chosen = place
        self._reveal()
        self.refresh()
        self.post_message(self.Chosen(self.grid.cells[place][0]))

    # -- drawing

    @property
    def _across(self) -> int:
        return max(1, (self.size.width - LABEL - 2) // CELL)

    def _reveal(self) -> None:
        row, column = self.chosen
        down = max(1, self.size.height - 1)
        self._top = max(0, min(max(self._top, row - down + 1), row))
        self._side = max(0, min(max(self._side, column - self._across + 1), column))

    def on_resize(self) -> None:
        self._reveal()

    def render_line(self, y: int) -> Strip:
        shown = range(self._side, min(len(self.grid.libraries), self._side + self._across))
        if y == 0:
            parts: list[Span] = [(fit(" neuronx-cc", LABEL + 1), "muted")]
            for n in shown:
                library, version = self.grid.libraries[n]
                name = version if library in ("", "transformers") else f"{library} {version}"
                parts.append((fit(name, CELL - 1) + " ", "strong" if n == self.chosen[1] else "muted"))
            more = len(self.grid.libraries) - shown.stop
            parts.append((f"{more} older →" if more > 0 else "", "muted"))
            return strip(parts, self.size.width, self)
        row = self._top + y - 1
        if row >= len(self.grid.compilers):
            return Strip.blank(self.size.width, self.rich_style)
        here = row == self.chosen[0]
        parts = [
            (
                " " + fit(self.grid.compilers[row].partition("+")[0] or ABSENT, LABEL - 1) + " ",
                "strong" if here else "muted",
            )
        ]
        for n in shown:
            text, style = cell(self.grid.cells.get((row, n), ()))
            focus = (row, n) == self.chosen
            parts += [(fit(text, CELL - 1), "cursor" if focus else style), (" ", "plain")]
        return strip(parts, self.size.width, self)


def cell(rows: Sequence[Record]) -> Span:
    """`PASS 4c`: the newest result and its cores; `+1` when the pair was tested more than once."""
    if not rows:
        return ABSENT, "muted"
    word = result_word(rows[0])
    cores = rows[0].get("tp")
    text = {"NOT TESTED": "not tested", "EXCLUDED": "excluded"}.get(word, word)
    if word in ("PASS", "FAIL") and cores is not None:
        text += f" {cores}c"
    return text + (f" +{len(rows) - 1}" if len(rows) > 1 else ""), result_style(rows[0])
