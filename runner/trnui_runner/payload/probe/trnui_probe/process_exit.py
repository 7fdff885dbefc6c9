"""How this process ends: an uncaught exception, os._exit, or the ordinary way."""

from __future__ import annotations

import atexit
import functools
import os
import sys
from types import TracebackType
from typing import Any, NoReturn

from .emit import Self, emit, safe, short
from .memory import memory


def watch() -> None:
    shown, leave = sys.excepthook, os._exit

    def excepthook(kind: type[BaseException], value: BaseException, tb: TracebackType | None) -> Any:
        emit("error", **short(value))
        return shown(kind, value, tb)

    def _exit(status: int) -> NoReturn:
        emit("exit", code=status)
        leave(status)

    sys.excepthook, os._exit = excepthook, functools.wraps(leave)(_exit)
    atexit.register(_last)


def _last() -> None:
    Self.devices.clear()  # host memory only: the device's runtime may be gone by now
    safe(memory)
    emit("exit", code=None)
