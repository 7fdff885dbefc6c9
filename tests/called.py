"""A command called in the test's own process: a tenth of the time that an interpreter of its own takes."""

from __future__ import annotations

import contextlib
import io
import sys
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

from trnui.__main__ import main


@dataclass(frozen=True)
class Called:
    code: int
    out: str
    err: str


def called(*args: str | Path, stdin: str = "") -> Called:
    """`trnui *args`: its exit code, stdout and stderr; neither is a terminal."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    code = 0
    with (
        patch.object(sys, "argv", ["trnui", *map(str, args)]),
        patch.object(sys, "stdin", io.StringIO(stdin)),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        try:
            main()
        except SystemExit as end:
            code = int(end.code or 0)
    texts = [stream.buffer.getvalue().decode() for stream in (out, err)]  # type: ignore[attr-defined]  # a BytesIO
    return Called(code, *texts)
