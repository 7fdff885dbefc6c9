"""Device memory: records in every documented and odd shape, foreign zeros dropped, peaks kept, the tool gone or silent."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import pytest

from tests.trainium.host import Host
from tests.trainium.shape import Busy
from trnui_runner.common.procfs import born
from trnui_runner.host.neuron_monitor import Monitor, parse_record, sysfs_memory
from trnui_runner.run_folder.events import Body

MIB = 1 << 20
Make = Callable[..., Host]


def record(*runtimes: dict[str, Any], **more: Any) -> bytes:
    return json.dumps({"neuron_runtime_data": list(runtimes), "system_data": {}, **more}).encode()


def runtime(pid: Any, cores: Any, error: str = "") -> dict[str, Any]:
    usage = (
        {core: {"tensors": size, "model_code": 0} for core, size in cores.items()} if isinstance(cores, dict) else cores
    )
    memory = {"neuron_runtime_used_bytes": {"usage_breakdown": {"neuroncore_memory_usage": usage}}, "error": error}
    return {"pid": pid, "report": {"memory_used": memory}}


def monitor(*records: bytes) -> list[Body]:
    """The memory events of records that come a second apart."""
    source, told = Monitor("t", capacity=24 << 30), []
    for n, line in enumerate(records):
        parsed = parse_record(line)
        if parsed is not None:
            told += source._take(parsed, float(n))
    return told


def test_zeros_for_foreign_cores_are_dropped_and_pids_merged_by_core() -> None:
    found = parse_record(record(runtime(1, {"0": 5 * MIB, "1": 0}), runtime(2, {"0": 0, "1": 7 * MIB})))
    assert found is not None
    assert {k: v for k, v in found.used.items() if v} == {(1, 0): 5 * MIB, (2, 1): 7 * MIB}
    told = monitor(record(runtime(1, {"0": 5 * MIB, "1": 0}), runtime(2, {"0": 0, "1": 7 * MIB})))
    assert {(e.core, e.now) for e in told} == {(0, 5 * MIB), (1, 7 * MIB)}
    assert all(e.source == "neuron-monitor" and e.capacity == 24 << 30 for e in told)


def test_peak_is_kept_when_memory_falls_and_when_the_process_has_gone() -> None:
    told = monitor(*(record(runtime(1, {"0": size * MIB})) for size in (10, 90, 20)), record())
    assert [(e.now // MIB, e.peak // MIB) for e in told] == [(10, 10), (90, 90), (20, 90), (0, 90)]


def test_small_changes_are_told_seldom() -> None:
    told = monitor(*(record(runtime(1, {"0": 10 * MIB + n})) for n in range(25)))
    assert len(told) == 3


def test_a_peak_too_small_to_be_told_is_told_at_the_end() -> None:
    source = Monitor("t")
    for n, size in enumerate((10 * MIB, 10 * MIB + 5, 10 * MIB)):
        parsed = parse_record(record(runtime(1, {"0": size})))
        assert parsed is not None
        source._take(parsed, float(n))
    assert [e.peak for e in source.last()] == [10 * MIB + 5]
    assert source.last() == []


def test_capacity_of_a_core_is_the_tools_own_figure() -> None:
    hardware = {"neuron_device_memory_size": 96 << 30, "neuroncore_per_device_count": 4, "logical_neuroncore_config": 2}
    found = parse_record(record(runtime(1, {"0": MIB}), neuron_hardware_info=hardware))
    assert found is not None
    assert (found.capacity, found.lnc) == (24 << 30, 2)
    assert parse_record(record(neuron_hardware_info={"neuroncore_per_device_count": 0})).capacity is None


@pytest.mark.parametrize(
    "line", [b"", b"neuron-monitor: warming up", b"[]", b"{}", b"7", b"null", b"{" * 5000, b"\xff\xfe"]
)
def test_what_is_no_record(line: bytes) -> None:
    assert parse_record(line) is None


@pytest.mark.parametrize(
    "one",
    [7, None, {"pid": "x"}, {"pid": 1}, {"pid": 1, "report": []}, runtime(1, None), runtime(1, {"core": 3}), runtime(1, [1]),
     runtime(1, {"0": "many"}), runtime(1, {"0": None}), runtime(True, {"0": 1})],
)  # fmt: skip
def test_odd_runtimes_tell_nothing_and_break_nothing(one: Any) -> None:
    found = parse_record(record(one, runtime(9, {"3": MIB})))
    assert found is not None
    assert dict(found.used) == {(9, 3): MIB}


def test_no_runtimes_at_all() -> None:
    found = parse_record(b'{"neuron_runtime_data": null}')
    assert found is not None
    assert not found.used


def test_a_failed_reading_is_absent_not_zero() -> None:
    told = monitor(record(runtime(1, {"0": 10 * MIB})), record(runtime(1, None, error="Failed to read memory\x1b[2J")))
    assert [e.event for e in told] == ["memory", "notice"]
    assert told[1].text == "neuron-monitor: Failed to read memory"


def test_filter_takes_our_tag_alone() -> None:
    import re

    pattern = Monitor("trnui-20260101-000000-a.b-12ab").config()["neuron_runtimes"][0]["tag_filter"]
    assert re.search(pattern, "trnui-20260101-000000-a.b-12ab")
    assert not re.search(pattern, "trnui-20260101-000000-axb-12ab")
    assert not re.search(pattern, "trnui-20260101-000000-a.b-12ab-other")


def polled(source: Monitor, until: Callable[[list[Body]], bool], seconds: float = 15) -> list[Body]:
    events: list[Body] = []
    end = time.monotonic() + seconds
    while time.monotonic() < end and not until(events):
        events += source.poll(time.monotonic())
        time.sleep(0.05)
    return events


@pytest.mark.standin
@pytest.mark.parametrize("how", ["good", "odd", "gaps"])
def test_live_memory_of_a_process_by_its_tag(standin_host: Make, how: str) -> None:
    host = standin_host(neuron_monitor=how)
    (host.root / "run" / "processes" / f"{os.getpid()}.json").write_text(
        json.dumps(
            {
                "pid": os.getpid(),
                "born": born(os.getpid()).split(":")[1],
                "cores": [2],
                "tag": "mine",
                "command": "x",
                "memory": {"2": 64 * MIB},
            }
        )
    )
    source = Monitor("mine")
    try:
        told = polled(source, lambda events: any(e.event == "memory" for e in events))
    finally:
        source.close()
    (memory,) = [e for e in told if e.event == "memory"]
    assert (memory.core, memory.source) == (2, "neuron-monitor (stand-in)")
    assert memory.now >= 64 * MIB
    assert (memory.parts or {})["tensors"] == 64 * MIB


@pytest.mark.standin
def test_without_the_tool_sysfs_for_the_runs_own_cores(standin_host: Make) -> None:
    standin_host(neuron_monitor="absent", busy={1: Busy(1), 2: Busy(1)})
    told = polled(source := Monitor("mine", cores=(1,)), lambda events: len(events) >= 2)
    source.close()
    assert [e.event for e in told] == ["notice", "memory"]
    assert "not installed" in told[0].text
    assert (told[1].core, told[1].now, told[1].source) == (1, 2 << 30, "sysfs (stand-in)")


@pytest.mark.standin
def test_sysfs_may_be_absent_or_moved(standin_host: Make) -> None:
    host = standin_host(busy={3: Busy(1)})
    assert sysfs_memory(2) == {0: 0, 1: 0, 2: 0, 3: 2 << 30}
    core = host.root / "sys/devices/virtual/neuron_device/neuron0/neuron_core6"
    (core / "stats").rename(core / "state")
    assert sysfs_memory(2)[3] == 2 << 30
    host.change(sysfs=False)
    assert sysfs_memory(2) == {}


@pytest.mark.standin
def test_a_failing_tool_is_tried_again_then_given_up(standin_host: Make) -> None:
    standin_host(neuron_monitor="failing")
    source, events, now = Monitor("mine"), [], 0.0
    end = time.monotonic() + 20
    while not source._by_sysfs and time.monotonic() < end:
        events += source.poll(now)
        now += 1.0
        time.sleep(0.02)
    source.close()
    assert [e.text for e in events][:1] == ["neuron-monitor ended with 1"]
    assert "ended 3 times" in events[-1].text


@pytest.mark.standin
def test_close_leaves_no_process(standin_host: Make) -> None:
    standin_host(neuron_monitor="hanging")
    source = Monitor("mine")
    source.poll(0.0)
    assert source._child is not None
    pid = source._child.pid
    assert source.poll(10.0) == []
    assert "says nothing" in source.poll(20.0)[0].text
    assert source.poll(30.0) == []
    source.close()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    assert subprocess.run([sys.executable, "-c", ""]).returncode == 0
