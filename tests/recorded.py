"""Run folders (fixtures/runs), copied into a test's own runs folder; one of them can be held, as if it went on.

The REAL ones were recorded from runs on a CPU (tools/record_runs.py); the others were written by hand in the same format,
with round times.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from trnui_runner.common.files import runs_dir
from trnui_runner.run_folder.folder import RunFolder

FOLDER = Path(__file__).parent / "fixtures" / "runs"
PASS = "20261130-120000-recites-a1b2"
FAIL = "20261130-121500-bloom-c3d4"
GOING_ON = "20261130-123000-recites-moe-e5f6"  # two ranks, in their second compile
CANCELLED = "20261130-124500-qwen3-tiny-0718"
REAL_PASS = "20261130-140000-recites-11aa"
REAL_FAIL = "20261130-141000-odd-heads-22bb"  # four ranks, six heads: a long traceback of each
REAL_MISMATCH = "20261201-062800-recites-33cc"
REAL_GOING_ON = "20261130-143000-recites-moe-44dd"  # two ranks compile
REAL_CANCELLED = "20261130-144000-qwen3-55ee"
REAL = (REAL_PASS, REAL_FAIL, REAL_MISMATCH, REAL_GOING_ON, REAL_CANCELLED)


def recorded(name: str, parent: Path | None = None) -> RunFolder:
    """A copy of the recorded run in the (test's) runs folder."""
    target = (parent or runs_dir()) / name
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copytree(FOLDER / name, target)
    return RunFolder(target)


@contextmanager
def going_on(name: str = GOING_ON, parent: Path | None = None) -> Iterator[RunFolder]:
    """The same, with its lock held meanwhile: it counts as running."""
    run = recorded(name, parent)
    lock = run.lock()
    assert lock is not None
    try:
        yield run
    finally:
        os.close(lock)
