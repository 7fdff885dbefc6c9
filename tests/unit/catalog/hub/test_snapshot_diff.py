"""What a refresh brought, in words; files that did not change are not read."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest

from tests.datasets import NEW, OLD, parquet, row
from trnui.catalog.dataset.snapshot import FetchRecord
from trnui.catalog.engine.database import Database
from trnui.catalog.hub.snapshot_diff import changes


def record(root: Path, sha: str, **files: list[dict[str, Any]]) -> FetchRecord:
    """A commit in a cache: blobs by content, links to them; `a_b` is the file `a/b.parquet`."""
    sizes = []
    for key, rows in files.items():
        name = key.replace("__", "/") + ".parquet"
        body = parquet(rows)
        blob = root / "blobs" / hashlib.sha256(body).hexdigest()
        link = root / "snapshots" / sha / name
        for path in (blob, link):
            path.parent.mkdir(parents=True, exist_ok=True)
        blob.write_bytes(body)
        link.symlink_to(blob)
        sizes.append((name, len(body)))
    return FetchRecord("a/b", "x", sha, 0.0, 0.0, str(root / "snapshots" / sha), tuple(sizes))


def test_only_what_changed_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    steady = {f"steady__{n}": [row(f"o/s{n}")] for n in range(20)}
    before = record(tmp_path, "a", **steady, changing=[row("o/m", "PASS"), row("o/gone", "PASS")])
    after = record(tmp_path, "b", **steady, changing=[row("o/m", "FAIL"), row("o/new", "PASS")])
    read: list[str] = []
    load = Database.load

    def counted(self: Database, *args: Any) -> None:
        read.extend(self.names)
        load(self, *args)

    monkeypatch.setattr(Database, "load", counted)
    assert changes(before, after).words() == "1 new row, 1 row gone, 1 changed result"
    assert read == ["changing.parquet", "changing.parquet"]


def test_a_stack_that_another_file_has_already_is_not_new(tmp_path: Path) -> None:
    before = record(tmp_path, "a", first=[row("o/m", "PASS", NEW)])
    after = record(tmp_path, "b", first=[row("o/m", "PASS", NEW)], second=[row("o/n", "PASS", NEW), row("o/n", "PASS", OLD)])  # fmt: skip
    assert changes(before, after).words() == f"2 new rows, new stack {OLD.short}"


def test_a_first_snapshot_and_one_whose_files_are_gone(tmp_path: Path) -> None:
    before = record(tmp_path, "a", first=[row("o/m", "PASS", NEW)])
    after = record(tmp_path, "b", first=[row("o/m", "FAIL", NEW)])
    assert changes(None, after).words() == "1 row, 1 stack"
    (Path(before.folder) / "first.parquet").unlink()
    assert changes(before, after).words() == "1 row, 1 stack"
