"""What the pickers of a list offer, made from the stacks that exist; and what a choice does to the query. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from trnui.catalog.query import ALL, LATEST, Query, Stack
from trnui.tui.widgets.columns import Column
from trnui.tui.widgets.filter_line import words
from trnui.tui.widgets.picker import Choice
from trnui_runner.common.dataset_schema import TASKS, Status

DEFAULT = ""  # the picker's value for "the default stack"
CORES = (1, 2, 4, 8, 16)


def _short(version: str) -> str:
    return version.partition("+")[0]


def compilers(stacks: Sequence[Stack], default: Stack | None) -> list[Choice]:
    """The default, all, then every compiler, newest first, with what it was tested with."""
    versions = list(dict.fromkeys(s.neuronx_cc for s in stacks if s.neuronx_cc))
    found = [_default(default), Choice(ALL, "all versions", f"{len(versions)}", alone=True)]
    for version in versions:
        libraries = list(dict.fromkeys(s.library_version for s in stacks if s.neuronx_cc == version))
        found.append(
            Choice(version, _short(version), f"with {', '.join(libraries[:4])}{' …' if len(libraries) > 4 else ''}")
        )
    return found


def versions(stacks: Sequence[Stack], default: Stack | None) -> list[Choice]:
    """The same for library versions; each library's name before its versions."""
    pairs = list(dict.fromkeys((s.library, s.library_version) for s in stacks if s.library_version))
    found = [_default(default), Choice(ALL, "all versions", f"{len(pairs)}", alone=True)]
    for library, version in pairs:
        tested = list(
            dict.fromkeys(_short(s.neuronx_cc) for s in stacks if (s.library, s.library_version) == (library, version))
        )
        found.append(
            Choice(
                f"{library}\n{version}",
                f"{library} {version}",
                f"with neuronx-cc {', '.join(tested[:3])}{' …' if len(tested) > 3 else ''}",
            )
        )
    return found


def _default(default: Stack | None) -> Choice:
    if default is None:
        return Choice(DEFAULT, "default stack", alone=True)
    now = f"now {_short(default.neuronx_cc) or 'no neuronx-cc'} with {default.library} {default.library_version}"
    return Choice(DEFAULT, "default stack", now, alone=True)


def chosen_compilers(query: Query) -> tuple[str, ...]:
    return query.neuronx_cc or (DEFAULT,)


def chosen_versions(query: Query, stacks: Sequence[Stack]) -> tuple[str, ...]:
    if not query.library_version:
        return (DEFAULT,)
    if query.library_version == (ALL,):
        return (ALL,)
    return tuple(
        f"{s.library}\n{s.library_version}"
        for s in stacks
        if s.library_version in query.library_version and query.library in (None, s.library)
    )


def take_compilers(query: Query, chosen: Sequence[str]) -> Query:
    """All or nothing win over single versions; with one half of the pair chosen, the other half's default is "all"."""
    kept = _versions_of(chosen)
    other = query.library_version
    if kept and kept != (ALL,) and not other:
        other = (ALL,)
    if not kept:
        other = ()
    return query.but(neuronx_cc=kept, library_version=other)


def take_versions(query: Query, chosen: Sequence[str]) -> Query:
    kept = _versions_of(chosen)
    if kept in ((), (ALL,)):
        return query.but(library_version=kept, library=None, neuronx_cc=() if not kept else query.neuronx_cc or (ALL,))
    pairs = [c.partition("\n") for c in kept]
    libraries = {library for library, _, _ in pairs}
    return query.but(
        library_version=tuple(dict.fromkeys(version for _, _, version in pairs)),
        library=libraries.pop() if len(libraries) == 1 else None,
        neuronx_cc=query.neuronx_cc or (ALL,),
    )


def _versions_of(chosen: Sequence[str]) -> tuple[str, ...]:
    single = tuple(c for c in chosen if c not in (DEFAULT, ALL, LATEST))
    if single:
        return single
    return (ALL,) if ALL in chosen else ()


def tasks(query: Query, ranked: bool) -> list[Choice]:
    known = list(dict.fromkeys([*TASKS, *([query.task] if query.task else [])]))
    every = [] if ranked else [Choice(DEFAULT, "any task")]
    return every + [Choice(t, t) for t in known]


def results() -> list[Choice]:
    notes = {
        Status.PASS: "tokens equal, or fluent English: the column “check” says which",
        Status.FAIL: "was tested and did not pass",
        Status.EXCLUDED: "left out on purpose, with a reason: not a failure",
        Status.UNTESTED: "no result on this stack: not a failure",
        Status.OTHER: "any other word, shown as it stands",
    }
    return [Choice(s.value, s.word, note) for s, note in notes.items()]


def fits(host: int | None) -> list[Choice]:
    """Cores of a trn2 host; this host's own, when it has any."""
    found = [Choice(DEFAULT, "any number of cores")]
    if host:
        found.append(Choice(str(host), "this host", f"{host} cores"))
    else:
        found.append(Choice("host", "this host", why_not="no Neuron device here"))
    return found + [
        Choice(str(n), f"{n} core{'s' * (n != 1)}", "of one device" if n <= 4 else f"of {n // 4} devices")
        for n in CORES
    ]


def filters(query: Query) -> list[Choice]:
    """The filters that are set, to clear one by one."""
    names = query.narrowed()
    found = [Choice(name, words(name, query)) for name in names]
    return [*found, Choice("*", "all of them")] if len(found) > 1 else found


def cleared(query: Query, name: str) -> Query:
    """The query without that filter (`*`: without any); both halves of the stack go together."""
    bare = Query(view=query.view)
    names: Iterable[str] = query.narrowed() if name == "*" else (name,)
    for one in names:
        query = query.but(**{one: getattr(bare, one)})
        if one in ("neuronx_cc", "library_version"):
            query = query.but(neuronx_cc=(), library_version=())
    return query


def sorts(columns: Sequence[Column]) -> list[Choice]:
    return [Choice(DEFAULT, "as they come"), *(Choice(c.name, c.title) for c in columns)]
