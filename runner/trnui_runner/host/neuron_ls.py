"""What neuron-ls prints, in either of its forms, as values; undocumented shapes are tolerated and reported, never guessed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from trnui_runner.common.text import one_line


@dataclass(frozen=True)
class ListedProcess:
    pid: int
    command: str


@dataclass(frozen=True)
class ListedDevice:
    """`cores` are logical ids, as NEURON_RT_VISIBLE_CORES takes them; `memory` in bytes; None where it does not say."""

    index: int
    cores: tuple[int, ...]
    memory: int | None = None
    lnc: int | None = None
    bdf: str | None = None
    processes: tuple[ListedProcess, ...] = ()


@dataclass(frozen=True)
class Listing:
    devices: tuple[ListedDevice, ...] = ()
    instance_type: str | None = None
    stand_in: bool = False
    problem: str = ""


def parse(out: str) -> Listing:
    """The list of `neuron-ls -j`, or an object (`--output-format json`) whose first list with `neuron_device` in it is the devices."""
    try:
        value = json.loads(out)
    except (ValueError, RecursionError):
        return Listing(problem="its answer is no JSON")
    entries = _entries(value)
    if entries is None:
        return Listing(problem="its answer names no devices")
    devices, problems = [], []
    for entry in entries:
        device = _device(entry)
        if device is None:
            problems.append(f"an entry cannot be read: {one_line(json.dumps(entry), 80)}")
        else:
            devices.append(device)
    stand_in = any(e.get("stand_in") is True for e in entries if isinstance(e, dict))
    return Listing(tuple(devices), _instance(value, entries), stand_in, "; ".join(problems))


def _entries(value: object) -> list[Any] | None:
    if isinstance(value, list):
        return value
    if isinstance(value, dict):
        for part in value.values():
            if isinstance(part, list) and any(isinstance(e, dict) and "neuron_device" in e for e in part):
                return part
        for part in value.values():  # one level down, in case they are grouped
            if isinstance(part, dict):
                found = _entries(part)
                if found is not None:
                    return found
    return None


def _instance(value: object, entries: list[Any]) -> str | None:
    """Wherever it stands: in each device, on top, or in a group of its own."""
    groups: list[Any] = [value, *entries]
    if isinstance(value, dict):
        groups += [part for part in value.values() if isinstance(part, dict)]
    for group in groups:
        if isinstance(group, Mapping) and group.get("instance_type"):
            return one_line(group["instance_type"], 40)
    return None


def _device(entry: object) -> ListedDevice | None:
    if not isinstance(entry, dict):
        return None
    index, memory = number(entry.get("neuron_device")), number(entry.get("memory_size"))
    if index is None:
        return None
    ids = entry.get("neuroncore_ids")
    cores = [number(i) for i in ids] if isinstance(ids, list) else []
    count = number(entry.get("nc_count"))
    if not cores and count:  # ids are consecutive over the devices where they are not given
        cores = list(range(index * count, (index + 1) * count))
    processes = entry.get("neuron_processes")
    return ListedDevice(
        index,
        tuple(c for c in cores if c is not None),
        memory,
        number(entry.get("logical_neuroncore_config")),
        one_line(entry["bdf"], 20) if entry.get("bdf") else None,
        tuple(p for p in map(_process, processes if isinstance(processes, list) else []) if p is not None),
    )


def _process(entry: object) -> ListedProcess | None:
    pid = number(entry.get("pid")) if isinstance(entry, dict) else None
    if not isinstance(entry, dict) or pid is None:
        return None
    return ListedProcess(pid, one_line(entry.get("command"), 300))


def number(value: object) -> int | None:
    """A whole number, also when it is written as text; None for anything else."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return int(value) if value == value and abs(value) < 1e18 else None
    if isinstance(value, str) and value.strip().isdecimal():
        return int(value)
    return None
