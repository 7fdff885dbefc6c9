"""Facts out of a match: named groups, numbered ones folded (`op2` is `op`), numbers as numbers; and the rank a line speaks for."""

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
_RANK = re.compile(
    r"^\W{0,3}(?:\[?(?:rank|Rank|RANK|default|local_rank)[ _:=]?(?P<a>\d{1,3})\]?[:|\s]|\((?:Vllm)?Worker\w*?(?P<b>\d{1,3})\b[^)]*\)|\[(?P<c>\d{1,3})\][:|]|\[(?P<d>\d{1,2})/\d{1,2}\][:| ]|\((?:rank|Rank) (?P<e>\d{1,3})\))"
)
_RANK_INSIDE = re.compile(r"\b(?:[Rr]ank|RANK|local_rank)[ :=]{1,2}(\d{1,3})\b")
_CODE = re.compile(r"NCC_[EI]?[A-Z]{3}\d{3}")


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


def rank_of(text: str) -> int | None:
    """The rank in a line's prefix: `[rank3]:`, `[default3]:`, `(Worker_TP3 pid=…)`, `[3]:`, `rank 3:`."""
    if "ank" not in text and "[" not in text[:4] and "Worker" not in text[:12] and "default" not in text[:12]:
        return None
    match = _RANK.match(text)
    if match:
        return int(next(v for v in match.groups() if v is not None))
    inside = _RANK_INSIDE.search(text[:200])
    return int(inside[1]) if inside else None


def stem(code: str) -> str:
    """A compiler code as the tables have it: without NCC_ and without the E or I of seven letters and digits."""
    plain = code.removeprefix("NCC_")
    return plain[1:] if len(plain) == 7 and plain[0] in "EI" else plain
