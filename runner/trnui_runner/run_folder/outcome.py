"""The words for where a run is and how it ended, as everyone who reads a run folder knows them."""

from __future__ import annotations

from enum import StrEnum


class Outcome(StrEnum):
    """How a run ended. UNCHECKED: it ran, and no verdict was possible; LOST: nobody who watched it is left to say."""

    PASS = "PASS"
    FAIL = "FAIL"
    UNCHECKED = "UNCHECKED"
    CANCELLED = "CANCELLED"
    TIMEOUT = "TIMEOUT"
    LOST = "LOST"


class Going(StrEnum):
    """What stands in an outcome's place until a run has ended."""

    QUEUED = "queued"
    RUNNING = "running"


class Stage(StrEnum):
    QUEUED = "queued"
    PREPARING = "preparing"
    DOWNLOADING = "downloading"
    LOADING = "loading"
    COMPILING = "compiling"
    GENERATING = "generating"
    CHECKING = "checking"
    DONE = "done"


OUTCOMES: tuple[str, ...] = tuple(Outcome)
STAGES: tuple[str, ...] = tuple(Stage)
