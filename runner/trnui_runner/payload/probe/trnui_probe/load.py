"""`from_pretrained` of models: when, which class, how many bytes this process holds of it, where."""

from __future__ import annotations

import time
from typing import Any

from .emit import Self, emit, short, since
from .memory import memory
from .patching import replace


class _Loads:
    n = 0


def watch_models(module: Any) -> None:
    replace(module.PreTrainedModel, "from_pretrained", _before, _after)


def watch_auto(module: Any) -> None:
    replace(module._BaseAutoModelClass, "from_pretrained", _before, _after)


def _before(args: Any, _: Any) -> float:
    Self.nesting += 1
    if Self.nesting == 1:
        model = str(args[1])[:400] if len(args) > 1 else None
        emit("stage", name="loading", model_class=args[0].__name__, model=model)
    return time.monotonic()


def _after(started: float, result: Any, error: BaseException | None) -> None:
    Self.nesting -= 1
    if Self.nesting:
        return None
    if error is not None:
        return emit("loaded", state="failed", seconds=since(started), **short(error))
    seconds, model = since(started), result[0] if isinstance(result, tuple) else result
    _Loads.n += 1
    size, kinds = 0, set()
    for p in model.parameters():
        p = getattr(p, "_local_tensor", p)  # a DTensor: what this rank holds
        size += p.numel() * p.element_size()
        kinds.add(p.device.type)
    Self.devices |= kinds
    emit(
        "loaded",
        model_class=type(model).__name__,
        bytes=size,
        seconds=seconds,
        device=sorted(kinds),
        dtype=str(getattr(model, "dtype", "")),
        n=_Loads.n,
    )
    return memory()
