"""Which kinds of change and which two stacks the words of a command line mean."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

from trnui.catalog.analysis.comparison.compare import What
from trnui.catalog.dataset.versions import MAIN_LIBRARY, begins, is_dev, key, matching, newest_first, stack_key
from trnui.catalog.query import ALL, Stack
from trnui_runner.common.errors import UsageError
from trnui_runner.common.text import one_line


def kinds(words: Iterable[str]) -> tuple[What, ...]:
    """Kinds by name, in any case, with spaces, dashes or underscores. Raises UsageError."""
    known = {_plain(what): what for what in What}
    found = []
    for word in words:
        if _plain(word) not in known:
            names = [name.replace(" ", "-") for name in What]
            near = difflib.get_close_matches(word.lower(), names, 1, 0.5)
            hint = f"Did you mean {near[0]}? " if near else ""
            raise UsageError(
                f"--change {one_line(word, 80)}: no such kind of change", f"{hint}Kinds: {', '.join(names)}"
            )
        found.append(known[_plain(word)])
    return tuple(found)


def _plain(word: str) -> str:
    return " ".join(word.lower().replace("-", " ").replace("_", " ").split())


def choose(stacks: Sequence[Stack], a: str, b: str, library: str | None = None) -> tuple[Stack, Stack]:
    """The two stacks that NEURONX_CC[/LIBRARY_VERSION], or a library version alone, name; "latest" works for either part.
    What a side leaves open is as on the other side if such a stack exists, else the newest. Raises UsageError."""
    pool = [s for s in stacks if library is None or s.library == library]
    left, right = _named(pool, a), _named(pool, b)

    def rank(pair: tuple[Stack, Stack]) -> tuple[object, ...]:
        x, y = pair
        alike = (x.library == y.library, (x.library_version == y.library_version) + (x.neuronx_cc == y.neuronx_cc))
        stable = sum(not is_dev(v) for s in pair for v in (s.neuronx_cc, s.library_version))
        return *alike, x.library == MAIN_LIBRARY, stable, stack_key(x), stack_key(y)

    return max(((x, y) for x in left for y in right), key=rank)


def _named(stacks: Sequence[Stack], text: str) -> list[Stack]:
    compiler, slash, version = text.partition("/")
    found = _with(stacks, "neuronx_cc", compiler) if compiler != ALL else list(stacks)
    if not compiler:  # as rows of a CPU have it; else any
        found = found or list(stacks)
    if slash and version:
        found = _with(found, "library_version", version)
    if not found and not slash:
        found = _with(stacks, "library_version", text)
    if not found:
        known = ", ".join(s.short for s in newest_first(stacks)[:6])
        raise UsageError(f"{one_line(text, 80)}: no such stack here", f"There are: {known or 'none'}.")
    return found


def _with(stacks: Sequence[Stack], half: str, word: str) -> list[Stack]:
    """Stacks whose compiler or library version is this one, or the newest that begins with its parts: 2.28 for 2.28.9000.0."""
    there = {str(getattr(s, half)) for s in stacks}
    names = matching(there, (word,))
    if names and all(begins(v, word) for v in names):
        names = {max(names, key=lambda v: (not is_dev(v), key(v)))}
    return [s for s in stacks if getattr(s, half) in names]
