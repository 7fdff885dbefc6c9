"""Long lines cut into rows: nothing is lost, nothing is wider than its room, words and figures stay whole."""

from __future__ import annotations

import random
import time
from itertools import pairwise

import pytest
from rich.cells import cell_len

from trnui.tui.widgets.wrapping import hang_of, part, pieces, rows_of


@pytest.mark.parametrize("text", ["", "a", "x" * 25, "漢字" * 9, "a漢" * 9, "e\u0301" * 25])
@pytest.mark.parametrize("width", [1, 2, 7, 10])
def test_wrapped_pieces_hold_all_of_the_text_in_the_width(text: str, width: int) -> None:
    if width < 2 and not text.isascii():
        return
    found = pieces(text, width)
    assert "".join(text[a:b] for a, b in found) == text
    assert all(cell_len(text[a:b]) <= width for a, b in found)


def test_spans_between_two_characters() -> None:
    spans = (("Hello ", "accent"), ("hello", "plain"))
    assert part(spans, 3, 8) == (("lo ", "accent"), ("he", "plain"))


@pytest.mark.parametrize("seed", range(40))
def test_rows_hold_all_but_the_blanks_they_are_cut_at(seed: int) -> None:
    rng = random.Random(seed)
    text = "".join(rng.choice("aab  c漢e\u0301- 2.8 s,") for _ in range(rng.randrange(0, 400)))
    width, hang = rng.randrange(8, 60), rng.randrange(0, 6)
    found = rows_of(text, width, hang)
    assert all(cell_len(text[a:b]) <= (width if n == 0 else width - hang) for n, (a, b) in enumerate(found))
    assert found[0][0] == 0
    for (_, end), (begin, _) in pairwise(found):
        assert end <= begin
        assert text[end:begin].strip(" ") == ""
    assert text[found[-1][1] :].strip(" ") == ""


def test_rows_break_at_words_and_keep_a_figure_with_what_stands_before_its_blank() -> None:
    text = "compiled twice, 2.8 s each, then generated"
    assert [text[a:b] for a, b in rows_of(text, 18)] == ["compiled twice,", "2.8 s each, then", "generated"]


def test_a_word_longer_than_a_row_is_cut() -> None:
    assert [b - a for a, b in rows_of("x" * 25, 10)] == [10, 10, 5]


def test_further_rows_hang_under_the_value_or_the_first_word() -> None:
    assert hang_of((("  notes        ", "muted"), ("long " * 40, "plain")), 80) == 15
    assert hang_of("    indented " * 20, 80) == 4
    assert hang_of("words " * 40, 80) == 0
    assert hang_of((("  notes        ", "muted"), ("long " * 40, "plain")), 30) == 0, "too narrow to hang anything"


def test_250_kb_without_a_blank_are_cut_at_once() -> None:
    begun = time.process_time()
    assert len(rows_of("x" * 250_000, 100, 2)) > 2500
    assert len(rows_of("漢" * 80_000, 100, 2)) > 1600
    assert time.process_time() - begun < 1.5
