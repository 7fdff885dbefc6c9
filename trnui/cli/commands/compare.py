"""`trnui compare A B`: what two stacks do differently; the counts first, then every change."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from trnui.cli.shared_options import Options, global_options, note
from trnui.cli.stack_options import split, tell
from trnui.cli.table_output import chosen_format, output_options, put
from trnui_runner.common.errors import Exit, UsageError

if TYPE_CHECKING:
    from trnui.catalog.analysis.compare import Comparison
    from trnui.catalog.engine.result_set import Table


@click.command("compare")
@click.argument("a", metavar="A")
@click.argument("b", metavar="B")
@click.option("--library", metavar="L", help="Library: transformers, diffusers, …")
@click.option(
    "--change", "change", metavar="KIND,…", multiple=True, help="List these kinds of change only: newly-failing, …"
)
@output_options
@global_options
@click.pass_obj
def command(
    options: Options,
    a: str,
    b: str,
    library: str | None,
    change: tuple[str, ...],
    format_: str | None,
    output: Path | None,
    no_truncate: bool,
    spreadsheet_safe: bool,
) -> int:
    """Two stacks side by side. A and B: NEURONX_CC[/LIBRARY_VERSION], each also by its first parts or as latest.

    A side that names no library version takes the newest one that both compilers have.
    """
    from trnui.catalog.analysis.compare import choose, compare, kinds
    from trnui.catalog.analysis.compare_causes import with_causes
    from trnui.catalog.engine.catalog import open_catalog

    wanted = kinds(split(change))
    catalog = open_catalog(options)
    try:
        pair = choose(catalog.stacks(), a, b, library)
    except UsageError as error:
        raise UsageError(error.message, f"{error.remedy}\n{catalog.source.looked_in}") from None
    comparison = compare(catalog.database, *pair, catalog.connection)
    if wanted:
        comparison = comparison.only(wanted)
    comparison = with_causes(comparison, catalog.database, catalog.connection)
    format_ = chosen_format(format_, output)
    if format_ == "json":
        _json(comparison, output)
    else:
        person = format_ in ("table", "markdown")
        if person:
            put(counts(comparison), options, format_=format_, output=None)
            if output is None:
                print()
        table = changes(
            comparison, short_arrow=("->" if options.settings["ascii"] == "on" else "→") if person else None
        )
        put(table, options, format_=format_, output=output, no_truncate=no_truncate, spreadsheet_safe=spreadsheet_safe)
    tell(catalog, f"A: {comparison.a} · B: {comparison.b}", comparison.words, comparison.rule)
    if comparison.a == comparison.b:
        note("A and B are the same stack.")
    return Exit.OK


def counts(c: Comparison, *, zeros: bool = False) -> Table:
    """One line a kind of change, of which a model may have several, then how many models changed, how many did not, and all."""
    from trnui.catalog.engine.result_set import Table

    rows: list[tuple[object, ...]] = [(what.value, count) for what, count in c.counts if count or zeros]
    rows += [
        ("changed", c.changed),
        ("unchanged", c.same),
        ("in both", c.both),
        ("in A", c.models_a),
        ("in B", c.models_b),
    ]
    return Table(("change", "models"), tuple(rows))


def changes(c: Comparison, *, short_arrow: str | None = None) -> Table:
    """Every change: both sides in columns of their own, or for a person `FAIL → PASS` in one."""
    from trnui.catalog.analysis.compare import COLUMNS, SHORT, short, table
    from trnui.catalog.engine.result_set import Table

    if short_arrow is not None:
        return Table(SHORT, tuple(short(c, short_arrow)), count=len(c.changes))
    return Table(COLUMNS, tuple(table(c)), count=len(c.changes))


def _json(c: Comparison, output: Path | None) -> None:
    from trnui.catalog.analysis.export import dumps

    value = {
        "a": _stack(c.a.neuronx_cc, c.a.library, c.a.library_version),
        "b": _stack(c.b.neuronx_cc, c.b.library, c.b.library_version),
        "rule": c.rule,
        "counts": dict(counts(c, zeros=True).rows),  # type: ignore[arg-type]  # two columns
        "changes": changes(c).records(),
    }
    text = dumps(value, indent=1) + "\n"
    if output is None or str(output) == "-":
        sys.stdout.write(text)
        return
    from trnui_runner.common.files import write_given

    write_given(output, text)


def _stack(compiler: str, library: str, version: str) -> dict[str, str]:
    return {"neuronx_cc": compiler, "library": library, "library_version": version}
