"""Foreign text made safe, widths and units. Everything from a dataset, the Hub, a log, a run folder or a checkpoint passes
through `clean` (or `one_line`) where it enters, and is `Safe` from then on; an absent value is always `ABSENT`."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable
from typing import Final, Literal, LiteralString, NewType

Safe = NewType("Safe", str)
"""Text that a terminal, a file name or the clipboard may get: our own words, or foreign ones that a function below has cleaned.
What shows text takes this type, so that mypy finds what was not cleaned; an f-string is a bare `str`: see `words`."""

ABSENT: Final = Safe("–")
# CSI, then strings (OSC, DCS, SOS, PM, APC) up to BEL or ST or the end of their line, then charset and other two-byte escapes.
_ESCAPES = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?"
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\|\x9c)?"
    r"|\x1b[ -/]*[0-~]?"
)
# C0 without tab and newline, DEL, C1, soft hyphen, grapheme joiner, bidi controls, zero-width and invisible formatting, fillers
# that look like nothing (Hangul, Khmer, Mongolian, braille), line and paragraph separators, musical formatting, tags.
_CONTROLS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u2028-\u202e"
    "\u2060-\u206f\u2800\u3164\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
_CONTROLS_KEPT = re.compile(_CONTROLS.pattern.replace("\x0b-\x1f", "\x0b\x0c\x0e-\x1f"))  # without carriage returns
_PRINTABLE = bytes(range(32, 127)) + b"\t\n\r"
_MARKS: Final = 4  # combining marks kept on one base character: more paint over the neighbouring lines
_PILED: Final = ("Mn", "Me")  # their categories
_MARK_RUN = re.compile(
    r"[^\w\s\x00-\x7f]{5,}"
)  # marks are no letters: only runs of such characters are looked at closely
_SURROGATES = re.compile("[\ud800-\udfff]")
_UNSAFE_NAME = re.compile(r"[^A-Za-z0-9._-]+")


def decode(data: bytes | bytearray) -> str:
    """Bytes as UTF-8; what is not UTF-8 becomes U+FFFD."""
    return data.decode("utf-8", "replace")


def clean(text: object, *, tabs: int = 4) -> Safe:
    """`text` without control sequences, control and bidi characters; lines kept, tabs widened, carriage returns resolved.

    A `\\r` inside a line overwrites it, as a terminal would show a progress bar: only its last state stays.
    """
    if text is None:
        return Safe("")
    value = decode(text) if isinstance(text, bytes | bytearray) else str(text)
    if value.isascii() and value.isprintable():
        return Safe(value)
    if "\r" in value:
        value = overwritten(value.replace("\r\n", "\n"))
    value = _SURROGATES.sub("\ufffd", _ESCAPES.sub("", value))
    value = _CONTROLS.sub("", value)
    if "\t" in value:
        value = value.expandtabs(tabs)
    return Safe(_MARK_RUN.sub(_few_marks, value))


def _few_marks(match: re.Match[str]) -> str:
    """At most `_MARKS` combining marks one after the other; a joiner between them does not begin a new count."""
    kept, marks = list[str](), 0
    for character in match[0]:
        kind = unicodedata.category(character)
        marks = marks + 1 if kind in _PILED else marks if kind == "Cf" else 0
        if marks <= _MARKS:
            kept.append(character)
    return "".join(kept)


def escaped(text: str) -> Safe:
    """Text inside JSON's quotes with what a terminal would obey, hide or pile up as `\\uXXXX`: nothing of it is lost."""
    if text.isascii() and text.isprintable():
        return Safe(text)
    text = _MARK_RUN.sub(lambda m: "".join(_code(c) if unicodedata.category(c) in _PILED else c for c in m[0]), text)
    return Safe(_SURROGATES.sub(_codes, _CONTROLS.sub(_codes, text)))


def _codes(match: re.Match[str]) -> str:
    return "".join(map(_code, match[0]))


def _code(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[n]:02x}{units[n + 1]:02x}" for n in range(0, len(units), 2))


def overwritten(text: str) -> str:
    """Each line as it stands after its carriage returns: the last non-empty piece wins."""
    lines = text.split("\n")
    for n, line in enumerate(lines):
        if "\r" in line:
            pieces = [p for p in line.split("\r") if p.strip()]
            lines[n] = pieces[-1] if pieces else ""
    return "\n".join(lines)


def one_line(text: object, most: int = 400) -> Safe:
    """`clean` text on one line, white space folded, cut after `most` characters with an ellipsis."""
    if text is None:
        return Safe("")
    value = text if isinstance(text, str) else decode(text) if isinstance(text, bytes | bytearray) else str(text)
    value = " ".join(clean(value[: most * 4]).split())
    return Safe(value if len(value) <= most else value[: most - 1] + "…")


def words(template: LiteralString, *values: object) -> Safe:
    """A sentence of ours around values from anywhere: `template.format(*values)`, each value cleaned to one line first."""
    return Safe(template.format(*map(one_line, values)))


def joined(parts: Iterable[Safe], between: LiteralString = ", ") -> Safe:
    return Safe(between.join(parts))


def shown(value: object) -> Safe:
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


def fit(text: str, width: int, align: Literal["left", "right"] = "left") -> Safe:
    """`text` in exactly `width` cells, padded or cut with an ellipsis; control characters become `·`."""
    if not text.isprintable():
        text = "".join(c if c.isprintable() else "·" for c in text)
    if not text.isascii():
        text = _CONTROLS.sub("·", text)
    size = cells(text)
    if size > width:
        if width < 2:
            return Safe("…"[:width])
        if text.isascii():
            return Safe(text[: width - 1] + "…")
        from rich.cells import set_cell_size

        return Safe(set_cell_size(text, width - 1) + "…")
    return Safe(" " * (width - size) + text if align == "right" else text + " " * (width - size))


def size(value: float | None) -> Safe:
    """Bytes in binary units: `3.4 GiB`."""
    if value is None or math.isnan(value):
        return ABSENT
    amount = float(value)
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if abs(amount) < 1024 or unit == "TiB":
            return Safe(f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}")
        amount /= 1024
    return ABSENT


def seconds(value: float | None) -> Safe:
    """A duration: `0.42 s`, `37 s`, `6 min 05 s`, `2 h 03 min`."""
    if value is None or math.isnan(value):
        return ABSENT
    if value < 10:
        return Safe(f"{value:.1f} s" if value >= 1 or value == 0 else f"{value:.2f} s")
    whole = round(value)
    if whole < 60:
        return Safe(f"{whole} s")
    if whole < 3600:
        return Safe(f"{whole // 60} min {whole % 60:02d} s")
    return Safe(f"{whole // 3600} h {whole % 3600 // 60:02d} min")


def clock(value: float | None) -> Safe:
    """Elapsed time of what goes on, in place while it runs: `0:07`, `12:31`, `1:02:03`. Every other duration is `seconds`."""
    if value is None or math.isnan(value):
        return ABSENT
    whole = int(value)
    hours, rest = divmod(whole, 3600)
    return Safe(f"{hours}:{rest // 60:02d}:{rest % 60:02d}" if hours else f"{rest // 60}:{rest % 60:02d}")


def age(value: float | None) -> Safe:
    """How long ago, coarse: `just now`, `5 min ago`, `3 h ago`, `12 days ago`."""
    if value is None or math.isnan(value):
        return ABSENT
    if value < 60:
        return Safe("just now")
    if value < 3600:
        return Safe(f"{int(value // 60)} min ago")
    if value < 2 * 86400:
        return Safe(f"{int(value // 3600)} h ago")
    return Safe(f"{int(value // 86400)} days ago")


def count(value: float | None) -> Safe:
    """A short count: `950`, `12.4k`, `1.2M`, `235B` (parameters, downloads)."""
    if value is None or math.isnan(value):
        return ABSENT
    for limit, unit in ((1e9, "B"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= limit:
            short = value / limit
            return Safe(f"{short:.0f}{unit}" if short >= 100 else f"{short:.1f}{unit}")
    return Safe(f"{value:.0f}")


def thousands(value: int | None) -> Safe:
    """An exact count: `2,750`."""
    return Safe(ABSENT if value is None else f"{value:,}")


def slug(name: str, most: int = 40) -> Safe:
    """A piece of a file name from a model id or a path: letters, digits, `.`, `_`, `-`; never empty, never hidden."""
    plain = unicodedata.normalize("NFKD", name.rstrip("/").rpartition("/")[2]).encode("ascii", "ignore").decode()
    return Safe(_UNSAFE_NAME.sub("-", plain).strip("-.")[:most].strip("-.").lower() or "model")


def scanned(block: bytes) -> bytes:
    """`block` for reading by a machine: UTF-8 without control sequences and control characters; lines and returns kept.

    Plain ASCII, the common case, comes back as it is (1 ns a byte).
    """
    if not block.translate(None, _PRINTABLE):
        return block
    return _CONTROLS_KEPT.sub("", _ESCAPES.sub("", decode(block))).encode()
