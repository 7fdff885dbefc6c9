"""The neuronx-cc processes that are running: of one run, or of the whole host."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from trnui_runner.common import procfs
from trnui_runner.common.procfs import Stat, below

COMPILER: Final = "neuronx-cc"


@dataclass(frozen=True)
class Compiler:
    """One call of the compiler. cpu_s includes all processes that it has started."""

    pid: int
    age_s: float | None
    cpu_s: float


def compilers(everyone: Mapping[int, Stat], family: set[int]) -> list[Compiler]:
    """The compilers among `family`, oldest first: one for each call, with the CPU time of all that it has started."""
    own = {pid for pid in family if _is_compiler(everyone[pid])}
    first = [pid for pid in own if not _under(everyone, pid, own)]
    found = []
    for pid in first:
        spent = everyone[pid].cpu_of_all + sum(everyone[p].cpu_of_all for p in below(everyone, pid))
        found.append(Compiler(pid, procfs.age(pid), round(spent, 2)))
    return sorted(found, key=lambda c: -(c.age_s or 0.0))


def compilers_here() -> list[Compiler]:
    """Those of the whole host."""
    everyone = procfs.processes()
    return compilers(everyone, set(everyone))


def _is_compiler(process: Stat) -> bool:
    if process.name == COMPILER:
        return True
    if not process.name.startswith("python"):
        return False
    return any(os.path.basename(word) == COMPILER.encode() for word in procfs.command(process.pid)[:4])


def _under(everyone: Mapping[int, Stat], pid: int, own: set[int]) -> bool:
    parent = everyone[pid].parent
    while parent in everyone and parent > 1:
        if parent in own:
            return True
        parent = everyone[parent].parent
    return False
