"""Why a row that has cores may not start yet: compilers, host memory, disk, graphs that a sibling is about to compile. Pure."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from trnui_runner.batch.batch_file import BatchRow
from trnui_runner.common.text import size

# Stages after which a run compiles no more.
COMPILED: Final = frozenset({"generating", "checking", "done"})
UNLOADED: Final = frozenset({"queued", "preparing", "downloading", "loading"})
CPUS_A_COMPILER: Final = 4
MEMORY_SHARE: Final = (
    1.2  # host memory that a run takes of its weights: they are loaded there, and a CPU repeats a one-core run
)


@dataclass(frozen=True)
class Use:
    """What the rows that go on take, and what there is. Sizes in bytes, None where unknown.

    compiling: rows before their first token. memory: free on the host, less what starting runs have yet to take. disk: room
    for checkpoints. families, fetching: of rows that go on and have not compiled, or not downloaded, yet.
    """

    going: int = 0
    compiling: int = 0
    compilers: int = 1
    memory: int | None = None
    disk: int | None = None
    families: Collection[str] = ()
    fetching: Collection[str] = ()


def compilers_allowed(setting: int, cpus: int) -> int:
    return setting or max(1, cpus // CPUS_A_COMPILER)


def memory_of(row: BatchRow) -> int:
    """Bytes of host memory that it is likely to take; 0 if its size is unknown."""
    return int((row.weights or 0) * MEMORY_SHARE)


def why_not(row: BatchRow, use: Use, to_fetch: int = 0) -> str:
    """What the row waits for, in words; empty when it may start. to_fetch: bytes of its checkpoint that are not here yet.
    Where nothing goes on, compilers and memory keep no row waiting: there is nothing to wait for."""
    if row.family and row.family in use.families:
        return "for a sibling that compiles the same graphs"
    if row.repo and row.repo in use.fetching:
        return "for the download of its checkpoint"
    if lacks_disk(use, to_fetch):
        return f"for {size(to_fetch)} of disk ({size(max(0, use.disk or 0))} free)"
    if not use.going:
        return ""
    if use.compiling >= use.compilers:
        return f"for a compiler ({use.compiling} of {use.compilers} at work)"
    if use.memory is not None and memory_of(row) > use.memory:
        return f"for {size(memory_of(row))} of host memory ({size(max(0, use.memory))} free)"
    return ""


def lacks_disk(use: Use, to_fetch: int) -> bool:
    return use.disk is not None and to_fetch > 0 and to_fetch > use.disk
