"""The stand-in's runtime: which cores this process takes, when, and what its memory is; told to the host's tools by a file."""

from __future__ import annotations

import fcntl
import json
import os
import sys
import time
import weakref
from typing import Any

import torch

from .shape import ROOT, host, placed

_PERIOD = 0.2  # seconds between two tellings


class _Process:
    pid: int | None = None  # that started the runtime
    cores: list[int] = []
    locks: list[int] = []
    told = 0.0
    now: dict[int, int] = {}
    peak: dict[int, int] = {}
    live: dict[int, tuple[int, int]] = {}  # storage pointer → (bytes, device)


def started() -> bool:
    return _Process.pid == os.getpid()


def visible() -> list[int] | None:
    """NEURON_RT_VISIBLE_CORES as ids; None when it is not set."""
    text = os.environ.get("NEURON_RT_VISIBLE_CORES", "")
    if not text:
        return None
    ids: list[int] = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        ids += range(int(first), int(last or first) + 1)
    return ids


def device_count() -> int:
    """Distributed: the ranks of this host, else the visible cores."""
    ranks = os.environ.get("LOCAL_WORLD_SIZE", "")
    if ranks.isdecimal():
        return int(ranks)
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        return torch.distributed.get_world_size()
    seen = visible()
    if seen is not None:
        return len(seen)
    return int(os.environ.get("NEURON_RT_NUM_CORES") or 0) or int(host()["cores"])


def start() -> None:
    """Takes the cores, as the first touch of the device does. Raises RuntimeError in the runtime's words when they are held."""
    if _Process.pid == os.getpid():
        return
    if _Process.pid is not None:
        raise RuntimeError("Cannot re-initialize Neuron runtime in forked subprocess")
    seen = visible()
    if seen is None:
        seen = list(range(int(os.environ.get("NEURON_RT_NUM_CORES") or 0) or int(host()["cores"])))
    for core in seen:
        _take(core, seen)
    _Process.pid, _Process.cores = os.getpid(), seen
    tell(force=True)


def _take(core: int, wanted: list[int]) -> None:
    if not placed():
        return
    held = str(core) in host()["busy"] or core >= int(host()["cores"])
    if not held:
        fd = os.open(os.path.join(ROOT, "run", "cores", str(core)), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(fd)
            held = True
        else:
            _Process.locks.append(fd)
    if held:
        for fd in _Process.locks:
            os.close(fd)
        _Process.locks.clear()
        text = (
            f"Logical Neuron Core(s) not available - Requested:lnc{wanted[0]}-lnc{wanted[-1]} Available:0 "
            f"Logical Core size:{host()['lnc']} (cores busy, ret=-16)"
        )
        stamp = time.strftime("%Y-%b-%d %H:%M:%S", time.gmtime())
        sys.stderr.write(
            f"{stamp}.000000 {os.getpid():5}:{os.getpid():5} ERROR  NRT:nrt_allocate_neuron_cores  {text}\n"
        )
        raise RuntimeError(f"Neuron stand-in: {text}")


def core_of(index: int) -> int:
    """The logical core behind a device index: the index itself where there are several, else the only one."""
    cores = _Process.cores
    return cores[index] if index < len(cores) else cores[0] if cores else index


def hold(storage: torch.UntypedStorage, index: int) -> None:
    """Counts a storage as device memory until it is freed. Raises OutOfMemoryError beyond the core's share."""
    pointer, size = storage.data_ptr(), storage.nbytes()
    if size == 0 or pointer in _Process.live:
        return
    start()
    used, limit = _Process.now.get(index, 0), int(host()["core_bytes"])
    if used + size > limit:
        raise torch.OutOfMemoryError(
            f"NRT allocation failed for size {size} (OOM); Neuron stand-in: {used} of {limit} bytes in use on core {core_of(index)}"
        )
    _Process.live[pointer] = (size, index)
    _Process.now[index] = used + size
    _Process.peak[index] = max(_Process.peak.get(index, 0), used + size)
    weakref.finalize(storage, _release, pointer)
    tell()


def _release(pointer: int) -> None:
    size, index = _Process.live.pop(pointer, (0, 0))
    if size:
        _Process.now[index] -= size


def allocated(index: int | None = None) -> int:
    return sum(_Process.now.values()) if index is None else _Process.now.get(index, 0)


def peak(index: int | None = None) -> int:
    return sum(_Process.peak.values()) if index is None else _Process.peak.get(index, 0)


def reset_peak() -> None:
    _Process.peak = dict(_Process.now)


def _born() -> str:
    """When this process started, in clock ticks of this boot: a pid alone may be another's later."""
    with open("/proc/self/stat") as file:
        return file.read().rpartition(")")[2].split()[19]


def tell(force: bool = False) -> None:
    """Writes what neuron-ls and neuron-monitor show of this process; at most every 0.2 s."""
    if not placed() or not started() or (not force and time.monotonic() - _Process.told < _PERIOD):
        return
    _Process.told = time.monotonic()
    mine: dict[str, Any] = {
        "pid": os.getpid(),
        "born": _born(),
        "cores": _Process.cores,
        "tag": os.environ.get("NEURON_PROCESS_TAG", str(os.getpid())),
        "command": " ".join(sys.orig_argv),
        "memory": {str(core_of(index)): size for index, size in _Process.now.items()},
    }
    path = os.path.join(ROOT, "run", "processes", f"{os.getpid()}.json")
    with open(path + ".part", "w") as file:
        json.dump(mine, file)
    os.replace(path + ".part", path)
