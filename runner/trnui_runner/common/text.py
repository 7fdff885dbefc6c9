"""Foreign text made safe, widths and units. Everything from a dataset, the Hub, a log or a checkpoint passes through
`clean` (or `one_line`) on its way to a terminal, a file name or the clipboard; an absent value is always `ABSENT`."""

from __future__ import annotations

import math
import re
import unicodedata
from typing import Literal

ABSENT = "–"
# CSI, then strings (OSC, DCS, SOS, PM, APC) up to BEL or ST or the end of their line, then charset and other two-byte escapes.
_ESCAPES = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?"
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\|\x9c)?"
    r"|\x1b[ -/]*[0-~]?"
)
# C0 without tab and newline, DEL, C1, bidi controls, zero-width and invisible formatting, line and paragraph separators.
_CONTROLS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)
_CONTROLS_KEPT = re.compile(_CONTROLS.pattern.replace("\x0b-\x1f", "\x0b\x0c\x0e-\x1f"))  # without carriage returns
_PRINTABLE = bytes(range(32, 127)) + b"\t\n\r"
_MARKS = 4  # combining marks kept on one base character: more paint over the neighbouring lines
_MARK_RUN = re.compile("[\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]{5,}")
_SURROGATES = re.compile("[\ud800-\udfff]")
_UNSAFE_NAME = re.compile(r"[^A-Za-z0-9._-]+")


def decode(data: bytes | bytearray) -> str:
    """Bytes as UTF-8; what is not UTF-8 becomes U+FFFD."""
    return data.decode("utf-8", "replace")


def clean(text: object, *, tabs: int = 4) -> str:
    """`text` without control sequences, control and bidi characters; lines kept, tabs widened, carriage returns resolved.

    A `\\r` inside a line overwrites it, as a terminal would show a progress bar: only its last state stays.
    """
    if text is None:
        return ""
    value = decode(text) if isinstance(text, bytes | bytearray) else str(text)
    if value.isascii() and value.isprintable():
        return value
    if "\r" in value:
        value = overwritten(value.replace("\r\n", "\n"))
    value = _SURROGATES.sub("\ufffd", _ESCAPES.sub("", value))
    value = _CONTROLS.sub("", value)
    if "\t" in value:
        value = value.expandtabs(tabs)
    return _MARK_RUN.sub(lambda m: m[0][:_MARKS], value)


def overwritten(text: str) -> str:
    """Each line as it stands after its carriage returns: the last non-empty piece wins."""
    lines = text.split("\n")
    for n, line in enumerate(lines):
        if "\r" in line:
            pieces = [p for p in line.split("\r") if p.strip()]
            lines[n] = pieces[-1] if pieces else ""
    return "\n".join(lines)


def one_line(text: object, most: int = 400) -> str:
    """`clean` text on one line, white space folded, cut after `most` characters with an ellipsis."""
    if text is None:
        return ""
    value = text if isinstance(text, str) else decode(text) if isinstance(text, bytes | bytearray) else str(text)
    value = " ".join(clean(value[: most * 4]).split())
    return value if len(value) <= most else value[: most - 1] + "…"


def shown(value: object) -> str:
    """A value for a cell or a field: `ABSENT` for None, NaN and empty text, else one clean line."""
    if value is None or value == "" or (isinstance(value, float) and math.isnan(value)):
        return ABSENT
    return one_line(value) or ABSENT


def cells(text: str) -> int:
    """Terminal cells that `text` takes (wide characters two, combining ones none)."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def fit(text: str, width: int, align: Literal["left", "right"] = "left") -> str:
    """`text` in exactly `width` cells, padded or cut with an ellipsis; control characters become `·`."""
    if not text.isprintable():
        text = "".join(c if c.isprintable() else "·" for c in text)
    size = cells(text)
    if size > width:
        if width < 2:
            return "…"[:width]
        if text.isascii():
            return text[: width - 1] + "…"
        from rich.cells import set_cell_size

        return set_cell_size(text, width - 1) + "…"
    return " " * (width - size) + text if align == "right" else text + " " * (width - size)


def size(value: float | None) -> str:
    """Bytes in binary units: `3.4 GiB`."""
    if value is None or math.isnan(value):
        return ABSENT
    amount = float(value)
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if abs(amount) < 1024 or unit == "TiB":
            return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1024
    return ABSENT


def seconds(value: float | None) -> str:
    """A duration: `0.42 s`, `37 s`, `6 min 05 s`, `2 h 03 min`."""
    if value is None or math.isnan(value):
        return ABSENT
    if value < 10:
        return f"{value:.1f} s" if value >= 1 or value == 0 else f"{value:.2f} s"
    whole = round(value)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


def clock(value: float | None) -> str:
    """Elapsed time that stays in place while it runs: `0:07`, `12:31`, `1:02:03`."""
    if value is None or math.isnan(value):
        return ABSENT
    whole = int(value)
    hours, rest = divmod(whole, 3600)
    return f"{hours}:{rest // 60:02d}:{rest % 60:02d}" if hours else f"{rest // 60}:{rest % 60:02d}"


def age(value: float | None) -> str:
    """How long ago, coarse: `just now`, `5 min ago`, `3 h ago`, `12 days ago`."""
    if value is None or math.isnan(value):
        return ABSENT
    if value < 60:
        return "just now"
    if value < 3600:
        return f"{int(value // 60)} min ago"
    if value < 2 * 86400:
        return f"{int(value // 3600)} h ago"
    return f"{int(value // 86400)} days ago"


def count(value: float | None) -> str:
    """A short count: `950`, `12.4k`, `1.2M`, `235B` (parameters, downloads)."""
    if value is None or math.isnan(value):
        return ABSENT
    for limit, unit in ((1e9, "B"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= limit:
            short = value / limit
            return f"{short:.0f}{unit}" if short >= 100 else f"{short:.1f}{unit}"
    return f"{value:.0f}"


def thousands(value: int | None) -> str:
    """An exact count: `2,750`."""
    return ABSENT if value is None else f"{value:,}"


def slug(name: str, most: int = 40) -> str:
    """A piece of a file name from a model id or a path: letters, digits, `.`, `_`, `-`; never empty, never hidden."""
    plain = unicodedata.normalize("NFKD", name.rstrip("/").rpartition("/")[2]).encode("ascii", "ignore").decode()
    return _UNSAFE_NAME.sub("-", plain).strip("-.")[:most].strip("-.").lower() or "model"


def scanned(block: bytes) -> bytes:
    """`block` for reading by a machine: UTF-8 without control sequences and control characters; lines and returns kept.

    Plain ASCII, the common case, comes back as it is (1 ns a byte).
    """
    if not block.translate(None, _PRINTABLE):
        return block
    return _CONTROLS_KEPT.sub("", _ESCAPES.sub("", decode(block))).encode()
