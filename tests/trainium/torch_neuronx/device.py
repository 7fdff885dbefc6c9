"""`torch.neuron` and the device's name: the functions of the real module that libraries call, over the stand-in's runtime."""

from __future__ import annotations

import sys
import time
import types
from typing import Any

import torch

from . import metrics, runtime
from .shape import host

NAME = "trn2 (stand-in)"
_current = [0]


def current() -> int:
    return _current[0]


def set_device(device: Any) -> None:
    _current[0] = _index(device) or 0


def _index(device: Any) -> int | None:
    if device is None or isinstance(device, int):
        return device
    index: int | None = torch.device(device).index
    return index


class _Context:
    def __init__(self, device: Any = None) -> None: ...
    def __enter__(self) -> _Context:
        return self

    def __exit__(self, *exc: object) -> bool:
        return False


class Event:
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.time = 0.0

    def record(self, *args: Any) -> None:
        self.time = time.perf_counter()

    def synchronize(self) -> None: ...
    def wait(self, *args: Any) -> None: ...
    def query(self) -> bool:
        return True

    def elapsed_time(self, other: Event) -> float:
        return (other.time - self.time) * 1e3


class Stream:
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    def synchronize(self) -> None: ...
    def wait_stream(self, *args: Any) -> None: ...


def properties(device: Any = None) -> types.SimpleNamespace:
    return types.SimpleNamespace(name=NAME, total_memory=int(host()["core_bytes"]))


def synchronize(device: Any = None) -> None:
    runtime.tell(force=True)


def memory_stats(device: Any = None) -> dict[str, Any]:
    now, peak = runtime.allocated(_index(device)), runtime.peak(_index(device))
    counts = {"current": now, "peak": peak, "allocated": peak, "freed": peak - now}
    kinds = dict.fromkeys(("allocated_bytes", "reserved_bytes", "active_bytes"), counts)
    return {**kinds, "num_alloc_retries": 0, "num_ooms": 0}


neuron = types.ModuleType("torch.neuron")
neuron.__dict__.update(
    is_available=lambda: runtime.device_count() > 0,
    is_initialized=runtime.started,
    init=runtime.start,
    _lazy_init=lambda: None,
    _is_in_bad_fork=lambda: False,
    device_count=runtime.device_count,
    current_device=current,
    set_device=set_device,
    synchronize=synchronize,
    empty_cache=lambda: None,
    manual_seed=lambda seed: None,
    manual_seed_all=lambda seed: None,
    get_rng_state=lambda device=None: torch.get_rng_state(),
    get_rng_state_all=lambda: [torch.get_rng_state()],
    set_rng_state=lambda state, device=None: None,
    is_bf16_supported=lambda: True,
    get_amp_supported_dtype=lambda: [torch.bfloat16],
    memory_allocated=lambda device=None: runtime.allocated(_index(device)),
    max_memory_allocated=lambda device=None: runtime.peak(_index(device)),
    memory_reserved=lambda device=None: runtime.allocated(_index(device)),
    max_memory_reserved=lambda device=None: runtime.peak(_index(device)),
    reset_peak_memory_stats=lambda device=None: runtime.reset_peak(),
    memory_stats=memory_stats,
    get_device_name=lambda device=None: f"neuron:{_index(device) or current()} (stand-in)",
    get_device_properties=properties,
    get_dynamo_metrics=metrics.get_dynamo_metrics,
    reset_dynamo_metrics=metrics.reset_dynamo_metrics,
    device=_Context,
    stream=_Context,
    Event=Event,
    Stream=Stream,
    current_stream=lambda device=None: Stream(),
)


def register() -> None:
    from torch.utils.backend_registration import _setup_privateuseone_for_python_backend

    _setup_privateuseone_for_python_backend("neuron", backend_module=neuron)
    sys.modules["torch.neuron"] = neuron
    # The guard written in Python cannot hold an index.
    torch.accelerator.set_device_index = set_device
    torch.accelerator.current_device_index = current
    torch.accelerator.device_count = runtime.device_count
