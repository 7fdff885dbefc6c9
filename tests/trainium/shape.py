"""What a stand-in host looks like: one frozen value, written to `host.json`, which its tools and its torch_neuronx read on every call."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

GIB = 1 << 30


@dataclass(frozen=True)
class Busy:
    """A core held by somebody else. The pid may be a real process of the test's, so that its age is real too."""

    pid: int
    command: str = "python3 train.py"


@dataclass(frozen=True)
class Shape:
    """Every field can be changed while the host is in use (`Host.change`)."""

    devices: int = 1
    lnc: int = 2  # physical cores in a logical one: 2 gives four cores a device, 1 gives eight
    hbm_gib: float = 96.0  # of a device
    core_limit_gib: float | None = None  # what a core refuses to go beyond; None: its share of the device
    instance_type: str = "trn2.3xlarge"
    busy: dict[int, Busy] = field(default_factory=dict)  # logical core → owner
    neuron_ls: str = "new"  # new, old, odd, absent, failing, hanging, empty
    neuron_monitor: str = "good"  # good, gaps, odd, absent, failing, hanging
    driver: bool = True  # /dev/neuron*, sysfs and the driver's version
    sysfs: bool = True
    compile_s: float = 0.0
    compiler: str = "good"  # good, absent
    compiler_exit: int = 0  # every compile ends with this code …
    compiler_code: str = "NCC_IBCG901"  # … and names this error
    fail_op: str = ""  # a graph with an operator whose name holds this does not compile
    hardware_error: str = ""  # HBM_UE, NC_UE, DMA_ABORT or COLLECTIVES when a compiled graph is executed
    noise: bool = False  # the compiler's C-level noise on the run's stdout
    neuronx_cc: str = "2.28.7631.0"
    torch_neuronx: str = "2.14.3.0"
    nki: str = "0.7.0"
    neuron_driver: str = "2.31.7.0"

    @property
    def cores_per_device(self) -> int:
        return 8 // self.lnc

    @property
    def cores(self) -> int:
        return self.devices * self.cores_per_device

    @property
    def device_bytes(self) -> int:
        return int(self.hbm_gib * GIB)

    @property
    def core_bytes(self) -> int:
        if self.core_limit_gib is not None:
            return int(self.core_limit_gib * GIB)
        return self.device_bytes // self.cores_per_device

    def to_json(self) -> dict[str, Any]:
        """The fields, with what the tools would otherwise have to work out."""
        return asdict(self) | {
            "stand_in": True,
            "cores": self.cores,
            "cores_per_device": self.cores_per_device,
            "device_bytes": self.device_bytes,
            "core_bytes": self.core_bytes,
        }
