"""SQL: a row in full, the way to its model, widths from all rows, and Esc that loses nothing."""

from __future__ import annotations

from pathlib import Path

from tests.visit import visit
from trnui.tui.tables.sql_row_screen import row_lines
from trnui.tui.tables.sql_screen import WIDEST, SqlScreen, with_room
from trnui.tui.widgets.columns import Column
from trnui.tui.widgets.styled_lines import plain


def column(name: str, width: int, figures: bool = False) -> Column:
    return Column(name, name, width, lambda r: "", "right" if figures else "left")


async def test_a_row_in_full_and_the_page_of_its_model(dataset: Path) -> None:
    async with visit(dataset, size=(100, 32)) as v:
        await v.press("7")
        await v.shows("Enter runs the query")
        area = v.app.screen.query_one("#query")
        area.text = "SELECT model_id, run_py, wall_s FROM results WHERE status = 'PASS' ORDER BY ALL"  # type: ignore[attr-defined]
        await v.press("enter")
        await v.shows("rows in", seconds=30)
        await v.press("enter")
        await v.shows("row 1 of ", "run_py", "wall_s")
        await v.press("escape")
        await v.shows("rows in")
        await v.press("m")
        await v.shows("stacks")
        await v.press("escape")
        await v.shows("rows in")


async def test_a_row_that_names_no_model_says_so(dataset: Path) -> None:
    async with visit(dataset, size=(120, 32)) as v:
        await v.press("7")
        await v.shows("Enter runs the query")
        area = v.app.screen.query_one("#query")
        area.text = "SELECT 1 AS one"  # type: ignore[attr-defined]
        await v.press("enter")
        await v.shows("1 row in", seconds=30)
        await v.press("m")
        await v.shows("this row names no model: select model_id, too")


async def test_esc_before_any_result_leaves_the_text_and_then_the_screen(dataset: Path) -> None:
    async with visit(dataset, size=(120, 32)) as v:
        await v.press("7")
        await v.shows("Enter runs the query")
        await v.press("escape")
        assert isinstance(v.app.screen, SqlScreen)
        await v.shows("FROM results", "Enter runs the query")
        await v.press("slash")
        await v.press("escape", "escape")
        await v.shows("40 rows")


def test_room_goes_to_the_words_on_screen_and_figures_are_never_cut() -> None:
    columns = (column("id", 30), column("error", 900), column("n", 60, figures=True))
    assert [c.width for c in with_room(columns, 200, 2)] == [30, 200 - 30 - 60 - 4, 60]
    assert [c.width for c in with_room(columns, 100, 2)] == [30, 100 - 30 - 2 - 2, 60]  # the third is off the screen
    assert [c.width for c in with_room(columns, 40, 1)] == [30, WIDEST, 60]
    assert with_room((), 80, 1) == ()


def test_a_value_of_several_lines_stands_below_its_name() -> None:
    lines = [plain(line) for line in row_lines("row 1 of 2", ("a", "run_py", "none"), ("x", "one\ntwo", None))]
    assert lines == [" row 1 of 2", "", " a       x", " run_py  ", "   one", "   two", " none    –"]
