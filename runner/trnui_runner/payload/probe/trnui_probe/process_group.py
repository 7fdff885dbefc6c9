"""The start of process groups: this process's rank, and its core where it is not placed yet."""

from __future__ import annotations

import os
import sys
import time
from typing import Any

from .emit import Self, emit, safe, short, since
from .patching import replace

RANK = 4  # position of `rank` in init_process_group's arguments


def place(arguments: tuple[Any, ...], named: dict[str, Any]) -> None:
    """A spawned rank learns its rank only here, the last moment before TorchNeuron picks a core for it."""
    rank = named.get("rank", arguments[RANK] if len(arguments) > RANK else -1)
    sys.modules[__package__].place(os.environ.get("LOCAL_RANK", os.environ.get("RANK") if rank == -1 else rank))


def watch(module: Any) -> None:
    def before(arguments: tuple[Any, ...], named: dict[str, Any]) -> float:
        safe(place, arguments, named)
        return time.monotonic()

    def after(started: float, _: Any, error: BaseException | None) -> None:
        if error is not None:
            return emit("group", state="failed", **short(error))
        Self.rank = module.get_rank()
        return emit(
            "group",
            state="end",
            world_size=module.get_world_size(),
            backend=module.get_backend(),
            cores=os.environ.get("NEURON_RT_VISIBLE_CORES"),
            seconds=since(started),
        )

    replace(module, "init_process_group", before, after)
