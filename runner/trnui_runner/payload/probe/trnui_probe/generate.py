"""`generate`: its inputs (kept for the check), its steps, its new tokens.

Never a forward hook or `__call__`: Dynamo traces those and guards on them. Steps are counted in the method that runs on the
host after each forward, outside of any compiled code.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import time
import weakref
from collections.abc import Callable
from typing import Any

from .emit import RUN, TEXT, Self, emit, rank, safe, short, since
from .memory import memory
from .patching import replace

IDS, INPUT_BYTES, KEPT = 4096, 256 << 20, 8


class _Calls:
    n = 0
    counting = False
    steps: list[float] = []
    tokenizer: Callable[[], Any] = staticmethod(lambda: None)


def watch(module: Any) -> None:
    replace(module.GenerationMixin, "generate", _before, _after)
    replace(module.GenerationMixin, "_update_model_kwargs_for_generation", lambda *_: None, _step)


def watch_tokenizers(module: Any) -> None:
    """The last one that was loaded: it puts the new tokens into words."""

    def keep(_: Any, result: Any, error: BaseException | None) -> None:
        if error is None and result is not None:
            _Calls.tokenizer = weakref.ref(result)

    replace(module.PreTrainedTokenizerBase, "from_pretrained", lambda *_: None, keep)


def to_host(value: Any) -> Any:
    """A copy in host memory, or None. No operator runs on a device: only a contiguous tensor is copied as it is."""
    torch = sys.modules["torch"]
    if not isinstance(value, torch.Tensor) or type(value).__name__ == "DTensor":
        return None
    if value.device.type != "cpu" and not value.is_contiguous():
        return None
    return value.detach().to("cpu", copy=True).contiguous()


def _save(model: Any, tensors: dict[str, Any], options: dict[str, Any], n: int) -> str | None:
    """inputs/<rank>.safetensors (later calls <rank>.<pid>.<n>), options and generation config in its metadata."""
    host = {k: to_host(v) for k, v in tensors.items()}
    host = {k: v for k, v in host.items() if v is not None}
    if not host or sum(v.numel() * v.element_size() for v in host.values()) > INPUT_BYTES:
        return None
    name = f"{rank() or 0}.safetensors"
    if n > 1 or os.path.exists(f"{RUN}/inputs/{name}"):
        name = f"{rank() or 0}.{os.getpid()}.{n}.safetensors"
    config = getattr(model, "generation_config", None)
    meta = {
        "kwargs": json.dumps(options, default=_plain),
        "class": type(model).__name__,
        "generation_config": json.dumps(config.to_diff_dict() if config else {}, default=repr),
    }
    path = f"{RUN}/inputs/{name}"
    try:
        from safetensors.torch import save_file  # transformers has imported it long ago

        save_file(host, path + ".part", metadata=meta)
        os.replace(path + ".part", path)
    except Exception:
        if os.path.exists(path + ".part"):
            os.unlink(path + ".part")
        raise
    return name


def _plain(value: Any) -> Any:
    """A generation config that was passed to the call as its options (the check needs them), anything else in words."""
    if hasattr(value, "to_diff_dict"):
        return value.to_diff_dict()
    if hasattr(value, "get_seq_length") and not getattr(value, "is_initialized", True):
        return "fresh cache"  # one that holds something would decide tokens
    return repr(value)[:400]


def _before(args: Any, kwargs: Any) -> dict[str, Any] | None:
    Self.nesting += 1
    if Self.nesting > 1:
        return None
    torch = sys.modules["torch"]
    model, values = args[0], dict(kwargs)
    for place, name in ((1, "inputs"), (2, "generation_config")):
        if len(args) > place and args[place] is not None:
            values[name] = args[place]
    tensors = {k: v for k, v in values.items() if isinstance(v, torch.Tensor)}
    prompt = next((tensors[k] for k in ("input_ids", "inputs") if k in tensors), None)
    _Calls.n += 1
    device = str(getattr(model, "device", ""))
    Self.devices.add(device.partition(":")[0] or "cpu")
    length = int(prompt.shape[-1]) if prompt is not None else 0
    saved = None
    if _Calls.n <= KEPT:
        saved = safe(_save, model, tensors, {k: v for k, v in values.items() if k not in tensors}, _Calls.n)
    emit(
        "generate",
        state="start",
        n=_Calls.n,
        model_class=type(model).__name__,
        device=device,
        dtype=str(getattr(model, "dtype", "")),
        prompt_tokens=length,
        prefill_chunk=values.get("prefill_chunk_size"),
        inputs=saved,
    )
    skip = 0 if getattr(getattr(model, "config", None), "is_encoder_decoder", False) else length
    _Calls.steps, _Calls.counting = [time.monotonic()], True
    return {"n": _Calls.n, "device": device, "skip": skip, "began": time.monotonic()}


def _after(note: dict[str, Any] | None, result: Any, error: BaseException | None) -> None:
    Self.nesting -= 1
    if Self.nesting or note is None:
        return
    _Calls.counting = False
    seconds, steps = since(note["began"]), [b - a for a, b in zip(_Calls.steps, _Calls.steps[1:])]  # noqa: B905
    data: dict[str, Any] = {"n": note["n"], "device": note["device"], "seconds": seconds, "forwards": len(steps)}
    if steps:
        slowest = [round(s, 4) for s in sorted(steps)[-3:][::-1]]
        data |= {"first_s": round(steps[0], 4), "slowest_s": slowest, "median_s": round(statistics.median(steps), 6)}
    counters = getattr(sys.modules.get("torch._dynamo.utils"), "counters", None)
    if counters is not None:
        data |= {
            "graphs": counters["stats"].get("unique_graphs", 0),
            "graph_breaks": sum(counters["graph_break"].values()),
        }
    if error is not None:
        emit("generate", state="failed", **data, **short(error))
    else:
        if rank() in (None, 0):
            data |= _tokens(result, note["skip"])
        emit("generate", state="end", **data)
    memory()


def _tokens(result: Any, skip: int) -> dict[str, Any]:
    ids = to_host(getattr(result, "sequences", result))
    if ids is None:
        return {}
    rows = ids.reshape(-1, ids.shape[-1])[:, skip:].tolist()
    new = rows[0]
    tokenizer = _Calls.tokenizer()
    text = safe(lambda: tokenizer.decode(new)[:TEXT]) if tokenizer is not None else None
    found = {"new_ids": new[:IDS], "rows": len(rows), "text": text}
    if len(rows) > 1:
        found["rows_ids"] = rows[: max(1, IDS // max(1, len(new)))]
    return found


def _step(_: Any, __: Any, ___: Any) -> None:
    if not _Calls.counting:
        return
    now, last = time.monotonic(), _Calls.steps[-1]
    _Calls.steps.append(now)
    n = len(_Calls.steps) - 1
    if n <= 3 or n % 64 == 0 or now - last >= 0.5:
        emit("forward", n=n, seconds=round(now - last, 4))
