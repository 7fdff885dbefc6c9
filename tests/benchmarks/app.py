"""What the app costs a user on a line: times and bytes under a pty, beside an empty Textual app in the same run.

    python -m tests.benchmarks.app [--reps 3] [--big] [--size 160x45] [--size 80x24]

Prints one Markdown table a size. Ratios hold between machines, seconds do not; nothing else should run meanwhile. The data
are invented rows (tests/make_dataset.py): 10,000 of them, with --big also 1,000,000.
"""

from __future__ import annotations

import argparse
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.terminal.session import QUIET, Session

ROOT = Path(__file__).resolve().parent.parent
EMPTY = """
from textual.app import App
from textual.widgets import Static
class Empty(App):
    BINDINGS = [("q", "quit", "Quit")]
    def compose(self):
        yield Static("READY-EMPTY")
Empty().run()
"""
ROWS = r"example-org-\d\d/"
OTHERS = re.compile(r"-\d\d/(?!Iris2)[A-Z]")
DOWN, PAGE = "\x1b[B", "\x1b[6~"
# Modules are compiled once, as an installation has them, whatever the shell says: otherwise our sources are compiled at each start,
# and Textual's, which were installed, are not.
COMPILED = {"PYTHONDONTWRITEBYTECODE": ""}
# name → (budget as a text, how a value is shown)
BUDGETS = {
    "first frame": "≤ 1.3 × empty", "first rows": "≤ 2 × empty", "all rows": "≤ 2.2 × empty", "all rows, processor time": "", "filter, last key → rows": "≤ 50 ms",
    "bytes to the settled screen": "≤ 55 kB", "cursor move": "≤ 400 B", "page down": "≤ 9 kB", "focus (/)": "≤ 600 B", "idle, 3 s": "0",
    "quit": "≤ 0.15 s", "peak memory": "≤ 120 MB",
}  # fmt: skip
BIG = {
    "first rows": "≤ 2.2 × empty",
    "all rows": "≤ 2.5 s",
    "filter, last key → rows": "≤ 150 ms",
    "peak memory": "≤ 350 MB",
}


@dataclass
class Figures:
    """Values of all repetitions by name; times in seconds, sizes in bytes, memory in MB."""

    values: dict[str, list[float]] = field(default_factory=dict)

    def add(self, name: str, value: float) -> None:
        self.values.setdefault(name, []).append(value)

    def median(self, name: str) -> float | None:
        return statistics.median(self.values[name]) if name in self.values else None


def times(session: Session, patterns: Sequence[str], seconds: float = 120) -> list[float]:
    """When the screen showed each pattern first (one after the other), as monotonic times. Raises AssertionError."""
    found: list[float] = []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        session.pump(5, quiet=QUIET)
        for when, text in session.replay():
            while len(found) < len(patterns) and re.search(patterns[len(found)], text):
                found.append(when)
        if len(found) == len(patterns):
            return found
    raise AssertionError(f"not seen: {patterns[len(found)]}\n{session.text}")


def empty(figures: Figures, size: tuple[int, int]) -> None:
    with Session([sys.executable, "-c", EMPTY], size, COMPILED) as s:
        figures.add("empty", times(s, [r"\S"])[0] - s.started)
        figures.add("empty, processor", s.cpu())
        s.send("q")
        s.wait()


def app(figures: Figures, data: Path, total: int, size: tuple[int, int], home: Path) -> None:
    """One whole visit: start, move, filter, rest, leave."""
    env = COMPILED | {f"TRNUI_{kind}_DIR": str(home / kind.lower()) for kind in ("CONFIG", "STATE", "CACHE")}
    (home / "state" / "explorer.json").unlink(missing_ok=True)
    with Session([sys.executable, "-m", "trnui", "--dataset", str(data), "--offline"], size, env) as s:
        seen = times(s, [r"\S", ROWS, rf"{total:,} rows · [\d,]+ excluded *\n"])
        for name, when in zip(("first frame", "first rows", "all rows"), seen, strict=True):
            figures.add(name, when - s.started)
        figures.add("all rows, processor time", s.cpu())
        figures.add("bytes to the settled screen", len(s.sent))
        for _ in range(15):
            figures.add("cursor move", len(s.press(DOWN)))
        s.pump(1, quiet=QUIET)  # the pane follows
        for _ in range(5):
            figures.add("page down", len(s.press(PAGE)))
            s.pump(1, quiet=QUIET)
        figures.add("focus (/)", len(s.press("/")))
        _filter(figures, s)
        s.press("\x1b", gap=0.3)
        s.pump(1, quiet=QUIET)
        figures.add("idle, 3 s", len(s.pump(3)))
        figures.add("peak memory", s.rss())
        begun = time.monotonic()
        s.send("q")
        assert s.wait() == 0
        figures.add("quit", time.monotonic() - begun)
        assert not any(s.modes().values()), s.modes()


def _filter(figures: Figures, s: Session) -> None:
    for key in "iris":
        s.send(key)
        s.pump(0.04)
    s.pump(1, quiet=0.15)
    assert OTHERS.search(s.text)
    begun = time.monotonic()
    s.send("2")
    s.pump(10, quiet=1.0)
    filtered = (when for when, text in s.replay() if not OTHERS.search(text) and text.count("Iris2") >= 5)
    figures.add("filter, last key → rows", next(filtered) - begun)


def shown(name: str, value: float, figures: Figures) -> str:
    floor = figures.median("empty, processor" if name.endswith("processor time") else "empty") or 1.0
    if name.endswith("processor time") or name in ("first frame", "first rows", "all rows"):
        return f"{value * 1000:,.0f} ms = {value / floor:.2f} ×"
    if name in ("filter, last key → rows", "quit"):
        return f"{value * 1000:,.0f} ms"
    if name == "peak memory":
        return f"{value:.0f} MB"
    return f"{value:,.0f} B" if value < 10_000 else f"{value / 1000:.1f} kB"


def table(title: str, figures: Figures, budgets: dict[str, str]) -> str:
    floor = figures.median("empty") or 1.0
    lines = [f"| {title} | median | budget |", "|---|---:|---|", f"| empty Textual app | {floor * 1000:,.0f} ms | |"]
    for name in BUDGETS:
        value = figures.median(name)
        if value is not None:
            lines.append(f"| {name} | {shown(name, value, figures)} | {budgets.get(name, '')} |")
    return "\n".join(lines)


def dataset(folder: Path, rows: int) -> int:
    """Invented rows: 250 models a file for 10,000; for a million, few files of many models."""
    compilers, libraries = (4, 7) if rows <= 20_000 else (6, 7)
    models = -(-rows // (compilers * libraries - 1))
    command = [sys.executable, str(ROOT / "make_dataset.py"), str(folder), "--models", str(models)]
    subprocess.run(
        [*command, "--compilers", str(compilers), "--libraries", str(libraries), "--script-bytes", "400"],
        check=True,
        capture_output=True,
    )
    return models


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--reps", type=int, default=3)
    parser.add_argument("--big", action="store_true")
    parser.add_argument("--size", action="append")
    chosen = parser.parse_args()
    sizes = [tuple(map(int, s.split("x"))) for s in chosen.size or ["160x45", "80x24"]]
    with tempfile.TemporaryDirectory(prefix="trnui-bench-") as folder:
        for rows, budgets in [(10_000, BUDGETS), *([(1_000_000, BIG)] if chosen.big else [])]:
            data = Path(folder) / f"d{rows}"
            models = dataset(data, rows)
            for columns, height in sizes:
                app(
                    Figures(), data, models, (columns, height), Path(folder) / "home"
                )  # compiles, and fills the disk's cache
                figures = Figures()
                for _ in range(chosen.reps):
                    empty(figures, (columns, height))
                    app(figures, data, models, (columns, height), Path(folder) / "home")
                print(table(f"{rows:,} rows, {columns}×{height}", figures, budgets), flush=True)
                print()


if __name__ == "__main__":
    main()
