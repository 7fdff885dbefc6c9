"""What hardware that one does not have would do: does a tested row fit an instance, on how many of its cores, at what cost.

A dollar figure is the row's own wall time (compilation included) at a price for the whole instance that is set, or listed by
AWS; it is the cost of this test, not of serving.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from trnui.catalog.dataset.rankings import fit
from trnui_runner.batch.batch_file import Price
from trnui_runner.batch.planning.prices import price_of
from trnui_runner.common.errors import UsageError
from trnui_runner.common.text import one_line, size

CORE_GIB: Final = 24  # of a Trainium2 device's 96 GiB, for each of its four logical cores


@dataclass(frozen=True)
class Instance:
    """An EC2 instance type with Trainium2, by its logical cores (LNC 2)."""

    name: str
    devices: int
    cores: int

    @property
    def words(self) -> str:
        return f"{self.name}: {self.devices} Trainium2 device{'s' * (self.devices != 1)}, {self.cores} cores of {CORE_GIB} GiB"


INSTANCES: Final = (
    Instance("trn2.3xlarge", 1, 4),
    Instance("trn2.48xlarge", 16, 64),
    Instance("trn2u.48xlarge", 16, 64),
)
COLUMNS: Final = ("fits", "cores_there", "usd")


@dataclass(frozen=True)
class WhatIf:
    """An instance, and the price in force with its source; `price` None where there is none."""

    instance: Instance
    price: Price | None

    @property
    def words(self) -> str:
        told = "no price is known: the setting price_per_hour takes one"
        if self.price is not None:
            told = (
                f"${self.price.per_hour:g} an hour for the whole instance ({self.price.source}); usd is the wall time of the row's "
                "test at it"
            )
        return f"{self.instance.words} · {told}"


@dataclass(frozen=True)
class FitEstimate:
    """`fits` None where neither a test nor the weights' size says; `by` is what the answer rests on."""

    fits: bool | None
    cores: int | None
    usd: float | None
    by: str

    def words(self, what_if: WhatIf) -> str:
        name = what_if.instance.name
        if self.fits is None:
            return f"{name}: not known whether it fits ({self.by})"
        many = f"{self.cores} of {what_if.instance.cores} cores" if self.cores else "its cores"
        verdict = (
            f"fits, {many}"
            if self.fits
            else f"does not fit: it needs {self.cores or 'more than 16'} cores of {what_if.instance.cores}"
        )
        price = what_if.price
        money = ""
        if self.usd is not None and price is not None:
            money = f" · this test ${self.usd:,.2f} at ${price.per_hour:g} an hour ({price.source})"
        return f"{name}: {verdict} ({self.by}){money}"


def named(name: str, price: float = 0.0) -> WhatIf:
    """`price` in US dollars an hour, 0 for the listed one. Raises UsageError for an instance type that is not known."""
    found = next((i for i in INSTANCES if i.name == name.lower()), None)
    if found is None:
        names = [i.name for i in INSTANCES]
        near = difflib.get_close_matches(name.lower(), names, 1, 0.5)
        hint = f"Did you mean {near[0]}? " if near else ""
        raise UsageError(
            f"--host {one_line(name, 60)}: not an instance type with Trainium2", f"{hint}There are: {', '.join(names)}."
        )
    return WhatIf(found, price_of(found.name, price))


def estimate(what_if: WhatIf, row: Mapping[str, object], weight_bytes: int | None = None) -> FitEstimate:
    """For a row (status, tp, wall_s, device). The cores of a PASS are tested; of anything else only the size of the weights tells."""
    cores, wall = row.get("tp"), row.get("wall_s")
    there = what_if.instance.cores
    on_trainium = row.get("device") in (None, "neuron")
    usd = None
    if what_if.price is not None and isinstance(wall, int | float) and on_trainium:
        usd = wall / 3600 * what_if.price.per_hour
    if row.get("status") == "PASS" and isinstance(cores, int) and on_trainium:
        fits = cores <= there
        return FitEstimate(fits, cores, usd if fits else None, "tested on so many cores")
    if weight_bytes is None:
        return FitEstimate(None, None, None, "no PASS on Trainium, and the size of its weights is not on disk")
    needed = fit(weight_bytes).cores
    fits = needed is not None and needed <= there
    return FitEstimate(fits, needed, None, f"by {size(weight_bytes)} of weights; whether it runs is not known")
