"""What commands about rows share: the options that choose a stack, and what is said on stderr about the data."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from trnui.cli.shared_options import note
from trnui.cli.shell_completion import compilers, library_versions
from trnui_runner.common.errors import UsageError

if TYPE_CHECKING:
    from trnui.catalog.engine.catalog import Catalog
    from trnui.catalog.query import Query

F = TypeVar("F", bound=Callable[..., Any])
_WORDS: Final = ("all", "latest")
_PROBLEMS: Final = 5  # files named on stderr; the rest is counted


def stack_options(function: F) -> F:
    """--neuronx-cc, --library and --library-version; versions several times or with commas."""
    for decorate in (
        click.option(
            "--library-version", metavar="V|latest|all", multiple=True, shell_complete=library_versions,
            help="Version of the library or its first parts (default: this host's, else the newest pair's).",
        ),
        click.option("--library", metavar="L", help="Library: transformers, diffusers, …"),
        click.option(
            "--neuronx-cc", metavar="V|latest|all", multiple=True, shell_complete=compilers,
            help="Version of the compiler, with or without the part after +, or its first parts.",
        ),
    ):  # fmt: skip
        function = decorate(function)
    return function


def split(values: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(word.strip() for value in values for word in value.split(",") if word.strip())


def with_stack(
    catalog: Catalog, query: Query, neuronx_cc: tuple[str, ...], library: str | None, library_version: tuple[str, ...]
) -> Query:
    """The query with the stack options in it. Raises UsageError for a version that no row has, naming the nearest ones."""
    from trnui.catalog.dataset.versions import key, matching
    from trnui.catalog.query import View

    known = catalog.database.own_stacks if query.view is View.RUNS else catalog.stacks()
    where = "" if query.view is View.RUNS else f"\n{catalog.source.looked_in}"
    libraries = {s.library for s in known}
    if library is not None and library not in libraries:
        there_are = f"Libraries: {', '.join(sorted(libraries)) or 'none'}"
        raise UsageError(f"--library {library}: no row has it", there_are + where)
    asked = {"neuronx_cc": split(neuronx_cc), "library_version": split(library_version)}
    for name, words in asked.items():
        there = {getattr(s, name) for s in known if library in (None, s.library)} - {""}
        for word in words:
            if word not in _WORDS and not matching(there, (word,)):
                option = f"--{name.replace('_', '-')}"
                newest = sorted(there, key=key, reverse=True)
                near = difflib.get_close_matches(word, newest, 3, 0.5) or newest[:5]
                raise UsageError(
                    f"{option} {word}: no row has it",
                    f"Versions: {', '.join(near) or 'none'} (or latest, all){where}",
                )
    return query.but(library=library, **asked)


def tell(catalog: Catalog, *more: str) -> None:
    """Where the data is from, and what of it could not be read, on stderr."""
    source = catalog.provenance
    note(("SAMPLE, CPU: " if source.sample else "") + source.words)
    for problem in catalog.problems[:_PROBLEMS]:
        note(f"{problem.file}: {problem.words}")
    if len(catalog.problems) > _PROBLEMS:
        note(f"… and {len(catalog.problems) - _PROBLEMS} more problems: trnui sync --check lists them")
    for words in more:
        if words:
            note(words)
