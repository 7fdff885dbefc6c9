"""The order in which a batch's rows start on a host's cores, and how long that takes. Pure; times in seconds.

Largest cores x seconds first, each on an aligned block as soon as one is free. Blocks of one size are asked for by their
largest row alone, so a look costs a few block searches however long the batch is.
"""

from __future__ import annotations

import heapq
from bisect import bisect_left, insort
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from trnui_runner.host.core_blocks import CORES_PER_DEVICE, block_size, choose

UNKNOWN_S = 600.0  # where nothing is known of any row


@dataclass(frozen=True, slots=True)
class Job:
    """A row as the order sees it. `family`: rows that share compiled graphs; empty: alone."""

    n: int
    cores: int
    seconds: float
    family: str = ""

    @property
    def area(self) -> float:
        return block_size(self.cores) * self.seconds


def jobs_of(rows: Iterable[tuple[int, int, float | None, str]]) -> list[Job]:
    """From (n, cores, expected seconds or None, family); what is unknown counts as the median of the rest."""
    found = list(rows)
    known = sorted(s for _, _, s, _ in found if s)
    middle = known[len(known) // 2] if known else UNKNOWN_S
    return [Job(n, cores, seconds or middle, family) for n, cores, seconds, family in found]


def in_order(jobs: Iterable[Job]) -> list[Job]:
    """Largest first; of two alike the one that was named first."""
    return sorted(jobs, key=lambda j: (-j.area, j.n))


class Queue:
    """Waiting jobs by block size, each size in order. What goes back (another attempt) takes its old place."""

    def __init__(self, jobs: Iterable[Job] = ()) -> None:
        self._by_size: dict[int, list[tuple[float, int]]] = {}
        self._jobs: dict[int, Job] = {}
        for job in jobs:
            self.put(job)

    def __len__(self) -> int:
        return len(self._jobs)

    def put(self, job: Job) -> None:
        if job.n not in self._jobs:
            self._jobs[job.n] = job
            insort(self._by_size.setdefault(block_size(job.cores), []), (-job.area, job.n))

    def take(self, n: int) -> None:
        job = self._jobs.pop(n, None)
        if job is not None:
            waiting = self._by_size[block_size(job.cores)]
            del waiting[bisect_left(waiting, (-job.area, n))]

    def heads(self, deep: int = 1) -> list[Job]:
        """The first `deep` jobs of every size, largest first."""
        found = sorted(key for waiting in self._by_size.values() for key in waiting[:deep])
        return [self._jobs[n] for _, n in found]


@dataclass(frozen=True)
class Packed:
    """makespan: seconds from now to the last end. bound: no way of packing can be quicker. crossed: runs that fit a device
    and were put across two. starts: (n, when, cores) in order."""

    makespan: float
    bound: float
    used: float  # share of the core-seconds offered
    crossed: int
    starts: tuple[tuple[int, float, tuple[int, ...]], ...]


def lower_bound(jobs: Sequence[Job], cores: int) -> float:
    """Neither all cores busy without a gap, nor the longest job, nor the jobs that cannot share can be beaten."""
    if not jobs:
        return 0.0
    wide = sum(j.seconds for j in jobs if 2 * block_size(j.cores) > cores)
    return max(sum(j.cores * j.seconds for j in jobs) / max(1, cores), max(j.seconds for j in jobs), wide)


def pack(
    jobs: Iterable[Job],
    ids: Sequence[int],
    *,
    per_device: int = CORES_PER_DEVICE,
    going: Iterable[tuple[tuple[int, ...], float]] = (),
) -> Packed:
    """Simulates the batch on the cores `ids`. going: (cores, seconds left) of what runs already. Jobs that no block of this
    host can take are left out: the caller has told about them."""
    every = [j for j in jobs if choose(j.cores, ids, (), per_device) is not None]
    queue, held = Queue(every), set[int]()
    running: list[tuple[float, tuple[int, ...]]] = []
    for cores, left in going:
        held.update(cores)
        heapq.heappush(running, (left, cores))
    now, used, crossed = 0.0, 0.0, 0
    starts: list[tuple[int, float, tuple[int, ...]]] = []
    while len(queue) or running:
        while (found := _first_that_fits(queue, ids, held, per_device)) is not None:
            job, block = found
            queue.take(job.n)
            held.update(block)
            heapq.heappush(running, (now + job.seconds, block))
            starts.append((job.n, now, block))
            used += job.cores * job.seconds
            crossed += crosses(block)
        now, cores = heapq.heappop(running)
        held.difference_update(cores)
        while running and running[0][0] <= now:
            held.difference_update(heapq.heappop(running)[1])
    return Packed(now, lower_bound(every, len(ids)), used / (now * len(ids)) if now else 0.0, crossed, tuple(starts))


def _first_that_fits(
    queue: Queue, ids: Sequence[int], held: set[int], per_device: int
) -> tuple[Job, tuple[int, ...]] | None:
    for job in queue.heads():
        block = choose(job.cores, ids, held, per_device)
        if block is not None:
            return job, block
    return None


def crosses(cores: Sequence[int]) -> bool:
    """Whether cores that one device could hold lie on two, or cores that need several are not whole neighbours."""
    if len(cores) == 1:
        return False
    size = block_size(len(cores))
    first = min(cores)
    return first % size != 0 or sorted(cores) != list(range(first, first + len(cores)))
