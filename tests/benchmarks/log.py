"""How quick the log view is: `python -m tests.benchmarks.log`. Opening a million lines at their end, following 100,000 a second
with the event loop watched, searching. Headless, so without the terminal's own time; the limits are design section 8's."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from textual.app import App, ComposeResult

from trnui.tui.log.view import LogView

LINE = b"2026-11-30 12:00:00.%06d INFO  rank %d compiled graph %d of the decoder layer " + b"x" * 60 + b"\n"
WRITER = """
import sys, time
path, rate, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
block = b"".join(b"2026-11-30 12:00:00.%06d INFO  rank 0 compiled a graph of the decoder layer " % n + b"x" * 60 + b"\\n" for n in range(rate // 20))
with open(path, "ab", buffering=0) as file:
    begun = time.monotonic()
    for n in range(int(seconds * 20)):
        file.write(block)
        time.sleep(max(0.0, begun + (n + 1) / 20 - time.monotonic()))
"""


@dataclass(frozen=True)
class Figures:
    open_s: float  # mounting the view to the last lines read
    index_s: float  # to all lines counted
    search_s: float  # a word found in all of it
    lines_s: float  # really written while followed
    late_ms: float  # the event loop's worst lateness meanwhile
    grown_mb: float  # memory meanwhile


class Bench(App[None]):
    def compose(self) -> ComposeResult:
        yield from ()


def rss_mb() -> float:
    fields = Path("/proc/self/statm").read_text().split()
    return int(fields[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def make(path: Path, lines: int) -> None:
    with path.open("wb") as file:
        for start in range(0, lines, 10_000):
            file.write(b"".join(LINE % (n, n % 16, n) for n in range(start, min(lines, start + 10_000))))


async def measure(folder: Path, lines: int = 1_000_000, rate: int = 100_000, seconds: float = 5.0) -> Figures:
    big, live = folder / "big.log", folder / "live.log"
    make(big, lines)
    live.write_bytes(b"begin\n")
    app = Bench()
    async with app.run_test(size=(160, 45)) as pilot:
        await pilot.pause()
        begun = time.perf_counter()
        view = LogView(big)
        await app.mount(view)
        while not view._rows:
            await asyncio.sleep(0.001)
        opened = time.perf_counter() - begun
        while view.lines < lines:
            await asyncio.sleep(0.002)
        indexed = time.perf_counter() - begun
        begun = time.perf_counter()
        search = view._reader.look_for(f"graph {lines - 1}")
        assert search is not None
        while search.share < 1 or not search.total:
            await asyncio.sleep(0.002)
        searched = time.perf_counter() - begun
        await view.remove()

        view = LogView(live)
        await app.mount(view)
        await pilot.pause(0.3)
        before, worst = rss_mb(), 0.0
        with subprocess.Popen([sys.executable, "-c", WRITER, str(live), str(rate), str(seconds)]) as writer:
            begun = time.perf_counter()
            while writer.poll() is None:
                at = time.perf_counter()
                await asyncio.sleep(0.005)
                worst = max(worst, time.perf_counter() - at - 0.005)
            took = time.perf_counter() - begun
        await pilot.pause(0.4)
        written = live.read_bytes().count(b"\n")
        assert view.lines == written, f"{view.lines} of {written} lines seen"
        return Figures(opened, indexed, searched, written / took, worst * 1000, rss_mb() - before)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        found = asyncio.run(measure(Path(folder)))
    print(f"1,000,000 lines opened at their end    {found.open_s * 1000:8.0f} ms   (limit 300)")
    print(f"…all counted                           {found.index_s * 1000:8.0f} ms")
    print(f"…a word searched through all           {found.search_s * 1000:8.0f} ms")
    print(f"followed                               {found.lines_s:8,.0f} lines/s")
    print(f"…event loop late by at most            {found.late_ms:8.0f} ms   (limit 100)")
    print(f"…memory grown by                       {found.grown_mb:8.1f} MB   (limit 30)")


if __name__ == "__main__":
    main()
