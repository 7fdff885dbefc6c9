"""torch.distributed backend "neuron": gloo on the same bytes, with the real one's rules about when and on which core a rank starts."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist
from torch.utils import _pytree as pytree

from . import device, runtime
from .alias import on_cpu

_FORWARDED = (
    "allreduce", "allreduce_coalesced", "allgather", "_allgather_base", "broadcast", "reduce", "gather", "scatter",
    "reduce_scatter", "_reduce_scatter_base", "alltoall", "alltoall_base", "send", "recv",
)  # fmt: skip


def register() -> None:
    if dist.is_available() and "neuron" not in dist.Backend._plugins:
        dist.Backend.register_backend("neuron", _create, devices=["neuron"])


def _create(store: Any, rank: int, size: int, timeout: Any) -> Any:
    if runtime.started():
        if _place(rank) != os.environ.get("NEURON_RT_VISIBLE_CORES"):
            raise RuntimeError("Neuron runtime should not be initialized before the init_process_group.")
    else:
        os.environ.setdefault("NEURON_RT_VISIBLE_CORES", _place(rank))
        device.set_device(int(os.environ.get("LOCAL_RANK") or rank))
        runtime.start()
    return _group(store, rank, size, timeout)


def _place(rank: int) -> str:
    return os.environ.get("NEURON_RT_VISIBLE_CORES") or os.environ.get("LOCAL_RANK") or str(rank)


class _Works(dist._Work):  # type: ignore[misc, name-defined]
    def __init__(self, works: list[Any]) -> None:
        super().__init__()
        self.works = works

    def wait(self, timeout: Any = None) -> bool:
        for work in self.works:
            work.wait()
        return True

    def is_completed(self) -> bool:
        return all(work.is_completed() for work in self.works)


class _Group(dist.ProcessGroup):
    def __init__(self, store: Any, rank: int, size: int, timeout: Any) -> None:
        super().__init__(rank, size)
        self._gloo = dist.ProcessGroupGloo(store, rank, size, timeout)

    @property
    def group_name(self) -> str:
        from torch.distributed.distributed_c10d import _world

        return str(_world.pg_names[self])

    def getBackendName(self) -> str:
        return "neuron"

    def size(self) -> int:
        return self._gloo.size()

    def rank(self) -> int:
        return self._gloo.rank()

    def barrier(self, opts: Any = None) -> Any:
        return self._gloo.barrier(dist.BarrierOptions())


def _forwarded(name: str) -> Callable[..., Any]:
    def call(self: _Group, *args: Any, **kwargs: Any) -> Any:
        args, kwargs = pytree.tree_map(lambda x: on_cpu(x) if isinstance(x, torch.Tensor) else x, (args, kwargs))
        return getattr(self._gloo, name)(*args, **kwargs)

    return call


def _coalesced(one: str) -> Callable[..., Any]:
    """gloo's Python binding lacks the coalesced forms."""

    def call(self: _Group, outs: Any, ins: Any, opts: Any = None) -> _Works:
        return _Works([getattr(self, one)(out, value) for out, value in zip(outs, ins, strict=True)])

    return call


for _name in _FORWARDED:
    setattr(_Group, _name, _forwarded(_name))
_Group.allgather_into_tensor_coalesced = _coalesced("_allgather_base")
_Group.reduce_scatter_tensor_coalesced = _coalesced("_reduce_scatter_base")
_group = _Group
