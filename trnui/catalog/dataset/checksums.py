"""Whether a file's bytes are the ones that were written, where anything says so: the Hub's digest, or the file's page checksums.

DuckDB reads a page with a flipped bit without a word when the compression does not notice, and a wrong result would be
shown as a right one. A file of a Hub snapshot is called after its digest; other files may carry a CRC a page.
"""

from __future__ import annotations

import os
import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_BLOB = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_MAGIC: Final = b"PAR1"
_BLOCK: Final = 1 << 20
_COMPRESSED, _CRC = 3, 4  # fields of a page header
_NUM_ROWS = 3  # field of the footer
_ROW_GROUPS: Final = 0x19  # the next field of the footer, and that it is a list
_TOTAL_BYTES = 2  # field of a row group


def digest_differs(path: Path) -> bool:
    """Whether a file of a Hub snapshot (a link to `blobs/<digest>`) is not what its name says. Raises OSError."""
    real = Path(os.path.realpath(path))
    if real.parent.name != "blobs" or not _BLOB.fullmatch(real.name):
        return False
    import hashlib

    with real.open("rb") as file:
        if len(real.name) == 64:
            return hashlib.file_digest(file, "sha256").hexdigest() != real.name
        git = hashlib.sha1(f"blob {real.stat().st_size}\0".encode(), usedforsecurity=False)
        while block := file.read(_BLOCK):
            git.update(block)
        return git.hexdigest() != real.name


def has_page_checksums(path: Path) -> bool:
    """As its first page says. Raises OSError."""
    with path.open("rb") as file:
        head = file.read(256)
    if not head.startswith(_MAGIC):
        return False
    try:
        fields, _ = page_header(head, len(_MAGIC))
    except (IndexError, ValueError):
        return False
    return _CRC in fields


def damaged_pages(path: Path, chunks: Sequence[tuple[int, int]]) -> int:
    """How many pages of the column chunks (offset, bytes) do not have their checksum, or cannot be walked. Raises OSError."""
    damaged = 0
    with path.open("rb") as file:
        for offset, size in chunks:
            file.seek(offset)
            data = file.read(size)
            at = 0
            while at < len(data):
                try:
                    fields, body = page_header(data, at)
                    length = fields[_COMPRESSED]
                    if length < 0 or body + length > len(data):
                        raise ValueError
                except (IndexError, KeyError, ValueError):
                    damaged += 1
                    break
                at = body + length
                if _CRC not in fields or zlib.crc32(data[body:at]) != fields[_CRC] & 0xFFFFFFFF:
                    damaged += 1
            damaged += len(data) != size
    return damaged


@dataclass(frozen=True)
class Footer:
    """What a file says of itself: `schema` are the bytes that hold its columns, the same bytes for the same columns;
    `unpacked`: bytes of its columns without their compression; `size`: of the file."""

    schema: bytes
    rows: int
    unpacked: int
    size: int


def footer_of(path: Path) -> Footer | None:
    """None when it cannot be read so simply. Twenty times as quick as asking DuckDB. Raises OSError."""
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - 8))
        tail = file.read(8)
        length = int.from_bytes(tail[:4], "little")
        if tail[4:] != _MAGIC or not 0 < length <= size - 12:
            return None
        file.seek(size - 8 - length)
        footer = file.read(length)
    try:
        fields, end = page_header(footer, 0, last=_NUM_ROWS)
        rows = fields[_NUM_ROWS]
        unpacked = _unpacked(footer, end)
    except (IndexError, KeyError, ValueError):
        return None
    start = end - 1  # of the number of rows, whose bytes but the last have their highest bit set; the schema ends there
    while footer[start - 1] & 0x80:
        start -= 1
    return Footer(footer[:start], rows, unpacked, size)


def _unpacked(footer: bytes, at: int) -> int:
    """Bytes of all row groups, whose list follows the number of rows. Raises IndexError, KeyError, ValueError."""
    if footer[at] != _ROW_GROUPS:
        return 0
    byte = footer[at + 1]
    at, count = at + 2, byte >> 4
    if count == 15:
        count, at = _varint(footer, at)
    total = 0
    for _ in range(count):
        fields, at = page_header(footer, at)
        total += fields[_TOTAL_BYTES]
    return total


def page_header(data: bytes, at: int, last: int | None = None) -> tuple[dict[int, int], int]:
    """The integer fields of the Thrift structure at `at`, and where it ends (or where field `last` does).
    Raises IndexError, ValueError."""
    fields: dict[int, int] = {}
    number = 0
    while True:
        byte = data[at]
        at += 1
        if byte == 0:
            return fields, at
        kind, step = byte & 0x0F, byte >> 4
        if step:
            number += step
        else:
            number, at = _zigzag(data, at)
        if kind in (4, 5, 6):
            fields[number], at = _zigzag(data, at)
            if number == last:
                return fields, at
        else:
            at = _skip(data, at, kind, 0)


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
        if shift > 63:
            raise ValueError("a number of more than 64 bits")


def _zigzag(data: bytes, at: int) -> tuple[int, int]:
    value, at = _varint(data, at)
    return (value >> 1) ^ -(value & 1), at


def _skip(data: bytes, at: int, kind: int, depth: int) -> int:
    """Behind a value of the compact protocol that is of no interest here."""
    if depth > 8:
        raise ValueError("nested too deep")
    if kind in (1, 2):  # true, false: in the type itself
        return at
    if kind == 3:
        return at + 1
    if kind in (4, 5, 6):
        return _varint(data, at)[1]
    if kind == 7:
        return at + 8
    if kind == 8:
        length, at = _varint(data, at)
        return at + length
    if kind in (9, 10):
        byte = data[at]
        at += 1
        count, inner = byte >> 4, byte & 0x0F
        if count == 15:
            count, at = _varint(data, at)
        for _ in range(count):
            at = at + 1 if inner in (1, 2) else _skip(data, at, inner, depth + 1)
        return at
    if kind == 12:
        while data[at]:
            byte = data[at]
            at += 1
            if not byte >> 4:
                at = _varint(data, at)[1]
            at = _skip(data, at, byte & 0x0F, depth + 1)
        return at + 1
    raise ValueError(f"type {kind} in a page header")
