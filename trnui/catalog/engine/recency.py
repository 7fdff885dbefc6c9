"""Which row speaks for a model on a stack where it has several: one rule for lists, rankings, comparisons and pages."""

from __future__ import annotations

from typing import Final

RECENCY: Final = "(coalesce(epoch_us(r.tested_at), -1), r.rowid)"
"""What makes a row of a model on a stack newer than another one: its time, then its place in the files."""


def newest_rows(condition: str = "") -> str:
    """SQL of the newest row of every model on every stack; of equally new ones, or where none names its time, the one that
    the files have last. With `row`, its rowid. `condition` is over `r`."""
    where = f" WHERE {condition}" if condition else ""
    pair = "p.neuronx_cc, p.library, p.library_version"
    return (
        f"(SELECT r.*, r.rowid AS row FROM r JOIN s p ON p.id = r.stack{where} "
        f"QUALIFY row_number() OVER (PARTITION BY r.lower_id, {pair} ORDER BY {RECENCY} DESC) = 1)"
    )
