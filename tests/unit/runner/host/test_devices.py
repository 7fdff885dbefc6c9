"""Devices: both forms of neuron-ls and odd shapes of them; owners with age; leftovers of our own; no device as a normal answer."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.trainium.host import Host
from tests.trainium.shape import Busy
from trnui_runner.common.procfs import MARK
from trnui_runner.host import core_leases
from trnui_runner.host.core_owners import owner, visible_cores
from trnui_runner.host.devices import devices
from trnui_runner.host.neuron_ls import parse

ONE = {
    "neuron_device": 0, "bdf": "0000:33:00.0", "nc_count": 4, "logical_neuroncore_config": 2, "memory_size": 103079215104,
    "neuroncore_ids": [0, 1, 2, 3], "neuron_processes": [{"pid": 4242, "command": "python run.py"}], "connected_to": None,
}  # fmt: skip
Make = Callable[..., Host]


@contextmanager
def sleeper(**env: str) -> Iterator[int]:
    with subprocess.Popen(["sleep", "60"], env=os.environ | env) as child:
        yield child.pid
        child.kill()


@pytest.mark.parametrize(
    "value",
    [
        [ONE],
        {"neuron_devices": [ONE]},
        {"instance": {"instance_type": "trn2.3xlarge"}, "ultraserver": None, "devices": [ONE]},
        {"version": 3, "things": [1, 2], "host": {"accelerators": [ONE, {"unrelated": 1}]}},
        [ONE | {"memory_size": "103079215104", "unknown": {"a": [None]}}],
        [{k: v for k, v in ONE.items() if k not in ("neuroncore_ids", "bdf")}],
    ],
)
def test_listing_in_any_documented_or_likely_form(value: object) -> None:
    listing = parse(json.dumps(value))
    device = listing.devices[0]
    assert (device.cores, device.memory, device.lnc) == ((0, 1, 2, 3), 103079215104, 2)
    assert device.processes[0].pid == 4242


@pytest.mark.parametrize("out", ["", "null", "7", "{}", '{"a": [1]}', "neuron-ls: no devices", "[[[", '"text"'])
def test_listing_that_is_none_has_a_problem_and_no_devices(out: str) -> None:
    listing = parse(out)
    assert listing.devices == ()
    assert listing.problem


@pytest.mark.parametrize(
    "change",
    [{"neuron_processes": None}, {"neuron_processes": "x"}, {"neuron_processes": [{"pid": None}, 3, None, {}]},
     {"memory_size": None}, {"memory_size": float("nan")}, {"neuroncore_ids": None}, {"logical_neuroncore_config": True}],
)  # fmt: skip
def test_odd_fields_are_absent_never_wrong(change: dict[str, object]) -> None:
    (device,) = parse(json.dumps([ONE | change])).devices
    assert device.cores == (0, 1, 2, 3)
    if "neuron_processes" in change:
        assert device.processes == ()
    if "memory_size" in change:
        assert device.memory is None
    if "logical_neuroncore_config" in change:
        assert device.lnc is None


def test_foreign_command_is_clean() -> None:
    odd = ONE | {"neuron_processes": [{"pid": 1, "command": "python\x1b]0;x\x07 run.py\nnext\u202e"}]}
    assert parse(json.dumps([odd])).devices[0].processes[0].command == "python run.py next"


def test_no_device_here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TRNUI_HOST_ROOT", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    found = devices()
    assert not found.present
    assert found.problems == ()
    assert found.words == "no Neuron device"


@pytest.mark.standin
@pytest.mark.parametrize("how", ["new", "old", "odd"])
def test_every_form_of_the_tool(standin_host: Make, how: str) -> None:
    standin_host(neuron_ls=how, devices=2)
    found = devices()
    assert [c.id for c in found.cores] == list(range(8))
    assert (found.lnc, found.core_hbm, found.free) == (2, 24 << 30, tuple(range(8)))
    assert found.stand_in
    assert found.words.endswith("stand-in")


@pytest.mark.standin
def test_lnc_one_has_eight_smaller_cores(standin_host: Make) -> None:
    standin_host(lnc=1)
    found = devices()
    assert (len(found.cores), found.core_hbm, found.lnc) == (8, 12 << 30, 1)


@pytest.mark.standin
@pytest.mark.parametrize("how", ["absent", "failing", "hanging"])
def test_without_the_tool_nodes_and_sysfs_still_count(standin_host: Make, how: str) -> None:
    standin_host(neuron_ls=how, devices=2)
    found = devices(timeout=0.5)
    assert (found.count, len(found.cores), found.core_hbm) == (2, 8, None)
    assert found.sources["devices"] == "/dev"
    assert found.problems[0].startswith("neuron-ls: ")
    assert "– each" in found.words


@pytest.mark.standin
def test_without_tool_and_sysfs_the_number_of_cores_is_unknown(standin_host: Make) -> None:
    standin_host(neuron_ls="absent", sysfs=False)
    found = devices()
    assert (found.count, found.cores) == (1, ())
    assert "number of cores unknown" in found.words


@pytest.mark.standin
def test_owner_with_its_cores_pid_age_and_command(standin_host: Make) -> None:
    with sleeper(NEURON_RT_VISIBLE_CORES="1-2") as pid:
        standin_host(busy={1: Busy(pid, "python3 train.py")})
        found = devices()
    assert found.free == (0, 3)
    (held,) = found.cores[1].owners
    assert (held.pid, held.command, held.run) == (pid, "python3 train.py", None)
    assert held.age_s is not None
    assert held.age_s < 30
    assert f"pid {pid}, started just now, python3 train.py" in found.cores[1].held_by


@pytest.mark.standin
def test_owner_of_unknown_cores_holds_the_whole_device(standin_host: Make) -> None:
    with sleeper() as pid:
        standin_host(busy={0: Busy(pid)}, devices=2)
        found = devices()
    assert found.free == (4, 5, 6, 7)
    assert [o.pid for o in found.unplaced] == [pid]


@pytest.mark.standin
def test_leftover_of_our_own_is_named_as_such(standin_host: Make) -> None:
    with sleeper(**{MARK: "20260101-000000-gone-ab12", "NEURON_RT_VISIBLE_CORES": "0"}) as pid:
        standin_host(busy={0: Busy(pid)})
        found = devices()
    assert found.cores[0].owners[0].leftover
    assert "a leftover of our run 20260101-000000-gone-ab12" in found.cores[0].held_by


@pytest.mark.standin
def test_leased_core_is_held_by_our_run(standin_host: Make) -> None:
    standin_host()
    lease = core_leases.acquire((2,), "20260101-000000-mine-ab12")
    assert lease is not None
    assert devices().cores[2].held_by == "our run 20260101-000000-mine-ab12"
    lease.release()
    assert devices().cores[2].free


@pytest.mark.parametrize(
    ("text", "ids"), [("0", (0,)), ("0-3", (0, 1, 2, 3)), ("0,2-3", (0, 2, 3)), ("", None), ("a", None), ("1-", None)]
)
def test_visible_cores(text: str, ids: tuple[int, ...] | None) -> None:
    assert visible_cores(text) == ids


def test_owner_that_has_gone_has_no_age() -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as child:
        child.wait()
    gone = owner(child.pid, "old")
    assert gone.age_s is None
    assert "age unknown" in gone.words
