"""Every operator on the stand-in device: one boxed fallback that runs the CPU kernel on the same bytes, and its few exceptions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.utils import _pytree as pytree

from . import device
from .alias import on_cpu, on_neuron

_kept: list[Any] = []  # libraries live as long as they are referenced
_CPU_KEYS = torch._C.DispatchKeySet(torch._C.DispatchKey.CPU)


def register() -> None:
    boxed = torch.library.Library("_", "IMPL")
    boxed.fallback(run, "PrivateUse1")
    aten = torch.library.Library("aten", "IMPL")
    aten.impl("copy_", _copy_into, "PrivateUse1")
    aten.impl("_copy_from", _copy_from, "PrivateUse1")
    aten.impl("_fused_sdp_choice", lambda *a, **k: 0, "PrivateUse1")  # 0: plain operators
    for name in ("as_strided", "view", "_reshape_alias", "unfold"):
        aten.impl(name, _view(getattr(torch.ops.aten, name).default), "PrivateUse1")
    # It has a kernel of its own that only raises.
    aten.impl(
        "convolution_overrideable", lambda *a: run(torch.ops.aten.convolution_overrideable.default, *a), "PrivateUse1"
    )
    _kept.extend((boxed, aten))


def _histc(x: torch.Tensor, *args: Any, **kwargs: Any) -> torch.Tensor:
    return torch.histc(x.float(), *args, **kwargs).to(x.dtype)


# Operators that accelerators have and the CPU lacks, or that exist for out-of-tree devices only.
_GAPS = {
    torch.ops.aten.histc.default: _histc,
    torch.ops.aten.convolution_overrideable.default: torch.ops.aten.convolution.default,
}


def _is_device(value: object) -> bool:
    return isinstance(value, torch.device) and value.type == "neuron"


def run(op: Any, *args: Any, **kwargs: Any) -> Any:
    """The CPU kernel of `op`: arguments relabelled down, results up, in-place and out= results handed back as they came."""
    index: int | None = None
    given: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}  # id of the CPU alias → (device tensor, alias)
    for value in pytree.tree_leaves((args, kwargs)):
        if isinstance(value, torch.Tensor) and value.device.type == "neuron" and index is None:
            index = value.device.index
        elif _is_device(value):
            index = value.index if value.index is not None else device.current()

    def down(value: Any) -> Any:
        if isinstance(value, torch.Tensor) and value.device.type == "neuron":
            # An empty out= argument is resized by the kernel, which a DLPack storage cannot be.
            empty = value.numel() == 0 and value.dim() == 1
            alias = torch.empty(0, dtype=value.dtype) if empty else on_cpu(value)
            given[id(alias)] = (value, alias)
            return alias
        return torch.device("cpu") if _is_device(value) else value

    plain, named = pytree.tree_map(down, (args, kwargs))
    plain = tuple(  # boxing has turned scalar tensors into numbers
        torch.tensor(v) if isinstance(v, bool | int | float) and isinstance(a.type, torch.TensorType) else v
        for v, a in zip(plain, op._schema.arguments, strict=False)
    )
    with torch._C._AutoDispatchBelowAutograd():
        out = _GAPS.get(op, op)(*plain, **named)
    for tensor, alias in given.values():
        if alias.shape != tensor.shape:  # resized: the caller's tensor gets the new memory
            tensor.data = on_neuron(alias, index or 0)

    def up(value: Any) -> Any:
        if not isinstance(value, torch.Tensor):
            return value
        if id(value) in given:
            return given[id(value)][0]
        return on_neuron(value, index or 0) if value.device.type == "cpu" else value

    return pytree.tree_map(up, out)


def _copy_into(self: torch.Tensor, src: torch.Tensor, non_blocking: bool = False) -> torch.Tensor:
    on_cpu(self).copy_(on_cpu(src))
    return self


def _copy_from(self: torch.Tensor, dst: torch.Tensor, non_blocking: bool = False) -> torch.Tensor:
    on_cpu(dst).copy_(on_cpu(self))
    return dst


def _view(op: Any) -> Callable[..., Any]:
    """Only a new view of the storage: the CPU kernel looks at no byte, so it runs on the device tensor and views share storage."""
    return lambda *args, **kwargs: op.redispatch(_CPU_KEYS, *args, **kwargs)
