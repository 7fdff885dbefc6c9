"""A log file's lines without holding them: a sparse index of line starts, and the lines near any place. No Textual in here.

The index keeps 16 bytes for every 64 KiB of log (256 KiB for 1 GB), so its memory is bounded by the file's size alone.
"""

from __future__ import annotations

import contextlib
import os
import stat
from array import array
from bisect import bisect_right
from dataclasses import dataclass
from pathlib import Path

from trnui_runner.common.text import Safe, clean

BLOCK = 1 << 20  # bytes read at once while indexing
STRIDE = 64 << 10  # a mark stands at the first line start this far behind the one before
PIECE = 16 << 10  # bytes of a longer line that are wrapped together
GIANT = 1 << 20  # further than this nobody looks for a newline on the screen's behalf
BAR_TAIL = 64 << 10  # end of a long line in which the last state of a progress bar is looked for
CUT = 1000  # characters of a line on screen without wrap


@dataclass(frozen=True, slots=True)
class LogLine:
    """`end` is the place of its newline, or of the file's end while the line is not `whole`."""

    start: int
    end: int
    whole: bool = True

    @property
    def size(self) -> int:
        return self.end - self.start


class LogFile:
    """A regular file that may not be there yet, grows, and may be cut short; read at any place from any thread."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.problem = ""
        self._fd: int | None = None

    def size(self) -> int:
        """Bytes now; 0 while there is no file."""
        fd = self._open()
        if fd is None:
            return 0
        try:
            return os.fstat(fd).st_size
        except OSError as error:
            self.problem = error.strerror or str(error)
            return 0

    def read(self, start: int, count: int) -> bytes:
        """Up to `count` bytes; fewer at the end of the file or where it cannot be read (`problem` says why)."""
        fd = self._open()
        if fd is None or count <= 0:
            return b""
        try:
            return os.pread(fd, count, max(0, start))
        except OSError as error:
            self.problem = error.strerror or str(error)
            return b""

    def close(self) -> None:
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def _open(self) -> int | None:
        if self._fd is None:
            try:
                fd = os.open(self.path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            except FileNotFoundError:
                return None
            except OSError as error:
                self.problem = error.strerror or str(error)
                return None
            if not stat.S_ISREG(os.fstat(fd).st_mode):
                os.close(fd)
                self.problem = "not a regular file"
                return None
            self._fd, self.problem = fd, ""
        return self._fd

    def __del__(self) -> None:
        with contextlib.suppress(OSError):
            self.close()


class LineIndex:
    """Line starts, one mark each `STRIDE`. One thread calls `advance`; any other may read meanwhile.

    All line starts of a chunk (from one mark to the next) lie within `STRIDE` behind its mark: what follows is one long line.
    """

    def __init__(self, file: LogFile) -> None:
        self.file = file
        self.clear()

    def clear(self) -> None:
        self.offsets = array("Q", [0])  # marks; a number is appended before its offset
        self.numbers = array("Q", [0])
        self.end = 0  # bytes looked at
        self.lines = 0  # newlines among them
        self.last = 0  # where the line behind the last newline starts

    def advance(self, most: int = 8 * BLOCK) -> bool:
        """Looks at up to `most` further bytes. False when there are none now. A file cut short is begun again."""
        size = self.file.size()
        if size < self.end:
            self.clear()
        stop = min(size, self.end + most)
        grew = False
        while self.end < stop:
            data = self.file.read(self.end, min(BLOCK, stop - self.end))
            if not data:
                break
            self._take(data)
            grew = True
        return grew

    def _take(self, data: bytes) -> None:
        base, done, mark = self.end, 0, self.offsets[-1]
        while True:
            at = data.find(b"\n", max(done, mark + STRIDE - 1 - base))
            if at < 0:
                break
            self.lines += data.count(b"\n", done, at + 1)
            done, mark = at + 1, base + at + 1
            self.numbers.append(self.lines)
            self.offsets.append(mark)
        self.lines += data.count(b"\n", done)
        newline = data.rfind(b"\n")
        if newline >= 0:
            self.last = base + newline + 1
        self.end = base + len(data)

    # -- places

    def chunk(self, offset: int) -> tuple[int, int, int]:
        """The chunk that `offset` lies in: its number, start, and end (what is indexed so far, for the last one)."""
        offsets = self.offsets
        k = bisect_right(offsets, offset) - 1
        return k, offsets[k], offsets[k + 1] if k + 1 < len(offsets) else self.end

    def start_of(self, offset: int) -> int:
        """The start of the line that the byte at `offset` belongs to (its newline counts as its own)."""
        if offset <= 0:
            return 0
        step, floor = 4096, self.last
        if offset < self.end:
            if offset >= self.last:
                return self.last
            _, floor, _ = self.chunk(offset)
            offset = min(offset, floor + STRIDE)
        low = offset
        while low > floor and offset - low < GIANT:
            high, low = low, max(floor, low - step)
            at = self.file.read(low, high - low).rfind(b"\n")
            if at >= 0:
                return low + at + 1
            step = STRIDE
        return low

    def line(self, start: int, size: int) -> LogLine:
        """The line that starts at `start`, in a file of `size` bytes."""
        at, step = start, 4096
        while at < size and at - start < GIANT:
            data = self.file.read(at, min(step, size - at))
            found = data.find(b"\n")
            if found >= 0:
                return LogLine(start, at + found)
            if not data:
                break
            at, step = at + len(data), STRIDE
        if start < self.last:
            return LogLine(start, self.chunk(start)[2] - 1)
        return LogLine(start, size, whole=False)

    def after(self, line: LogLine, size: int) -> LogLine | None:
        return self.line(line.end + 1, size) if line.whole and line.end + 1 < size else None

    def before(self, start: int) -> LogLine | None:
        return LogLine(self.start_of(start - 1), start - 1) if start > 0 else None

    def last_line(self, size: int) -> LogLine | None:
        return self.line(self.start_of(size - 1), size) if size > 0 else None

    def number_of(self, start: int) -> int | None:
        """Which line starts at `start`, counted from 0; None while the index has not come so far."""
        if start > self.end:
            return None
        k, base, _ = self.chunk(start)
        return self.numbers[k] + self.file.read(base, min(start - base, STRIDE)).count(b"\n")

    def start_of_number(self, number: int) -> int:
        """Where line `number` (from 0) starts; the last one's start when there are fewer."""
        if number >= self.lines:
            return self.last
        k = bisect_right(self.numbers, number) - 1
        base, left = self.offsets[k], number - self.numbers[k]
        data = self.file.read(base, STRIDE + 1)
        at = -1
        for _ in range(left):
            at = data.find(b"\n", at + 1)
        return base + at + 1


def bar_state(tail: bytes) -> bytes | None:
    """The last state of a line that carriage returns overwrite, from the line's end; None if it is no such line."""
    if b"\r" not in tail.rstrip(b"\r"):
        return None
    return next((piece for piece in reversed(tail.split(b"\r")) if piece.strip()), b"")


def text_of(file: LogFile, line: LogLine, most: int = CUT) -> tuple[str, bool]:
    """The line as shown without wrap: safe, bars as their last state, at most `most` characters; and whether it was cut."""
    if line.size <= BAR_TAIL:
        text = clean(file.read(line.start, line.size))
    else:
        bar = bar_state(file.read(line.end - BAR_TAIL, BAR_TAIL))
        if bar is None:
            head = clean(file.read(line.start, most * 8))
            return head[:most], True
        text = clean(bar)
    text = Safe(text.replace("\n", " "))
    return (text[:most], True) if len(text) > most else (text, False)


def pieces(file: LogFile, line: LogLine) -> int:
    """How many parts of at most `PIECE` bytes the line is wrapped in; 1 for a bar."""
    if line.size <= PIECE:
        return 1
    tail = min(line.size, BAR_TAIL)
    if bar_state(file.read(line.end - tail, tail)) is not None:
        return 1
    return -(-line.size // PIECE)


def piece_text(file: LogFile, line: LogLine, number: int, count: int) -> str:
    """Part `number` of `count`, safe; cut between characters, never inside one."""
    if count == 1:
        return text_of(file, line, max(CUT, PIECE))[0]
    low = line.start + number * PIECE
    data = file.read(low, min(PIECE + 3, line.end - low))
    first = _continuation(data, 0) if number else 0
    return clean(data[first : min(len(data), PIECE + _continuation(data, PIECE))]).replace("\n", " ")


def _continuation(data: bytes, at: int) -> int:
    """How many bytes from `at` on belong to the character before."""
    count = 0
    while count < 3 and at + count < len(data) and data[at + count] & 0xC0 == 0x80:
        count += 1
    return count


def wrapped(text: str, width: int) -> list[str]:
    """Rows of at most `width` cells; one empty row for an empty text."""
    if width < 1 or not text:
        return [text]
    if text.isascii():
        return [text[i : i + width] for i in range(0, len(text), width)]
    from rich.cells import chop_cells

    return chop_cells(text, width)
