"""The keeper runs every row once, tries again what says nothing, stops when the host is at fault, and may die at any moment."""

from __future__ import annotations

import errno
import os
import subprocess
from pathlib import Path

import pytest

from tests.unit.runner.batch.builders import a_batch, a_folder, event
from tests.unit.runner.batch.planning.test_packing import made_rows
from tests.unit.runner.batch.simulated import SimulatedHost
from trnui_runner.batch import keeper_process
from trnui_runner.batch.batch_file import Batch, BatchRow, Limits
from trnui_runner.batch.folder import BatchFolder
from trnui_runner.batch.journal import BATCH, RowState
from trnui_runner.batch.keeper import Keeper
from trnui_runner.batch.planning.checkpoints import Checkpoints
from trnui_runner.batch.planning.packing import lower_bound
from trnui_runner.batch.status import BY_HAND, USER_STOP
from trnui_runner.common.errors import UserError

MANY = Limits(compiling=10_000)


def keeper_of(folder: BatchFolder, host: SimulatedHost, **fields: object) -> Keeper:
    checkpoints = Checkpoints(folder.path / "checkpoints.jsonl", budget=None, spare=0, free=lambda _: None)
    values: dict[str, object] = {"sleep": host.sleep, "look_s": 1.0, "memory": lambda: None}
    return Keeper(folder, host, checkpoints, **(values | fields))  # type: ignore[arg-type]


def starts_once(folder: BatchFolder) -> bool:
    """Each row has exactly one end in the journal."""
    ends = [e.n for e in folder.journal().news() if e.n != BATCH and e.state.over]
    return sorted(ends) == list(range(len(folder.batch().rows)))


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_200_rows_on_64_cores_are_within_a_tenth_of_the_lower_bound(home: Path, seed: int) -> None:
    jobs = made_rows(seed)
    rows = tuple(BatchRow(j.n, f"o/m{j.n}", j.cores, "neuron", j.seconds) for j in jobs)
    folder = a_folder(Batch("b", 1.0, "made", rows, limits=MANY))
    host = SimulatedHost(64, {j.n: j.seconds for j in jobs})
    keeper = keeper_of(folder, host, look_s=2.0)
    keeper.run()
    assert keeper.status.counts() == {"PASS": 200}
    assert host.now <= 1.1 * lower_bound(jobs, 64)
    assert starts_once(folder)


def test_a_killed_keeper_leaves_runs_that_the_next_one_adopts_and_no_row_runs_twice(home: Path) -> None:
    folder = a_folder(a_batch([1, 2, 4, 1, 8, 1, 2, 1] * 5, limits=MANY))
    host = SimulatedHost(8)
    for _ in range(20):  # a keeper that dies after three looks, twenty times
        keeper = keeper_of(folder, host)
        keeper._begin()
        for _ in range(3):
            keeper._look()
            host.sleep(1.0)
    keeper_of(folder, host).run()
    assert starts_once(folder)
    assert len(host.starts) == 40


def test_a_keeper_killed_before_its_journal_was_written_starts_nothing_again(home: Path) -> None:
    folder, host = a_folder(a_batch([1, 1])), SimulatedHost(4)
    keeper = keeper_of(folder, host)
    keeper._begin()
    keeper._look()
    (folder.path / "rows.jsonl").unlink()  # the worst of it: nothing was kept
    keeper_of(folder, host).run()
    assert len(host.starts) == 2
    assert folder.status().counts() == {"PASS": 2}


def test_a_run_that_ended_while_no_keeper_was_there_is_taken_and_one_that_vanished_is_tried_again(home: Path) -> None:
    folder, host = a_folder(a_batch([1, 1])), SimulatedHost(4)
    keeper = keeper_of(folder, host)
    keeper._begin()
    keeper._look()
    host.sleep(60)
    host.follow()
    del host.finished[1]  # its run folder was removed
    keeper_of(folder, host).run()
    assert folder.status().counts() == {"PASS": 2}
    assert folder.status().rows[1].attempt == 2


def test_what_says_nothing_is_tried_three_times_and_then_given_up(home: Path) -> None:
    lost = {"outcome": "LOST", "why": "guard and supervisor were both killed"}
    folder = a_folder(a_batch([1, 1]))
    host = SimulatedHost(4, ends={0: [lost] * 5, 1: [lost, {"outcome": "FAIL"}]})
    keeper_of(folder, host).run()
    rows = folder.status().rows
    assert (rows[0].state, rows[0].attempt) == (RowState.GIVEN_UP, 3)
    assert "both killed" in rows[0].why
    assert (rows[1].outcome, rows[1].attempt) == ("FAIL", 2)


@pytest.mark.parametrize("outcome", ["FAIL", "TIMEOUT", "UNCHECKED"])
def test_an_answer_is_never_tried_again_by_itself(home: Path, outcome: str) -> None:
    folder, host = a_folder(a_batch([1])), SimulatedHost(4, ends={0: [{"outcome": outcome}] * 3})
    keeper_of(folder, host).run()
    assert folder.status().rows[0].outcome == outcome
    assert len(host.starts) == 1


def test_a_row_tried_again_by_hand_is_heard_while_the_keeper_works(home: Path) -> None:
    folder, host = a_folder(a_batch([1, 1])), SimulatedHost(4, {1: 100.0}, ends={0: [{"outcome": "UNCHECKED"}]})
    keeper = keeper_of(folder, host)
    keeper._begin()
    while not keeper.status.rows[0].state.over:
        keeper._look()
        host.sleep(1.0)
    folder.journal().add(event(0, "waiting", host.now, attempt=2, why=BY_HAND))
    while not keeper._look():
        host.sleep(1.0)
    assert folder.status().counts() == {"PASS": 2}
    assert folder.status().rows[0].attempt == 2


def test_three_of_the_first_five_with_one_fault_of_the_host_stop_the_whole(home: Path) -> None:
    ends = {n: [{"outcome": "FAIL", "cls": "driver_mismatch"}] for n in range(40)}
    folder, host = a_folder(a_batch([1] * 40, limits=MANY)), SimulatedHost(2, ends=ends)
    keeper_of(folder, host).run()
    status = folder.status()
    assert "driver_mismatch" in status.stopped
    assert "the host, not the models" in status.stopped
    assert status.counts()["waiting"] == 36


def test_failures_of_models_stop_nothing(home: Path) -> None:
    ends = {n: [{"outcome": "FAIL", "cls": "hbm_oom_compile"}] for n in range(40)}
    folder, host = a_folder(a_batch([1] * 40, limits=MANY)), SimulatedHost(8, ends=ends)
    keeper_of(folder, host).run()
    assert folder.status().counts() == {"FAIL": 40}
    assert folder.status().stopped == ""


def test_stop_later_starts_nothing_more_and_going_on_does_the_rest(home: Path) -> None:
    folder, host = a_folder(a_batch([4] * 4)), SimulatedHost(4)
    keeper = keeper_of(folder, host)
    keeper._begin()
    keeper._look()
    folder.ask_stop("later")
    while not keeper._look():
        host.sleep(1.0)
    assert folder.status().counts() == {"PASS": 1, "waiting": 3}
    assert folder.status().stopped == USER_STOP
    folder.go_on()
    keeper_of(folder, host).run()
    assert folder.status().counts() == {"PASS": 4}
    assert folder.status().stopped == ""


def test_stop_now_ends_what_goes_on_and_those_rows_run_again_afterwards(home: Path) -> None:
    folder, host = a_folder(a_batch([4] * 4)), SimulatedHost(8)
    keeper = keeper_of(folder, host)
    keeper._begin()
    keeper._look()
    folder.ask_stop("now")
    while not keeper._look():
        host.sleep(1.0)
    assert folder.status().counts() == {"waiting": 4}
    folder.go_on()
    keeper_of(folder, host).run()
    assert folder.status().counts() == {"PASS": 4}
    assert all(row.losses == 0 for row in folder.status().rows)


def test_runs_by_hand_keep_their_cores_and_the_batch_waits(home: Path) -> None:
    folder, host = a_folder(a_batch([4, 1])), SimulatedHost(4)
    host.foreign = {2}
    keeper = keeper_of(folder, host)
    keeper._begin()
    for _ in range(30):
        keeper._look()
        host.sleep(1.0)
    assert [n for n, _, _ in host.starts] == [1]
    host.foreign = set()
    while not keeper._look():
        host.sleep(1.0)
    assert folder.status().counts() == {"PASS": 2}


def test_siblings_wait_until_the_first_has_compiled(home: Path) -> None:
    rows = tuple(BatchRow(n, f"o/m{n}", 1, "neuron", 10.0, family="qwen3 8b") for n in range(4))
    folder = a_folder(Batch("b", 1.0, "made", rows, limits=MANY))
    host = SimulatedHost(8, dict.fromkeys(range(4), 100.0), stages={0: "compiling"})
    keeper = keeper_of(folder, host)
    keeper._begin()
    for _ in range(10):
        keeper._look()
        host.sleep(1.0)
    assert [n for n, _, _ in host.starts] == [0]
    host.fixed_stages.clear()
    keeper._look()
    assert [n for n, _, _ in host.starts] == [0, 1]  # queued: its graphs are not known to be there yet
    keeper._look()
    keeper._look()
    assert len(host.starts) == 4


def test_compilers_are_limited(home: Path) -> None:
    folder = a_folder(a_batch([1] * 20, limits=Limits(compiling=3)))
    host = SimulatedHost(64, stages=dict.fromkeys(range(20), "compiling"))
    most = 0

    def sleep(seconds: float) -> None:
        nonlocal most
        most = max(most, len(host.going))
        host.sleep(seconds)

    keeper_of(folder, host, sleep=sleep).run()
    assert most == 3
    assert folder.status().counts() == {"PASS": 20}


def test_host_memory_is_limited_but_a_free_host_lets_any_row_start(home: Path) -> None:
    rows = tuple(BatchRow(n, f"o/m{n}", 1, "neuron", 10.0, weights=100) for n in range(4))
    folder = a_folder(Batch("b", 1.0, "made", rows, limits=MANY))
    host = SimulatedHost(8, stages=dict.fromkeys(range(4), "loading"))
    keeper = keeper_of(folder, host, memory=lambda: 250)
    keeper._begin()
    keeper._look()
    assert len(host.starts) == 2  # 250 - 120 leaves 130 for the second; the third does not fit
    while not keeper._look():
        host.sleep(1.0)
    assert folder.status().counts() == {"PASS": 4}


def test_a_disk_that_takes_no_line_starts_nothing_and_loses_nothing(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, host = a_folder(a_batch([1] * 6, limits=MANY)), SimulatedHost(2)
    keeper = keeper_of(folder, host)
    keeper._begin()
    keeper._look()
    real = os.write

    def full(fd: int, data: bytes) -> int:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        for _ in range(40):
            keeper._look()
            host.sleep(1.0)
        assert len(host.starts) == 2
    assert os.write is real
    while not keeper._look():
        host.sleep(1.0)
    assert starts_once(folder)
    assert folder.status().counts() == {"PASS": 6}


def test_no_host_left_is_said_and_the_rows_wait(home: Path) -> None:
    folder, host = a_folder(a_batch([1, 1])), SimulatedHost(4)
    host.no_host = "this host has no Neuron device"
    keeper_of(folder, host).run()
    assert folder.status().stopped == "no host left: this host has no Neuron device"
    assert folder.status().counts() == {"waiting": 2}


def test_a_keeper_that_cannot_be_started_names_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    folder = a_folder(a_batch([1]))

    def refused(*_: object, **__: object) -> None:
        raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")

    monkeypatch.setattr(subprocess, "Popen", refused)
    with pytest.raises(UserError, match="No process could be started"):
        keeper_process.start_keeper(folder)
