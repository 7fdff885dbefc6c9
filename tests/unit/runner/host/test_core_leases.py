"""Leases: a core has one holder, a block is taken as a whole or not at all, and what a dead or odd file says counts for nothing."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from trnui_runner.common.files import leases_dir
from trnui_runner.host import core_leases
from trnui_runner.host.core_blocks import CoreRequest
from trnui_runner.host.core_leases import acquire, acquire_block, held_by, holders

HOST = tuple(range(8))


def test_a_core_has_one_holder_until_it_is_released(tmp_path: Path) -> None:
    tmp_path = tmp_path / "made when" / "needed"
    first = acquire((1, 0, 1), "run-a", tmp_path)
    assert first is not None
    assert first.cores == (0, 1)
    assert len(first.descriptors) == 2
    assert holders(tmp_path) == {0: "run-a", 1: "run-a"}
    assert acquire((1, 2), "run-b", tmp_path) is None
    assert holders(tmp_path) == {0: "run-a", 1: "run-a"}  # core 2 was let go again, and the names stand
    first.release()
    assert first.descriptors == ()
    first.release()  # once more does nothing
    assert holders(tmp_path) == {}
    second = acquire((1, 2), "run-b", tmp_path)
    assert second is not None
    assert holders(tmp_path) == {1: "run-b", 2: "run-b"}
    second.release()


def test_a_shorter_name_leaves_nothing_of_a_longer_one(tmp_path: Path) -> None:
    for name in ("a-very-long-name-of-a-run", "b"):
        lease = acquire((3,), name, tmp_path)
        assert lease is not None
        assert holders(tmp_path) == {3: name}
        lease.release()


def test_leases_are_private_and_lie_in_the_state_folder(home: Path) -> None:
    lease = acquire((5,), "mine")
    assert lease is not None
    file = leases_dir() / "core-5"
    assert file.read_text() == "mine"
    assert file.stat().st_mode & 0o777 == 0o600
    assert leases_dir().stat().st_mode & 0o777 == 0o700
    assert holders() == {5: "mine"}
    assert held_by((5, 6)) == "core 5 by mine"
    lease.release()
    assert holders() == {}


def test_a_lease_ends_with_the_process_however_it_ends(tmp_path: Path) -> None:
    code = (
        "import sys, time; from pathlib import Path; from trnui_runner.host.core_leases import acquire;"
        f"lease = acquire((0, 1), 'killed', Path({str(tmp_path)!r})); print(lease.cores, flush=True); time.sleep(60)"
    )
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, env=env) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"(0, 1)\n"
        assert holders(tmp_path) == {0: "killed", 1: "killed"}
        child.kill()
    assert holders(tmp_path) == {}


def test_descriptors_are_closed_on_exec_and_shared_by_a_fork(tmp_path: Path) -> None:
    lease = acquire((0,), "mine", tmp_path)
    assert lease is not None
    assert not any(os.get_inheritable(fd) for fd in lease.descriptors)
    lease.release()


def test_whoever_looks_for_a_moment_keeps_nobody_from_a_core(tmp_path: Path) -> None:
    acquire((0,), "before", tmp_path).release()  # type: ignore[union-attr]
    fd = os.open(tmp_path / "core-0", os.O_RDONLY)
    fcntl.flock(fd, fcntl.LOCK_SH)
    timer = threading.Timer(0.03, os.close, (fd,))
    timer.start()
    lease = acquire((0,), "mine", tmp_path)
    timer.join()
    assert lease is not None
    lease.release()


def test_waiting_for_a_core_that_is_held_is_short(tmp_path: Path) -> None:
    lease = acquire((0,), "mine", tmp_path)
    assert lease is not None
    began = time.monotonic()
    assert acquire((0,), "other", tmp_path) is None
    assert 0.05 < time.monotonic() - began < 2.0
    lease.release()


def test_odd_files_are_no_holders(tmp_path: Path) -> None:
    (tmp_path / "core-x").write_text("someone")
    (tmp_path / "notes").write_text("someone")
    (tmp_path / "core-7").write_text("a run that has ended")
    assert holders(tmp_path) == {}
    assert holders(tmp_path / "none") == {}
    os.chmod(tmp_path / "core-7", 0)
    assert holders(tmp_path) == {}


def test_words_for_who_holds_what(tmp_path: Path) -> None:
    assert held_by((0, 1), tmp_path) == ""
    one, two, nameless = (acquire(c, n, tmp_path) for c, n in (((0, 1), "run-a"), ((2,), "run-b"), ((3,), "")))
    assert held_by((0, 1, 2), tmp_path) == "core 0, 1 by run-a; core 2 by run-b"
    assert held_by((1,), tmp_path) == "core 1 by run-a"
    assert held_by((3,), tmp_path) == "core 3 by another run"
    assert held_by((4,), tmp_path) == ""
    for lease in (one, two, nameless):
        assert lease is not None
        lease.release()


# -- blocks


def test_the_best_free_block_is_taken(tmp_path: Path) -> None:
    one = acquire((0,), "run-a", tmp_path)
    two = acquire_block(CoreRequest(2, HOST), "run-b", tmp_path)
    four = acquire_block(CoreRequest(4, HOST), "run-c", tmp_path)
    assert two is not None
    assert four is not None
    assert (two.cores, four.cores) == ((2, 3), (4, 5, 6, 7))
    assert acquire_block(CoreRequest(2, HOST), "run-d", tmp_path) is None
    last = acquire_block(CoreRequest(1, HOST), "run-e", tmp_path)
    assert last is not None
    assert last.cores == (1,)
    for lease in (one, two, four, last):
        assert lease is not None
        lease.release()
    assert holders(tmp_path) == {}


def test_cores_of_other_programs_are_passed_over(tmp_path: Path) -> None:
    assert acquire_block(CoreRequest(4, HOST[:4], held=(2,)), "run", tmp_path) is None
    lease = acquire_block(CoreRequest(4, HOST, held=(2,)), "run", tmp_path)
    assert lease is not None
    assert lease.cores == (4, 5, 6, 7)
    lease.release()


def test_a_block_that_another_run_takes_meanwhile_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = acquire((0, 1), "quicker", tmp_path)
    assert first is not None
    seen: Callable[..., dict[int, str]] = lambda folder=None: {}  # noqa: E731  as it was before `quicker` came
    monkeypatch.setattr(core_leases, "holders", seen)
    lease = acquire_block(CoreRequest(2, HOST[:4]), "mine", tmp_path)
    assert lease is not None
    assert lease.cores == (2, 3)
    assert acquire_block(CoreRequest(2, HOST[:4]), "third", tmp_path) is None
    first.release()
    lease.release()


def test_many_at_once_never_share_a_core(tmp_path: Path) -> None:
    code = (
        "import sys, time; from pathlib import Path; from trnui_runner.host.core_blocks import CoreRequest\n"
        "from trnui_runner.host.core_leases import acquire_block\n"
        f"lease = acquire_block(CoreRequest(2, tuple(range(8))), sys.argv[1], Path({str(tmp_path)!r}))\n"
        "print(lease.cores if lease else None, flush=True); sys.stdin.read()"
    )
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    pipe = subprocess.PIPE
    children = [
        subprocess.Popen([sys.executable, "-c", code, f"run-{n}"], stdin=pipe, stdout=pipe, env=env) for n in range(6)
    ]
    told = [child.stdout.readline().decode().strip() for child in children if child.stdout]
    for child in children:
        child.communicate(b"")
    taken = sorted(words for words in told if words != "None")
    assert len(set(taken)) == len(taken)
    assert set(taken) <= {"(0, 1)", "(2, 3)", "(4, 5)", "(6, 7)"}
    assert len(taken) >= 3  # a race may pass one over; it is looked for again
