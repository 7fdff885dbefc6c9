"""What a file may ask of this machine: a few kilobytes of Parquet can stand for gigabytes of text or millions of rows.

Its footer says so before anything is unpacked. Where a footer lies, the memory that DuckDB may take is the limit
(engine/database.MEMORY); a text that a list holds is cut at LONGEST characters, since one that repeats costs a file nothing.
"""

from __future__ import annotations

from typing import Final

from trnui.catalog.dataset.checksums import Footer
from trnui_runner.common.text import size

UNPACKED: Final = 256 << 20  # bytes from which the ratio below is asked for
RATIO: Final = 500  # times its own size that a file may unpack to: published ones do 10 to 30 times
FEW_ROWS: Final = 50_000  # rows from which a row must take at least a byte
MOST_ROWS: Final = 10_000_000  # of one file
LONGEST: Final = 1_000  # characters of a name, a version or a word; names on the Hub have at most 193


def beyond(footer: Footer) -> str | None:
    """Why a file is not loaded, for a person; None for one that may be."""
    if footer.rows > MOST_ROWS or footer.rows > max(FEW_ROWS, footer.size):
        return f"says that it holds {footer.rows:,} rows in {size(footer.size)}, which is no table of results: left out"
    if footer.unpacked > max(UNPACKED, RATIO * footer.size):
        return (
            f"would unpack to {size(footer.unpacked)} from {size(footer.size)}, more than this program takes: left out"
        )
    return None
