"""A query as one frozen value, made by screens and commands alike; sql.py turns it into SQL with bound parameters."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from trnui_runner.common.text import ABSENT

ALL: Final = "all"
LATEST: Final = "latest"


class View(StrEnum):
    """Views are data. Keys 1 to 7 on screen, `--view` on the command line (the last two have commands of their own)."""

    SELECTED = "selected"
    TRENDING = "trending"
    DOWNLOADS = "downloads"
    RUNS = "runs"
    FAILURES = "failures"


@dataclass(frozen=True)
class Stack:
    """The pair a file of the dataset stands for."""

    neuronx_cc: str
    library_version: str
    library: str = "transformers"

    @property
    def short(self) -> str:
        """`2.28.9000.0/5.24.0`, as `trnui compare` takes it."""
        return f"{self.neuronx_cc.partition('+')[0] or ABSENT}/{self.library_version or ABSENT}"

    def __str__(self) -> str:
        return f"{self.neuronx_cc or ABSENT} / {self.library} {self.library_version}"


@dataclass(frozen=True)
class Query:
    """Which rows, in which order. Empty tuples and None mean "no limit on this".

    models: names, in any case. identities: rows themselves, as an answer about this data named them.
    text: any part of the model's name, case-insensitive, every character an ordinary one.
    anywhere: any part of name, notes or the head of the error.
    results: Status names. neuronx_cc, library_version: versions (also without the part after `+`, or their first parts), or the words
    "latest" and "all"; an empty tuple means the default stack, which the catalog resolves.
    """

    view: View = View.SELECTED
    task: str | None = None
    text: str = ""
    anywhere: str = ""
    results: tuple[str, ...] = ()
    neuronx_cc: tuple[str, ...] = ()
    library: str | None = None
    library_version: tuple[str, ...] = ()
    max_cores: int | None = None
    models: tuple[str, ...] = ()
    identities: tuple[int, ...] = ()
    sort: str | None = None  # a column's name
    descending: bool = False
    limit: int | None = None

    def but(self, **changes: object) -> Query:
        return replace(self, **changes)  # type: ignore[arg-type]  # checked by the dataclass's own field names

    def narrowed(self) -> tuple[str, ...]:
        """Names of the filters that are set, in the order in which a screen lists and clears them."""
        names = (
            "text",
            "anywhere",
            "results",
            "task",
            "neuronx_cc",
            "library",
            "library_version",
            "max_cores",
            "models",
            "identities",
        )
        return tuple(n for n in names if getattr(self, n))
