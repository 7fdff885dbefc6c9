"""How long a row is likely to take here, from the wall times that the dataset holds. Pure; seconds, compilation included."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median, quantiles
from typing import Final

LEAST: Final = 10  # figures from which quartiles are told
SAME_MODEL, SAME_FAMILY, SAME_CORES, ALL_ROWS = "same model", "same family and cores", "same cores", "all rows"
BASES: Final = (SAME_MODEL, SAME_FAMILY, SAME_CORES, ALL_ROWS)


@dataclass(frozen=True, slots=True)
class Observation:
    """A published wall time. age: 0 on the newest stack, 1 on the one before, …"""

    model: str
    family: str
    cores: int
    wall_s: float
    age: int = 0


@dataclass(frozen=True, slots=True)
class Estimate:
    """low, high: quartiles of what `basis` stands for; None where there are too few figures for quartiles."""

    seconds: float
    basis: str
    low: float | None = None
    high: float | None = None


class Estimates:
    """The same model on the newest stack it was tested on; else the median of its family on as many cores; else of as many
    cores; else of everything."""

    def __init__(self, observations: Iterable[Observation]) -> None:
        by_model: dict[str, list[Observation]] = defaultdict(list)
        for one in observations:
            if one.wall_s > 0:
                by_model[one.model].append(one)
        self._newest = {model: min(found, key=lambda o: o.age) for model, found in by_model.items()}
        family: dict[tuple[str, int], list[float]] = defaultdict(list)
        cores: dict[int, list[float]] = defaultdict(list)
        for one in self._newest.values():
            cores[one.cores].append(one.wall_s)
            if one.family:
                family[one.family, one.cores].append(one.wall_s)
        self._family, self._cores = dict(family), dict(cores)
        self._all = [one.wall_s for one in self._newest.values()]
        self.repeat = quartiles(list(_ratios(by_model.values())))  # of the newest stack's time over the one before

    def of(self, model: str, family: str, cores: int) -> Estimate | None:
        """None when the dataset holds no time at all."""
        newest = self._newest.get(model)
        if newest is not None:
            low, high = self.repeat or (None, None)
            seconds = newest.wall_s
            return Estimate(seconds, SAME_MODEL, low and low * seconds, high and high * seconds)
        for basis, found in (
            (SAME_FAMILY, self._family.get((family, cores)) if family else None),
            (SAME_CORES, self._cores.get(cores)),
            (ALL_ROWS, self._all),
        ):
            if found:
                low, high = quartiles(found) or (None, None)
                return Estimate(median(found), basis, low, high)
        return None


def _ratios(models: Iterable[list[Observation]]) -> Iterable[float]:
    for found in models:
        first, *rest = sorted(found, key=lambda o: o.age)
        before = next((o for o in rest if o.age > first.age and o.cores == first.cores), None)
        if before is not None:
            yield first.wall_s / before.wall_s


def quartiles(figures: Sequence[float]) -> tuple[float, float] | None:
    """(p25, p75) of at least LEAST figures."""
    if len(figures) < LEAST:
        return None
    low, _, high = quantiles(figures, n=4, method="inclusive")
    return low, high


def basis_words(bases: Counter[str]) -> str:
    """`wall_s of the same model: 171, of its family and cores: 29, nothing known: 2`."""
    told = [(basis, bases[basis]) for basis in BASES if bases[basis]]
    words = [
        f"{'wall_s of the ' if n == 0 and basis != ALL_ROWS else ''}{basis}: {count}"
        for n, (basis, count) in enumerate(told)
    ]
    unknown = bases[""]
    return ", ".join([*words, *([f"nothing known: {unknown}"] if unknown else [])])
