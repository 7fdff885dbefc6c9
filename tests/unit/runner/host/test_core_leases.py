"""Leases that somebody has tampered with: nothing outside is touched, nothing waits for ever, a free core can be had."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from trnui_runner.host import core_leases
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


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def test_a_lease_refused_or_given_back_leaves_nothing_open(tmp_path: Path) -> None:
    first = acquire([1], "a", tmp_path)
    assert first is not None
    before = descriptors()
    for _ in range(3):
        assert acquire([0, 1, 2], "b", tmp_path) is None
    os.mkfifo(tmp_path / "core-5")
    other = acquire([4, 5], "c", tmp_path)
    assert other is not None
    assert descriptors() == before + 2
    other.release()
    assert descriptors() == before
    first.release()
    assert holders(tmp_path) == {}


def test_a_folder_that_cannot_be_written_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> int:
        raise PermissionError(errno.EACCES, "Permission denied", "core-1")

    monkeypatch.setattr(core_leases, "open_private", refused)
    with pytest.raises(PermissionError):
        acquire([1], "a", tmp_path)


def test_what_comes_back_as_often_as_it_is_taken_away_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "core-1").mkdir()
    monkeypatch.setattr(Path, "rmdir", lambda self: None)
    with pytest.raises(OSError):
        acquire([1], "a", tmp_path)


def test_holders_in_words_by_run(tmp_path: Path) -> None:
    one, two = acquire([0, 2], "20260101-a", tmp_path), acquire([3], "", tmp_path)
    assert held_by([3, 2, 1, 0], tmp_path) == "core 0, 2 by 20260101-a; core 3 by another run"
    assert held_by([1], tmp_path) == ""
    assert held_by([0, 1], tmp_path) == "core 0 by 20260101-a"
    for lease in (one, two):
        assert lease is not None
        lease.release()


def test_a_block_that_is_taken_meanwhile_is_skipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Request:
        def candidates(self, held: object) -> list[tuple[int, ...]]:
            return [(0, 1), (2, 3)]

    taken = acquire([1], "other", tmp_path)
    got = core_leases.acquire_block(Request(), "mine", tmp_path)  # type: ignore[arg-type]
    assert got is not None
    assert set(holders(tmp_path)) == {1, 2, 3}
    assert core_leases.acquire_block(Request(), "third", tmp_path) is None  # type: ignore[arg-type]
    for lease in (taken, got):
        assert lease is not None
        lease.release()
