"""Values that a run's progress is made of: what was seen of memory, compiles, downloads, generations; notices and errors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

MOST: Final = 1e18  # NaN is not less


@dataclass(frozen=True)
class Memory:
    """One figure and where it comes from. `scope`: "rank 0", "core 3", "run.py" (its first process), "process 812", "check",
    or "run" (the sum over all processes); bytes, None where unknown."""

    scope: str
    source: str
    now: int | None = None
    peak: int | None = None
    capacity: int | None = None


@dataclass(frozen=True)
class Compile:
    """One graph on its way through a backend, in one process."""

    pid: int
    rank: int | None
    graph: str
    name: str | None
    nodes: int | None
    backend: str | None
    state: str  # "start", "end", "failed"
    began: float
    seconds: float | None = None


@dataclass(frozen=True)
class Download:
    file: str
    done: int = 0
    total: int | None = None
    over: bool = False


@dataclass(frozen=True)
class Generate:
    """One call of `generate` (or what a script tells of its own loop), as the first rank saw it."""

    n: int
    device: str = ""
    prompt_tokens: int | None = None
    prefill_chunk: int | None = None  # the prompt went through the compiled forward in pieces of so many tokens
    began: float = 0.0
    seconds: float | None = None
    first_s: float | None = None
    median_s: float | None = None
    forwards: int | None = None
    new_ids: tuple[int, ...] | None = None
    text: str | None = None
    failed: bool = False


@dataclass(frozen=True)
class Note:
    """A notice or an error: when, from which rank, what. `kind` of an error is its class."""

    s: float
    text: str
    kind: str = ""
    rank: int | None = None
    where: str = ""


def whole(value: object) -> int | None:
    """A number from an event as int; None for anything else."""
    if value is None or type(value) is bool or not isinstance(value, int | float) or not abs(value) < MOST:
        return None
    return int(value)


def number(value: object) -> float | None:
    if type(value) is float:  # nearly always
        return value if abs(value) < MOST else None
    if value is None or type(value) is bool or not isinstance(value, int | float) or not abs(value) < MOST:
        return None
    return float(value)
