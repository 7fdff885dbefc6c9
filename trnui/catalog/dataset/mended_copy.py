"""A copy of a Parquet file that DuckDB refuses whole for the fault of one cell, or of a name, with that mended and said.

One byte that is no UTF-8 would cost a file of a thousand rows. The copy lies in the user's cache, called after the file's
path, size and time; rows keep their places in it.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

from trnui_runner.common.files import cache_dir, private_dir

if TYPE_CHECKING:
    import pyarrow as pa

LARGEST: Final = 256 << 20  # bytes of a file that is copied
TAKEN: Final = "file_row_number"  # DuckDB's own name for the place of a row
_NOT_TEXT: Final = ("is not valid UTF8", "Invalid string encoding")


def mended(path: Path, error: str) -> tuple[Path, str] | None:
    """The copy and what was mended; None where this error is of another kind, or the file cannot be copied."""
    not_text, name_taken = any(words in error for words in _NOT_TEXT), f'"{TAKEN}"' in error
    if not (not_text or name_taken):
        return None
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        state = path.stat()
        if state.st_size > LARGEST:
            return None
        table = pq.read_table(path)
        table, words = _with_text(table) if not_text else _renamed(table)
        if not words:
            return None
        key = f"{os.path.realpath(path)}\0{state.st_size}\0{state.st_mtime_ns}\0{words}"
        copy = private_dir(cache_dir() / "mended") / f"{hashlib.sha256(os.fsencode(key)).hexdigest()[:32]}.parquet"
        part = copy.with_suffix(f".{os.getpid()}.part")
        pq.write_table(table, part)
        os.replace(part, copy)
    except (OSError, pa.ArrowException):
        return None
    return copy, words


def _with_text(table: pa.Table) -> tuple[pa.Table, str]:
    """Every text column as UTF-8; a byte that is none becomes the replacement character."""
    import pyarrow as pa

    found: list[str] = []
    for place, field in enumerate(table.schema):
        if not (pa.types.is_string(field.type) or pa.types.is_large_string(field.type)):
            continue
        raw = table.column(place).cast(pa.large_binary())
        try:
            raw.cast(pa.large_string())
        except pa.ArrowInvalid:
            stored = raw.to_pylist()
            values = [None if v is None else v.decode("utf-8", "replace") for v in stored]
            broken = sum(v is not None and v.encode() != old for v, old in zip(values, stored, strict=True))
            found.append(f"{broken:,} {'value' if broken == 1 else 'values'} of {field.name}")
            table = table.set_column(place, field.name, pa.array(values, pa.large_string()))
    return table, f"{', '.join(found)} not UTF-8: � stands for what could not be read" if found else ""


def _renamed(table: pa.Table) -> tuple[pa.Table, str]:
    other = f"{TAKEN} (in the file)"
    names = [other if name.lower() == TAKEN else name for name in table.column_names]
    return table.rename_columns(names), f"its column {TAKEN} is shown as {other}: DuckDB keeps that name for itself"
