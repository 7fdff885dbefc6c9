"""Two commits of a dataset side by side, stack by stack: which results were changed, added or taken away."""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from trnui.catalog.analysis.comparison.causes import explained
from trnui.catalog.analysis.comparison.compare import RULE, Comparison, What, compared, sides
from trnui.catalog.analysis.comparison.tables import COLUMNS as SIDES
from trnui.catalog.analysis.comparison.tables import SHORT as SHORT_SIDES
from trnui.catalog.analysis.comparison.tables import short
from trnui.catalog.analysis.comparison.tables import table as rows_of
from trnui.catalog.dataset.snapshot import DatasetSource
from trnui.catalog.engine.database import Database
from trnui.catalog.engine.result_set import Table
from trnui.catalog.hub.commit_history import Commit, commit_named
from trnui.catalog.messages import Problem
from trnui.catalog.query import Stack
from trnui_runner.common.errors import DataError, UsageError
from trnui_runner.common.text import one_line

_STACK: Final = ("neuronx_cc", "library", "library_version")


@dataclass(frozen=True)
class CommitComparison:
    """`by_stack`: one comparison for every stack that both commits have, with that stack as A and B. `added` and `gone`:
    stacks of one commit only, with their models. `problems`: files of either commit that could not be read."""

    old: Commit
    new: Commit
    by_stack: tuple[Comparison, ...]
    added: tuple[tuple[Stack, int], ...] = ()
    gone: tuple[tuple[Stack, int], ...] = ()
    problems: tuple[Problem, ...] = ()
    rule: str = RULE

    @property
    def counts(self) -> tuple[tuple[What, int], ...]:
        return tuple((what, sum(c.count(what) for c in self.by_stack)) for what in What)

    @property
    def words(self) -> str:
        """The counts that are not zero, and the stacks that came or went, on one line."""
        parts = [f"{count:,} {what}" for what, count in self.counts if count]
        for word, stacks in (("new stack", self.added), ("stack gone", self.gone)):
            parts += [f"{word} {stack.short} ({models:,} model{'s' * (models != 1)})" for stack, models in stacks]
        same, both = sum(c.same for c in self.by_stack), sum(c.both for c in self.by_stack)
        return ", ".join([*parts, f"{same:,} of {both:,} results unchanged"])

    @property
    def shown(self) -> str:
        listed, every = sum(len(c.changes) for c in self.by_stack), sum(c.every for c in self.by_stack)
        plural = "" if every == 1 else "s"
        return f"{every:,} change{plural}" if listed == every else f"{listed:,} of {every:,} changes shown"

    def only(self, kinds: Container[What]) -> CommitComparison:
        return replace(self, by_stack=tuple(c.only(kinds) for c in self.by_stack))


def compare_commits(
    source: DatasetSource, old: str, new: str, *, columns: Mapping[str, str] | None = None, library: str | None = None
) -> CommitComparison:
    """Commits as commit_history.commit_named takes them. Raises UsageError for one that is not on disk, DataError when
    nothing of one can be read."""
    if source.hub is None:
        raise UsageError(
            f"--commits: {one_line(source.asked or source.dataset)} is not a dataset of the Hub, so it has no commits",
            "--dataset owner/name names one.",
        )
    commits = commit_named(source.hub, old), commit_named(source.hub, new)
    before, after = (_loaded(c, columns) for c in commits)
    try:
        return _compared(commits, before, after, library)
    finally:
        before.connection.close()
        after.connection.close()


def _loaded(commit: Commit, columns: Mapping[str, str] | None) -> Database:
    database = Database([commit.folder / n for n in commit.names], commit.names, columns=columns)
    database.open()
    database.load()
    if not database.mappings:
        why = f": {database.problems[0].file} {database.problems[0].words}" if database.problems else ""
        raise DataError(
            f"commit {commit.sha[:7]}: no file of it can be read{why}", "trnui sync fetches the newest one."
        )
    return database


def _compared(
    commits: tuple[Commit, Commit], before: Database, after: Database, library: str | None
) -> CommitComparison:
    found = []
    added: list[tuple[Stack, int]] = []
    gone: list[tuple[Stack, int]] = []
    for stack in dict.fromkeys((*after.stacks, *before.stacks)):
        if library not in (None, stack.library):
            continue
        one, other = sides(before, stack), sides(after, stack)
        if not one or not other:
            if one or other:
                (gone if one else added).append((stack, len(one or other)))
            continue
        names = sorted(one.keys() | other.keys())
        pairs = []
        for lower in names:
            a, b = one.get(lower), other.get(lower)
            name = (b or a or ("", None))[0]
            pairs.append((name, a[1] if a else None, b[1] if b else None))
        comparison = compared(stack, stack, len(one), len(other), len(one.keys() & other.keys()), pairs)
        found.append(explained(comparison, after))
    problems = tuple(Problem(f"{c.sha[:7]} {p.file}", p.words) for c, d in zip(commits, (before, after), strict=True) for p in d.problems)  # fmt: skip
    return CommitComparison(*commits, tuple(found), tuple(added), tuple(gone), problems)


def _without_since(columns: tuple[str, ...], row: tuple[object, ...]) -> tuple[object, ...]:
    """On one stack nothing says since which version."""
    return tuple(value for name, value in zip(columns, row, strict=True) if name != "since")


def table(found: CommitComparison, *, short_arrow: str | None = None) -> Table:
    """Every change with its stack: as columns of both sides, or for a person `FAIL → PASS` in one."""
    names = SIDES if short_arrow is None else SHORT_SIDES
    rows: list[tuple[object, ...]] = []
    for c in found.by_stack:
        stack = (c.a.neuronx_cc, c.a.library, c.a.library_version)
        for row in rows_of(c) if short_arrow is None else short(c, short_arrow):
            change, model, *rest = _without_since(names, row)
            rows.append((change, model, *stack, *rest))
    change, model, *rest_names = _without_since(names, names)
    order = {what.value: n for n, what in enumerate(What)}
    rows.sort(key=lambda row: order[str(row[0])])
    return Table((str(change), str(model), *_STACK, *map(str, rest_names)), tuple(rows), count=len(rows))


def counts_table(found: CommitComparison) -> Table:
    """How many results changed how, over all stacks that both commits have."""
    rows: list[tuple[object, ...]] = [(what.value, count) for what, count in found.counts if count]
    rows += [
        ("unchanged", sum(c.same for c in found.by_stack)),
        ("in both", sum(c.both for c in found.by_stack)),
        ("new stacks", len(found.added)),
        ("stacks gone", len(found.gone)),
    ]
    return Table(("change", "results"), tuple(rows))


def as_json(found: CommitComparison) -> dict[str, Any]:
    return {
        "old": found.old.sha,
        "new": found.new.sha,
        "rule": found.rule,
        "counts": {what.value: count for what, count in found.counts},
        "added": [{**_pair(stack), "models": models} for stack, models in found.added],
        "gone": [{**_pair(stack), "models": models} for stack, models in found.gone],
        "changes": table(found).records(),
    }


def _pair(stack: Stack) -> dict[str, str]:
    return {"neuronx_cc": stack.neuronx_cc, "library": stack.library, "library_version": stack.library_version}
