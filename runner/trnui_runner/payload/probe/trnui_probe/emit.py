"""Telling events: one JSON line each in $TRNUI_RUN_DIR/events/<pid>.jsonl, and what this process knows of itself."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from typing import Any

RUN = os.environ["TRNUI_RUN_DIR"]
TEXT = 4000  # characters of a message, counted from its end


class Self:
    """This process in its run."""

    rank: int | None = None
    torn = False  # the last line did not get to the file whole
    nesting = 0  # from_pretrained and generate call themselves by super()
    devices: set[str] = set()  # that this process has loaded or generated on


def rank() -> int | None:
    if Self.rank is None:
        text = os.environ.get("RANK", "")
        return int(text) if text.isdecimal() else None
    return Self.rank


def emit(event: str, **data: Any) -> None:
    """The file is opened for each event: nothing to lose to os.closerange(), a fork, or a reused descriptor."""
    try:
        pid = os.getpid()
        head = {"t": round(time.time(), 4), "m": round(time.monotonic(), 4), "rank": rank(), "pid": pid, "event": event}
        line = json.dumps({**head, **data}, separators=(",", ":"), default=repr).encode() + b"\n"
        if Self.torn:
            line = b"\n" + line
        Self.torn = True
        fd = os.open(f"{RUN}/events/{pid}.jsonl", os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            Self.torn = os.write(fd, line) != len(line)
        finally:
            os.close(fd)
    except Exception:
        pass  # a full disk ends no run


def safe(fn: Callable[..., Any], *args: Any) -> Any:
    """fn(*args); an observer that fails is told, and None."""
    try:
        return fn(*args)
    except Exception as error:
        emit("notice", text=f"probe: {getattr(fn, '__name__', fn)}: {type(error).__name__}: {error}"[:TEXT])
        return None


def since(start: float) -> float:
    return round(time.monotonic() - start, 4)


def short(error: BaseException) -> dict[str, str]:
    """Class, message and the innermost place of an exception."""
    tb, where = error.__traceback__, ""
    while tb is not None:
        where = f"{tb.tb_frame.f_code.co_filename}:{tb.tb_lineno}"
        tb = tb.tb_next
    return {"class": type(error).__name__, "text": str(error)[-TEXT:], "where": where}
