"""Batches for tests, without a host."""

from __future__ import annotations

from collections.abc import Sequence

from trnui_runner.batch.batch_file import Batch, BatchRow
from trnui_runner.batch.folder import BatchFolder
from trnui_runner.batch.journal import RowEvent, RowState
from trnui_runner.request.request import RunRequest


def a_batch(cores: Sequence[int] = (1, 2, 4), name: str = "b", **fields: object) -> Batch:
    rows = tuple(
        BatchRow(n, f"org/m{n}", c, "neuron", 10.0 + n, "same model", published="PASS") for n, c in enumerate(cores)
    )
    return Batch(name, 1.0, "made for a test", rows, **fields)  # type: ignore[arg-type]


def a_folder(batch: Batch) -> BatchFolder:
    return BatchFolder.create(batch, [RunRequest(row.model, cores=row.cores) for row in batch.rows])


def event(n: int, state: str, t: float = 1.0, **fields: object) -> RowEvent:
    return RowEvent(t, n, RowState(state), **fields)  # type: ignore[arg-type]
