"""Damaged files by the hundred: no crash, and no row that is silently wrong.

A flipped bit inside a page changes a value without a trace unless something holds a checksum: the Hub's digest in a
snapshot, or CRCs in the pages. With neither, nobody can know; such files are not promised anything but that nothing crashes.
"""

from __future__ import annotations

import hashlib
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.datasets import OLD, row
from trnui.catalog.dataset.own_results import arrow_schema
from trnui.catalog.engine.database import Database

MANY = 200


def original(path: Path, **more: Any) -> bytes:
    """120 rows in three row groups, with scripts, errors and exclusions."""
    rng = random.Random(5)
    rows = [
        row(f"org/Model-{n}", rng.choice(["PASS", "FAIL"]), OLD, tp=rng.choice([1, 4]), wall_s=n * 7, hbm_peak_gb=n / 3, error=rng.choice([None, f"error {n}"]),
            exclusion=rng.choice([None, None, "low priority"]), run_py=f"# script {n}\n" + "print(1)\n" * 40)
        for n in range(120)
    ]  # fmt: skip
    pq.write_table(pa.Table.from_pylist(rows, schema=arrow_schema()), path, row_group_size=40, **more)
    return path.read_bytes()


def flipped(data: bytes, rng: random.Random) -> bytes:
    at = rng.randrange(len(data))
    return data[:at] + bytes([data[at] ^ 1 << rng.randrange(8)]) + data[at + 1 :]


def flipped_in_footer(data: bytes, rng: random.Random) -> bytes:
    footer = int.from_bytes(data[-8:-4], "little") + 8
    at = rng.randrange(len(data) - footer, len(data))
    return data[:at] + bytes([data[at] ^ 1 << rng.randrange(8)]) + data[at + 1 :]


def cut(data: bytes, rng: random.Random) -> bytes:
    return data[: rng.randrange(len(data))]


def hole(data: bytes, rng: random.Random) -> bytes:
    at, size = rng.randrange(len(data)), rng.randrange(1, 512)
    return data[:at] + bytes(len(data[at : at + size])) + data[at + size :]


def swapped(data: bytes, rng: random.Random) -> bytes:
    """Two pages change places (one column of two row groups), as a disk or a client that mixes up blocks would do it."""
    meta = pq.ParquetFile(pa.BufferReader(data)).metadata
    column = rng.randrange(meta.num_columns)
    first, second = (meta.row_group(g).column(column) for g in rng.sample(range(meta.num_row_groups), 2))
    spans = sorted((c.dictionary_page_offset or c.data_page_offset, c.total_compressed_size) for c in (first, second))
    (a, n), (b, m) = spans
    return data[:a] + data[b : b + m] + data[a + n : b] + data[a : a + n] + data[b + m :]


def swapped_blocks(data: bytes, rng: random.Random) -> bytes:
    """Two blocks of 64 bytes change places, wherever they are."""
    a, b = sorted(rng.sample(range(0, len(data) - 64, 64), 2))
    return data[:a] + data[b : b + 64] + data[a + 64 : b] + data[a : a + 64] + data[b + 64 :]


Mutation = Callable[[bytes, random.Random], bytes]
ALL: tuple[Mutation, ...] = (flipped, flipped_in_footer, cut, hole, swapped, swapped_blocks)


def rows(path: Path) -> tuple[list[tuple[Any, ...]], tuple[Any, ...]]:
    database = Database([path])
    con = database.open()
    database.load()
    found = con.execute(
        "SELECT r.* EXCLUDE (file, stack), s.* EXCLUDE (id) FROM r JOIN s ON s.id = r.stack ORDER BY line"
    ).fetchall()
    con.close()
    return found, database.problems


def outcomes(
    path: Path, place: Callable[[bytes], Path], data: bytes, mutations: tuple[Mutation, ...], seed: int
) -> Counter[str]:
    good, problems = rows(place(data))
    assert len(good) == 120
    assert not problems
    rng = random.Random(seed)
    found: Counter[str] = Counter()
    for n in range(MANY):
        mutation = mutations[n % len(mutations)]
        changed = mutation(data, rng)
        if changed == data:
            found["unchanged"] += 1
            continue
        got, problems = rows(place(changed))
        word = "named" if problems else "same" if got == good else "WRONG"
        found[f"{word} {mutation.__name__}" if word == "WRONG" else word] += 1
    print(dict(found))
    return found


def wrong(found: Counter[str]) -> list[str]:
    return [word for word in found if word.startswith("WRONG")]


def test_in_a_hub_snapshot_every_damage_is_found(tmp_path: Path) -> None:
    data = original(tmp_path / "original.parquet")
    blob = tmp_path / "blobs" / hashlib.sha256(data).hexdigest()
    link = tmp_path / "snapshots" / "c0ffee" / "data.parquet"
    link.parent.mkdir(parents=True)
    blob.parent.mkdir()
    link.symlink_to(blob)

    def place(content: bytes) -> Path:
        blob.write_bytes(content)
        return link

    found = outcomes(tmp_path, place, data, ALL, 1)
    assert wrong(found) == []
    assert found["same"] == 0
    assert found["named"] + found["unchanged"] == MANY


def test_small_files_of_a_snapshot_are_called_by_gits_digest(tmp_path: Path) -> None:
    from trnui.catalog.dataset.checksums import digest_differs

    data = b"x" * 3_000_000
    blob = tmp_path / "blobs" / hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()
    blob.parent.mkdir()
    blob.write_bytes(data)
    assert not digest_differs(blob)
    blob.write_bytes(data[:-1] + b"y")
    assert digest_differs(blob)
    other = tmp_path / "other" / blob.name
    other.parent.mkdir()
    other.write_bytes(b"")
    assert not digest_differs(other)


@pytest.mark.parametrize("compression", ["none", "snappy", "zstd"])
def test_with_page_checksums_no_row_is_silently_wrong(tmp_path: Path, compression: str) -> None:
    data = original(tmp_path / "original.parquet", compression=compression, write_page_checksum=True)
    file = tmp_path / "data.parquet"

    def place(content: bytes) -> Path:
        file.write_bytes(content)
        return file

    found = outcomes(tmp_path, place, data, (flipped, flipped_in_footer, cut, hole, swapped_blocks), 2)
    assert wrong(found) == []
    assert found["named"] > MANY / 3


def test_without_any_checksum_nothing_crashes_and_what_is_noticed_is_named(tmp_path: Path) -> None:
    data = original(tmp_path / "original.parquet")
    file = tmp_path / "data.parquet"

    def place(content: bytes) -> Path:
        file.write_bytes(content)
        return file

    found = outcomes(tmp_path, place, data, ALL, 3)
    assert found["named"] > MANY / 3
