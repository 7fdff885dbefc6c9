"""The screen drawn anew: by its key, after another theme."""

from __future__ import annotations

from pathlib import Path

from textual._compositor import LayoutUpdate

from tests.visit import Visit, visit
from trnui.tui.widgets.result_table import ResultTable


def backgrounds(v: Visit) -> set[str]:
    strips = v.app.screen.query_one(ResultTable).render_lines(v.app.screen.query_one(ResultTable).region.reset_offset)
    return {
        str(s.style.bgcolor) for strip in strips for s in strip if s.style is not None and s.style.bgcolor is not None
    }


async def test_the_redraw_key_sends_everything_although_nothing_changed(dataset: Path) -> None:
    async with visit(dataset) as v:
        sent: list[object] = []
        v.app._display = lambda screen, update: sent.append(update)  # type: ignore[method-assign,assignment]
        await v.press("ctrl+l")
        assert any(isinstance(update, LayoutUpdate) for update in sent)  # the whole screen, not what has changed


async def test_another_theme_recolours_the_table_at_once(dataset: Path) -> None:
    async with visit(dataset, theme="trnui-dark") as v:
        before = backgrounds(v)
        await v.press("f2")
        await v.until(lambda: not backgrounds(v) & before)


async def test_the_cursor_stands_out_in_the_terminals_own_colours(dataset: Path) -> None:
    async with visit(dataset, theme="ansi-light") as v:
        table = v.app.screen.query_one(ResultTable)
        cursor = list(table.render_line(1 + table.cursor))
        assert all(s.style is not None and s.style.reverse for s in cursor)
