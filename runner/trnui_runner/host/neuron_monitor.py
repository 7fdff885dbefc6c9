"""Live device memory of a run: neuron-monitor as an event source, sysfs where it is missing. Peaks are kept here, since no source reports them."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from trnui_runner.common.subprocesses import host_root, is_stand_in, locate
from trnui_runner.common.text import Safe, clean, decode, one_line
from trnui_runner.host.neuron_ls import number
from trnui_runner.run_folder.events import Body, MemoryEvent, NoticeEvent

PERIOD = 1.0
LINE = 8 << 20  # longest record taken
STEP = 1 << 20  # bytes by which a figure must change to be told again …
QUIET = 10.0  # … or seconds
SILENT = 15.0  # without a record, then it is said once
STARTS = 3  # of the tool, before it is given up


@dataclass(frozen=True)
class MonitorRecord:
    """One line of neuron-monitor: bytes in use by (pid, core), zeros dropped, with the parts; what it says is wrong."""

    used: Mapping[tuple[int, int], int] = field(default_factory=dict)
    parts: Mapping[int, Mapping[str, int]] = field(default_factory=dict)  # by core
    busy: Mapping[int, float] = field(default_factory=dict)  # utilisation of a core, percent
    capacity: int | None = None  # of a core
    lnc: int | None = None
    stand_in: bool = False
    errors: tuple[str, ...] = ()


def parse_record(line: bytes) -> MonitorRecord | None:
    """None for what is no record. Each runtime lists foreign cores with zeros: only what is more than zero counts."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict) or "neuron_runtime_data" not in value:
        return None
    used: dict[tuple[int, int], int] = {}
    parts: dict[int, dict[str, int]] = {}
    busy: dict[int, float] = {}
    errors: list[str] = []
    for runtime in _list(value["neuron_runtime_data"]):
        pid, report = number(_get(runtime, "pid")), _get(runtime, "report")
        if pid is None:
            continue
        errors += [one_line(e, 200) for e in (_get(runtime, "error"), _get(report, "memory_used", "error")) if e]
        by_core = _get(report, "memory_used", "neuron_runtime_used_bytes", "usage_breakdown", "neuroncore_memory_usage")
        for core, usage in _pairs(by_core):
            known = {str(k)[:40]: n for k, v in usage.items() if (n := number(v))} if isinstance(usage, dict) else {}
            if known:
                used[pid, core] = sum(known.values())
                mine = parts.setdefault(core, {})
                for name, size in known.items():
                    mine[name] = mine.get(name, 0) + size
        for core, counters in _pairs(_get(report, "neuroncore_counters", "neuroncores_in_use")):
            percent = _get(counters, "neuroncore_utilization")
            if isinstance(percent, int | float) and percent > 0:
                busy[core] = max(busy.get(core, 0.0), float(percent))
    hardware = value.get("neuron_hardware_info")
    whole = number(_get(hardware, "neuron_device_memory_size"))
    count = number(_get(hardware, "neuroncore_per_device_count"))
    return MonitorRecord(
        used,
        parts,
        busy,
        whole // count if whole and count else None,
        number(_get(hardware, "logical_neuroncore_config")),
        value.get("stand_in") is True,
        tuple(dict.fromkeys(errors)),
    )


def _get(value: object, *names: str) -> Any:
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _pairs(value: object) -> Iterable[tuple[int, Any]]:
    """(core, what it says) of an object keyed by core number."""
    if isinstance(value, dict):
        for key, inner in value.items():
            core = number(key)
            if core is not None:
                yield core, inner


@dataclass
class _Core:
    peak: int = 0
    told_now: int = 0
    told_peak: int = 0
    told_at: float = float("-inf")


class Monitor:
    """An event source: `memory {core, source, now, peak, capacity, parts}` of the processes with one NEURON_PROCESS_TAG.

    cores: logical ids of the run, for sysfs, which knows no processes. Starts nothing before the first poll.
    """

    def __init__(self, tag: str, *, capacity: int | None = None, cores: tuple[int, ...] = (), lnc: int = 2) -> None:
        self.tag, self.capacity, self.cores, self.lnc = tag, capacity, cores, lnc
        self.source = "neuron-monitor"
        self._child: subprocess.Popen[bytes] | None = None
        self._starts = 0
        self._rest = b""
        self._known: dict[int, _Core] = {}
        self._said: set[str] = set()
        self._by_sysfs = False
        self._next = float("-inf")
        self._heard = 0.0

    def poll(self, now: float) -> list[Body]:
        """What has changed. Never blocks, never raises; a problem is reported once, as a notice."""
        if self._by_sysfs:
            return self._sysfs(now)
        if self._child is None:
            return self._start(now)
        events: list[Body] = []
        for line in self._lines():
            record = parse_record(line)
            if record is not None:
                self._heard = now
                events += self._take(record, now)
        if now - self._heard > SILENT:
            events += self._notice("neuron-monitor says nothing; device memory comes from the processes alone")
        if self._child is not None and self._child.poll() is not None:
            events += self._ended(now)
        return events

    def last(self) -> list[Body]:
        """Peaks that were too close to the last figure to be reported before."""
        late = [core for core, known in self._known.items() if known.peak > known.told_peak]
        return [self._figure(core, self._known[core].told_now, self._known[core].told_at) for core in late]

    def close(self) -> None:
        """Ends the tool."""
        child, self._child = self._child, None
        if child is None:
            return
        if child.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)
            child.wait()
        if child.stdout is not None:
            child.stdout.close()

    def pids(self) -> set[int]:
        """Its child, which is no part of the run."""
        return set() if self._child is None else {self._child.pid}

    def _start(self, now: float) -> list[Body]:
        if now < self._next:
            return []
        tool = locate("neuron-monitor")
        if tool is None or self._starts >= STARTS:
            self._by_sysfs = True
            why = "not installed" if tool is None else f"ended {STARTS} times"
            return self._notice(f"neuron-monitor: {why}; device memory comes from sysfs and the processes, if at all")
        self._starts += 1
        config = os.memfd_create("neuron-monitor")  # it takes its settings from a file only
        try:
            os.write(config, json.dumps(self.config()).encode())
            self._child = subprocess.Popen(
                [tool, "-c", f"/proc/self/fd/{config}"],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                pass_fds=(config,),
                start_new_session=True,
            )
        except OSError as error:
            self._next = now + QUIET
            return self._notice(f"neuron-monitor: cannot be started: {error.strerror}")
        finally:
            os.close(config)
        assert self._child.stdout is not None
        os.set_blocking(self._child.stdout.fileno(), False)
        self._rest, self._heard = b"", now
        return []

    def config(self) -> dict[str, Any]:
        """Its settings file: memory and utilisation of our own processes alone."""
        return {
            "period": f"{PERIOD:g}s",
            "neuron_runtimes": [
                {
                    "tag_filter": f"^{re.escape(self.tag)}$",
                    "metrics": [{"type": "neuroncore_counters"}, {"type": "memory_used"}],
                }
            ],
            "system_metrics": [],
        }

    def _lines(self) -> list[bytes]:
        assert self._child is not None
        assert self._child.stdout is not None
        data = self._rest
        for _ in range(16):  # at most 16 MiB a poll
            try:
                piece = os.read(self._child.stdout.fileno(), 1 << 20)
            except BlockingIOError:
                break
            data += piece
            if not piece:
                break
        *lines, self._rest = data.split(b"\n")
        if len(self._rest) > LINE:
            self._rest = b""
        return lines

    def _take(self, record: MonitorRecord, now: float) -> list[Body]:
        self.capacity = self.capacity or record.capacity
        if record.stand_in:
            self.source = "neuron-monitor (stand-in)"
        by_core: dict[int, int] = {}
        for (_, core), size in record.used.items():
            by_core[core] = by_core.get(core, 0) + size
        events = self._notice(*(f"neuron-monitor: {e}" for e in record.errors))
        if record.errors and not record.used:
            return events  # it could not read: absent, not zero
        for core in self._known:
            by_core.setdefault(core, 0)  # its processes have gone
        return events + self._figures(by_core, now, record.parts, record.busy)

    def _figures(
        self,
        by_core: Mapping[int, int],
        now: float,
        parts: Mapping[int, Mapping[str, int]] | None = None,
        busy: Mapping[int, float] | None = None,
    ) -> list[Body]:
        events = list[Body]()
        for core, size in sorted(by_core.items()):
            known = self._known.setdefault(core, _Core())
            known.peak = max(known.peak, size)
            changed = abs(size - known.told_now) >= STEP or known.peak - known.told_peak >= STEP
            if not changed and now - known.told_at < QUIET:
                continue
            mine, share = (parts or {}).get(core), (busy or {}).get(core)
            events.append(self._figure(core, size, now, mine, share))
        return events

    def _figure(
        self, core: int, size: int, now: float, parts: Mapping[str, int] | None = None, busy: float | None = None
    ) -> MemoryEvent:
        known = self._known[core]
        known.told_now, known.told_peak, known.told_at = size, known.peak, now
        return MemoryEvent(
            Safe(self.source), size, known.peak, self.capacity, core=core, parts=parts and dict(parts), busy=busy
        )

    def _ended(self, now: float) -> list[Body]:
        assert self._child is not None
        code = self._child.returncode
        self.close()
        self._next = now + 2.0 * self._starts
        return self._notice(f"neuron-monitor ended with {code}")

    def _notice(self, *words: str) -> list[Body]:
        fresh = [w for w in dict.fromkeys(words) if w not in self._said]
        self._said.update(fresh)
        return [NoticeEvent(clean(w)) for w in fresh]

    def _sysfs(self, now: float) -> list[Body]:
        if now < self._next:
            return []
        self._next = now + PERIOD
        self.source = "sysfs (stand-in)" if is_stand_in() else "sysfs"
        used = {core: size for core, size in sysfs_memory(self.lnc).items() if core in self.cores}
        return self._figures(used, now)


def sysfs_memory(lnc: int) -> dict[int, int]:
    """Bytes in use by logical core, of all processes. The layout changed with driver 2.31: what is not found is left out."""
    found: dict[int, int] = {}
    base = host_root() / "sys/devices/virtual/neuron_device"
    for path in base.glob("neuron*/neuron_core*/**/memory_usage/device_mem/total"):
        device, core = (
            int(n) for n in re.findall(r"/neuron(?:_core)?(\d+)(?=/)", str(path.relative_to(base.parent)))[-2:]
        )
        try:
            size = number(decode(path.read_bytes()))
        except OSError:
            continue
        if size is not None:
            logical = device * (8 // lnc) + core // lnc
            found[logical] = found.get(logical, 0) + size
    return found
