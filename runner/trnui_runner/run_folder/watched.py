"""Whether a run's guard or supervisor is alive, asked of the kernel: nothing that a run does to its folder changes the answer."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Final

from trnui_runner.common import procfs

GUARD: Final = b"guard.py"  # the program that watches a run; the run's folder is its last word
FRESH_S: Final = 0.2  # seconds for which one look at all processes will do

_seen: tuple[float, frozenset[bytes]] = (float("-inf"), frozenset())


def watched(folder: Path) -> bool:
    return os.fsencode(os.path.realpath(folder)) in _folders()


def _folders() -> frozenset[bytes]:
    """The folders of runs that are watched now."""
    global _seen
    now = time.monotonic()
    if now - _seen[0] > FRESH_S:
        commands = map(procfs.command, procfs.numbers())
        _seen = (now, frozenset(c[-1] for c in commands if len(c) >= 3 and os.path.basename(c[-2]) == GUARD))
    return _seen[1]
