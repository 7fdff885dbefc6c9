"""Lines: of several ranks put together again, fit for showing, cut around a find."""

from __future__ import annotations

import re

from trnui_runner.common.text import decode
from trnui_runner.diagnosis.log_prefix import peel

WIDTH = 600  # of a line that is shown
# What comes right behind a progress bar or a compiler's dots, in their line because they had not ended it: a shell's "Killed".
GLUED = re.compile(rb"^(\.+)(?=[A-Z\[])|(%\|[^\n\r|]{0,120}\|[^\n\r|]{0,80}(?:/s|it|\d)\])(?=[^\s\],])", re.MULTILINE)
# The same behind a prefix, where dots alone begin no line.
GLUED_END = re.compile(rb"\.\.\.(?=Killed|Terminated|Aborted|Segmentation fault|Bus error|\^C)")
TANGLED = re.compile(rb"[^\n\r]\[rank\d+\]: ")
_RANKS = re.compile(rb"(?<=[^\n\r])(?=\[rank\d+\]: )")

# What prints nothing: white space of all kinds, zero-width and direction marks, blank fillers.
_BLANK = re.compile(
    r"[\s\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb]*"
)


def is_blank(text: str) -> bool:
    """Whether a reader would see nothing."""
    return _BLANK.fullmatch(text) is not None


def unglued(block: bytes) -> bytes:
    """The same lines, with a line of its own for what stood right behind a bar or dots."""
    if b"..." in block:
        block = GLUED_END.sub(lambda m: m[0] + b"\n", block)
    if b"%|" in block or b"\n." in block or block[:1] == b".":
        return GLUED.sub(lambda m: m[0] + b"\n", block)
    return block


def untangled(block: bytes, torn: bytes) -> tuple[bytes, bytes]:
    """Lines of ranks that cut each other in two, put together again: `[rank1]: Err[rank0]: x` and then `or: y`."""
    lines: list[bytes] = []
    waited = 0
    for line in block.split(b"\n"):
        pieces = _RANKS.split(line)
        head = pieces[0]
        if torn and head and not head.startswith(b"[rank"):
            lines.append(torn + head)
            torn = b""
        elif head or len(pieces) == 1:
            lines.append(head)
        if len(pieces) > 1:
            if torn:
                lines.append(torn)
            lines.extend(pieces[1:-1])  # of several, the last but one is what the last cut in two
            torn, waited = (lines.pop() if lines and (head or len(pieces) > 2) else b""), 0
            lines.append(pieces[-1])
        elif torn:
            waited += 1
            if waited > 4:
                lines.append(torn)
                torn = b""
    return b"\n".join(lines), torn


def shown_lines(raw: list[bytes], ranks: set[int]) -> list[str]:
    """Lines fit for showing: no empty ones, no bars, no rows of dots, none of other ranks."""
    lines = []
    for line in raw:
        text = decode(line[: WIDTH * 2])[:WIDTH].rstrip()
        if not text.strip(" .*") or "%|" in text:
            continue
        if ranks and (rank := peel(text).rank) is not None and rank not in ranks:
            continue
        lines.append(text)
    return lines


def around(window: str, match: re.Match[str] | None) -> str:
    """A long line, cut around what was found."""
    if match is None:
        return window[:WIDTH]
    start = max(0, min(match.start() - WIDTH // 4, len(window) - WIDTH))
    return ("…" if start else "") + window[start : start + WIDTH] + ("…" if start + WIDTH < len(window) else "")
