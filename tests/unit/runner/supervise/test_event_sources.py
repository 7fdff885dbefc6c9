"""What the supervisor looks at besides the run's own events, and what becomes of a source that fails."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from trnui_runner.common.hub_env import hub_cache
from trnui_runner.common.text import Safe
from trnui_runner.host import core_leases
from trnui_runner.run_folder.events import Body, CompilersEvent, DownloadEvent, ForwardEvent
from trnui_runner.run_folder.folder import RunFolder
from trnui_runner.run_folder.recipe import Recipe, new_id
from trnui_runner.supervise.event_sources import Compilers, Disk, Downloads, EventSources, HostMemory, SourceContext


@pytest.fixture
def scene() -> SourceContext:
    recipe = Recipe(new_id("a/b"), "a/b")
    return SourceContext(RunFolder.create(recipe, b""), recipe, {})


class Failing:
    closed = False

    def poll(self, now: float) -> list[Body]:
        raise KeyError("x")

    def close(self) -> None:
        self.closed = True


class Steady:
    def poll(self, now: float) -> list[Body]:
        return [ForwardEvent(1)]

    def pids(self) -> set[int]:
        return {12345678}

    def close(self) -> None: ...


def test_a_source_that_fails_is_told_once_and_dropped(scene: SourceContext) -> None:
    failing = Failing()
    watched = EventSources([failing, Steady()], scene)
    assert [e.event for e in watched.poll(1.0)] == ["notice", "forward"]
    assert [e.event for e in watched.poll(2.0)] == ["forward"]
    assert failing.closed
    assert scene.foreign == {12345678}


def test_host_memory_of_each_process_with_its_peak_and_the_sum(scene: SourceContext) -> None:
    child = subprocess.Popen(
        [sys.executable, "-c", "b = b'x' * (60 << 20); del b; print('up', flush=True); import time; time.sleep(60)"],
        stdout=subprocess.PIPE,
    )
    try:
        assert child.stdout
        child.stdout.readline()
        events = HostMemory(scene).poll(0.0)
        own = next(e for e in events if getattr(e, "process", None) == child.pid)
        assert own.peak > 60 << 20 > own.now
        total = next(e for e in events if getattr(e, "scope", None) == "run")
        assert total.peak >= own.peak
    finally:
        child.kill()
        child.communicate()


def test_memory_that_does_not_change_is_not_told_again(scene: SourceContext) -> None:
    child = subprocess.Popen(
        [sys.executable, "-c", "print('up', flush=True); import time; time.sleep(60)"], stdout=subprocess.PIPE
    )
    try:
        assert child.stdout
        child.stdout.readline()
        memory = HostMemory(scene)
        assert memory.poll(0.0)
        assert memory.poll(10.0) == []
    finally:
        child.kill()
        child.communicate()


def test_compilers_are_counted_by_their_name(scene: SourceContext, tmp_path: Path) -> None:
    compiler = tmp_path / "neuronx-cc"
    compiler.symlink_to("/bin/sleep")
    source = Compilers(scene)
    assert source.poll(0.0) == []
    child = subprocess.Popen([str(compiler), "60"])
    try:
        time.sleep(0.05)
        scene._next = float("-inf")
        assert source.poll(1.0) == [CompilersEvent(1)]
    finally:
        child.kill()
        child.wait()
    scene._next = float("-inf")
    assert source.poll(2.0) == [CompilersEvent(0)]


def test_downloads_are_seen_by_the_parts_in_the_cache(tmp_path: Path) -> None:
    source = Downloads((tmp_path / "absent", tmp_path))
    part = tmp_path / "abcdef0123456789.1a2b3c4d.incomplete"
    part.write_bytes(b"x" * 10)
    assert source.poll(0.0) == [DownloadEvent(Safe("abcdef012345"), Safe("abcdef0123456789"), done=10)]
    assert source.poll(0.5) == []
    part.write_bytes(b"x" * 30)
    assert source.poll(2.0)[0].done == 30
    part.unlink()
    assert source.poll(4.0)[0].state == "end"


def test_low_disk_is_said_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import os

    class Small:
        f_bavail, f_frsize, f_blocks = 100, 4096, 1000

    monkeypatch.setattr(os, "statvfs", lambda path: Small)
    disk = Disk({"the run folder": tmp_path})
    assert [e.event for e in disk.poll(0.0)] == ["disk", "notice"]
    assert disk.poll(60.0) == []


def test_where_the_hub_keeps_its_files() -> None:
    assert hub_cache({"HOME": "/h"}) == Path("/h/.cache/huggingface/hub")
    assert hub_cache({"HOME": "/h", "HF_HOME": "/data"}) == Path("/data/hub")
    assert hub_cache({"HF_HUB_CACHE": "/hub", "HF_HOME": "/data"}) == Path("/hub")


# --- leases


def test_a_lease_is_all_or_nothing_and_names_its_holder() -> None:
    first = core_leases.acquire((0, 1), "run-a")
    assert first is not None
    assert core_leases.acquire((1, 2), "run-b") is None
    assert core_leases.holders() == {0: "run-a", 1: "run-a"}
    assert core_leases.held_by((1, 2)) == "core 1 by run-a"
    second = core_leases.acquire((2, 3), "run-b")
    assert second is not None
    first.release()
    assert core_leases.held_by((0, 1)) == ""
    assert core_leases.holders() == {2: "run-b", 3: "run-b"}
    second.release()


def test_a_lease_ends_with_its_holder() -> None:
    code = "from trnui_runner.host import core_leases; import time; core_leases.acquire((5,), 'run-c'); print('up', flush=True); time.sleep(60)"
    holder = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    assert holder.stdout
    holder.stdout.readline()
    assert core_leases.holders() == {5: "run-c"}
    holder.kill()
    holder.communicate()
    assert core_leases.holders() == {}
