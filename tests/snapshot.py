"""Screens as text: what is painted, compared with a file in fixtures/screens. `UPDATE_SCREENS=1 pytest …` writes the files anew;
look at the difference before committing it."""

from __future__ import annotations

import difflib
import os
from pathlib import Path
from typing import Any

from textual.app import App

FOLDER = Path(__file__).parent / "fixtures" / "screens"


def painted(app: App[Any]) -> list[str]:
    """The lines of the screen on top, without trailing blanks."""
    return ["".join(segment.text for segment in strip).rstrip() for strip in app.screen._compositor.render_strips()]


def styles_of(app: App[Any], text: str) -> set[str]:
    """Colours in which `text` stands on the screen (as `#rrggbb`), one for each segment that holds it."""
    found = set()
    for strip in app.screen._compositor.render_strips():
        for segment in strip:
            if text in segment.text and segment.style is not None and segment.style.color is not None:
                triplet = segment.style.color.triplet
                found.add(triplet.hex if triplet else str(segment.style.color.number))
    return found


def check_screen(app: App[Any], name: str) -> None:
    """The screen is as it was when it was last looked at."""
    file, now = FOLDER / f"{name}.txt", "\n".join(painted(app)) + "\n"
    if os.environ.get("UPDATE_SCREENS"):
        FOLDER.mkdir(parents=True, exist_ok=True)
        file.write_text(now, encoding="utf-8")
        return
    before = file.read_text(encoding="utf-8") if file.exists() else ""
    if now != before:
        diff = difflib.unified_diff(before.splitlines(), now.splitlines(), "looked at", "now", lineterm="", n=1)
        raise AssertionError(f"{name} looks different (UPDATE_SCREENS=1 takes it):\n" + "\n".join(diff))
