"""One model on all stacks: a grid of neuronx-cc × library version, and since which stack it works or is broken."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from trnui.catalog.dataset.versions import is_dev, key, stack_key
from trnui.catalog.query import Stack
from trnui_runner.common.dataset_schema import Status


@dataclass(frozen=True)
class Cell:
    """The newest result of a model on a stack; `rows` says how many the dataset has there."""

    stack: Stack
    status: str
    result: str | None
    kind: str | None
    device: str | None
    cores: int | None
    rows: int = 1

    @property
    def words(self) -> str:
        """`PASS 4` with the number of cores; the kind of a PASS follows from it: one core against the CPU, sharded by its English."""
        word = Status(self.status).word if self.status != Status.OTHER else (self.result or "OTHER")
        mark = f" ({self.device})" if self.device not in (None, "neuron") and "(" not in word else ""
        more = f" +{self.rows - 1}" if self.rows > 1 else ""
        return f"{word}{mark}{'' if self.cores is None else f' {self.cores}'}{more}"


@dataclass(frozen=True)
class Matrix:
    """`compilers` and `versions` newest first. `works_since`: on every tested stack with both versions at least these it
    passes; `broken_since`: on every such stack it fails, though it passed on an older one. Development versions decide neither."""

    library: str
    compilers: tuple[str, ...]
    versions: tuple[str, ...]
    cells: Mapping[tuple[str, str], Cell]
    works_since: Stack | None = None
    broken_since: Stack | None = None

    def grid(self) -> list[list[str]]:
        """A header and one line a compiler, as text; empty where the model has no row."""
        head = ["neuronx_cc", *(f"{self.library} {v}" for v in self.versions)]
        lines = [
            [c, *(self.cells[c, v].words if (c, v) in self.cells else "" for v in self.versions)]
            for c in self.compilers
        ]
        return [head, *lines]

    def to_json(self) -> dict[str, Any]:
        return {
            "library": self.library,
            "neuronx_cc": list(self.compilers),
            "library_version": list(self.versions),
            "status": [
                [self.cells[c, v].status if (c, v) in self.cells else None for v in self.versions]
                for c in self.compilers
            ],
            "works_since": _pair(self.works_since),
            "broken_since": _pair(self.broken_since),
        }


def _pair(stack: Stack | None) -> dict[str, str] | None:
    return {"neuronx_cc": stack.neuronx_cc, "library_version": stack.library_version} if stack else None


def matrices(rows: Iterable[Mapping[str, Any]]) -> tuple[Matrix, ...]:
    """One grid for each library in a model's rows (status, result, kind, device, tp, the pair), the newest row of each stack
    first, as Catalog.rows_of has them."""
    cells: dict[Stack, Cell] = {}
    for row in rows:
        stack = Stack(row["neuronx_cc"] or "", row["library_version"] or "", row["library"] or "")
        if stack in cells:
            cells[stack] = replace(cells[stack], rows=cells[stack].rows + 1)
        else:
            cells[stack] = Cell(stack, row["status"], row["result"], row["kind"], row["device"], row["tp"])
    libraries = sorted({s.library for s in cells})
    return tuple(_matrix(library, {s: c for s, c in cells.items() if s.library == library}) for library in libraries)


def _matrix(library: str, cells: Mapping[Stack, Cell]) -> Matrix:
    tested = {
        s: c.status
        for s, c in cells.items()
        if c.status in (Status.PASS, Status.FAIL) and not (is_dev(s.neuronx_cc) or is_dev(s.library_version))
    }
    broken = since(tested, Status.FAIL)
    passed_before = broken is not None and any(
        status == Status.PASS and stack_key(s) < stack_key(broken) for s, status in tested.items()
    )
    return Matrix(
        library=library,
        compilers=tuple(sorted({s.neuronx_cc for s in cells}, key=key, reverse=True)),
        versions=tuple(sorted({s.library_version for s in cells}, key=key, reverse=True)),
        cells={(s.neuronx_cc, s.library_version): c for s, c in cells.items()},
        works_since=since(tested, Status.PASS),
        broken_since=broken if passed_before else None,
    )


def since(tested: Mapping[Stack, str], status: str) -> Stack | None:
    """The oldest stack from which on, in both versions, every tested one has this status; the newest tested one must be among them."""
    order = sorted(tested, key=stack_key)
    for first in order:
        later = [
            s
            for s in order
            if key(s.neuronx_cc) >= key(first.neuronx_cc) and key(s.library_version) >= key(first.library_version)
        ]
        if order[-1] in later and all(tested[s] == status for s in later):
            return first
    return None
