"""Writing log and events: a full disk, a limit, and processes that write whatever they like."""

from __future__ import annotations

import json
import os
import resource
import signal
import time
from pathlib import Path

import pytest

from trnui_runner.run_folder.event_log import LINE, PIECE, Appender, Merger
from trnui_runner.run_folder.events import Event, ForwardEvent


@pytest.fixture
def merger(tmp_path: Path) -> Merger:
    (tmp_path / "events").mkdir()
    return Merger(tmp_path, time.monotonic() - 100.0)


def tell(merger: Merger, pid: int, *lines: object) -> None:
    with open(merger.folder / f"{pid}.jsonl", "ab") as file:
        for line in lines:
            file.write(line if isinstance(line, bytes) else json.dumps(line).encode() + b"\n")


def names(events: list[Event]) -> list[str]:
    return [e.raw["event"] for e in events]


def test_events_of_all_processes_in_order_each_line_once(merger: Merger) -> None:
    now = time.monotonic()
    tell(merger, 1, {"event": "a", "m": now - 3}, {"event": "c", "m": now - 1})
    tell(merger, 2, {"event": "b", "m": now - 2, "rank": 5})
    found = merger.merge()
    assert names(found) == ["a", "b", "c"]
    assert [round(e.raw["s"]) for e in found] == [97, 98, 99]
    assert [(e.raw["pid"], e.raw["rank"], e.raw["src"]) for e in found] == [
        (1, None, "rank"),
        (2, 5, "rank"),
        (1, None, "rank"),
    ]
    assert merger.merge() == []
    assert [json.loads(line)["event"] for line in (merger.folder.parent / "events.jsonl").read_text().splitlines()] == [
        "a",
        "b",
        "c",
    ]


def test_without_a_monotonic_stamp_the_time_of_day_is_used_within_reason(merger: Merger) -> None:
    tell(
        merger,
        1,
        {"event": "a", "t": time.time() - 5},
        {"event": "b", "t": time.time() + 1e6},
        {"event": "c", "t": 5.0},
        {"event": "d"},
    )
    found = merger.merge()
    assert names(found) == ["a", "b", "c", "d"]
    assert round(found[0].raw["s"]) == 95
    assert all(95 <= e.raw["s"] <= 101 for e in found)


def test_time_does_not_turn_back(merger: Merger) -> None:
    late = merger.tell(ForwardEvent(1)).raw["s"]
    tell(merger, 1, {"event": "a", "m": time.monotonic() - 50})
    assert (merger.merge()[0].s or 0.0) >= late


def test_half_a_line_waits(merger: Merger) -> None:
    tell(merger, 1, b'{"event": "a"')
    assert merger.merge() == []
    tell(merger, 1, b"}\n")
    assert names(merger.merge()) == ["a"]


@pytest.mark.parametrize(
    "line",
    [
        b"no json\n",
        b"[]\n",
        b"{}\n",
        b'{"event": "a", "t": "x"}\n',
        b"\xff\xfe\n",
        b"[" * 5000 + b"\n",
        b'{"event": "' + b"x" * LINE + b'"}\n',
    ],
    ids=["text", "list", "no event", "odd time", "not UTF-8", "deep", "long"],
)
def test_what_is_no_event_is_counted(merger: Merger, line: bytes) -> None:
    tell(merger, 1, line, {"event": "good"})
    assert names(merger.merge()) == ["good"]
    assert merger.bad == 1


def test_an_endless_line_costs_no_memory_and_hides_nothing_behind_it(merger: Merger) -> None:
    tell(merger, 1, b"x" * (3 * PIECE), b"\n", {"event": "good"})
    found: list[str] = []
    for _ in range(6):
        found += names(merger.merge())
    assert found == ["good"]


def test_only_regular_files_of_the_folder_are_read(merger: Merger, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text('{"event": "secret"}\n')
    os.symlink(tmp_path / "secret", merger.folder / "1.jsonl")
    os.mkfifo(merger.folder / "2.jsonl")
    (merger.folder / "3.jsonl").mkdir()
    (merger.folder / "x.jsonl").write_text('{"event": "x"}\n')
    assert merger.merge() == []


@pytest.mark.parametrize("name", ["result", "step", "check", "diagnosis", "compilers"])
def test_a_process_cannot_tell_what_is_not_its_own(merger: Merger, name: str) -> None:
    tell(merger, 1, {"event": name, "outcome": "PASS"})
    found = merger.merge()
    assert names(found) == ["notice"]
    assert "outcome" not in found[0]


def test_the_check_is_heard_from_the_check_step_alone(merger: Merger) -> None:
    merger.judge = 2
    tell(merger, 1, {"event": "check", "outcome": "PASS"})
    tell(merger, 2, {"event": "check", "outcome": "FAIL"})
    assert [(e.raw["event"], e.raw.get("outcome")) for e in merger.merge() if e.raw["event"] == "check"] == [
        ("check", "FAIL")
    ]


def test_full_disk_is_counted_and_said_once_there_is_room(tmp_path: Path) -> None:
    """A limit on the size of files stands in for the full disk."""
    log = Appender(tmp_path / "log")
    usual = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (10, usual[1]))
        log.write(b"0123456789abcdef")
        assert (log.size, log.lost) == (10, 6)
        log.write(b"more")
        assert log.lost == 10
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, usual)
        signal.signal(signal.SIGXFSZ, handler)
    log.write(b"after")
    text = (tmp_path / "log").read_bytes()
    assert text.startswith(b"0123456789\n[trnui: 10 bytes not kept here: ")
    assert text.endswith(b"]\nafter")


def test_folder_gone_loses_output_but_raises_nothing(tmp_path: Path) -> None:
    log = Appender(tmp_path / "gone" / "log")
    log.write(b"abc")
    assert log.lost == 3
    assert Merger(tmp_path / "gone", time.monotonic()).merge() == []


# -- bombs: whatever a run's processes write there, one look and one run have an end


def looks(merger: Merger, most: float) -> list[Event]:
    """Looks until nothing is left; each look takes a bounded time."""
    found: list[Event] = []
    end = time.monotonic() + most
    while True:
        began = time.monotonic()
        found += merger.merge()
        assert time.monotonic() - began < 3.0, "one look took too long"
        if not merger.more:
            return found
        assert time.monotonic() < end, "it has no end"


def test_newlines_under_hundreds_of_names(tmp_path: Path) -> None:
    (tmp_path / "events").mkdir()
    for pid in range(1, 400):
        (tmp_path / "events" / f"{pid}.jsonl").write_bytes(b"\n" * (1 << 20))
    merger = Merger(tmp_path, time.monotonic())
    found = looks(merger, 30)
    assert [e.raw["kind"] for e in found] == ["limit"]
    assert merger.merge() == [], "told once"


def test_a_sparse_file_of_20_gigabytes(tmp_path: Path) -> None:
    (tmp_path / "events").mkdir()
    for pid in range(1, 20):
        with open(tmp_path / "events" / f"{pid}.jsonl", "wb") as file:
            file.truncate(20 << 30)
    found = looks(Merger(tmp_path, time.monotonic()), 30)
    assert [e.raw["kind"] for e in found if e.raw["event"] == "notice"] == ["limit"]


def test_more_events_than_anybody_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trnui_runner.run_folder.event_log.RUN_EVENTS", 30_000)
    (tmp_path / "events").mkdir()
    (tmp_path / "events" / "7.jsonl").write_bytes(b'{"event":"forward","n":1}\n' * 60_000)
    found = looks(Merger(tmp_path, time.monotonic()), 30)
    assert 30_000 <= len(found) < 60_000
    assert "the rest is not read" in found[-1].raw["text"]


def test_lines_that_are_none_and_names_without_end(tmp_path: Path) -> None:
    (tmp_path / "events").mkdir()
    for pid in range(1, 3000):
        (tmp_path / "events" / f"{pid}.jsonl").write_bytes(b"x\n" * 20 + b"[" * 3000 + b"\n")
    (tmp_path / "events" / "5.jsonl").write_bytes(b"x\n" * 500_000)
    merger = Merger(tmp_path, time.monotonic())
    assert looks(merger, 30) == []
    assert merger.bad < 1024 * 21 + 2000
