"""Which NeuronCores a run gets: an aligned block, so that its collectives stay inside a device or span whole neighbours. Pure.

A run of n cores gets n rounded up to a power of two, aligned at that size: up to one device's cores it never crosses a device,
above that it takes whole neighbouring ones. Collectives want their groups so aligned; a run on scattered cores may fail by
its placement, and would be read as the model's failure.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final, Literal

# How a run learns of its cores: all of them at once, one for each rank (by the probe), or not at all: a script that takes 0..n-1.
Visible = Literal["all", "rank", "none"]
CORES_PER_DEVICE: Final = 4  # logical cores of a Trainium2 or Trainium3 device with LNC 2


def block_size(count: int) -> int:
    """Cores that a run of `count` sets aside: the next power of two. Raises ValueError below 1."""
    if count < 1:
        raise ValueError(f"a run needs at least one core, not {count}")
    return 1 << (count - 1).bit_length()


def blocks(count: int, ids: Sequence[int]) -> list[tuple[int, ...]]:
    """Every block of `ids` (a host's core ids) that a run of `count` cores may get, lowest first: the cores that it would use.

    A host without one aligned block of that size (6 cores and a run of 5, ids with gaps) offers its first `count` cores.
    Empty when the host has fewer cores than that.
    """
    size, here = block_size(count), set(ids)
    found = [
        tuple(range(first, first + count))
        for first in sorted(here)
        if first % size == 0 and here.issuperset(range(first, first + size))
    ]
    if found or len(here) < count:
        return found
    return [tuple(sorted(here)[:count])]


def ranked(
    count: int, ids: Sequence[int], held: Collection[int], per_device: int = CORES_PER_DEVICE
) -> list[tuple[int, ...]]:
    """The free blocks, the best first: on the fullest device, then beside a block that is taken, then the lowest.

    So small runs fill devices that are in use already, and whole devices stay for large ones. A block is free when none of the
    cores that the run would use is in `held`.
    """
    size, taken, here = block_size(count), set(held), set(ids)
    around = max(size, per_device)

    def preference(block: tuple[int, ...]) -> tuple[int, bool, int]:
        first = block[0] - block[0] % around
        used = len(taken.intersection(range(first, first + around)))
        buddy = block[0] - block[0] % size ^ size
        return -used, buddy in here and taken.isdisjoint(range(buddy, buddy + size)), block[0]

    return sorted((block for block in blocks(count, ids) if taken.isdisjoint(block)), key=preference)


def choose(
    count: int, ids: Sequence[int], held: Collection[int], per_device: int = CORES_PER_DEVICE
) -> tuple[int, ...] | None:
    """The best free block; None when there is none now."""
    return next(iter(ranked(count, ids, held, per_device)), None)


@dataclass(frozen=True)
class CoreRequest:
    """The cores that a run needs; which ones is decided when they are free. `ids`: all of the host. `held`: those in use by
    processes that are no runs of ours, whose end nobody waits for."""

    count: int
    ids: tuple[int, ...]
    held: tuple[int, ...] = ()
    per_device: int = CORES_PER_DEVICE
    visible: Visible = "all"

    def candidates(self, leased: Collection[int] = ()) -> list[tuple[int, ...]]:
        """Free blocks, the best first, while `leased` cores are in use by runs of ours."""
        taken = {*self.held, *leased}
        if self.visible == "none":
            first = tuple(sorted(self.ids)[: self.count])
            return [first] if len(first) == self.count and taken.isdisjoint(first) else []
        return ranked(self.count, self.ids, taken, self.per_device)

    @property
    def words(self) -> str:
        """`4 of 16 cores, an aligned block, chosen when it is free`."""
        if self.visible == "none":
            first = sorted(self.ids)[: self.count]
            return f"{first[0]} to {first[-1]}, which the script takes by itself" if first else "none"
        if self.count == 1:
            return f"1 of {len(self.ids)}, chosen when it is free"
        return f"{self.count} of {len(self.ids)}, an aligned block, chosen when it is free"
