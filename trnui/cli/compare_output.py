"""How `trnui compare` writes what it found: two stacks, two commits, or a line a release."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trnui.cli.table_output import Output, put, put_in, put_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from trnui.catalog.analysis.comparison.commits import CommitComparison
    from trnui.catalog.analysis.comparison.compare import Comparison
    from trnui.catalog.analysis.comparison.releases import Release
    from trnui.catalog.dataset.snapshot import DatasetSource
    from trnui.catalog.engine.catalog import Catalog
    from trnui.catalog.engine.result_set import Table
    from trnui.catalog.query import Stack
    from trnui.cli.shared_options import GlobalOptions


def _ascii(options: GlobalOptions) -> bool:
    return bool(options.settings.ascii == "on")


def put_comparison(c: Comparison, catalog: Catalog, options: GlobalOptions, where: Output) -> None:
    """For a person: how many of each kind, the packages that differ, every change. JSON holds all of it; csv, tsv and
    parquet the changes."""
    from trnui.catalog.analysis.comparison import stack_difference as packages
    from trnui.catalog.analysis.comparison.tables import changes, counts
    from trnui.catalog.engine.result_set import Table

    if where.format == "json":
        differences = packages.stack_difference(catalog.database, c.a, c.b, catalog.connection)
        _json(c, Table(packages.COLUMNS, tuple(packages.table(differences))), where)
        return
    if where.format == "html":
        from trnui.catalog.analysis.html_report import comparison_page

        differences = packages.stack_difference(catalog.database, c.a, c.b, catalog.connection)
        lines = Table(packages.COLUMNS, tuple(packages.table(differences)))
        put_text(comparison_page(c, lines, catalog.provenance), where.file, "comparison")
        return
    if where.for_a_person:
        differences = packages.stack_difference(catalog.database, c.a, c.b, catalog.connection)
        put(counts(c), options, format_=where.format, output=None)
        print()
        if differences:
            lines = Table(packages.COLUMNS, tuple(packages.table(differences)))
            put(lines, options, format_=where.format, output=None)
            print()
    put_in(changes(c, short_arrow=_arrow(options) if where.for_a_person else None), options, where)


def _arrow(options: GlobalOptions) -> str:
    return "->" if _ascii(options) else "→"


def _json(c: Comparison, packages: Table, where: Output) -> None:
    from trnui.catalog.analysis.comparison.tables import changes, counts
    from trnui.catalog.analysis.export import dumps

    value = {
        "a": _stack(c.a),
        "b": _stack(c.b),
        "rule": c.rule,
        "counts": dict(counts(c, zeros=True).rows),  # type: ignore[arg-type]  # two columns
        "packages": packages.records(),
        "changes": changes(c).records(),
    }
    put_text(dumps(value, indent=1) + "\n", where.file)


def _stack(stack: Stack) -> dict[str, str]:
    return {"neuronx_cc": stack.neuronx_cc, "library": stack.library, "library_version": stack.library_version}


def put_releases(found: Sequence[Release], catalog: Catalog, options: GlobalOptions, where: Output) -> None:
    if where.format == "html":
        from trnui.catalog.analysis.html_report import releases_page

        put_text(releases_page(found, catalog.provenance), where.file, "summary")
        return
    from trnui.catalog.analysis.comparison.releases import COLUMNS, SHORT, short, table
    from trnui.catalog.engine.result_set import Table

    if where.for_a_person:
        lines = Table(SHORT, tuple(short(found, ascii_only=_ascii(options))))
    else:
        lines = Table(COLUMNS, tuple(table(found)))
    put_in(lines, options, where)


def put_commits(found: CommitComparison, source: DatasetSource, options: GlobalOptions, where: Output) -> None:
    from trnui.catalog.analysis.comparison.commits import as_json, counts_table, table
    from trnui.catalog.analysis.export import dumps

    if where.format == "json":
        put_text(dumps(as_json(found), indent=1) + "\n", where.file)
        return
    if where.format == "html":
        from trnui.catalog.analysis.html_report import table_page

        title = f"{source.asked}: commit {found.old} → {found.new}"
        lines = table(found, short_arrow="→")
        put_text(table_page(title, lines, source.provenance, (found.words, found.rule)), where.file, "comparison")
        return
    if where.for_a_person:
        put(counts_table(found), options, format_=where.format, output=None)
        print()
    put_in(table(found, short_arrow=_arrow(options) if where.for_a_person else None), options, where)
