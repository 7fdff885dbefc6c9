"""Every text of every screen is searched by `/`, and esc takes the search away before it closes anything."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.recorded import PASS, recorded
from tests.visit import Visit, visit
from trnui.tui.widgets.text_view import TextView

# where a text is → keys that lead there, a word that is in it
TEXTS = {
    "help": (("question_mark",), "filter"),
    "card": (("i",), "card"),
    "run.py": (("enter", "tab", "tab", "tab"), "import"),
    "side by side": (("space", "space", "equals_sign"), "tested"),
    "before a run": (("r",), "device"),
}


async def searched(v: Visit, word: str) -> None:
    screen = v.app.screen
    await v.until(lambda: v.app.key_queue.idle)
    assert isinstance(v.app.focused, TextView), "its keys would do nothing"
    await v.press("slash")
    await v.type(word)
    await v.press("enter")
    await v.shows(f" “{word}”")
    view = next(w for w in screen.query(TextView) if w.display)
    assert view.needle == word
    await v.press("n")
    await v.shows("match ")
    await v.press("escape")
    assert view.needle == ""
    assert v.app.screen is screen
    await v.press("escape")
    assert v.app.screen is not screen


@pytest.mark.parametrize("name", TEXTS)
async def test_every_text_is_searched(dataset: Path, name: str) -> None:
    keys, word = TEXTS[name]
    async with visit(dataset, size=(100, 40)) as v:
        await v.press(*keys)
        await v.shows(word, seconds=30)
        await searched(v, word)


async def test_a_report_is_read_searched_copied_and_saved(
    dataset: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorded(PASS)
    monkeypatch.chdir(tmp_path)
    copied: list[str] = []
    async with visit(dataset, size=(100, 40)) as v:
        monkeypatch.setattr(v.app, "copy", lambda text, _: copied.append(text))
        await v.press("4")
        await v.shows("trnui-sample/recites")
        await v.press("p")
        await v.shows(PASS, "read it before you send it", "PASS", seconds=30)
        await v.press("y")
        assert copied
        assert copied[0].startswith("# ")
        await v.press("e")
        await v.until(lambda: (tmp_path / f"{PASS}.md").exists())
        assert (tmp_path / f"{PASS}.md").read_text() == copied[0]
        await searched(v, "PASS")


@pytest.mark.parametrize(
    "keys", ["", "question_mark", "i", "enter", "4", "5", "6", "7", "r", "R", "space space equals_sign", "2"]
)
async def test_every_screen_has_a_focus_when_it_opens(dataset: Path, keys: str) -> None:
    async with visit(dataset) as v:
        await v.press(*keys.split())
        await v.until(lambda: v.app.key_queue.idle and getattr(v.app.screen, "settled", True))
        assert v.app.focused is not None, "no key of its own would work"
