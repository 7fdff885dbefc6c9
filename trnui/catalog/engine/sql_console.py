"""The SQL prompt: one SELECT over `results`, `rankings` and `runs`, in a child process whose limits hold whatever the query does.

The child interrupts a query that takes too long; one that cannot be interrupted, or takes too much memory, ends with
the child, and the next query gets a new one.
"""

from __future__ import annotations

import contextlib
import json
import os
import pickle
import select
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import trnui
import trnui_runner
from trnui.catalog.dataset.snapshot import DatasetSource
from trnui.catalog.engine.result_set import Table
from trnui.catalog.query import Stack
from trnui_runner.common import procfs
from trnui_runner.common.errors import UserError, process_error
from trnui_runner.common.text import clean, one_line, size

_LOOK: Final = 0.02  # seconds between two looks at time and memory
_COUNT: Final = 2.0  # seconds for counting the rows of an answer that was cut
_GRACE: Final = 1.0  # seconds an interrupted query has to give up
_SLACK: Final = 512 << 20  # bytes beyond the limit that DuckDB keeps itself, for what it does not count


@dataclass(frozen=True)
class SqlLimits:
    """seconds a query may take, bytes of memory beyond the loaded data, rows and bytes of an answer, characters of a query."""

    seconds: float = 30.0
    memory: int = 1 << 30
    rows: int = 10_000
    bytes: int = 200 << 20
    text: int = 100_000


@dataclass(frozen=True)
class Selected(Table):
    """`cut` says that these are not all rows, and of how many where that could be counted (`total`); empty when they are."""

    cut: str = ""
    seconds: float = 0.0


class SqlError(UserError):
    """The query was refused, is wrong (its position marked on a line of its own) or went beyond a limit."""


class SqlStopped(Exception):
    """`interrupt` was called."""


class _Beyond(Exception):
    def __init__(self, words: str, *, memory: bool = False) -> None:
        super().__init__(words)
        self.words, self.memory = words, memory


class Prompt:
    """`run` blocks and is called from one thread at a time; `interrupt` and `close` from any."""

    def __init__(
        self,
        source: DatasetSource,
        *,
        columns: Mapping[str, str] | None = None,
        host: Stack | None = None,
        limits: SqlLimits = SqlLimits(),  # frozen
    ) -> None:
        self.limits = limits
        self._order = {
            "files": [str(f.absolute()) for f in source.files],
            "names": list(source.names),
            "columns": dict(columns or {}),
            "host": asdict(host) if host else None,
            "sample": source.provenance.sample,
            "memory": limits.memory,
        }
        self._child: subprocess.Popen[bytes] | None = None
        self._stop = threading.Event()
        self._begun: float | None = None  # when a query began; None while the data is loaded, which counts for no limit
        self._base = 0  # resident bytes then
        self._buffer = bytearray()

    def run(self, text: str) -> Selected:
        """Raises SqlError; SqlStopped after `interrupt`."""
        if len(text) > self.limits.text:
            raise SqlError(
                f"the query is {len(text):,} characters long; {self.limits.text:,} are the limit",
                "A list of many values is a table of its own: SELECT unnest([…]), or a condition that says what they share.",
            )
        self._stop.clear()
        child = self._started()
        self._begun, self._base = time.monotonic(), _resident(child.pid)  # taking it apart counts too
        self._say(child, {"sql": text, "rows": self.limits.rows, "bytes": self.limits.bytes})
        columns: tuple[str, ...] = ()
        rows: list[tuple[object, ...]] = []
        cut, total = "", 0
        counted_by: float | None = None

        def selected() -> Selected:
            words = f"{len(rows):,} of {total:,} rows shown" if cut and total else cut
            seconds = time.monotonic() - (self._begun or time.monotonic())
            return Selected(columns, tuple(rows), count=len(rows), total=total or len(rows), cut=words, seconds=seconds)

        def watch() -> None:
            self._watch(child)
            if counted_by is not None and time.monotonic() > counted_by:
                raise _Beyond("not counted in time")

        try:
            while True:
                kind, value = self._next(child, watch)
                if kind == "loading":
                    self._begun = None
                elif kind == "begin":
                    self._begun, self._base = time.monotonic(), _resident(child.pid)
                elif kind == "columns":
                    columns = unique(value)
                elif kind == "rows":
                    rows += value
                elif kind == "cut":
                    cut, counted_by = value, time.monotonic() + _COUNT
                elif kind == "total":
                    total = value
                elif kind == "error":
                    raise SqlError(value)
                else:
                    return selected()
        except SqlStopped:
            self._give_up(child, at_once=False)
            raise
        except _Beyond as beyond:
            self._give_up(child, at_once=beyond.memory)
            if cut:  # the rows are here; only how many more there are is not
                return selected()
            raise SqlError(beyond.words, "Ask for fewer rows, or aggregate.") from None

    def interrupt(self) -> None:
        """Ends the query that runs: `run` raises SqlStopped."""
        self._stop.set()

    def close(self) -> None:
        child, self._child = self._child, None
        self._buffer.clear()
        if child is not None:
            child.kill()
            child.wait()
            for stream in (child.stdin, child.stdout, child.stderr):
                if stream is not None:
                    stream.close()

    # -- the child

    def _started(self) -> subprocess.Popen[bytes]:
        if self._child is not None and self._child.poll() is None:
            return self._child
        self.close()
        roots = (str(Path(str(package.__file__)).resolve().parent.parent) for package in (trnui, trnui_runner))
        path = os.pathsep.join(filter(None, (*roots, os.environ.get("PYTHONPATH"))))
        child = self._child = subprocess.Popen(
            [sys.executable, "-P", "-m", "trnui.catalog.engine.sql_worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": path},
            start_new_session=True,
        )
        self._say(child, self._order)
        self._next(child, lambda: None)
        return child

    @staticmethod
    def _say(child: subprocess.Popen[bytes], value: Mapping[str, Any]) -> None:
        assert child.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # it has ended; whoever reads next says why
            child.stdin.write(json.dumps(value).encode() + b"\n")
            child.stdin.flush()

    def _next(self, child: subprocess.Popen[bytes], watch: Callable[[], None]) -> tuple[str, Any]:
        """The child's next frame; `watch` is called while waiting and may raise."""
        assert child.stdout is not None
        fd = child.stdout.fileno()
        while True:
            if len(self._buffer) >= 8:
                end = 8 + int(struct.unpack(">Q", self._buffer[:8])[0])
                if len(self._buffer) >= end:
                    kind, value = pickle.loads(self._buffer[8:end])  # made by our own child
                    del self._buffer[:end]
                    return kind, value
            watch()
            if select.select([fd], [], [], _LOOK)[0]:
                piece = os.read(fd, 1 << 20)
                if not piece:
                    raise self._ended(child)
                self._buffer += piece

    def _watch(self, child: subprocess.Popen[bytes]) -> None:
        if self._stop.is_set():
            raise SqlStopped
        if self._begun is None:
            return
        if time.monotonic() - self._begun > self.limits.seconds:
            raise _Beyond(f"stopped after {self.limits.seconds:g} s, the limit of a query")
        if _resident(child.pid) - self._base > self.limits.memory + _SLACK:
            raise _Beyond(
                f"stopped: it took more than {size(self.limits.memory)} of memory, the limit of a query", memory=True
            )

    def _give_up(self, child: subprocess.Popen[bytes], *, at_once: bool) -> None:
        """Lets the query be interrupted and its last frames pass by; ends the child when that takes too long."""
        deadline = time.monotonic() + (0 if at_once else _GRACE)

        def late() -> None:
            if time.monotonic() > deadline:
                raise TimeoutError

        self._say(child, {"interrupt": True})
        try:
            while self._next(child, late)[0] not in ("end", "error"):
                pass
        except (TimeoutError, SqlError):
            self.close()

    def _ended(self, child: subprocess.Popen[bytes]) -> SqlError:
        """The child is no more: killed for its memory by the system, or a fault of ours, whose last line is told."""
        child.wait()
        assert child.stderr is not None
        last = clean(child.stderr.read()[-4000:]).strip().rpartition("\n")[2]
        code = child.returncode
        self.close()
        limit = process_error(RuntimeError(last))
        if limit is not None:
            return SqlError(limit.message, limit.remedy)
        why = f"by signal {-code}" if code and code < 0 else one_line(last, 200) or f"with exit code {code}"
        return SqlError(f"the process that runs queries has ended ({why})", "Try again with a smaller query.")


def run_sql(
    text: str,
    source: DatasetSource,
    *,
    columns: Mapping[str, str] | None = None,
    limits: SqlLimits = SqlLimits(),
) -> Selected:
    """One query, and nothing left behind. Raises SqlError."""
    prompt = Prompt(source, columns=columns, limits=limits)
    try:
        return prompt.run(text)
    finally:
        prompt.close()


def unique(names: Sequence[str]) -> tuple[str, ...]:
    """Column names clean and different from each other, as `a`, `a_2`."""
    found: list[str] = []
    for name in names:
        plain = base = one_line(name, 120) or "column"
        number = 1
        while plain in found:
            number += 1
            plain = f"{base}_{number}"
        found.append(plain)
    return tuple(found)


def _resident(pid: int) -> int:
    """Bytes of memory a process holds; 0 when it has ended."""
    found = procfs.stat(pid)
    return found.rss if found is not None else 0
