"""A batch over two hosts of Ray: a host's daemon killed and back, the coordinator killed and again, a host gone for good."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.trainium.host import Host
from tests.unit.runner.batch import standin_batch
from tests.unit.runner.batch.standin_batch import sleeping_batch
from tests.unit.runner.batch.two_ray_hosts import ROOT, Hosts
from trnui_runner.batch.engines.ray_cluster import check_address
from trnui_runner.batch.engines.ray_hosts import unlike, unpack
from trnui_runner.batch.folder import BatchFolder
from trnui_runner.batch.journal import BATCH, RowState
from trnui_runner.batch.planning.packing import crosses
from trnui_runner.common.errors import UsageError
from trnui_runner.run_folder.folder import RunFolder, all_runs

Make = Callable[..., Host]
JOBS = [(4, 8.0), (1, 9.0), (2, 8.0), (4, 7.0), (1, 9.0), (1, 8.0), (8, 8.0), (2, 7.0), (1, 8.0), (1, 9.0)]


# -- what needs no Ray


@pytest.mark.parametrize("address", ["127.0.0.1:6379", "localhost:6379", "[::1]:6379"])
def test_loopback_needs_no_token(address: str) -> None:
    check_address(address, open_port=False)


def test_off_loopback_a_token_is_demanded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RAY_AUTH_MODE", raising=False)
    with pytest.raises(UsageError, match="RAY_AUTH_MODE is not `token`"):
        check_address("10.0.0.5:6379", open_port=False)
    check_address("10.0.0.5:6379", open_port=True)
    monkeypatch.setenv("RAY_AUTH_MODE", "token")
    check_address("10.0.0.5:6379", open_port=False)
    with pytest.raises(UsageError, match="HOST:PORT"):
        check_address("10.0.0.5", open_port=True)


def test_a_host_with_another_stack_is_refused_by_the_packages_that_differ() -> None:
    assert unlike({"torch": "2.14", "neuronx_cc": "2.28"}, {"torch": "2.14", "neuronx_cc": "2.28"}) == ""
    assert (
        unlike({"torch": "2.14", "neuronx_cc": "2.28"}, {"torch": "2.14", "neuronx_cc": "2.27"})
        == "neuronx_cc 2.27 instead of 2.28"
    )
    assert unlike({"torch": "2.14"}, {}) == "torch absent instead of 2.14"


def test_a_run_folder_that_would_leave_its_place_is_not_unpacked(tmp_path: Path) -> None:
    import io
    import tarfile

    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:xz") as tar:
        info = tarfile.TarInfo("../outside")
        tar.addfile(info)
    with pytest.raises(OSError, match="outside"):
        unpack(buffer.getvalue(), tmp_path / "runs")
    assert not (tmp_path / "outside").exists()
    with pytest.raises(OSError):
        unpack(b"no archive", tmp_path)


def test_a_run_folder_comes_home_without_its_work_and_with_the_end_of_its_log(home: Path, tmp_path: Path) -> None:
    from trnui_runner.batch.engines.on_host import packed
    from trnui_runner.run_folder.recipe import Recipe

    run = RunFolder.create(Recipe("20261201-x", "o/m"), b"print(1)")
    (run.path / "output.log").write_bytes(b"a" * 1000 + b"the end\n")
    (run.path / "work" / "weights.bin").write_bytes(b"w" * 1000)
    unpack(packed(run, 100), tmp_path)
    there = RunFolder(tmp_path / run.id)
    assert there.script() == b"print(1)"
    assert (there.path / "output.log").read_bytes().endswith(b"the end\n")
    assert b"the first 908 bytes are on the host of the run" in (there.path / "output.log").read_bytes()
    assert not (there.path / "work").exists()


# -- with Ray


@pytest.fixture
def hosts(tmp_path_factory: pytest.TempPathFactory, standin_host: Make) -> Iterator[Hosts]:
    pytest.importorskip("ray", reason="Ray is not installed: pip install 'trnui[fleet]'")
    standin_host(devices=4)
    standin_batch._here = None
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    folder = Path(f"/tmp/trnui-ray-{os.getpid()}-{port}")  # short: Ray puts sockets below it
    folder.mkdir()
    hosts = Hosts(folder, os.environ, port)
    try:
        for name in ("n1", "n2"):
            hosts.start(name)
        yield hosts
    finally:
        hosts.close()
        subprocess.run(["rm", "-rf", str(folder)], check=False)


def coordinator(folder: BatchFolder, hosts: Hosts) -> subprocess.Popen[bytes]:
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "runner")])}
    process = subprocess.Popen([sys.executable, "-m", "tests.unit.runner.batch.two_ray_hosts", str(folder.path), hosts.address],
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=env, cwd=ROOT)  # fmt: skip
    assert process.stdout is not None
    assert process.stdout.readline() == b"held\n"
    return process


def until(true: Callable[[], object], folder: BatchFolder, seconds: float = 120.0) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, (
            folder.status().counts(),
            folder.status().stopped,
            folder.path.joinpath("rows.jsonl").read_text()[-3000:],
        )
        time.sleep(0.2)


def each_once(folder: BatchFolder, hosts: Hosts) -> None:
    """Every row has one end in the journal and one run folder at home, and no host has had a second run of it that counted."""
    ends = [e.n for e in folder.journal().news() if e.n != BATCH and e.state.over]
    rows = list(range(len(folder.batch().rows)))
    assert sorted(ends) == rows
    assert all(at.state is RowState.DONE for at in folder.status().rows), folder.status().counts()
    home = [RunFolder(folder.runs / at.run).recipe().options["batch"]["n"] for at in folder.status().rows]  # type: ignore[union-attr]
    assert sorted(home) == rows
    begun = [
        run
        for name in ("n1", "n2")
        for run in all_runs(hosts.folder / name / "runs")
        if run.outcome() not in ("LOST", "CANCELLED")
    ]
    assert sorted(r.recipe().options["batch"]["n"] for r in begun) == rows  # type: ignore[union-attr]
    assert not any(crosses(at.cores) for at in folder.status().rows if at.cores)


def going_on(folder: BatchFolder, host: str) -> bool:
    return any(at.state is RowState.GOING and at.host == host for at in folder.status().rows)


@pytest.mark.slow
@pytest.mark.standin
def test_a_daemon_killed_and_back_loses_no_run_and_doubles_none(hosts: Hosts) -> None:
    folder = sleeping_batch(JOBS * 2)
    process = coordinator(folder, hosts)
    until(lambda: going_on(folder, "n2"), folder)
    hosts.kill("n2")
    time.sleep(5)
    hosts.start("n2")
    assert process.wait(300) == 0
    each_once(folder, hosts)


@pytest.mark.slow
@pytest.mark.standin
def test_a_coordinator_killed_and_started_again_adopts_what_goes_on(hosts: Hosts) -> None:
    folder = sleeping_batch(JOBS * 2)
    process = coordinator(folder, hosts)
    until(lambda: folder.status().counts()["going"] >= 4, folder)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert coordinator(folder, hosts).wait(300) == 0
    each_once(folder, hosts)


@pytest.mark.slow
@pytest.mark.standin
def test_a_host_gone_for_good_has_its_rows_run_elsewhere_and_its_runs_ended_when_it_is_back(hosts: Hosts) -> None:
    folder = sleeping_batch([(4, 60.0)] * 4 + [(1, 5.0)] * 4)
    process = coordinator(folder, hosts)
    until(lambda: going_on(folder, "n2") and going_on(folder, "n1"), folder)
    hosts.kill("n2")
    assert process.wait(400) == 0
    status = folder.status()
    assert all(at.state is RowState.DONE for at in status.rows), status.counts()
    assert {at.host for at in status.rows if at.attempt > 1} == {"n1"}
