"""A view of this host, taken once per preflight and passed on, so that every check sees the same devices and interpreter."""

from __future__ import annotations

from dataclasses import dataclass

from trnui_runner.host.devices import Devices, devices
from trnui_runner.host.interpreter import Interpreter, find


@dataclass(frozen=True)
class HostView:
    devices: Devices
    interpreter: Interpreter

    @property
    def stand_in(self) -> bool:
        return self.devices.stand_in or bool(self.interpreter.stack.get("stand_in"))


def look(python: str | None = None) -> HostView:
    """One neuron-ls and one search for an interpreter, about 0.2 s. Raises UsageError when the interpreter asked for is not there."""
    interpreter = find(python)
    return HostView(devices(), interpreter)
