"""A fetch in a child process, started and followed without ever blocking: for the app's background refresh and for `trnui sync`."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import trnui
import trnui_runner
from trnui.catalog.dataset.rankings import Ranked
from trnui.catalog.hub.fetch_pulse import remember_failure
from trnui.catalog.hub.fetch_worker import Order
from trnui_runner.common.text import clean, one_line

DEADLINE: Final = 600.0  # seconds for a whole fetch that makes progress; one that makes none is ended long before


@dataclass(frozen=True)
class FetchProgress:
    """Under way. Totals are None until the Hub has said what there is; `at` says what is being done."""

    files: int = 0
    files_total: int | None = None
    bytes: int = 0
    bytes_total: int | None = None
    at: str = "asking the Hub"


@dataclass(frozen=True)
class Part:
    """How one part (the dataset, the rankings, a model) ended. state: "new", "unchanged" or "failed"."""

    state: str
    words: str
    remedy: str = ""
    kind: str = ""
    commit: str | None = None

    @property
    def failed(self) -> bool:
        return self.state == "failed"


@dataclass(frozen=True)
class Finished:
    """Over. A part that was not asked for is None."""

    dataset: Part | None = None
    rankings: Part | None = None
    recipes: Part | None = None
    listing: Part | None = None
    model: Ranked | Part | None = None
    seconds: float = 0.0

    @property
    def changed(self) -> bool:
        """Whether the rows on disk are others than before."""
        return self.dataset is not None and self.dataset.state == "new"

    @property
    def words(self) -> str:
        """One line for a status bar."""
        parts = [part.words for part in (self.dataset, self.rankings) if part is not None and part.words]
        return " · ".join(dict.fromkeys(parts))


@dataclass
class Refresh:
    """One fetch. `start`, then `poll` as often as wanted until it gives a Finished; `close` ends it at once, without harm.

    deadline: seconds after which the child is ended whatever it does.
    """

    order: Order
    deadline: float = DEADLINE
    _child: subprocess.Popen[bytes] | None = None
    _streams: tuple[int, ...] = ()
    _progress: FetchProgress = field(default_factory=FetchProgress)
    _parts: dict[str, Any] = field(default_factory=dict)
    _rest: bytes = b""
    _errors: bytes = b""
    _started: float = 0.0
    _finished: Finished | None = None

    def start(self) -> Refresh:
        roots = (str(Path(str(package.__file__)).resolve().parent.parent) for package in (trnui, trnui_runner))
        path = os.pathsep.join(filter(None, (*roots, os.environ.get("PYTHONPATH"))))
        self._started = time.monotonic()
        # -P: nothing is imported from the folder the user happens to be in. A session of its own: Ctrl-C is the parent's.
        self._child = subprocess.Popen(
            [sys.executable, "-P", "-m", "trnui.catalog.hub.fetch_worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": path},
            start_new_session=True,
        )
        assert self._child.stdin is not None
        self._streams = tuple(s.fileno() for s in (self._child.stdout, self._child.stderr) if s is not None)
        for fd in self._streams:
            os.set_blocking(fd, False)
        with contextlib.suppress(BrokenPipeError):
            self._child.stdin.write(self.order.to_line().encode())
            self._child.stdin.flush()  # and left open: its end tells the child that we are gone
        return self

    def poll(self) -> FetchProgress | Finished:
        """What is known now; never blocks."""
        if self._finished is not None:
            return self._finished
        child = self._child
        assert child is not None, "start first"
        ended = child.poll() is not None
        self._read()
        if "end" in self._parts or ended:
            return self._finish(None)
        if time.monotonic() - self._started > self.deadline:
            return self._finish(f"not done after {self.deadline:g} s")
        return self._progress

    def wait(self, every: float = 0.02) -> Finished:
        """Blocks until it is over (for commands and tests)."""
        while True:
            found = self.poll()
            if isinstance(found, Finished):
                return found
            time.sleep(every)

    def close(self) -> None:
        """Ends the child, wherever it is."""
        child = self._child
        if child is None:
            return
        if child.poll() is None:
            child.kill()
        child.wait()
        for stream in (child.stdin, child.stdout, child.stderr):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()

    def _read(self) -> None:
        out, err = self._streams
        self._errors = (self._errors + _drain(err))[-4000:]
        self._rest += _drain(out)
        *lines, self._rest = self._rest.split(b"\n")
        for line in lines:
            event = json.loads(line)
            self._take(event.pop("event"), event)

    def _take(self, name: str, event: dict[str, Any]) -> None:
        if name == "plan":
            self._progress = FetchProgress(0, event["files"], 0, event["bytes"], "fetching")
        elif name == "progress":
            p = self._progress
            self._progress = FetchProgress(
                event["files"], p.files_total, event["bytes"], p.bytes_total, one_line(event["at"])
            )
        elif name == "waiting":
            self._progress = FetchProgress(at="another fetch of this dataset is under way: waiting for it")
        else:
            self._parts[name] = event

    def _finish(self, why: str | None) -> Finished:
        self.close()
        given_up = self._parts.get("gave-up")
        if why is None and "end" not in self._parts and given_up is None:
            last = clean(self._errors).strip().rpartition("\n")[2]
            why = f"the fetching process ended early{': ' + one_line(last, 200) if last else ''}"
        lost = Part(**given_up) if given_up else Part("failed", why or "", "Try again.", "odd")
        parts: dict[str, Any] = {}
        for name, wanted in (
            ("dataset", self.order.dataset),
            ("rankings", self.order.tasks),
            ("recipes", self.order.recipes),
            ("listing", self.order.listing),
            ("model", self.order.model),
        ):
            event = self._parts.get(name)
            if not wanted:
                continue
            if event is None:
                parts[name] = lost
                if name == "dataset" and not given_up:
                    remember_failure(str(wanted), lost.words)
            elif "info" in event:
                parts[name] = Ranked(**event["info"])
            else:
                parts[name] = Part(**event)
        self._finished = Finished(**parts, seconds=time.monotonic() - self._started)
        return self._finished


def _drain(fd: int) -> bytes:
    found = b""
    while True:
        try:
            piece = os.read(fd, 65536)
        except BlockingIOError:
            return found
        if not piece:
            return found
        found += piece


def due(checked: float | None, hours: float, now: float) -> bool:
    """Whether the app should refresh in the background: never with hours 0, always when nothing was fetched yet."""
    return hours > 0 and (checked is None or now - checked > hours * 3600)
