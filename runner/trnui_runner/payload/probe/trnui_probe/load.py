"""`from_pretrained` of models: when, which class, how many bytes this process holds of it, where, and which weights did not
come from the checkpoint."""

from __future__ import annotations

import functools
import re
import time
from collections.abc import Callable
from typing import Any

from .emit import Self, emit, short, since
from .memory import memory
from .patching import replace

NAMES = 8  # of missing and other weights
# Left-over entries that old checkpoints hold and that are no weights: every model works them out itself.
WORKED_OUT = re.compile(
    r"(?:^|\.)(?:inv_freq|position_ids|masked_bias|num_batches_tracked)$|\.attn\.bias$|\.attention\.bias$"
)


class _Loads:
    n = 0
    info: dict[str, Any] | None = None  # of the last load: transformers' own account of the weights


def watch_models(module: Any) -> None:
    owner = module.PreTrainedModel
    owner.from_pretrained = classmethod(_asking(vars(owner)["from_pretrained"].__func__))
    replace(owner, "from_pretrained", _before, _after)


def _asking(fn: Callable[..., Any]) -> Callable[..., Any]:
    """The same call with `output_loading_info=True`, and the same result without it."""

    @functools.wraps(fn)
    def call(*args: Any, **kwargs: Any) -> Any:
        asked = bool(kwargs.get("output_loading_info"))
        _Loads.info = None
        try:
            result = fn(*args, **{**kwargs, "output_loading_info": True})
        except BaseException as error:
            error.__traceback__ = error.__traceback__ and error.__traceback__.tb_next  # without our frame
            raise
        if isinstance(result, tuple) and len(result) == 2 and isinstance(result[1], dict):
            _Loads.info = result[1]
            return result if asked else result[0]
        return result

    return call


def _account() -> dict[str, Any]:
    """{missing, unexpected, mismatched}: names of weights, the first NAMES of them and how many more; empty when not told."""
    info, _Loads.info = _Loads.info, None
    found: dict[str, Any] = {}
    for word in ("missing", "unexpected", "mismatched"):
        if info is None:
            break
        keys = info.get(f"{word}_keys") or ()
        names = sorted(str(k[0] if isinstance(k, tuple) else k)[:120] for k in keys)
        if word == "unexpected":
            names = [name for name in names if not WORKED_OUT.search(name)]
        found[word], found[f"{word}_n"] = names[:NAMES], len(names)
    return found


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
        **_account(),
    )
    return memory()
