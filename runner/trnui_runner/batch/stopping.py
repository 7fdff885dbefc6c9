"""Stopping a batch, with its keeper or without one."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

from trnui_runner.batch.folder import BatchFolder
from trnui_runner.batch.keeper_process import keeper_of
from trnui_runner.batch.lines import counts_words
from trnui_runner.common.errors import Exit

WAIT_S = 120.0


def stop_batch(folder: BatchFolder, *, now: bool, say: Callable[[str], None]) -> int:
    """0: nothing more is started, and with `now` nothing of it goes on. 1: something still does."""
    status = folder.status()
    if status.over:
        print(f"{folder.id}: had ended already ({counts_words(status)})")
        return Exit.OK
    folder.ask_stop("now" if now else "later")
    lock = folder.lock()
    if lock is not None:  # no keeper is there to hear it: do its work until nothing goes on
        try:
            if now:
                keeper_of(folder).run()
        finally:
            os.close(lock)
    elif now:
        until = time.monotonic() + WAIT_S
        while folder.kept() and time.monotonic() < until:
            time.sleep(0.2)
    status = folder.status()
    going = status.counts()["going"] + status.counts()["sent"]
    print(f"{folder.id}: {counts_words(status)}")
    if now and going:
        say(f"{going} runs still go on: {status.stopped or 'see trnui runs'}")
        return Exit.FAILED
    if going:
        say("the runs that go on come to their end; --now ends them")
    say(f"trnui batch attach {folder.id} goes on with it")
    return Exit.OK
