"""What the keeper asks of whatever runs its rows. An engine writes nothing about rows: it tells events, the keeper keeps them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from trnui_runner.batch.batch_file import BatchRow
from trnui_runner.batch.journal import RowEvent


class Engine(Protocol):
    """All calls come from one thread. Safe to repeat: an engine that is asked again for a row that has begun adopts its run."""

    @property
    def words(self) -> str:
        """Where rows run, for people."""

    def survey(self) -> list[RowEvent]:
        """Rows of this batch that have begun and of which no end is journalled, wherever: going, done or lost."""

    def fits(self, row: BatchRow) -> bool:
        """Cheap: whether there is room for it now."""

    def start(self, row: BatchRow, attempt: int, oldest: int) -> RowEvent | None:
        """oldest: a run of this attempt or a later one is adopted where one goes on. GOING or SENT; REFUSED with the reason when it cannot run there at all; None when its cores were not free after all.
        Raises NoHostError when there is nothing left to run on."""

    def follow(self) -> list[RowEvent]:
        """What has changed since the last call, ends among them: DONE, or LOST when the attempt says nothing about the model."""

    def stages(self) -> Mapping[int, str]:
        """The stage of every row that goes on, as last seen."""

    def stop(self, rows: Iterable[int]) -> list[str]:
        """Ends their runs; the hosts that could not be reached, by name."""

    def fetch_log(self, n: int) -> None:
        """Brings what there is of a row's log home, where the run is elsewhere."""

    def close(self) -> None: ...


class NoHostError(Exception):
    """No host is left that could run anything; the words are for people."""
