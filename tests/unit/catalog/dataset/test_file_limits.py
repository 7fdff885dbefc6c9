"""A few kilobytes that stand for gigabytes are refused by what their footer says, or cut; the other files load."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.datasets import parquet, row
from trnui.catalog.dataset.checksums import footer_of
from trnui.catalog.dataset.file_limits import LONGEST, beyond
from trnui.catalog.dataset.own_results import arrow_schema
from trnui.catalog.engine.database import Database

LISTED = """
import sys
from pathlib import Path
from trnui.catalog.dataset.snapshot import resolve
from trnui.catalog.engine.catalog import Catalog
from trnui.catalog.query import Query
catalog = Catalog(resolve(sys.argv[1]))
print(catalog.rows(Query(limit=1)).count, *[p.words for p in catalog.problems], sep="|")
print(next(line.split()[1] for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM")))
"""


def repeated(value: str, count: int) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(pa.array([0] * count, pa.int32()), pa.array([value]))


def table(count: int, **columns: pa.Array) -> pa.Table:
    usual = {"model_id": repeated("org/a", count), "result": repeated("PASS", count)}
    return pa.table(usual | columns)


BOMBS = {
    "a script of 400 MB": (lambda: table(50, run_py=pa.array(["b" * (8 << 20)] * 50, pa.large_string())), "would unpack to 400"),
    "an error of 400 MB": (lambda: table(50, error=pa.array(["b" * (8 << 20)] * 50, pa.large_string())), "would unpack to 400"),
    "two million rows": (lambda: table(2_000_000), "says that it holds 2,000,000 rows in"),
    "names of 1 MB that are one": (lambda: table(2000, model_id=repeated("o/" + "a" * (1 << 20), 2000)), ""),
    "versions of 1 MB that are one": (lambda: table(2000, neuronx_cc=repeated("2." + "1" * (1 << 20), 2000)), ""),
}  # fmt: skip


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_is_named_or_cut_and_takes_no_other_file_with_it(name: str, tmp_path: Path) -> None:
    make, words = BOMBS[name]
    pq.write_table(make(), tmp_path / "bomb.parquet", compression="zstd", use_dictionary=not words.startswith("would"), write_statistics=False, row_group_size=1 << 22)  # fmt: skip
    assert (tmp_path / "bomb.parquet").stat().st_size < 100_000
    (tmp_path / "fine.parquet").write_bytes(parquet([row("org/fine")]))
    done = subprocess.run([sys.executable, "-c", LISTED, str(tmp_path)], capture_output=True, text=True, timeout=60)
    said, peak = done.stdout.splitlines()
    assert int(peak) < 260 << 10, done.stdout  # KiB
    count, *problems = said.split("|")
    if words:
        (problem,) = problems
        assert problem.startswith(words)
        assert problem.endswith(": left out")
        assert count == "1"
    else:
        assert not problems
        assert int(count) in (1, 2001)


def test_what_is_published_is_far_from_every_limit(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    rows = [row(f"org/m{n}", run_py="# a script\n" + "print(1)\n" * 400) for n in range(500)]
    path.write_bytes(parquet(rows))
    footer = footer_of(path)
    assert footer is not None
    assert (footer.rows, footer.size) == (500, path.stat().st_size)
    metadata = pq.read_metadata(path)
    groups = [metadata.row_group(n) for n in range(metadata.num_row_groups)]
    assert footer.unpacked == sum(g.total_byte_size for g in groups)
    assert beyond(footer) is None


def test_several_row_groups_are_added_up(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    pq.write_table(pa.Table.from_pylist([row(f"org/{n}") for n in range(90)], schema=arrow_schema()), path, row_group_size=5)  # fmt: skip
    metadata = pq.read_metadata(path)
    footer = footer_of(path)
    assert footer is not None
    assert footer.unpacked == sum(metadata.row_group(n).total_byte_size for n in range(18))


def test_a_name_without_end_is_cut_and_its_row_opens(tmp_path: Path) -> None:
    from trnui.catalog.dataset.snapshot import resolve
    from trnui.catalog.engine.catalog import Catalog
    from trnui.catalog.query import Query

    (tmp_path / "x.parquet").write_bytes(parquet([row("org/" + "a" * 5000)]))
    catalog = Catalog(resolve(str(tmp_path)))
    table = catalog.rows(Query(), ("model_id",))
    assert len(str(table.rows[0][0])) == LONGEST
    assert catalog.detail(table.ids[0]).values["run_py"]
    catalog.connection.close()


def test_a_file_that_goes_while_it_is_read_is_one_named_problem(tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        (tmp_path / f"{name}.parquet").write_bytes(parquet([row(f"org/{name}")]))
    files = sorted(tmp_path.glob("*.parquet"))
    database = Database(files)
    database.open()
    files[1].unlink()
    database.load()
    assert database.rows == 2
    assert [(p.file, p.words) for p in database.problems] == [
        ("b.parquet", "cannot be read: No such file or directory")
    ]
    database.connection.close()
