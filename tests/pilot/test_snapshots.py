"""The main states as text. After a wanted change:

UPDATE_SNAPSHOTS=1 python -m pytest tests/pilot/test_snapshots.py
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.visit import Visit, visit
from trnui.tui.widgets.result_table import ResultTable

FOLDER = Path(__file__).parent / "snapshots"
# name → size, keys (a text after "type:" is typed), what must be seen before the picture is taken
STATES: dict[str, tuple[tuple[int, int], Sequence[str], Sequence[str]]] = {
    "list-80x24": ((80, 24), ("j", "j"), ("40 rows",)),
    "list-160x45": ((160, 45), ("j",), ("install beside the stack",)),
    "filtered-80x24": ((80, 24), ("slash", "type:elm", "enter"), ("of 40", "name has")),
    "empty-80x24": ((80, 24), ("slash", "type:nothing"), ("None of 40 rows",)),
    "all-stacks-120x32": ((120, 32), ("a",), ("all stacks", "200 rows")),
    "picker-100x30": ((100, 30), ("s", "j", "space"), ("left out on purpose",)),
    "model-80x24": ((80, 24), ("enter",), ("[Row]", "wall_s")),
    "model-script-160x45": ((160, 45), ("enter", "tab", "tab", "tab"), ("[run.py]", "MAX_NEW_TOKENS")),
    "compare-120x32": ((120, 32), ("5",), ("newly passing", "unchanged", "  neuronx-cc 2.27")),
    "failures-160x45": ((160, 45), ("6", "a"), ("causes", "what to do", "all stacks")),
    "sql-100x30": ((100, 30), ("7",), ("Enter runs the query",)),
    "palette-100x30": ((100, 30), ("colon", "type:sort"), ("Sort by",)),
}


def picture(v: Visit) -> str:
    """The screen's text; the line that names a temporary folder and its age is left out."""
    lines = v.lines
    lines[1] = " (source)"
    return "\n".join(lines) + "\n"


def pane_is_in(v: Visit) -> bool:
    """The pane beside the list shows the row under the cursor in full."""
    explore = v.app.explore
    if v.app.screen is not explore or not explore.query_one("#detail").display:
        return True
    record = explore.query_one(ResultTable).record
    return record is None or (explore.detail is not None and explore.detail.identity == record["identity"])


@pytest.mark.parametrize("name", STATES)
async def test_the_screen_is_as_recorded(dataset: Path, name: str) -> None:
    size, keys, seen = STATES[name]
    async with visit(dataset, size=size) as v:
        for key in keys:
            if key.startswith("type:"):
                await v.type(key[5:])
            else:
                await v.press(key)
            await v.until(lambda: "reading the row" not in v.text)
        await v.shows(*seen)
        await v.until(lambda: pane_is_in(v))
        found = picture(v)
    file = FOLDER / f"{name}.txt"
    if os.environ.get("UPDATE_SNAPSHOTS"):
        FOLDER.mkdir(exist_ok=True)
        file.write_text(found, encoding="utf-8")
    assert file.exists(), "no picture yet: UPDATE_SNAPSHOTS=1 records one"
    assert found == file.read_text(encoding="utf-8")


async def test_tones_carry_the_meaning_of_results(dataset: Path) -> None:
    """PASS by tokens, PASS by English, FAIL and EXCLUDED are told apart by style too, and all four by their words."""
    async with visit(dataset, size=(120, 45)) as v:
        table = v.app.screen.query_one(ResultTable)
        await v.until(lambda: table.size.height > 2 and table.record_at(1) is not None)
        styles: dict[str, object] = {}
        for y in range(2, table.size.height):
            strip = table.render_line(y)
            record = table.record_at(y - 1)
            if record is not None:
                styles.setdefault(f"{record['status']} {record['kind']}", next(iter(strip)).style)
        assert {"PASS cpu-match", "PASS english", "FAIL None", "EXCLUDED None"} <= set(styles)
        assert len({str(s) for s in styles.values()}) == len(styles)
