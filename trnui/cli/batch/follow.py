"""Following a batch on stdout: a line for each row that changes, a summary at the end, and the exit code that CI reads."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence

from trnui_runner.batch.folder import BatchFolder
from trnui_runner.batch.keeper_process import start_keeper
from trnui_runner.batch.lines import Mark, against_words, counts_words, mark, marks, row_json, time_words, told
from trnui_runner.batch.progress import exit_code
from trnui_runner.batch.status import BatchStatus
from trnui_runner.common.errors import Exit

LOOK_S = 1.0
QUIET_S = 600.0  # after so long without a line, one says that it goes on


def follow_batch(
    folder: BatchFolder, format_: str, say: Callable[[str], None], *, ray: str | None = None, open_port: bool = False
) -> int:
    """Until its end; a batch whose keeper was killed is taken up again. Ctrl-C detaches: the batch goes on."""
    status = folder.status()
    journal = folder.journal()
    journal.news()
    if not status.over and start_keeper(folder, ray=ray, open_port=open_port):
        say(
            f"batch {folder.id} keeps running in the background; Ctrl-C stops following it, `trnui batch stop {folder.id}` ends it"
        )
    before, last = marks(status), time.monotonic()
    try:
        while True:
            kept = folder.kept()  # asked first: what its keeper wrote before its end is read below
            status.take(journal.news())
            lines = list(_changes(status, before, format_))
            if lines:
                print("\n".join(lines), flush=True)
                before, last = marks(status), time.monotonic()
            if not kept:
                break
            if time.monotonic() - last >= QUIET_S:
                say(f"{counts_words(status)} · {time_words(status, time.time())}")
                last = time.monotonic()
            time.sleep(LOOK_S)
    except KeyboardInterrupt:
        say(f"detached; batch {folder.id} goes on: trnui batch attach {folder.id}")
        return Exit.INTERRUPTED
    return tell_end(folder, status, say)


def _changes(status: BatchStatus, before: Sequence[Mark], format_: str) -> list[str]:
    if format_ != "jsonl":
        return list(told(status, before))
    pairs = zip(status.pairs(), before, strict=True)
    return [json.dumps(row_json(row, at)) for (row, at), was in pairs if mark(at) != was]


def tell_end(folder: BatchFolder, status: BatchStatus, say: Callable[[str], None]) -> int:
    """The summary on stderr; the exit code."""
    say(f"batch {folder.id}: {counts_words(status)}")
    against = against_words(status)
    if against:
        say(f"against the published rows: {against}")
    if status.stopped:
        say(f"stopped: {status.stopped}")
    if not status.over:
        if not status.stopped:
            log = folder.keeper_log().strip().splitlines()
            say("its keeper is gone" + (f": {log[-1]}" if log else ""))
        say(f"go on: trnui batch attach {folder.id}")
    else:
        say(f"report: trnui batch report {folder.id} -o report.html · rows: trnui batch export {folder.id}")
    return exit_code(status)
