"""The start of process groups, and so this process's rank."""

from __future__ import annotations

import time
from typing import Any

from .emit import Self, emit, short, since
from .patching import replace


def watch(module: Any) -> None:
    def after(started: float, _: Any, error: BaseException | None) -> None:
        if error is not None:
            return emit("group", state="failed", **short(error))
        Self.rank = module.get_rank()
        return emit(
            "group",
            state="end",
            world_size=module.get_world_size(),
            backend=module.get_backend(),
            seconds=since(started),
        )

    replace(module, "init_process_group", lambda *_: time.monotonic(), after)
