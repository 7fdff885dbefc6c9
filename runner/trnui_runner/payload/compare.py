"""The run's tokens against the reference's, one sequence after the other. Pure; Python 3.10."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

# The reference's gap between its own token and the device's, below which the choice is left to rounding: so many units
# in the last place of the logit. Measured noise of static cache + compile against eager: up to 3e-5 in float32, 0.16 in
# bfloat16 (logits up to 10); true mismatches: 0.47 and more. float32 gets 1e-5, since devices compute it in less.
TIE = {"float64": 1e-5, "float32": 1e-5, "float16": 2 * 2.0**-10, "bfloat16": 2 * 2.0**-7}
Rows = Sequence[Sequence[int]]
Logits = Sequence[
    Any
]  # one (sequence, token) table of scores a step; a tensor as it is, for only one row of it is read


def compare(new: Rows, wanted: Rows, logits: Logits, dtype: str, text: Callable[[int], str] = str) -> dict[str, Any]:
    """All sequences equal → PASS; else what the first one that is not says, a FAIL before an UNCHECKED."""
    if len(new) > len(wanted):
        reason = f"{len(new)} sequences instead of the CPU run's {len(wanted)}"
        return {"outcome": "UNCHECKED", "reason": reason, "tokens": _tokens(new[0], wanted[0] if wanted else [])}
    found = [
        compare_row(mine, theirs, [step[n] for step in logits], dtype, text)
        for n, (mine, theirs) in enumerate(zip(new, wanted))  # noqa: B905  checked above; Python 3.10
    ]
    order = ("FAIL", "UNCHECKED", "PASS")
    row = min(range(len(found)), key=lambda n: order.index(found[n]["outcome"]))
    worst = found[row]
    if len(found) == 1:
        return worst
    where = f"sequence {row + 1} of {len(found)}: {worst['reason']}"
    if worst["outcome"] == "PASS":
        where = f"{sum(map(len, new))} of {sum(map(len, new))} tokens of {len(found)} sequences equal to the CPU run"
    return {**worst, "reason": where, "tokens": {**worst["tokens"], "row": row}}


def compare_row(
    new: Sequence[int], wanted: Sequence[int], logits: Sequence[Any], dtype: str, text: Callable[[int], str] = str
) -> dict[str, Any]:
    """Equal → PASS; a first difference between tokens that the reference holds for nearly equal → UNCHECKED; else FAIL.

    `logits`: the reference's, one vector a step. gap: between its own token and the run's, which decides; margin: between
    its two best tokens.
    """
    new, wanted = list(new), list(wanted)
    tokens = _tokens(new, wanted)
    total = max(len(new), len(wanted))
    at = next((n for n in range(total) if new[n : n + 1] != wanted[n : n + 1]), None)
    if at is None:
        return {"outcome": "PASS", "reason": f"{total} of {total} tokens equal to the CPU run", "tokens": tokens}
    tokens["first_difference"] = at
    if at >= min(len(new), len(wanted)) or at >= len(logits):
        reason = f"{len(new)} tokens instead of the CPU run's {len(wanted)}"
        return {"outcome": "FAIL", "reason": reason, "tokens": tokens}
    step = [float(v) for v in logits[at]]
    best, second = step[wanted[at]], max(v for n, v in enumerate(step) if n != wanted[at])
    margin, gap = best - second, best - step[new[at]]
    limit = TIE.get(dtype, TIE["bfloat16"]) * max(1.0, abs(best))
    tokens.update(margin=_finite(margin), gap=_finite(gap), tie_limit=round(limit, 5), dtype=dtype)
    if gap <= limit:
        words = f"{at} of {total} tokens equal, then a near tie: the CPU run prefers its own token by {gap:.2g} only ({dtype}, a near tie up to {limit:.2g})"
        return {"outcome": "UNCHECKED", "reason": words, "tokens": tokens}
    names = [repr(words) if (words := text(token)).strip() else f"number {token}" for token in (new[at], wanted[at])]
    words = f"token {at} is {names[0]}, not {names[1]}, which the CPU run prefers by {gap:.2g} ({dtype}): no near tie, which ends at {limit:.2g}"
    if len(set(new)) == 1 and len(new) > 3:
        words += f"; the run gave one token {len(new)} times, as NaN would"
    return {"outcome": "FAIL", "reason": words, "tokens": tokens}


def _finite(value: float) -> float | None:
    """For JSON: a token that an option rules out has a score of minus infinity."""
    return round(value, 5) if math.isfinite(value) else None


def _tokens(new: Sequence[int], wanted: Sequence[int]) -> dict[str, Any]:
    return {"new_ids": list(new), "reference_ids": list(wanted), "first_difference": None, "margin": None}
