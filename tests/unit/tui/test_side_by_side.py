"""Rows side by side: what differs stands first, what is the same once, and each reason in full."""

from __future__ import annotations

from trnui.tui.explore.side_by_side import side_lines
from trnui.tui.widgets.styled_lines import plain

ERROR = "the compiler gave up because " + "of a very long reason " * 8 + "at its end"
ROWS = [
    {"model_id": "a/one", "status": "PASS", "tp": 2, "task": "text-generation"},
    {"model_id": "a/two", "status": "FAIL", "tp": 4, "task": "text-generation", "reason": ERROR},
]


def test_what_differs_comes_first_and_what_is_the_same_once() -> None:
    lines = [plain(line) for line in side_lines(ROWS, 80)]
    heading = next(n for n, line in enumerate(lines) if "the same in all" in line)
    assert next(n for n, line in enumerate(lines) if line.startswith(" cores")) < heading
    task = next(n for n, line in enumerate(lines) if line.startswith(" task"))
    assert task > heading
    assert lines[task].count("text-generation") == 1


def test_a_long_reason_is_there_to_its_end_at_every_width() -> None:
    for width in (60, 80, 160):
        lines = [plain(line) for line in side_lines(ROWS, width)]
        assert any("at its end" in line for line in lines)
        assert all(len(line) <= width for line in lines)
