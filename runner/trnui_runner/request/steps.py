"""The steps that a run executes and the options of its supervision: values, handed to the launcher."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from trnui_runner.host.core_blocks import CoreRequest
from trnui_runner.run_folder.outcome import Stage

GRACE_S = 10.0
SILENCE_S = 900.0
CHECK = Path(__file__).resolve().parent.parent / "payload" / "check.py"


@dataclass(frozen=True)
class Step:
    """One command of a run. `{run}` in a word of it stands for the run folder.

    The first step is the run itself. A later one starts only when the one before ended with 0, or when a published
    script has generated something to check (its exit code says nothing about that).
    """

    name: str
    command: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)  # on top of the run's environment
    stage: Stage = "preparing"
    probe: bool = True  # observe its processes


@dataclass(frozen=True)
class SupervisionOptions:
    """How a run is supervised, and what its processes get. Times in seconds, sizes in bytes.

    cores: the NeuronCores that the run leases; with `wait` it queues for them, else it is refused (DeviceError).
    move_sharded: a published sharded script is moved off cores 0..n-1, to whichever aligned block is free.
    neff_cache: folder of the NEFF caches, one sub-folder for each compiler version; None: the user's cache.
    token: the Hub token at hand goes along. offline: the Hub's library is told to take what is in the cache. keep: further variables, by name or by `PREFIX_*`, from the user's environment.
    """

    grace_s: float = GRACE_S
    silence_s: float = SILENCE_S
    log_limit: int | None = None
    cores: CoreRequest | None = None
    wait: bool = True
    move_sharded: bool = True
    neuronx_cc: str | None = None
    neff_cache: str | None = None
    token: bool = False
    offline: bool = False
    keep: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> SupervisionOptions:
        names = {f.name for f in dataclasses.fields(cls)}
        known: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in value.items() if k in names}
        if known.get("cores") is not None:
            cores: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in known["cores"].items()}
            known["cores"] = CoreRequest(**cores)
        return cls(**known)


def usual_steps(python: str) -> tuple[Step, Step]:
    """run.py, then the check of what it generated, both by the run's interpreter; the check never touches a device."""
    return (
        Step("run", (python, "{run}/run.py")),
        Step("check", (python, str(CHECK), "{run}"), {"TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}, "checking", False),
    )
