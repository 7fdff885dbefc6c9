"""Versions compared as versions, and which stacks a query means: the default pair, "latest", "all", or named ones."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Final

from packaging.version import InvalidVersion, Version

from trnui.catalog.query import ALL, LATEST, Query, Stack, View
from trnui_runner.common.versions import equal

MAIN_LIBRARY: Final = "transformers"
"""The library whose newest pair is the default, where a dataset has several."""

Key = tuple[int, Version | tuple[tuple[int, int | str], ...], str]
_HASH: Final = 7  # digits without a dot from which on a text is a commit of a compiler, not its version


@lru_cache(maxsize=4096)
def key(text: str | None) -> Key:
    """Sorts versions: absent ones first, then what is no version (a commit's digits too), piece by piece, then versions (5.9
    before 5.20). A total order: two spellings of one version (5.20, 5.20.0) stand side by side, by their text."""
    if not text:
        return 0, (), ""
    if not (text.isdecimal() and len(text) >= _HASH):
        try:
            return 2, Version(text), text
        except InvalidVersion:
            pass  # sorted piece by piece, below
    pieces = re.findall(r"\d+|[^\d]+", text)
    return 1, tuple((1, int(p)) if p.isdecimal() and p.isascii() else (0, p) for p in pieces), text


def is_dev(text: str | None) -> bool:
    """Development, alpha, beta and candidate versions: never a default while there is another."""
    version = key(text)[1]
    return isinstance(version, Version) and version.is_prerelease


def public(text: str) -> str:
    """A version without its local part: 2.28.9000.0 of 2.28.9000.0+4e5f6a7b."""
    return text.partition("+")[0]


def stack_key(stack: Stack) -> tuple[Key, Key, str]:
    return key(stack.neuronx_cc), key(stack.library_version), stack.library


def newest_first(stacks: Iterable[Stack]) -> tuple[Stack, ...]:
    return tuple(sorted(stacks, key=stack_key, reverse=True))


def same(version: str, wanted: str) -> bool:
    """Whether `wanted` names this version: in full, without the part after `+`, or with other zeros at its end."""
    asked_build = "+" in wanted
    return version == wanted or (
        equal(version, wanted) and (not asked_build or version.partition("+")[2] == wanted.partition("+")[2] != "")
    )


def begins(version: str, wanted: str) -> bool:
    """Whether `wanted` is the first parts of this version: 2.27 of 2.27.5334.0+f702, not of 2.270; 5.25.0 not of 5.25.0.dev0."""
    rest = public(version).removeprefix(f"{wanted}.")
    return rest != public(version) and rest[:1].isdigit()


def named(versions: Iterable[str], wanted: str) -> set[str]:
    """The versions that one word names: this very version if there is one, else all that begin with it."""
    versions = set(versions)
    return {v for v in versions if same(v, wanted)} or {v for v in versions if begins(v, wanted)}


def newest(stacks: Iterable[Stack]) -> Stack | None:
    """The newest existing pair, development versions last."""
    return max(
        stacks, key=lambda s: (not (is_dev(s.neuronx_cc) or is_dev(s.library_version)), stack_key(s)), default=None
    )


def default_stack(stacks: Sequence[Stack], host: Stack | None = None, library: str | None = None) -> Stack | None:
    """This host's pair if the dataset has it, else the newest pair that exists; among the stacks of `library` if given."""
    pool = [s for s in stacks if library is None or s.library == library]
    if host is not None:
        for stack in newest_first(pool):
            if (
                same(stack.neuronx_cc, public(host.neuronx_cc))
                and same(stack.library_version, host.library_version)
                and stack.library == host.library
            ):
                return stack
    if library is None:
        pool = [s for s in pool if s.library == MAIN_LIBRARY] or pool
    return newest(pool)


def matching(versions: Iterable[str], wanted: Sequence[str]) -> set[str]:
    """The versions that `wanted` names; "all" is every one, "latest" the newest with development versions last."""
    versions = set(versions)
    found: set[str] = set()
    for word in wanted:
        if word == ALL:
            return versions
        if word == LATEST:
            best = max(versions, key=lambda v: (not is_dev(v), key(v)), default=None)
            found |= {best} if best is not None else set()
        else:
            found |= named(versions, word)
    return found


def resolve(stacks: Sequence[Stack], query: Query, host: Stack | None = None) -> tuple[Stack, ...] | None:
    """The stacks that a query means, newest first; None means all of them (no limit), an empty tuple that none fits.

    A half of the pair that is not named is the default stack's if that pair exists, else the newest one that exists with
    the named half. Own runs are limited only by what the query names.
    """
    named = bool(query.neuronx_cc or query.library_version)
    if query.view is View.RUNS and not named and not query.library:
        return None
    if query.neuronx_cc == (ALL,) and query.library_version == (ALL,) and not query.library:
        return None
    pool = [s for s in stacks if query.library is None or s.library == query.library]
    if not named:
        if query.view is View.RUNS:
            return newest_first(pool)
        chosen = default_stack(stacks, host, query.library)
        return (chosen,) if chosen else ()
    default = default_stack(pool, host)
    if query.neuronx_cc:
        narrowed = pool
        if query.library_version and ALL not in query.library_version and LATEST not in query.library_version:
            names = matching((s.library_version for s in pool), query.library_version)
            narrowed = [s for s in pool if s.library_version in names]
        compilers = matching((s.neuronx_cc for s in narrowed), query.neuronx_cc)
        pool = [s for s in pool if s.neuronx_cc in compilers]
    if query.library_version:
        libraries = matching((s.library_version for s in pool), query.library_version)
        pool = [s for s in pool if s.library_version in libraries]
    if not query.library_version:
        pool = _other_half(pool, "library_version", default)
    elif not query.neuronx_cc:
        pool = _other_half(pool, "neuronx_cc", default)
    return newest_first(pool)


def _other_half(pool: list[Stack], half: str, default: Stack | None) -> list[Stack]:
    wanted = getattr(default, half, None)
    if not any(getattr(s, half) == wanted for s in pool):
        best = newest(pool)
        wanted = getattr(best, half, None)
    return [s for s in pool if getattr(s, half) == wanted]


def short_names(stacks: Iterable[Stack]) -> dict[Stack, str]:
    """`2.27/5.22.0`: the compiler by its first two parts where no other compiler begins so, the library where it is not the usual."""
    stacks = tuple(stacks)
    compilers = {public(s.neuronx_cc) for s in stacks}
    heads: dict[str, int] = {}
    for compiler in compilers:
        head = ".".join(compiler.split(".")[:2])
        heads[head] = heads.get(head, 0) + 1
    names = {}
    for s in stacks:
        head = ".".join(public(s.neuronx_cc).split(".")[:2])
        compiler = head if heads[head] == 1 else public(s.neuronx_cc)
        library = "" if s.library == "transformers" else f" {s.library}"
        if compiler:
            names[s] = f"{compiler}/{s.library_version or '–'}{library}"
        else:  # the sample, which was run on a CPU
            names[s] = f"{s.library} {s.library_version or '–'}"
    return names
