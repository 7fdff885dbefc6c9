"""Draws the README's pictures with the app itself, from the bundled sample and recorded runs of it.

python tools/screenshots.py [NAME …]   writes screenshots/*.svg
python tools/screenshots.py --check    names those that are not current and exits with 1
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
OUT: Final = ROOT / "screenshots"
SIZE: Final = (124, 34)


@contextlib.contextmanager
def a_home_of_its_own() -> Iterator[None]:
    """No setting, run or colour of whoever draws; the clock's zone is UTC."""
    kept = dict(os.environ)
    with tempfile.TemporaryDirectory() as home:
        for name in list(os.environ):
            if name.startswith(("TRNUI_", "TEXTUAL", "HF_", "XDG_")) or name in ("NO_COLOR", "TMUX", "SSH_CONNECTION"):
                del os.environ[name]
        os.environ.update({f"TRNUI_{kind}_DIR": f"{home}/{kind.lower()}" for kind in ("CONFIG", "STATE", "CACHE")})
        os.environ.update(
            HF_HOME=f"{home}/hf", HF_HUB_OFFLINE="1", TERM="xterm-256color", COLORTERM="truecolor", TZ="UTC"
        )
        time.tzset()
        try:
            yield
        finally:
            os.environ.clear()
            os.environ.update(kept)
            time.tzset()


async def on_the_sample(*keys: str, words: tuple[str, ...]) -> str:
    """The app on the sample after `keys`, once it shows `words`."""
    from tests.visit import visit

    async with visit("sample", size=SIZE) as here:
        for key in keys:
            await here.press(key)
        await here.shows(*words)
        await here.pilot.pause(0.3)
        await here.until(lambda: "reading the row" not in here.text)
        return picture(here.app)


async def on_a_run(name: str, *, going: float | None = None, words: tuple[str, ...]) -> str:
    """The run screen of a recorded run; `going`: the seconds after which it is looked at."""
    from tests.recorded import going_on, recorded
    from tests.visit import visit
    from trnui.tui.run.run_screen import RunScreen
    from trnui_runner.run_folder.follower import Follower

    held = going_on(name) if going is not None else contextlib.nullcontext(recorded(name))
    with held as run, answering(Follower, "elapsed", going):
        if going is not None:
            refreshed(run.path / "state.json")
        recipe = run.recipe()
        assert recipe is not None
        async with visit("sample", size=SIZE) as here:
            await here.app.push_screen(RunScreen(run, recipe))
            await here.shows(*words)
            await here.pilot.pause(0.5)
            return picture(here.app)


@contextlib.contextmanager
def answering(owner: type, name: str, value: float | None) -> Iterator[None]:
    """`owner.name()` answers `value` meanwhile: a recorded run has no clock of its own."""
    if value is None:
        yield
        return
    kept = getattr(owner, name)
    setattr(owner, name, lambda _: value)
    try:
        yield
    finally:
        setattr(owner, name, kept)


def refreshed(state: Path) -> None:
    import json

    state.write_text(json.dumps(json.loads(state.read_text()) | {"updated": time.time()}))


def picture(app: Any) -> str:
    """The screen as SVG, under ids that do not change from one drawing to the next."""
    return re.sub(r"terminal-\d+", "terminal", app.export_screenshot(title="trnui", simplify=True)).rstrip() + "\n"


def pictures() -> dict[str, Callable[[], Awaitable[str]]]:
    from tests.recorded import REAL_GOING_ON, REAL_MISMATCH, REAL_PASS

    return {
        "explore": lambda: on_the_sample("j", "k", words=("incl. compilation", "trnui-sample/recites")),
        "model": lambda: on_the_sample("enter", words=("Stack", "Packages", "model_id", "wall_s")),
        "filter": lambda: on_the_sample("slash", "e", "c", words=("trnui-sample/electra",)),
        "failures": lambda: on_the_sample("6", "a", words=("cause", "trnui-sample")),
        "compare": lambda: on_the_sample("5", words=("newly passing",)),
        "run": lambda: on_a_run(REAL_GOING_ON, going=24.6, words=("COMPILING",)),
        "verdict": lambda: on_a_run(REAL_PASS, words=("PASS on CPU",)),
        "mismatch": lambda: on_a_run(REAL_MISMATCH, words=("FAIL on CPU",)),
    }


def drawn(name: str) -> str:
    with a_home_of_its_own():
        return asyncio.run(draw(name))


async def draw(name: str) -> str:
    return await pictures()[name]()


def main() -> int:
    names = [a for a in sys.argv[1:] if not a.startswith("-")] or list(pictures())
    stale = []
    for name in names:
        path = OUT / f"{name}.svg"
        svg = drawn(name)
        if "--check" not in sys.argv:
            path.write_text(svg, encoding="utf-8")
            print(path.relative_to(ROOT))
        elif not path.exists() or path.read_text(encoding="utf-8") != svg:
            stale.append(name)
    for name in stale:
        print(f"{name}: not current; run: python tools/screenshots.py {name}", file=sys.stderr)
    return bool(stale)


if __name__ == "__main__":
    sys.exit(main())
