"""The nearest word that exists, for errors about one that does not."""

from __future__ import annotations

from collections.abc import Iterable


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """`Did you mean PASS? `, with a space at its end, or nothing. Letters' case does not count."""
    import difflib

    by_lower = {k.lower(): k for k in known}
    near = difflib.get_close_matches(word.lower(), by_lower, 1, 0.55)
    return f"Did you mean {by_lower[near[0]]}? " if near else ""
