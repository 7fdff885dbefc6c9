"""Rows that a user wants to have run again, whatever the keeper would think of it."""

from __future__ import annotations

import time
from collections.abc import Sequence

from trnui_runner.batch.folder import BatchFolder
from trnui_runner.batch.journal import RowEvent, RowState
from trnui_runner.batch.status import BY_HAND, BatchStatus
from trnui_runner.common.errors import UsageError, UserError
from trnui_runner.common.text import one_line

NOTHING_SAID = (
    "unchecked",
    "lost",
    "given up",
    "refused",
    "cancelled",
)  # without a word: what told nothing about a model


def again(folder: BatchFolder, words: Sequence[str]) -> int:
    """Puts them back; how many. words: outcomes, states, or models' names. Raises UsageError when no row is meant."""
    status = folder.status()
    chosen = rows_meant(status, words)
    if not chosen:
        there = sorted({at.word for at in status.rows if at.state.over})
        raise UsageError(
            f"No row of {folder.id} that is over is meant by {one_line(', '.join(words) or ', '.join(NOTHING_SAID))}.",
            f"Its rows ended so: {', '.join(there) or 'none has ended'}.",
        )
    put_back(folder, chosen)
    return len(chosen)


def put_back(folder: BatchFolder, rows: Sequence[int]) -> None:
    """These rows wait again, for another attempt. Raises UserError."""
    now, attempts = time.time(), [at.attempt for at in folder.status().rows]
    events = [RowEvent(now, n, RowState.WAITING, attempts[n] + 1, why=BY_HAND) for n in rows]
    if not folder.journal().add(*events):
        raise UserError(f"{folder.path}: the journal cannot be written", "Free some disk space, then try again.")


def rows_meant(status: BatchStatus, words: Sequence[str]) -> list[int]:
    """Rows that are over and whose outcome, state or model is one of `words`; "lost" is also what was given up."""
    wanted = {word.lower() for word in words or NOTHING_SAID}
    if "lost" in wanted:
        wanted.add("given up")
    return [row.n for row, at in status.pairs() if at.state.over and ({at.word.lower(), row.model.lower()} & wanted)]
