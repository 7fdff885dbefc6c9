"""Which columns a width has room for, and how cells are worded."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from rich.cells import cell_len

from trnui.catalog.column_formats import checked, day, number, result_word
from trnui.tui.widgets.column_sets import layout
from trnui.tui.widgets.columns import LEAST, MARGIN, Column, fitted, plan
from trnui.tui.widgets.result_table import changed_width
from trnui.tui.widgets.text_view import marked
from trnui_runner.common.text import fit


@pytest.mark.parametrize("view", ["selected", "trending", "downloads", "siblings"])
@pytest.mark.parametrize("several", [True, False])
@pytest.mark.parametrize("width", range(60, 210, 7))
def test_columns_are_whole_and_every_one_can_be_scrolled_to(view: str, several: bool, width: int) -> None:
    made = plan(layout(view, several=several), width)
    seen = set()
    for side in range(made.last_side + 1):
        shown = made.shown(side)
        used = MARGIN + sum(c.width for c in shown) + made.gap * (len(shown) - 1)
        assert used <= width
        more = shown[-1].name != made.columns[-1].name
        assert used + 2 * more <= width, "the hint that there are more columns has no room"
        assert all(c.width >= 4 for c in shown)
        seen |= {c.name for c in shown}
    assert seen == {c.name for c in made.columns}
    assert made.columns[1].width >= LEAST


def test_a_device_stands_beside_its_result() -> None:
    assert result_word({"status": "PASS", "device": "neuron"}) == "PASS"
    assert result_word({"status": "PASS", "device": "cpu"}) == "PASS (CPU)"
    assert result_word({"status": "FAIL", "device": "stand-in"}) == "FAIL (stand-in)"
    assert result_word({"status": "UNTESTED", "device": None}) == "NOT TESTED"
    assert result_word({"status": "OTHER", "result": "PASS (CPU)"}) == "PASS (CPU)"
    assert result_word({}) == "NOT TESTED"


def test_a_pass_by_english_is_not_a_pass_by_tokens() -> None:
    assert checked({"kind": "cpu-match"}) != checked({"kind": "english"})
    assert checked({"kind": None}) == ""


def test_absent_figures_are_a_dash_and_zero_is_zero() -> None:
    assert number("x", " GB", 1)({"x": None}) == "–"
    assert number("x", " GB", 1)({"x": float("nan")}) == "–"
    assert number("x", " s")({"x": 0}) == "0 s"
    assert number("x", " s")({"x": 2284}) == "2,284 s"
    assert day("t")({"t": datetime(2026, 11, 2, tzinfo=UTC)}) == "2026-11-02"
    assert day("t")({"t": None}) == "–"


def test_only_the_cells_up_to_the_last_change_are_sent() -> None:
    old = (("  PASS  ", "good"), ("model 12", "plain"))
    assert changed_width(old, old, 40) == 1
    assert changed_width(old, (("  FAIL  ", "bad"), ("model 12", "plain")), 40) == 8
    assert changed_width(old, (("  PASS  ", "good"), ("model 13", "plain")), 40) == 16
    assert changed_width(old, (("  PASS  ", "good"), ("漢字", "plain")), 40) == 40


def test_hits_keep_the_text_and_its_case() -> None:
    spans = (("Hello ", "accent"), ("hello", "plain"))
    found = marked(spans, "LO")
    assert "".join(t for t, _ in found) == "Hello hello"
    assert [t for t, style in found if style == "hit"] == ["lo", "lo"]


def test_wide_text_is_cut_to_its_cells() -> None:
    assert cell_len(fit("漢字モデル", 7)) == 7


def test_a_column_is_no_wider_than_what_it_shows_and_the_words_get_the_room() -> None:
    columns = (
        Column("a", "a", 4, lambda r: "PASS"),
        Column("b", "model", 40, lambda r: str(r["b"])),
        Column("c", "why", 9, lambda r: "", grow=True),
    )
    found = fitted(columns, [{"b": "short"}, {"b": "a/漢字" * 2}])
    assert [c.width for c in found] == [4, 12, 9]
    assert fitted(columns, [{"b": "x" * 99}])[1].width == 40
