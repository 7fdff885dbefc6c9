"""Compilation: the intervals in which Dynamo works, and each graph on its way through the backend, whichever it is."""

from __future__ import annotations

import time
from typing import Any

from .emit import emit, safe, short, since
from .patching import replace

FRAMES = 100  # Dynamo frames told one by one; later ones only if slow
SLOW_S = 0.5


class _Frames:
    seen = 0
    began = 0.0


def watch_frames(module: Any) -> None:
    """Tracing and backend together. Nested and parallel frames count as one."""
    handler = module.callback_handler

    def start(args: Any) -> None:
        _Frames.began = time.monotonic()
        _Frames.seen += 1
        if _Frames.seen <= FRAMES:
            emit("dynamo", state="start", id=str(getattr(args, "compile_id", "")))

    def end(args: Any) -> None:
        seconds = since(_Frames.began)
        if _Frames.seen <= FRAMES or seconds >= SLOW_S:
            emit("dynamo", state="end", id=str(getattr(args, "compile_id", "")), seconds=seconds, frames=_Frames.seen)

    def register(*_: Any) -> None:
        handler.register_start_callback(lambda args=None: safe(start, args))
        handler.register_end_callback(lambda args=None: safe(end, args))

    register()
    replace(type(handler), "clear", lambda *_: None, register, False)  # torch._dynamo.reset() empties them


def _devices(nodes: Any) -> list[str]:
    """Of the graph's inputs, weights included."""
    values = [n.meta.get("example_value") for n in nodes if n.op == "placeholder"]
    return sorted({v.device.type for v in values if hasattr(v, "device")})


def watch_backend(module: Any) -> None:
    """Not the backend itself is replaced (it would not be the same object), but the method that calls it."""

    def before(args: Any, _: Any) -> dict[str, Any]:
        out, gm = args[0], args[1]
        nodes = gm.graph.nodes
        note = {
            "graph": str(getattr(out, "dynamo_compile_id", None) or getattr(gm, "_dynamo_compile_id", "")),
            "name": getattr(out, "co_fields", {}).get("co_name"),
            "nodes": len(nodes),
            "ops": sum(n.op.startswith("call_") for n in nodes),
            "devices": safe(_devices, nodes) or [],
            "backend": getattr(out.compiler_fn, "compiler_name", None) or getattr(out.compiler_fn, "__name__", None),
        }
        emit("compile", state="start", **note)
        return {**note, "began": time.monotonic()}

    def after(note: dict[str, Any], _: Any, error: BaseException | None) -> None:
        seconds = since(note.pop("began"))
        if error is None:
            emit("compile", state="end", seconds=seconds, **note)
        else:
            emit("compile", state="failed", seconds=seconds, **note, **short(error))

    replace(module.OutputGraph, "call_user_compiler", before, after, False)  # is_compiling() holds there
