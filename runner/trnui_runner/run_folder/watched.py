"""Whether a run's guard or supervisor is alive, asked of the kernel: nothing that a run does to its folder changes the answer."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Final

from trnui_runner.common import procfs

GUARD: Final = b"guard.py"  # the program that watches a run; the run's folder is its last word
FRESH_S: Final = 0.2  # seconds for which one look at all processes will do
TICK_S: Final = 0.02  # the kernel stamps files by its tick, up to so long after the clock
TOLD: Final = ("", "state.json", "result.json")  # what says how a run ended, and the folder itself

_seen: tuple[float, float, frozenset[bytes]] = (float("-inf"), float("-inf"), frozenset())


def watched(folder: Path) -> bool:
    """A look that is older than what the folder says now finds nobody who started since: then it is taken anew."""
    name = os.fsencode(os.path.realpath(folder))
    return name in _folders(float("-inf")) or name in _folders(_changed(folder))


def _changed(folder: Path) -> float:
    """When the kernel last saw the folder's word change: unlike a file's mtime, no program can set this."""
    found = float("-inf")
    for name in TOLD:
        try:
            found = max(found, os.lstat(folder / name).st_ctime)
        except OSError:
            continue
    return found


def _folders(since: float) -> frozenset[bytes]:
    """The folders of runs that are watched now, by a look that began after `since` (UTC epoch seconds)."""
    global _seen
    now, clock = time.monotonic(), time.time()
    if now - _seen[0] > FRESH_S or _seen[1] <= since + TICK_S:
        commands = map(procfs.command, procfs.numbers())
        found = frozenset(c[-1] for c in commands if len(c) >= 3 and os.path.basename(c[-2]) == GUARD)
        _seen = (now, clock, found)
    return _seen[2]
