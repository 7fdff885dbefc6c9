"""Finding lines in a log file: which match, how many, the next and the one before, while the file grows. No Textual in here.

Hits are counted per chunk of the line index and found again by looking at one chunk, so a million hits take no memory.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from collections import OrderedDict
from dataclasses import dataclass

from trnui.tui.log.index import BAR_TAIL, GIANT, STRIDE, LineIndex, bar_state
from trnui_runner.common.text import clean

KEPT = 8  # chunks whose hits are kept
# What marks a line as an error: a word that stands for one, a class's name at the start of Python's last traceback line, a native end.
ERROR = re.compile(
    rb"(?i)\berrors?\b(?!s?[ =:]+(?:0|none)\b)|\bfatal\b|\bcritical\b|\btraceback \(most recent|\b[A-Za-z_.]+(?:Error|Exception)\b(?=:|$)"
    rb"|\bsegmentation fault\b|\bcore dumped\b|\bout of memory\b|\bpanic\b|\bassertion .*failed\b|\bkilled\b"
)
WARNING = re.compile(rb"(?i)\bwarn(?:ing)?s?\b|\bdeprecat")


@dataclass(frozen=True)
class Matcher:
    """Text is an ordinary part of a line as shown; case counts only if `text` has a capital. A pattern looks at the raw line."""

    text: str = ""
    pattern: re.Pattern[bytes] | None = None

    @property
    def cased(self) -> bool:
        return self.text != self.text.lower()

    def line(self, raw: bytes) -> bool:
        """Whether one line (without its newline) matches."""
        if self.pattern is not None:
            return self.pattern.search(raw) is not None
        shown = clean(raw)
        return self.text in (shown if self.cased else shown.lower())

    def starts(self, data: bytes, base: int) -> list[int]:
        """Starts of the matching lines in `data`, which begins with a line at `base` of the file."""
        if self.pattern is not None:
            return self._by_pattern(data, base, self.pattern)
        if b"\x1b" in data or b"\r" in data or b"\t" in data or not self.text.isascii() or not data.isascii():
            return self._by_line(data, base)
        hay = data if self.cased else data.lower()
        needle = self.text.encode()
        found, at = [], hay.find(needle)
        while at >= 0:
            found.append(base + hay.rfind(b"\n", 0, at) + 1)
            end = hay.find(b"\n", at)
            at = hay.find(needle, end + 1) if end >= 0 else -1
        return found

    def _by_pattern(self, data: bytes, base: int, pattern: re.Pattern[bytes]) -> list[int]:
        found, hit = [], pattern.search(data)
        while hit is not None:
            found.append(base + data.rfind(b"\n", 0, hit.start() + 1 if data[hit.start()] != 10 else hit.start()) + 1)
            end = data.find(b"\n", hit.end())
            hit = pattern.search(data, end + 1) if end >= 0 else None
        return found

    def _by_line(self, data: bytes, base: int) -> list[int]:
        found, at = [], 0
        for raw in data.split(b"\n"):
            if raw and self.line(raw):
                found.append(base + at)
            at += len(raw) + 1
        return found


class Search:
    """The lines that match. One thread calls `advance`; others may ask for places meanwhile and get what is known so far."""

    def __init__(self, index: LineIndex, matcher: Matcher) -> None:
        self.index = index
        self.matcher = matcher
        self.done = 0  # chunks searched to their end
        self._chunks = array("Q")  # numbers of the chunks that have hits
        self._before = array("Q")  # hits before each of them; appended first
        self.closed = 0  # hits in searched chunks
        self.tail = 0  # hits in the last, open chunk
        self._tail_end = -1
        self._kept: OrderedDict[tuple[int, int], list[int]] = OrderedDict()

    @property
    def total(self) -> int:
        return self.closed + self.tail

    @property
    def share(self) -> float:
        """How much of the indexed file has been searched, 0 to 1."""
        chunks = len(self.index.offsets)
        return 1.0 if self.done >= chunks - 1 else self.done / chunks

    def advance(self, most: int = 64) -> bool:
        """Searches up to `most` further chunks. False when there is nothing new."""
        offsets, did = self.index.offsets, False
        while most and self.done + 1 < len(offsets):
            found = len(self._hits(self.done, offsets[self.done], offsets[self.done + 1], keep=False))
            if found:
                self._before.append(self.closed)
                self._chunks.append(self.done)
                self.closed += found
            self.done += 1
            self.tail, most, did = 0, most - 1, True
        end = self.index.end
        if self.done + 1 == len(offsets) and end != self._tail_end:
            self.tail = len(self._hits(self.done, offsets[self.done], end, keep=False))
            self._tail_end, did = end, True
        return did

    def _hits(self, chunk: int, start: int, end: int, *, keep: bool = True) -> list[int]:
        """Starts of the matching lines of a chunk. Of a line longer than 1 MiB the first MiB and the last 64 KiB are looked at."""
        kept = self._kept.get((chunk, end)) if keep else None
        if kept is not None:
            return kept
        data = self.index.file.read(start, min(end - start, STRIDE + GIANT))
        found = self.matcher.starts(data, start)
        if end - start > len(data):
            line = start + data.rfind(b"\n") + 1
            tail = self.index.file.read(end - BAR_TAIL, BAR_TAIL)
            bar = bar_state(tail.rstrip(b"\n"))
            if bar is not None:  # only its last state is shown
                found = [at for at in found if at != line] + ([line] if self.matcher.line(bar) else [])
            elif line not in found and self.matcher.starts(tail, 0):
                found.append(line)
        if keep:
            self._kept[(chunk, end)] = found
            if len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        return found

    def _of(self, chunk: int) -> list[int]:
        offsets = self.index.offsets
        return self._hits(chunk, offsets[chunk], offsets[chunk + 1] if chunk + 1 < len(offsets) else self.index.end)

    def after(self, offset: int) -> int | None:
        """The first matching line that starts behind `offset`; -1 asks for the first of all."""
        chunk = self.index.chunk(max(0, offset))[0]
        for start in self._of(chunk):
            if start > offset:
                return start
        k = bisect_right(self._chunks, chunk)
        if k < len(self._chunks):
            return self._of(self._chunks[k])[0]
        last = len(self.index.offsets) - 1
        return next(iter(self._of(last)), None) if last > chunk and self.tail else None

    def before(self, offset: int) -> int | None:
        """The last matching line that starts before `offset`."""
        chunk = self.index.chunk(max(0, offset))[0]
        for start in reversed(self._of(chunk)):
            if start < offset:
                return start
        k = bisect_right(self._chunks, chunk - 1) - 1 if chunk else -1
        return self._of(self._chunks[k])[-1] if k >= 0 else None

    def number_of(self, start: int) -> int:
        """How many hits lie before the one at `start`."""
        chunk = self.index.chunk(start)[0]
        k = bisect_right(self._chunks, chunk) - 1
        if k >= 0 and self._chunks[k] == chunk:
            base = self._before[k]
        else:
            base = (
                self.closed
                if chunk >= self.done
                else (self._before[k + 1] if k + 1 < len(self._before) else self.closed)
            )
        return base + sum(at < start for at in self._of(chunk))
