"""Memory of this process: the host's from /proc, the device's from torch, if this process has used one."""

from __future__ import annotations

import re
import sys
from typing import Any

from .emit import Self, emit


def memory() -> None:
    with open("/proc/self/status") as file:  # not ru_maxrss, which a child inherits
        status = dict(re.findall(r"^(VmHWM|VmRSS):\s+(\d+)", file.read(), re.M))
    emit("memory", source="host", peak=int(status["VmHWM"]) << 10, now=int(status["VmRSS"]) << 10)
    stand_in = getattr(sys.modules.get("torch_neuronx"), "STANDIN", False)
    for kind in Self.devices - {"cpu", "meta"}:  # asking about another one might start its runtime, and take cores
        module: Any = getattr(sys.modules["torch"], kind, None)
        if hasattr(module, "max_memory_allocated"):
            source = "torch (stand-in)" if stand_in else "torch"
            emit("memory", source=source, peak=module.max_memory_allocated(), now=module.memory_allocated())
