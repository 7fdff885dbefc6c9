"""`trnui compare A B`: what two stacks, or two commits of the dataset, do differently; the counts first, then every change."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from trnui.cli.choices import NearestChoice
from trnui.cli.compare_output import put_commits, put_comparison, put_releases
from trnui.cli.shared_options import GlobalOptions, global_options, note
from trnui.cli.shell_completion import changes, stacks
from trnui.cli.stack_options import split, tell
from trnui.cli.table_output import Output, chosen_format, output_options
from trnui_runner.common.errors import Exit, UsageError

if TYPE_CHECKING:
    from trnui.catalog.analysis.comparison.compare import Comparison
    from trnui.catalog.engine.catalog import Catalog
    from trnui.catalog.query import Stack

FAIL_ON: Final = ("newly-failing", "any")


@click.command("compare")
@click.argument("a", metavar="[A", required=False, shell_complete=stacks)
@click.argument("b", metavar="B]", required=False, shell_complete=stacks)
@click.option("--library", metavar="L", help="Library: transformers, diffusers, …")
@click.option(
    "--change",
    "change",
    metavar="KIND,…",
    multiple=True,
    shell_complete=changes,
    help="List these kinds of change only: newly-failing, …",
)
@click.option(
    "--summary", is_flag=True, help="Pass rate, models and median wall time, a line a stack: from A to B, or of all."
)
@click.option(
    "--commits",
    nargs=2,
    metavar="OLD NEW",
    help="Two commits of the dataset on disk (their first digits, or previous, latest).",
)
@click.option("--fail-on", type=NearestChoice(FAIL_ON), help="For CI: exit code 1 when there is such a change.")
@output_options
@global_options
@click.pass_obj
def command(
    options: GlobalOptions,
    a: str | None,
    b: str | None,
    library: str | None,
    change: tuple[str, ...],
    summary: bool,
    commits: tuple[str, str] | None,
    fail_on: str | None,
    format_: str | None,
    output: Path | None,
    no_truncate: bool,
    spreadsheet_safe: bool,
) -> int:
    """Two stacks side by side. A and B: NEURONX_CC[/LIBRARY_VERSION], each also by its first parts or as latest.

    A side that names no library version takes the newest one that both compilers have.
    """
    from trnui.catalog.engine.catalog import open_catalog

    _refuse(a, b, summary, commits, fail_on)
    where = Output(chosen_format(format_, output), output, no_truncate, spreadsheet_safe)
    if commits is not None:
        return _commits(options, commits, library, change, fail_on, where)
    catalog = open_catalog(options)
    pair = None if a is None or b is None else _pair(catalog, a, b, library)
    if summary:
        return _summary(catalog, pair, library, options, where)
    assert pair is not None  # _refuse
    comparison = _compare(catalog, pair, change)
    put_comparison(comparison, catalog, options, where)
    tell(catalog, f"A: {comparison.a} · B: {comparison.b}", comparison.shown, comparison.words, comparison.rule)
    if comparison.a == comparison.b:
        note("A and B are the same stack.")
    return verdict(fail_on, dict(comparison.counts))


def _refuse(a: str | None, b: str | None, summary: bool, commits: tuple[str, str] | None, fail_on: str | None) -> None:
    if commits is not None and (a is not None or summary):
        raise UsageError("--commits takes no stacks and no --summary", "As in: trnui compare --commits previous latest")
    if a is not None and b is None:
        raise UsageError("trnui compare: one stack is given", "As in: trnui compare 2.27 2.28")
    if a is None and commits is None and not summary:
        raise UsageError(
            "trnui compare: no stacks",
            "As in: trnui compare 2.27 2.28; trnui compare --summary looks at all stacks.",
        )
    if summary and fail_on:
        raise UsageError("--fail-on judges changes, of which --summary has none", "Leave one of them out.")


def _pair(catalog: Catalog, a: str, b: str, library: str | None) -> tuple[Stack, Stack]:
    from trnui.catalog.analysis.comparison.choice import choose

    try:
        return choose(catalog.stacks(), a, b, library)
    except UsageError as error:
        raise UsageError(error.message, f"{error.remedy}\n{catalog.source.looked_in}") from None


def _compare(catalog: Catalog, pair: tuple[Stack, Stack], change: tuple[str, ...]) -> Comparison:
    from trnui.catalog.analysis.comparison.causes import explained
    from trnui.catalog.analysis.comparison.choice import kinds
    from trnui.catalog.analysis.comparison.compare import compare

    wanted = kinds(split(change))
    comparison = compare(catalog.database, *pair, catalog.connection)
    if wanted:
        comparison = comparison.only(wanted)
    return explained(comparison, catalog.database, catalog.connection)


def _summary(
    catalog: Catalog, pair: tuple[Stack, Stack] | None, library: str | None, options: GlobalOptions, where: Output
) -> int:
    from trnui.catalog.analysis.comparison.releases import RULE, between, releases

    stacks = between(catalog.stacks(), *pair) if pair else catalog.stacks()
    stacks = tuple(s for s in stacks if library in (None, s.library))
    if library is not None and not stacks:
        libraries = ", ".join(sorted({s.library for s in catalog.stacks()}))
        raise UsageError(f"--library {library}: no row has it", f"Libraries: {libraries or 'none'}")
    put_releases(releases(catalog.database, stacks, catalog.connection), catalog, options, where)
    tell(catalog, f"{len(stacks)} stack{'s' * (len(stacks) != 1)}, oldest first", RULE)
    return Exit.OK


def _commits(
    options: GlobalOptions,
    commits: tuple[str, str],
    library: str | None,
    change: tuple[str, ...],
    fail_on: str | None,
    where: Output,
) -> int:
    from trnui.catalog.analysis.comparison.choice import kinds
    from trnui.catalog.analysis.comparison.commits import compare_commits
    from trnui.catalog.dataset.snapshot import resolve

    source = resolve(options.settings.dataset, options.offline)
    found = compare_commits(source, *commits, columns=options.settings.columns, library=library)
    wanted = kinds(split(change))
    shown = found.only(wanted) if wanted else found
    put_commits(shown, source, options, where)
    for line in (f"{source.asked}: commit {found.old} → {found.new}", shown.shown, found.words, found.rule):
        note(line)
    for problem in found.problems[:5]:
        note(f"{problem.file}: {problem.words}")
    return verdict(fail_on, dict(found.counts))


def verdict(fail_on: str | None, counts: dict[str, int]) -> int:
    """The exit code for CI, by all changes whatever `--change` lists."""
    judged = sum(counts.values()) if fail_on == "any" else counts["newly failing"] if fail_on else 0
    if judged:
        note(f"--fail-on {fail_on}: {judged:,} found, exit code {Exit.FAILED.value}")
    return Exit.FAILED if judged else Exit.OK
