"""A program under a pty of its own: what it sends, when, and what the screen shows. For the terminal tests and the benchmarks.

Bytes are only recorded while the program runs; a pyte screen parses them when it is asked for, so parsing slows no reading.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Iterator
from pathlib import Path

import pyte

GAP = 0.06  # seconds without a byte: the repaint after one key is over
QUIET = 0.4  # seconds without a byte: the start is over
# What a terminal answers when it is asked: no synchronized output, no in-band resize.
_ANSWERS = {b"\x1b[?2026$p": b"\x1b[?2026;0$y", b"\x1b[?2048$p": b"\x1b[?2048;0$y"}


class Session:
    """`with Session(argv) as s:` starts it; leaving kills what is left of it."""

    def __init__(self, argv: list[str], size: tuple[int, int] = (160, 45), env: dict[str, str] | None = None) -> None:
        self.argv, self.size = argv, size
        self.env = {k: v for k, v in os.environ.items() if k not in ("COLORTERM", "NO_COLOR", "TMUX", "SSH_CONNECTION")}
        self.env |= {"TERM": "xterm-256color", "LANG": "C.UTF-8", **(env or {})}
        self.chunks: list[tuple[float, bytes]] = []
        self._screen = pyte.Screen(*size)
        self._stream = pyte.ByteStream(self._screen)
        self._parsed = 0
        self.code: int | None = None

    def __enter__(self) -> Session:
        self.started = time.monotonic()
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.execvpe(self.argv[0], self.argv, self.env)
        self.resize(*self.size)
        return self

    def __exit__(self, *_: object) -> None:
        if self.code is None:
            for number in (signal.SIGKILL, signal.SIGCONT):
                try:
                    os.kill(self.pid, number)
                except ProcessLookupError:
                    break
            os.waitpid(self.pid, 0)
        with contextlib.suppress(OSError):
            os.close(self.fd)

    # -- what the program sends

    def pump(self, seconds: float, quiet: float | None = None) -> bytes:
        """Reads for `seconds`, or until `quiet` seconds without a byte; what came meanwhile."""
        end, got = time.monotonic() + seconds, b""
        last = time.monotonic()
        while (now := time.monotonic()) < end:
            if quiet is not None and now - last >= quiet:
                break
            wait = min(end - now, quiet - (now - last) if quiet is not None else 1)
            if not select.select([self.fd], [], [], max(0.0, wait))[0]:
                continue
            try:
                data = os.read(self.fd, 1 << 16)
            except OSError:
                break
            if not data:
                break
            last = time.monotonic()
            self.chunks.append((last, data))
            got += data
            for question, answer in _ANSWERS.items():
                if question in data:
                    os.write(self.fd, answer)
        return got

    def until(self, pattern: str, seconds: float = 60.0) -> float:
        """Seconds from the start of this call until the screen shows `pattern`. Raises AssertionError with the screen."""
        begun = time.monotonic()
        while True:
            before = len(self.chunks)
            if re.search(pattern, self.text):
                return (self.chunks[-1][0] if self.chunks else begun) - begun
            if time.monotonic() - begun > seconds:
                raise AssertionError(f"not seen in {seconds} s: {pattern}\n{self.text}")
            self.pump(0.25, quiet=0.004 if before else None)

    def send(self, keys: str | bytes) -> None:
        os.write(self.fd, keys.encode() if isinstance(keys, str) else keys)

    def press(self, keys: str | bytes, seconds: float = 3.0, gap: float = GAP) -> bytes:
        """Sends keys and reads until the repaint is over."""
        self.send(keys)
        first = self.pump(seconds, quiet=None) if gap <= 0 else self._first(seconds)
        return first + self.pump(seconds, quiet=gap)

    def _first(self, seconds: float) -> bytes:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            got = self.pump(min(0.05, seconds))
            if got:
                return got
        return b""

    @property
    def sent(self) -> bytes:
        return b"".join(data for _, data in self.chunks)

    @property
    def text(self) -> str:
        """The screen as lines."""
        for _, data in self.chunks[self._parsed :]:
            self._stream.feed(data)
        self._parsed = len(self.chunks)
        return "\n".join(self._screen.display)

    def replay(self) -> Iterator[tuple[float, str]]:
        """The screen after each chunk that was not looked at yet, with the time at which it came: parsing delays no reading."""
        while self._parsed < len(self.chunks):
            when, data = self.chunks[self._parsed]
            self._parsed += 1
            self._stream.feed(data)
            yield when, "\n".join(self._screen.display)

    @property
    def lines(self) -> list[str]:
        return self.text.split("\n")

    # -- what is done to it

    def resize(self, columns: int, lines: int) -> None:
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
        self._screen.resize(lines, columns)
        self.size = (columns, lines)

    def signal(self, number: int) -> None:
        os.kill(self.pid, number)

    def wait(self, seconds: float = 5.0) -> int:
        """Its exit status (128 + signal when one ended it); reads meanwhile. Raises AssertionError when it does not end."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.pump(0.005)
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.pump(0.1, quiet=0.02)
                self.code = os.waitstatus_to_exitcode(status)
                return self.code if self.code >= 0 else 128 - self.code
        raise AssertionError(f"still alive after {seconds} s\n{self.text}")

    def modes(self) -> dict[str, bool]:
        """The terminal's modes as the program left them."""
        sent = self.sent
        return {name: sent.rfind(on) > sent.rfind(off) for name, (on, off) in _MODES.items()}

    def rss(self) -> float:
        """Peak memory of the process in MB."""
        status = Path(f"/proc/{self.pid}/status").read_text()
        return int(re.search(r"VmHWM:\s+(\d+)", status)[1]) / 1024  # type: ignore[index]

    def cpu(self) -> float:
        """Seconds of processor time that it has used so far, all its threads: says more than the clock on a busy machine."""
        return time.clock_gettime((~self.pid << 3) | 2)  # what clock_getcpuclockid(3) makes of a process

    def cooked(self) -> bool:
        """Whether the tty is back in the mode that a shell needs."""
        flags = termios.tcgetattr(self.fd)[3]
        return bool(flags & termios.ICANON and flags & termios.ECHO)


_MODES = {
    "alternate screen": (b"\x1b[?1049h", b"\x1b[?1049l"),
    "hidden cursor": (b"\x1b[?25l", b"\x1b[?25h"),
    "mouse": (b"\x1b[?1003h", b"\x1b[?1003l"),
    "focus reports": (b"\x1b[?1004h", b"\x1b[?1004l"),
    "bracketed paste": (b"\x1b[?2004h", b"\x1b[?2004l"),
}


def run(
    argv: list[str], env: dict[str, str] | None = None, stdin: int = subprocess.DEVNULL
) -> subprocess.CompletedProcess[str]:
    """A command without any terminal."""
    return subprocess.run(
        argv, env={**os.environ, **(env or {})}, stdin=stdin, capture_output=True, text=True, timeout=60
    )
