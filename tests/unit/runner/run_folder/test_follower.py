"""Following a run folder: cheap, bounded, from any size, and never half of anything."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import pytest

from tests.recorded import CANCELLED, GOING_ON, PASS, going_on, recorded
from trnui_runner.run_folder.folder import Result, RunFolder, State
from trnui_runner.run_folder.follower import Follower
from trnui_runner.run_folder.recipe import Recipe, new_id


def fresh() -> RunFolder:
    return RunFolder.create(Recipe(new_id("a/b"), "a/b"), b"")


def test_an_ended_run_is_read_in_one_look() -> None:
    with Follower(recorded(PASS)) as follower:
        update = follower.poll()
        assert (update.outcome, update.over) == ("PASS", True)
        assert update.result is not None
        assert follower.progress.tokens == 32
        assert follower.elapsed() == update.result.wall_s
        again = follower.poll()
        assert (again.events, again.log) == ((), b"")


def test_only_what_is_new_is_given() -> None:
    with going_on(GOING_ON) as run, Follower(run) as follower:
        first = follower.poll()
        assert first.outcome == "running"
        assert first.events
        with open(run.path / "output.log", "ab") as log:
            log.write(b"more\n")
        second = follower.poll()
        assert (second.events, second.log) == ((), b"more\n")
        assert second.offset == first.offset + len(first.log)


def test_half_a_line_of_events_waits_for_its_end() -> None:
    run = fresh()
    with Follower(run) as follower:
        line = b'{"s": 1.0, "event": "token", "n": 1, "text": "x", "rank": null}\n'
        (run.path / "events.jsonl").write_bytes(line[:20])
        assert follower.poll().events == ()
        (run.path / "events.jsonl").write_bytes(line)
        assert len(follower.poll().events) == 1
        assert follower.bad == 0


def test_torn_and_foreign_lines_are_left_out_and_counted() -> None:
    run = fresh()
    (run.path / "events.jsonl").write_bytes(b'[1]\n{"event": 3}\nnonsense\n\xff\n{"event": "exit", "pid": 1, "s": 2}\n')
    with Follower(run) as follower:
        assert [e.raw["event"] for e in follower.poll().events] == ["exit"]
        assert follower.bad == 4


def test_a_log_of_a_gigabyte_opens_at_its_end_at_once(tmp_path: Path) -> None:
    run = fresh()
    with open(run.path / "output.log", "wb") as log:
        log.seek(1 << 30)
        log.write(b"\n" * 10 + b"x" * (300 << 10) + b"\nthe end\n")
    with Follower(run) as follower:
        began = time.monotonic()
        update = follower.poll()
        assert time.monotonic() - began < 0.3
        assert update.log.endswith(b"\nthe end\n")
        assert update.skipped + len(update.log) == (run.path / "output.log").stat().st_size


def test_from_the_beginning_nothing_is_skipped() -> None:
    run = fresh()
    (run.path / "output.log").write_bytes(b"a" * (3 << 20))
    with Follower(run, tail=None) as follower:
        got, looks = b"", 0
        while (update := follower.poll()).log:
            assert update.skipped == 0
            got, looks = got + update.log, looks + 1
            assert len(update.log) <= follower.piece
        assert len(got) == 3 << 20
        assert looks > 2


def test_lost_is_seen_when_nobody_holds_the_run_any_more() -> None:
    with Follower(recorded(GOING_ON)) as follower:
        assert follower.poll().outcome == "LOST"


def test_queued_until_there_is_a_state() -> None:
    run = fresh()
    with Follower(run) as follower:
        assert follower.poll().outcome == "queued"
        assert follower.elapsed() is None


def test_folder_removed_meanwhile() -> None:
    run = recorded(CANCELLED)
    with Follower(run) as follower:
        follower.poll()
        run.remove()
        assert follower.poll().log == b""
    with Follower(run) as follower:
        assert follower.poll().outcome == "LOST"


def test_a_pipe_in_the_place_of_the_log_does_not_block(tmp_path: Path) -> None:
    run = fresh()
    os.mkfifo(run.path / "output.log")
    with Follower(run) as follower:
        assert follower.poll().log == b""


def test_elapsed_goes_on_between_two_writings_but_not_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    with going_on(GOING_ON) as run, Follower(run) as follower:
        follower.poll()
        start = follower.elapsed()
        assert start is not None
        real = time.monotonic
        monkeypatch.setattr(time, "monotonic", lambda: real() + 3600)
        later = follower.elapsed()
        assert later is not None
        assert later - start <= 5.1  # a frozen supervisor is seen by its old `updated`


def test_a_hundred_thousand_lines_a_second_are_followed_within_bounds() -> None:
    run = fresh()
    lock = run.lock()
    assert lock is not None
    run.write_state(State(stage="generating", started=time.time(), updated=time.time()))
    total, rate = 200_000, 100_000
    line = b"a line of the run's own output, sixty bytes long, or so ...\n"

    def write() -> None:
        with open(run.path / "output.log", "ab", buffering=0) as log:
            began = time.monotonic()
            for n in range(0, total, 2000):
                log.write(line * 2000)
                pause = n / rate - (time.monotonic() - began)
                if pause > 0:
                    time.sleep(pause)
        run.finish(Result("UNCHECKED"))
        os.close(lock)

    writer = threading.Thread(target=write)
    writer.start()
    seen, slowest, most = 0, 0.0, 0
    with Follower(run, tail=None) as follower:
        while True:
            began = time.thread_time()
            update = follower.poll()
            slowest = max(slowest, time.thread_time() - began)
            most = max(most, len(update.log))
            seen += update.log.count(b"\n")
            if update.over:
                break
            if not update.more:
                time.sleep(0.05)
    writer.join()
    assert seen == total
    assert most <= follower.piece
    assert slowest < 0.1
