"""Leases that somebody has tampered with: nothing outside is touched, nothing waits for ever, a free core can be had."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from trnui_runner.host.core_leases import acquire, held_by, holders


@pytest.mark.parametrize("way", ["a link", "a link to nothing", "a pipe", "a folder", "long", "escapes"])
def test_a_lease_that_is_no_lease(tmp_path: Path, way: str) -> None:
    folder, outside = tmp_path / "leases", tmp_path / "precious"
    folder.mkdir(mode=0o700)
    outside.write_text("precious")
    lease = folder / "core-3"
    if way.startswith("a link"):
        lease.symlink_to(outside if way == "a link" else tmp_path / "nothing")
    elif way == "a pipe":
        os.mkfifo(lease)
    elif way == "a folder":
        lease.mkdir()
    else:
        lease.write_bytes(b"x" * 100_000 if way == "long" else b"\x1b[2J\n\n\x9b31m")
    assert holders(folder) == {}
    got = acquire([2, 3], "20260101-000000-a-0000", folder)
    assert got is not None
    assert holders(folder) == {2: "20260101-000000-a-0000", 3: "20260101-000000-a-0000"}
    assert acquire([3, 4], "another", folder) is None
    assert outside.read_text() == "precious"
    assert not (tmp_path / "nothing").exists()
    got.release()


def test_what_a_holder_calls_itself_is_text(tmp_path: Path) -> None:
    got = acquire([1], "a\x1b[2Jb\nc", tmp_path)
    assert got is not None
    assert held_by([1], tmp_path) == "core 1 by ab c"
    got.release()


def test_names_that_are_no_core(tmp_path: Path) -> None:
    for name in ("core-", "core-x", "core--1", "core-1\n", "core-²", "x"):
        (tmp_path / name).touch()
    assert holders(tmp_path) == {}
