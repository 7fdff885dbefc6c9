"""Compilation from outside: compilers alive with age and CPU, new NEFF files, lock waits with their holder, TorchNeuron's log."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.trainium.host import Host
from trnui_runner.common.procfs import Stat, below
from trnui_runner.common.text import Safe
from trnui_runner.host.compiler_processes import compilers
from trnui_runner.run_folder.events import Body, CompilersEvent, LockEnd, NeffEvent
from trnui_runner.supervise.compile_watch import Compiles, held_locks, log_event, neff_names

Make = Callable[..., Host]


def neff(cache: Path, key: str, data: bytes = b"NEFF") -> Path:
    path = cache / key[:2] / key[2:4] / f"{key}.neff"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def test_whole_neffs_only(tmp_path: Path) -> None:
    neff(tmp_path, "ab" * 16)
    neff(tmp_path, "cd" * 16, b"")
    (tmp_path / "ab" / "ab" / ".tmp.123456").write_bytes(b"x")
    (tmp_path / "local" / "locks").mkdir(parents=True)
    assert neff_names(tmp_path) == {"ab" * 16 + ".neff"}
    assert neff_names(tmp_path / "none") == set()


def process(pid: int, parent: int, name: str, cpu: float) -> Stat:
    return Stat(pid, parent, name, "S", cpu, cpu, 1, 0, 0)


def test_one_compiler_a_call_with_its_childrens_cpu() -> None:
    table = ((1, 0, "init", 0), (10, 1, "python3", 1), (20, 10, "neuronx-cc", 2), (21, 20, "neuronx-cc", 30),
             (22, 21, "walrus_driver", 400), (30, 1, "neuronx-cc", 9))  # fmt: skip
    everyone = {line[0]: process(*line) for line in table}
    assert below(everyone, 10) == {20, 21, 22}
    (found,) = compilers(everyone, below(everyone, 10))
    assert (found.pid, found.cpu_s) == (20, 432)


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        (
            "[Neuron] [DEBUG] [CompilationCache.cpp:80] Persistent cache hit key= abcdef0123456789 persistent_key= 99 size= 5",
            "hit",
        ),
        ("[Neuron] [DEBUG] [CompilationCache.cpp:90] Persistent cache miss", "miss"),
        ("[Neuron] [DEBUG] [x:1] Stored to persistent cache", None),
        ("ordinary text", None),
    ],
)
def test_log_lines(line: str, kind: str | None) -> None:
    event = log_event(line)
    assert (event and event.kind) == kind


def test_broken_lock_is_a_notice() -> None:
    event = log_event("[Neuron] [WARNING] Lock acquisition timed out, breaking stale lock key= abcdef0123456789")
    assert event is not None
    assert event.event == "notice"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "garbage",
        "1: FLOCK",
        "1: FLOCK ADVISORY WRITE x fe:00:7 0 EOF",
        "1: -> FLOCK ADVISORY WRITE 5 fe:00:7 0 EOF",
    ],
)
def test_odd_lock_tables(text: str) -> None:
    assert held_locks(text, {(0xFE, 0, 7): "k"}) == {}


def test_lock_table() -> None:
    text = "1: POSIX  ADVISORY  READ 3 fe:00:7 0 EOF\n2: FLOCK  ADVISORY  WRITE 812 fe:00:7 0 EOF\n"
    assert held_locks(text, {(0xFE, 0, 7): "k"}) == {"k": 812}


def test_lock_wait_names_holder_and_ends(tmp_path: Path) -> None:
    locks = tmp_path / "local" / "locks"
    locks.mkdir(parents=True)
    path = locks / "abcd.lock"
    code = f"import fcntl; f = open({str(path)!r}, 'w'); fcntl.flock(f, fcntl.LOCK_EX); print('got it')"
    with open(path, "w") as mine:
        fcntl.flock(mine, fcntl.LOCK_EX)
        with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.DEVNULL) as child:
            source = Compiles(os.getpid(), tmp_path / "cache", tmp_path / "local")
            now, told = 0.0, list[Body]()
            while not told and now < 400:
                told = [e for e in source.poll(now) if e.event == "lock"]
                now += 2.0
                time.sleep(0.05)
            (wait,) = told
            assert (wait.state, wait.holder, wait.waiting) == ("start", os.getpid(), (child.pid,))
            assert wait.age_s > 0
            assert [e for e in source.poll(now + 2) if e.event == "lock"] == []
            fcntl.flock(mine, fcntl.LOCK_UN)
            child.wait(timeout=20)
            assert LockEnd(Safe("abcd")) in source.poll(now + 4)


@pytest.mark.standin
def test_live_compiler_then_its_neff(standin_host: Make, tmp_path: Path) -> None:
    host = standin_host(compile_s=1.0)
    cache = tmp_path / "cache"
    (tmp_path / "m.mlir").write_text("x")
    target = cache / "ab" / "cd" / "abcd.neff"
    target.parent.mkdir(parents=True)
    source = Compiles(os.getpid(), cache)
    told: list[Body] = []
    compiler = host.python.parent / "neuronx-cc"
    with subprocess.Popen([compiler, "compile", tmp_path / "m.mlir", "--output", target]) as child:
        now = 0.0
        while child.poll() is None:
            told += source.poll(now)
            now += 1.0
            time.sleep(0.1)
    told += source.poll(now + 1)
    alive = [e for e in told if e.event == "compilers"]
    assert alive[0].alive == 1
    assert alive[0].oldest_s < 10
    assert alive[-1] == CompilersEvent(0)
    assert NeffEvent(new=1) in told  # before the compiler was seen to go, or after


def test_log_is_read_by_whole_lines(tmp_path: Path) -> None:
    log = tmp_path / "neuron.log"
    source = Compiles(os.getpid(), tmp_path / "cache", log=log)
    assert source.last() == []
    log.write_bytes(b"Persistent cache hit key= aaaaaaaa\nPersistent cac")
    assert [e.kind for e in source.last()] == ["hit"]
    with log.open("ab") as file:
        file.write(b"he miss\n")
    assert [e.kind for e in source.last()] == ["miss"]
