"""The few bytes of Thrift that say how large a file is and whether its pages are whole, at their edges."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from trnui.catalog.dataset.checksums import (
    damaged_pages,
    digest_differs,
    footer_of,
    has_page_checksums,
    page_header,
)

TABLE = pa.table({"a": [1, 2, 3], "b": ["x", None, "z"]})


def written(path: Path, **more: object) -> Path:
    pq.write_table(TABLE, path, **more)
    return path


@pytest.mark.parametrize(
    ("data", "wanted"),
    [
        (b"\x00", {}),
        (b"\x15\x00\x00", {1: 0}),  # i32, zigzag
        (b"\x15\x01\x00", {1: -1}),
        (b"\x15\x02\x00", {1: 1}),
        (b"\x15\xac\x02\x00", {1: 150}),  # two bytes
        (b"\x15" + b"\xff" * 9 + b"\x01\x00", {1: -(1 << 63)}),  # the most that 64 bits hold
        (b"\x35\x02\x15\x04\x00", {3: 1, 4: 2}),  # a step of three, then of one
        (b"\x05\x10\x02\x00", {8: 1}),  # a long number of a field
        (b"\x11\x15\x02\x00", {2: 1}),  # true, in its type
        (b"\x12\x15\x02\x00", {2: 1}),
        (b"\x13\xff\x15\x02\x00", {2: 1}),  # a byte
        (b"\x17" + b"\xff" * 8 + b"\x15\x02\x00", {2: 1}),  # a double
        (b"\x18\x02\xff\xff\x15\x02\x00", {2: 1}),  # a text
        (b"\x19\x25\x02\x04\x15\x02\x00", {2: 1}),  # a list of two numbers
        (b"\x19\xf5\x10" + b"\x02" * 16 + b"\x15\x02\x00", {2: 1}),  # of sixteen
        (b"\x19\x31\x01\x02\x01\x15\x02\x00", {2: 1}),  # of three truths
        (b"\x1c\x15\x02\x00\x15\x02\x00", {2: 1}),  # a structure in it
        (b"\x1c\x05\x10\x02\x00\x15\x02\x00", {2: 1}),  # with a long number of a field
    ],
)
def test_a_structure_is_walked_to_its_end(data: bytes, wanted: dict[int, int]) -> None:
    assert page_header(data, 0) == (wanted, len(data))
    assert page_header(b"???" + data + b"!", 3) == (wanted, len(data) + 3)


@pytest.mark.parametrize("data", [b"\x15" + b"\x80" * 10 + b"\x01\x00", b"\x1b\x00", b"\x1c" * 12 + b"\x00" * 13])
def test_what_no_header_can_hold_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"64 bits|type 11|nested"):
        page_header(data, 0)


def test_a_structure_may_be_nested_eight_deep_and_no_deeper() -> None:
    assert page_header(b"\x1c" * 9 + b"\x00" * 10, 0) == ({}, 19)
    with pytest.raises(ValueError, match="nested too deep"):
        page_header(b"\x1c" * 10 + b"\x00" * 11, 0)


@pytest.mark.parametrize("cut", [1, 2, 3])
def test_a_structure_that_is_cut_off_is_no_structure(cut: int) -> None:
    with pytest.raises(IndexError):
        page_header(b"\x15\xac\x02\x00"[:cut], 0)


@pytest.mark.parametrize(("rows", "groups"), [(1, 1), (3, 1), (3, 3), (300, 20)])
def test_the_footer_says_rows_columns_and_bytes(rows: int, groups: int, tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    pq.write_table(pa.table({"a": list(range(rows))}), path, row_group_size=rows // groups)
    footer, whole = footer_of(path), pq.read_metadata(path)
    assert footer is not None
    assert (footer.rows, footer.size) == (rows, path.stat().st_size)
    assert footer.unpacked == sum(whole.row_group(n).total_byte_size for n in range(groups))
    other = tmp_path / "y.parquet"
    pq.write_table(pa.table({"a": [7]}), other)
    same = footer_of(other)
    assert same is not None
    assert same.schema == footer.schema


@pytest.mark.parametrize("data", [b"", b"PAR1", b"PAR1\x00\x00\x00\x00PAR1", b"PAR1\x01\x00\x00\x00PARX", b"PAR1\xff\xff\xff\x7fPAR1", b"PAR1\x00\x01\x00\x00\x00PAR1"])  # fmt: skip
def test_what_is_no_parquet_file_has_no_footer(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    path.write_bytes(data)
    assert footer_of(path) is None
    assert not has_page_checksums(path)


def test_pages_have_checksums_where_the_writer_made_them(tmp_path: Path) -> None:
    assert has_page_checksums(written(tmp_path / "with.parquet", write_page_checksum=True)) is True
    assert has_page_checksums(written(tmp_path / "without.parquet")) is False


def test_each_page_that_is_not_as_it_was_written_is_counted(tmp_path: Path) -> None:
    path = written(tmp_path / "x.parquet", write_page_checksum=True, use_dictionary=False, compression="none")
    group = pq.read_metadata(path).row_group(0)
    chunks = [(group.column(n).data_page_offset, group.column(n).total_compressed_size) for n in range(2)]
    assert damaged_pages(path, chunks) == 0
    data = bytearray(path.read_bytes())
    data[sum(chunks[0]) - 1] ^= 1
    path.write_bytes(data)
    assert damaged_pages(path, chunks) == 1
    data[sum(chunks[1]) - 1] ^= 1
    path.write_bytes(data)
    assert damaged_pages(path, chunks) == 2
    assert damaged_pages(path, [(len(data) - 4, 100)]) >= 1, "a chunk that ends behind the file"


@pytest.mark.parametrize("digest", ["sha256", "git"])
def test_a_blob_is_what_it_is_called_after(digest: str, tmp_path: Path) -> None:
    data = b"x" * ((1 << 20) + 7)
    name = hashlib.sha256(data).hexdigest() if digest == "sha256" else hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()  # fmt: skip
    blob = tmp_path / "blobs" / name
    blob.parent.mkdir()
    blob.write_bytes(data)
    link = tmp_path / "x.parquet"
    link.symlink_to(blob)
    assert digest_differs(link) is False
    blob.write_bytes(data[:-1] + b"y")
    assert digest_differs(link) is True
    elsewhere = tmp_path / name
    elsewhere.write_bytes(b"y")
    assert digest_differs(elsewhere) is False, "only files of a snapshot are called after their digest"
