"""What this host has to give besides devices: memory and disk space, in bytes; None where it cannot be told."""

from __future__ import annotations

import shutil
from pathlib import Path


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
