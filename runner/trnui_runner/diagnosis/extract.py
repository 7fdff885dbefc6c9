"""Facts out of a match: named groups, numbered ones folded (`op2` is `op`), numbers as numbers."""

from __future__ import annotations

import re
from typing import Any, Final

INTEGERS: Final = frozenset(
    [
        "status",
        "exit",
        "nd",
        "nc",
        "port",
        "holder_pid",
        "pid",
        "line",
        "matched",
        "of",
        "ranks",
        "instructions",
        "limit",
        "misses",
        "bytes",
        "size",
        "index",
        "asked",
        "last",
        "runtime_compat",
        "percent",
        "rank",
        "graphs_compiled",
        "graphs_cached",
        "tokens_done",
        "need_bytes",
        "have_bytes",
        "available",
        "ms",
    ]
)
NUMBERS: Final = frozenset(["minutes", "seconds", "need_gb", "have_gb", "need_mb", "free_mb", "cpu"])
_TAIL = re.compile(r"\d+$")


def number(key: str, value: str) -> Any:
    plain = value.replace(",", "").rstrip(".")
    try:
        if key in INTEGERS:
            return int(plain)
        if key in NUMBERS:
            amount = round(float(plain), 2)
            return int(amount) if amount.is_integer() and key != "cpu" else amount
    except ValueError:
        return value
    return value


_names: dict[re.Pattern[str], tuple[tuple[int, str], ...]] = {}


def groups(match: re.Match[str] | None) -> dict[str, Any]:
    """The named groups that took part."""
    if match is None:
        return {}
    names = _names.get(match.re)
    if names is None:
        names = _names[match.re] = tuple((n, _TAIL.sub("", name)) for name, n in match.re.groupindex.items())
    found: dict[str, Any] = {}
    if not names:
        return found
    for n, key in names:
        value = match[n]
        if value and key not in found:
            found[key] = number(key, value.strip())
    cores = str(found.get("cores", ""))
    first, dash, last = cores.partition("-")
    if dash and first == last:
        found["cores"] = first
    if "unroll" in found:
        found["unroll"] = "after unrolling"
    return found


def stem(code: str) -> str:
    """A compiler code as the tables have it: without NCC_ and without the E or I of seven letters and digits."""
    plain = code.removeprefix("NCC_")
    return plain[1:] if len(plain) == 7 and plain[0] in "EI" else plain
