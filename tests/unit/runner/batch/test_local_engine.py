"""On a stand-in host with real leases and real detached runs: blocks, neighbours, runs by hand, a killed keeper."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.trainium.host import Host
from tests.unit.runner.batch import standin_batch
from tests.unit.runner.batch.planning.test_packing import made_rows
from tests.unit.runner.batch.standin_batch import sleeping_batch
from trnui_runner.batch.engines.engine import NoHostError
from trnui_runner.batch.folder import BatchFolder
from trnui_runner.batch.journal import RowState
from trnui_runner.batch.planning.packing import crosses
from trnui_runner.common.errors import UserError
from trnui_runner.host import core_leases
from trnui_runner.run_folder.folder import all_runs
from trnui_runner.supervise import launcher, process_tree

pytestmark = pytest.mark.standin
Make = Callable[..., Host]
ROOT = Path(__file__).resolve().parents[4]


@pytest.fixture(autouse=True)
def forget_the_host() -> None:
    standin_batch._here = None


def each_once(folder: BatchFolder) -> bool:
    """Whether every row has one run. A run whose keeper was killed while starting it is LOST, and counts as none."""
    return sorted(n for n, outcome in tags() if outcome != "LOST") == list(range(len(folder.batch().rows)))


def tags() -> list[tuple[int, str]]:
    started = ((run.recipe(), run) for run in all_runs())
    return [(recipe.options["batch"]["n"], run.outcome()) for recipe, run in started if recipe is not None]


def test_rows_run_side_by_side_on_aligned_blocks_and_their_neighbours_are_recorded(standin_host: Make) -> None:
    standin_host(devices=4)
    folder = sleeping_batch([(8, 8.0), (4, 8.0), (2, 8.0), (1, 8.0), (1, 8.0)])
    keeper = standin_batch.keeper(folder)
    keeper.run()
    rows = keeper.status.rows
    assert all(row.state is RowState.DONE for row in rows)
    assert not any(crosses(row.cores) for row in rows)
    assert len({core for row in rows for core in row.cores}) == 16  # all of them, each once
    assert rows[0].beside >= 3
    assert each_once(folder)
    for n, run in ((n, folder.run(row.run)) for n, row in enumerate(rows)):
        assert run is not None
        assert (run.path / "output.log").read_text() == f"cores {','.join(map(str, rows[n].cores))}\n"
        result = run.result()
        assert result is not None
        assert any("its wall time is not comparable" in note for note in result.notes)


def test_a_run_by_hand_keeps_its_core_and_the_row_takes_others(standin_host: Make) -> None:
    standin_host(devices=2)
    lease = core_leases.acquire((1,), "by-hand")
    assert lease is not None
    keeper = standin_batch.keeper(sleeping_batch([(4, 0.1)]))
    keeper.run()
    assert keeper.status.rows[0].cores == (4, 5, 6, 7)
    lease.release()


def test_stop_now_leaves_no_run_and_no_core(standin_host: Make) -> None:
    standin_host(devices=1)
    folder = sleeping_batch([(1, 300.0)] * 3)
    keeper = standin_batch.keeper(folder)
    keeper._begin()
    keeper._look()
    assert len(core_leases.holders()) == 3
    folder.ask_stop("now")
    until = time.monotonic() + 60
    while not keeper._look():
        assert time.monotonic() < until
    while core_leases.holders():  # the guards are about to end
        assert time.monotonic() < until
    assert keeper.status.counts() == {"waiting": 3}


def test_a_keeper_killed_again_and_again_runs_every_row_once(standin_host: Make) -> None:
    standin_host(devices=2)
    folder = sleeping_batch([(1, 0.5), (2, 0.5), (4, 0.5), (1, 0.5)] * 3)
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "runner")])}
    command = [sys.executable, standin_batch.__file__, str(folder.path), "0.1"]
    for n in range(20):
        process = subprocess.Popen(command, stdout=subprocess.PIPE, env=env)
        assert process.stdout is not None
        assert process.stdout.readline() == b"held\n"
        time.sleep(0.03 * n)  # killed at another moment each time: no state to wait for
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
    subprocess.run(command, env=env, timeout=120, check=True, stdout=subprocess.DEVNULL)
    assert folder.status().counts().total() == 12
    assert folder.status().over
    assert each_once(folder), " ".join(f"{n}:{o}" for n, o in sorted(tags()))
    assert core_leases.holders() == {}


def test_after_a_host_went_down_the_same_command_goes_on(standin_host: Make) -> None:
    """As after a reboot: no keeper, no guard, no supervisor, no step is alive, and no lock is held; the folders are as they were."""
    standin_host(devices=1)
    folder = sleeping_batch([(1, 120.0), (2, 0.5)])
    process = started(folder)
    end = time.monotonic() + 60
    while not any(at.state is RowState.DONE for at in folder.status().rows):
        assert time.monotonic() < end
        time.sleep(0.1)
    run = folder.run(folder.status().rows[0].run)
    assert run is not None
    state = run.state()
    assert state is not None
    family = (
        {int(pid) for pid in run.family()} | process_tree.marked(run.id) | {state.pid, state.guard_pid, process.pid}
    )
    for pid in family:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    process.wait()
    while core_leases.holders():
        assert time.monotonic() < end
    (folder.path / "requests" / "0.json").write_text(
        (folder.path / "requests" / "0.json")
        .read_text()
        .replace(f"{standin_batch.PREFIX}120.0", f"{standin_batch.PREFIX}0.2")
    )
    standin_batch.keeper(folder).run()
    rows = folder.status().rows
    assert [(at.state, at.attempt) for at in rows] == [(RowState.DONE, 2), (RowState.DONE, 1)]
    assert [outcome for n, outcome in sorted(tags()) if n == 0].count("LOST") == 1
    assert each_once(folder)


def started(folder: BatchFolder) -> subprocess.Popen[bytes]:
    """A keeper as a process of its own, at work."""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "runner")])}
    process = subprocess.Popen(
        [sys.executable, standin_batch.__file__, str(folder.path), "0.1"], stdout=subprocess.PIPE, env=env
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"held\n"
    process.stdout.close()
    return process


def test_a_host_that_can_start_nothing_refuses_no_row_and_is_given_up_after_a_while(
    standin_host: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    standin_host(devices=1)
    folder = sleeping_batch([(1, 0.1)])
    engine, row = standin_batch.keeper(folder)._engine, folder.batch().rows[0]

    def full(*args: object, **more: object) -> None:
        raise UserError("No run folder: [Errno 28] No space left on device")

    monkeypatch.setattr(launcher, "start", full)
    for _ in range(4):
        assert engine.start(row, 1, 1) is None
    with pytest.raises(NoHostError, match="No space left"):
        engine.start(row, 1, 1)


@pytest.mark.slow
def test_200_rows_on_64_cores_are_near_the_lower_bound_and_none_crosses_a_device(standin_host: Make) -> None:
    """Real detached runs of made durations, about six minutes. The bound is that of what the runs took: on a small and busy
    machine their starts and ends, a second each, are not the keeper's."""
    standin_host(devices=16)
    jobs = [(job.cores, round(job.seconds / 25, 1)) for job in made_rows(1)]
    folder = sleeping_batch(jobs)
    began = time.monotonic()
    keeper = standin_batch.keeper(folder)
    keeper.run()
    took = time.monotonic() - began
    spans = [end - begin for begin, end in spans_of(folder)]
    made, real = (
        sum(c * s for (c, _), s in zip(jobs, times, strict=True)) / 64 for times in ([s for _, s in jobs], spans)
    )
    print(
        f"{took:.0f} s; lower bound of the made durations {made:.0f} s, of what the runs took {real:.0f} s: {took / real:.3f}"
    )
    assert keeper.status.counts().total() == sum(at.state is RowState.DONE for at in keeper.status.rows) == 200
    assert not any(crosses(at.cores) for at in keeper.status.rows)
    assert each_once(folder)
    assert took <= 1.1 * real


def spans_of(folder: BatchFolder) -> list[tuple[float, float]]:
    """When each row began and ended, by its journal."""
    begun, ended = dict[int, float](), dict[int, float]()
    for event in folder.journal().news():
        (begun if event.state is RowState.GOING else ended)[event.n] = event.t
    return [(begun[n], ended[n]) for n in range(len(folder.batch().rows))]
