"""What a batch will take before it starts: cores, time as a range, disk, cost, and what cannot run here. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from trnui_runner.batch.batch_file import BatchRow, Limits, Price
from trnui_runner.batch.planning.estimates import Estimate, basis_words
from trnui_runner.batch.planning.packing import jobs_of, pack
from trnui_runner.common.text import ABSENT, one_line, seconds, size
from trnui_runner.host.core_blocks import choose


@dataclass(frozen=True)
class HostRoom:
    """ids: NeuronCores of the host; empty without a device, where rows for the CPU take `slots`. disk: free bytes."""

    words: str
    ids: tuple[int, ...] = ()
    per_device: int = 4
    slots: int = 1
    free: int = 0  # cores that nobody holds now
    disk: int | None = None


@dataclass(frozen=True)
class LookAhead:
    """Times in seconds, sizes in bytes, cost in dollars; None where it cannot be told. left_out: (model, why)."""

    host: HostRoom
    rows: int
    by_cores: Mapping[int, int]
    makespan: float | None
    low: float | None
    high: float | None
    bases: Counter[str]
    fetch: int
    unknown_sizes: int
    limits: Limits
    price: Price | None
    left_out: tuple[tuple[str, str], ...] = ()

    @property
    def cost(self) -> tuple[float, float] | None:
        """At the low and the high end."""
        if self.price is None or self.makespan is None:
            return None
        ends = (self.low or self.makespan, self.high or self.makespan)
        return ends[0] / 3600 * self.price.per_hour, ends[1] / 3600 * self.price.per_hour

    def to_json(self) -> dict[str, Any]:
        cost = self.cost
        return {
            "rows": self.rows,
            "by_cores": {str(k): v for k, v in sorted(self.by_cores.items())},
            "host": self.host.words,
            "cores_here": len(self.host.ids),
            "cores_free": self.host.free,
            "makespan_s": self.makespan,
            "low_s": self.low,
            "high_s": self.high,
            "estimated_from": {k or "nothing": v for k, v in self.bases.items()},
            "fetch_bytes": self.fetch,
            "unknown_sizes": self.unknown_sizes,
            "disk_free": self.host.disk,
            "disk_budget": self.limits.disk,
            "cost": None if cost is None else {"low": cost[0], "high": cost[1]},
            "price": None if self.price is None else {"per_hour": self.price.per_hour, "source": self.price.source},
            "left_out": [{"model": model, "why": why} for model, why in self.left_out],
        }

    def lines(self) -> list[tuple[str, str]]:
        """(name, words) for a person."""
        shapes = ", ".join(
            f"{count} of {cores} core{'s' * (cores != 1)}" for cores, count in sorted(self.by_cores.items())
        )
        here = (
            f"{len(self.host.ids)} NeuronCores, {self.host.free} free now"
            if self.host.ids
            else f"{self.host.slots} at a time"
        )
        found = [
            ("where", self.host.words),
            ("cores", f"{here} · rows: {shapes or 'none'}"),
            ("time", self._time()),
            ("from", basis_words(self.bases) + "; runs that share a host compile slower than a run alone"),
            ("disk", self._disk()),
            ("cost", self._cost()),
        ]
        reasons = Counter(why for _, why in self.left_out)
        found += [
            ("left out", f"{count} rows: {why}" if count > 1 else f"1 row: {why}") for why, count in reasons.items()
        ]
        return found

    def _time(self) -> str:
        if self.makespan is None:
            return f"{ABSENT} (the dataset holds no wall time)"
        if self.low is None or self.high is None or seconds(self.low) == seconds(self.high):
            return f"about {seconds(self.makespan)} (no range: too few wall times for one)"
        return f"{seconds(self.low)} to {seconds(self.high)} (quartiles of each row's figures), about {seconds(self.makespan)}"

    def _disk(self) -> str:
        free = f"{size(self.host.disk)} free" if self.host.disk is not None else "free space unknown"
        if not self.fetch and not self.unknown_sizes:
            return f"nothing to fetch, {free}"
        unknown = f", {self.unknown_sizes} of unknown size" if self.unknown_sizes else ""
        budget = f", at most {size(self.limits.disk)} at a time" if self.limits.disk is not None else ""
        return f"{size(self.fetch)} to fetch{unknown}; {free}{budget}; what the batch fetches is removed after its run"

    def _cost(self) -> str:
        cost = self.cost
        if self.price is None:
            return f"{ABSENT} (set price_per_hour)"
        if cost is None:
            return f"{ABSENT} at ${self.price.per_hour:g} an hour"
        low, high = (f"${c:,.2f}" if c < 10 else f"${c:,.0f}" for c in cost)
        return f"{low if low == high else f'{low} to {high}'} at ${self.price.per_hour:g} an hour ({self.price.source})"


def look_ahead(
    rows: Sequence[BatchRow],
    estimates: Mapping[int, Estimate],
    host: HostRoom,
    *,
    limits: Limits,
    price: Price | None,
    at_hand: frozenset[str] = frozenset(),
    left_out: Sequence[tuple[str, str]] = (),
) -> LookAhead:
    """estimates by n; at_hand: repositories whose checkpoint is on the disk."""
    ids = host.ids or tuple(range(host.slots))
    ends: list[float | None] = []
    for pick in (_middle, _low, _high):
        known = [
            (r.n, r.cores if host.ids else 1, pick(estimates[r.n]) if r.n in estimates else None, "") for r in rows
        ]
        ends.append(pack(jobs_of(known), ids, per_device=host.per_device).makespan if estimates else None)
    ranged = sum(e.low is not None for e in estimates.values())
    to_fetch = {r.repo: r.weights for r in rows if r.repo and r.repo not in at_hand}
    return LookAhead(
        host=host,
        rows=len(rows),
        by_cores=Counter(row.cores for row in rows),
        makespan=ends[0],
        low=ends[1] if ranged else None,
        high=ends[2] if ranged else None,
        bases=Counter(estimates[r.n].basis if r.n in estimates else "" for r in rows),
        fetch=sum(w for w in to_fetch.values() if w is not None),
        unknown_sizes=sum(w is None for w in to_fetch.values()),
        limits=limits,
        price=price,
        left_out=tuple((one_line(model), one_line(why)) for model, why in left_out),
    )


def _middle(one: Estimate) -> float:
    return one.seconds


def _low(one: Estimate) -> float:
    return one.seconds if one.low is None else one.low


def _high(one: Estimate) -> float:
    return one.seconds if one.high is None else one.high


def why_impossible(cores: int, device: str, host: HostRoom) -> str:
    """Why no row of this shape can ever run on the host; empty when one can."""
    if device == "cpu":
        return ""
    if not host.ids:
        return "there is no Neuron device here"
    if choose(cores, host.ids, (), host.per_device) is None:
        return f"it takes {cores} cores, this host has {len(host.ids)}"
    return ""
