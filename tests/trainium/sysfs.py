"""The stand-in's `/sys/devices/virtual/neuron_device`, as drivers up to 2.30 lay it out (2.31 has moved it: readers must bear both)."""

from __future__ import annotations

import shutil
from pathlib import Path

from .shape import Shape

CATEGORIES = (
    "collectives",
    "constants",
    "dma_rings",
    "model_code",
    "model_shared_scratchpad",
    "runtime_memory",
    "tensors",
)
STATUS = ("success", "failure", "timeout", "hw_error", "hw_hbm_ue_error", "hw_nc_ue_error")


def write_sysfs(root: Path, shape: Shape) -> None:
    """Removes and writes the tree. Core folders count physical cores, eight a device."""
    base = root / "sys" / "devices" / "virtual" / "neuron_device"
    shutil.rmtree(base, ignore_errors=True)
    module = root / "sys" / "module" / "neuron"
    shutil.rmtree(module, ignore_errors=True)
    if not shape.driver:
        return
    module.mkdir(parents=True)
    (module / "version").write_text(f"{shape.neuron_driver}+standin\n")
    if not shape.sysfs:
        return
    for device in range(shape.devices):
        here = base / f"neuron{device}"
        _values(here / "info" / "architecture", arch_type="NDv3", instance_type="Trn2", device_name="stand-in")
        _values(here, core_count="8", connected_devices="")
        for core in range(8):
            logical = device * shape.cores_per_device + core // shape.lnc
            used = (1 << 30) if logical in shape.busy else 0
            stats = here / f"neuron_core{core}" / "stats"
            for name in ("", *CATEGORIES):
                mine = used if name in ("", "tensors") else 0
                _values(stats / "memory_usage" / "device_mem" / name, total=str(mine), present="0", peak=str(mine))
            for name in STATUS:
                _values(stats / "status" / name, total="0", present="0")


def _values(folder: Path, **values: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, value in values.items():
        (folder / name).write_text(value + "\n")
