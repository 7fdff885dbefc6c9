"""What an hour of a host costs: the user's setting, else a public list price with its source and day. Never a guess."""

from __future__ import annotations

from typing import Final

from trnui_runner.batch.batch_file import Price

_LIST: Final = "EC2 Capacity Blocks list of 2026-07-22, us-east-2"
# Dollars an hour of a whole instance. A capacity block is bought by the day; spot and on-demand prices are the user's to set.
LISTED: Final = {"trn2.48xlarge": 35.7608, "trn2.3xlarge": 2.235}


def price_of(instance: str | None, setting: float) -> Price | None:
    """None where neither the setting nor the list knows it."""
    if setting > 0:
        return Price(setting, "the setting price_per_hour")
    listed = LISTED.get(instance or "")
    return Price(listed, f"{instance}, {_LIST}; set price_per_hour for yours") if listed else None
