"""Marked rows side by side: one column a row, one line a value; values that differ are coloured."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType

from trnui.catalog.column_formats import checked, day, number, result_word
from trnui.catalog.messages import Record
from trnui.catalog.query import ALL, Query
from trnui.tui.screen import AppScreen
from trnui.tui.widgets.columns import result_style
from trnui.tui.widgets.styled_lines import Line, Span
from trnui.tui.widgets.text_view import TextView
from trnui_runner.common.dataset_schema import STACK
from trnui_runner.common.text import fit, shown

LABEL = 17
LEAST = 20  # cells of a column
LINES: tuple[tuple[str, Callable[[Record], str]], ...] = (
    ("check", checked),
    ("cores", number("tp")),
    ("wall (+ compile)", number("wall_s", " s")),
    ("peak memory", number("hbm_peak_gb", " GB", 1)),
    ("task", lambda r: shown(r.get("task"))),
    ("tested", day("tested_at")),
    ("library", lambda r: shown(r.get("library"))),
    *((name, lambda r, name=name: shown(r.get(name))) for name in STACK),
    ("why", lambda r: shown(r.get("reason"))),
    ("notes", lambda r: shown(r.get("notes"))),
)


class SideScreen(AppScreen[None]):
    BINDINGS: ClassVar[list[BindingType]] = []
    AUTO_FOCUS = "TextView"

    def __init__(self, view: str, marked: Sequence[tuple[object, ...]]) -> None:
        super().__init__()
        self._view_name = view
        self._marked = marked
        self._text = TextView(id="side", wrap=False)

    def view(self) -> str:
        return self._view_name

    def places(self) -> tuple[str, ...]:
        return ("text", "app")

    def body(self) -> ComposeResult:
        yield self._text

    def on_mount(self) -> None:
        store, source = self.context.store, self.context.source
        if store is None or source is None:
            return
        models = tuple({str(m[0]) for m in self._marked})
        query = Query(models=models, neuronx_cc=(ALL,), library_version=(ALL,))

        def work() -> Callable[[], None]:
            from trnui.catalog.columns import whole_row
            from trnui.catalog.engine.lookups import records_of

            columns = (*whole_row(query.view, scripts=False)[:-2], "reason")
            found = records_of(source, store.database, query, columns)
            rows = [r for r in found if (r["model_id"], r["neuronx_cc"], r["library_version"]) in self._marked]
            return lambda: self._text.show(side_lines(rows, self.app.size.width))

        self.context.in_thread(work, "side by side")


def side_lines(rows: Sequence[Record], width: int) -> list[Line]:
    """As many columns as the width has room for; the rest is named."""
    if not rows:
        return ["", ((" The marked rows have no result in the dataset.", "muted"),)]
    room = max(1, (width - LABEL - 2) // LEAST)
    cut = rows[:room]
    each = min(40, (width - LABEL - 2) // len(cut) - 1)

    def line(label: str, values: Sequence[str], styles: Sequence[str]) -> Line:
        spans: list[Span] = [(f" {label:{LABEL}} ", "muted")]
        spans += [(fit(v, each) + " ", t) for v, t in zip(values, styles, strict=True)]
        return tuple(spans)

    lines = [
        line("", [str(r["model_id"]).rpartition("/")[0] for r in cut], ["muted"] * len(cut)),
        line("model", [str(r["model_id"]).rpartition("/")[2] for r in cut], ["strong"] * len(cut)),
        line("result", [result_word(r) for r in cut], [result_style(r) for r in cut]),
    ]
    shown_by = [(label, [show(r) for r in cut]) for label, show in LINES]
    differing = [(label, values) for label, values in shown_by if len(set(values)) > 1]
    same = [(label, values[0]) for label, values in shown_by if len(set(values)) == 1]
    lines += [line(label, values, ["accent"] * len(cut)) for label, values in differing]
    if same and len(cut) > 1:
        lines += ["", ((" the same in all", "muted"),)]
    lines += [
        ((f" {label:{LABEL}} ", "muted"), (fit(value, max(1, width - LABEL - 3)), "plain")) for label, value in same
    ]
    lines += whole_reasons(cut, width)
    if len(rows) > len(cut):
        lines += ["", ((f" {len(rows) - len(cut)} more marked rows have no room at this width", "warn"),)]
    return lines


def whole_reasons(rows: Sequence[Record], width: int) -> list[Line]:
    """Why each row is no PASS, in full: a column has room for its beginning only."""
    lines: list[Line] = []
    for record in rows:
        if record.get("reason"):
            lines += [
                "",
                ((f" {shown(record.get('model_id'))}", "strong"), (f"  {result_word(record)}", result_style(record))),
            ]
            lines += [
                ((f"  {part}", "plain"),) for part in textwrap.wrap(shown(record.get("reason")), max(20, width - 4))
            ]
    return lines
