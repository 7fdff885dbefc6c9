"""On what a run is started: trnui's version, operating system, processor, instance type; memory and disk space that are free now."""

from __future__ import annotations

import os
import platform
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from trnui_runner import __version__
from trnui_runner.common.subprocesses import host_root
from trnui_runner.common.text import one_line, size

LONG: Final = 120  # characters of a value
EC2: Final = ("Amazon EC2", "Amazon EC2 Metal")  # the makers whose product name is the instance type


def machine(instance: str | None = None) -> dict[str, Any]:
    """What can be read without the network; None where it cannot. `instance`: as neuron-ls tells it."""
    root = host_root()
    return {
        "trnui": __version__,
        "os": _assigned(root / "etc/os-release", "PRETTY_NAME", "="),
        "kernel": one_line(f"{platform.system()} {platform.release()}", LONG),
        "cpu": _assigned(root / "proc/cpuinfo", "model name", ":") or platform.machine() or None,
        "cpus": os.cpu_count(),
        "memory": _memory(),
        "instance": instance or _instance(root),
    }


def machine_words(host: Mapping[str, Any]) -> list[tuple[str, str]]:
    """(name, words) of what is known; the values may come from a recipe on disk."""
    cpu, cpus = host.get("cpu"), host.get("cpus")
    memory = host.get("memory")
    found = (
        ("trnui", host.get("trnui")),
        ("operating system", ", ".join(one_line(host[n], LONG) for n in ("os", "kernel") if host.get(n))),
        ("processor", f"{cpus} × {one_line(cpu, LONG)}" if cpu and cpus else cpu),
        ("memory", size(memory) if isinstance(memory, int) else None),
        ("instance", host.get("instance")),
    )
    return [(name, one_line(value, 2 * LONG)) for name, value in found if value]


def _assigned(path: Path, name: str, sign: str) -> str | None:
    """The first `name<sign>value` of a file."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            for line in file:
                key, found, value = line.partition(sign)
                if found and key.strip() == name:
                    return one_line(value.strip().strip("\"'"), LONG) or None
    except OSError:
        return None
    return None


def _memory() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (OSError, ValueError):
        return None


def _instance(root: Path) -> str | None:
    """EC2 writes its type into the firmware's tables; other vendors' product names are not reported."""
    folder = root / "sys/devices/virtual/dmi/id"
    try:
        maker = (folder / "sys_vendor").read_text(encoding="utf-8", errors="replace").strip()
        name = (folder / "product_name").read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return None
    return one_line(name, LONG) or None if maker in EC2 else None


# --- what is free now, in bytes; None where it cannot be told


def host_memory() -> int | None:
    """MemAvailable: what can be taken without swapping."""
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            return next((int(line.split()[1]) << 10 for line in file if line.startswith("MemAvailable:")), None)
    except (OSError, ValueError):
        return None


def free_space(path: Path) -> int | None:
    """Free bytes of the file system on which `path` is or would be."""
    for folder in (path, *path.parents):
        try:
            return shutil.disk_usage(folder).free
        except OSError:
            continue
    return None
