"""Where a run's events come from besides its own processes: things the supervisor looks at while it watches.

A source is polled in the supervisor's tick, so `poll` must never wait. One that raises is told once and dropped.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Protocol

from trnui_runner.common.hub_env import hub_cache
from trnui_runner.common.procfs import descendants, peak_rss
from trnui_runner.common.text import Safe, clean, one_line, words
from trnui_runner.run_folder.events import Body, CompilersEvent, DiskEvent, DownloadEvent, MemoryEvent, NoticeEvent
from trnui_runner.run_folder.folder import RunFolder
from trnui_runner.run_folder.recipe import Recipe
from trnui_runner.supervise.live_diagnosis import Meaning
from trnui_runner.supervise.process_tree import Process, members, tree

FAMILY_S, MEMORY_S, DISK_S, DOWNLOAD_S = 2.0, 2.0, 10.0, 1.0
LOW_DISK = 1 << 30
HOST: Final = Safe("host")
FEW_THREADS = 100
LOOK_SHARE = 1000  # a look at all processes of a busy host takes at most a thousandth of a CPU
# Programs that compile, by the name the kernel shows (15 characters).
COMPILERS = (
    "neuronx-cc",
    "neuron-cc",
    "walrus_driver",
    "hlo2penguin",
    "hlo-opt",
    "tensorizer",
    "cc1plus",
    "nvcc",
    "ptxas",
)


class EventSource(Protocol):
    """`poll(now)`: events since the last time; `now` is the run's own
    seconds, which never jump. It may also have `pids()`: children of its own, which are no part of the run; and `last()`:
    what it can still tell when a step of the run has ended."""

    def poll(self, now: float) -> list[Body]: ...

    def close(self) -> None: ...


@dataclass
class SourceContext:
    """What a source may look at. `environ` is that of the run's processes; `processes` are those of the run, fresh enough."""

    run: RunFolder
    recipe: Recipe
    environ: Mapping[str, str]
    cores: tuple[int, ...] = ()
    clock: Callable[[], float] = time.monotonic
    foreign: set[int] = field(default_factory=set)  # children of sources
    _seen: list[Process] = field(default_factory=list)
    _next: float = float("-inf")

    def processes(self) -> list[Process]:
        if self.clock() >= self._next:
            began = time.thread_time()
            few = 0 < sum(p.threads for p in self._seen) < FEW_THREADS
            self._seen = members(os.getpid()) if few else tree(os.getpid())
            self._next = self.clock() + max(FAMILY_S, (time.thread_time() - began) * LOOK_SHARE)
        return [p for p in self._seen if p.pid not in self.foreign]


@dataclass
class HostMemory:
    """Host memory of each process of the run, and their sum ("run"), both with peaks; told when they have changed by much."""

    scene: SourceContext
    capacity: int = field(default_factory=lambda: os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    _told: dict[int, tuple[int, int]] = field(default_factory=dict)  # pid (0: the run) → now, peak
    _next: float = 0.0

    def poll(self, now: float) -> list[Body]:
        if now < self._next:
            return []
        self._next = now + MEMORY_S
        seen = self.scene.processes()
        peaks = {p.pid: peak_rss(p.pid) or p.rss for p in seen}
        found: list[Body] = [self._event(p, peaks[p.pid]) for p in seen if self._changed(p.pid, p.rss, peaks[p.pid])]
        total = sum(p.rss for p in seen)
        most = max([total, *peaks.values()])  # looked at now and then, a process's own peak is the better bound
        if seen and self._changed(0, total, most):
            found.append(MemoryEvent(HOST, total, most, self.capacity, scope=Safe("run")))
        gone = self._told.keys() - {p.pid for p in seen} - {0}
        for pid in gone:
            del self._told[pid]
        return found

    def _changed(self, pid: int, now: int, most: int) -> bool:
        old = self._told.get(pid)
        if (
            old is not None
            and abs(now - old[0]) < max(8 << 20, old[0] // 20)
            and most - old[1] < max(1 << 20, old[1] // 50)
        ):
            return False
        self._told[pid] = (now, most)
        return now >= 1 << 20

    def _event(self, process: Process, most: int) -> MemoryEvent:
        name = clean(process.name)
        return MemoryEvent(HOST, process.rss, most, self.capacity, process=process.pid, name=name)

    def close(self) -> None: ...


@dataclass
class Disk:
    """Free space where the run writes; a notice when it runs out."""

    places: Mapping[str, Path]
    _told: dict[str, int] = field(default_factory=dict)
    _warned: set[str] = field(default_factory=set)
    _next: float = 0.0

    def poll(self, now: float) -> list[Body]:
        if now < self._next:
            return []
        self._next = now + DISK_S
        found: list[Body] = []
        for name, path in self.places.items():
            try:
                info = os.statvfs(path)
            except OSError:
                continue
            free, whole = info.f_bavail * info.f_frsize, info.f_blocks * info.f_frsize
            old = self._told.get(name)
            if old is None or abs(free - old) > max(256 << 20, whole // 100) or (free < LOW_DISK) != (old < LOW_DISK):
                self._told[name] = free
                found.append(DiskEvent(clean(name), free, whole))
            if free < LOW_DISK and name not in self._warned:
                self._warned.add(name)
                found.append(NoticeEvent(words("{} MiB free for {}", free >> 20, name), Safe("disk")))
        return found

    def close(self) -> None: ...


@dataclass
class Compilers:
    """How many compiler processes of the run are alive: TorchNeuron itself says nothing while it compiles."""

    scene: SourceContext
    _told: int = 0

    def poll(self, now: float) -> list[Body]:
        alive = sum(p.name in COMPILERS for p in self.scene.processes())
        if alive == self._told:
            return []
        self._told = alive
        return [CompilersEvent(alive)]

    def close(self) -> None: ...


@dataclass
class Downloads:
    """Bytes of the files that the Hub's library is fetching, from the parts in its cache (the probe tells names and sizes)."""

    folders: tuple[Path, ...]
    _told: dict[str, int] = field(default_factory=dict)
    _next: float = 0.0

    def poll(self, now: float) -> list[Body]:
        if now < self._next:
            return []
        self._next = now + DOWNLOAD_S
        parts: dict[str, int] = {}
        for folder in self.folders:
            try:
                with os.scandir(folder) as entries:
                    for entry in entries:
                        if entry.name.endswith(".incomplete"):
                            parts[entry.name.partition(".")[0]] = entry.stat().st_size
            except OSError:
                continue  # nothing fetched yet
        found: list[Body] = [
            DownloadEvent(clean(blob[:12]), clean(blob), done=done)
            for blob, done in parts.items()
            if self._told.get(blob) != done
        ]
        gone = self._told.keys() - parts.keys()
        found += [DownloadEvent(clean(blob[:12]), clean(blob), "end") for blob in gone]
        self._told = parts
        return found

    def close(self) -> None: ...


def usual_sources(scene: SourceContext) -> list[EventSource]:
    """What every run is watched by."""
    hub = hub_cache(scene.environ)
    wanted = [name for name in (scene.recipe.model, scene.recipe.judge) if name and not os.path.isabs(name)]
    blobs = tuple(hub / f"models--{name.replace('/', '--')}" / "blobs" for name in wanted)
    places = {"the run folder": scene.run.path, "temporary files": Path(scene.environ.get("TMPDIR", "/tmp"))}
    if hub.is_dir():
        places["checkpoints"] = hub
    return [*_device_sources(scene), HostMemory(scene), Disk(places), Downloads(blobs), Meaning(scene.run)]


def _device_sources(scene: SourceContext) -> list[EventSource]:
    if scene.recipe.device == "cpu":
        return [Compilers(scene)]
    from trnui_runner.host.neuron_monitor import Monitor
    from trnui_runner.supervise.compile_watch import Compiles

    environ = scene.environ
    cache = Path(environ.get("TORCH_NEURONX_NEFF_CACHE_DIR", "/tmp/neff_cache"))
    local = Path(environ.get("TORCH_NEURONX_NEFF_LOCAL_CACHE_DIR", "/tmp/local_cache"))
    log = environ.get("TORCH_NEURONX_LOG_FILE")
    capacity = scene.recipe.options.get("core_bytes")
    return [
        Monitor(scene.run.id, capacity=capacity if isinstance(capacity, int) else None, cores=scene.cores),
        Compiles(os.getpid(), cache, local, Path(log) if log else None),
    ]


class EventSources:
    """All sources of a run; one that fails is told once, closed and dropped."""

    def __init__(self, sources: list[EventSource], scene: SourceContext) -> None:
        self._sources, self._scene = list(sources), scene

    def poll(self, now: float) -> list[Body]:
        found: list[Body] = []
        for source in list(self._sources):
            try:
                found += source.poll(now)
                if hasattr(source, "pids"):
                    self._set_apart()
            except Exception as error:  # noqa: BLE001 a source is a convenience; the run goes on without it
                self._drop(source)
                what = words("no more events of {}: {}: {}", type(source).__name__, type(error).__name__, error)
                found.append(NoticeEvent(one_line(what), Safe("source")))
        return found

    def _set_apart(self) -> None:
        """The sources' own children are no part of the run."""
        own = {pid for source in self._sources for pid in getattr(source, "pids", set)()}
        self._scene.foreign = own | {below for pid in own for below in descendants(pid)}

    def last(self) -> list[Body]:
        """What the sources can still tell of a step that has ended."""
        found: list[Body] = []
        for source in self._sources:
            with contextlib.suppress(Exception):
                found += getattr(source, "last", list)()
        return found

    def _drop(self, source: EventSource) -> None:
        self._sources.remove(source)
        with contextlib.suppress(Exception):  # what failed was told already, and a run that ends has other cares
            source.close()

    def close(self) -> None:
        for source in list(self._sources):
            self._drop(source)
