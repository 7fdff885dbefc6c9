"""Values that the shell completes: tasks, results, and the versions and models that are on disk now. Never a network, never an error."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from trnui.catalog.dataset.snapshot import DatasetSource
    from trnui.catalog.query import View


def tasks(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from trnui_runner.common.dataset_schema import TASKS

    return [_item(t) for t in TASKS if t.startswith(incomplete)]


def results(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Several words with commas between them: the last one is completed."""
    from trnui_runner.common.dataset_schema import Status

    head, comma, last = incomplete.rpartition(",")
    return [_item(f"{head}{comma}{s.value}") for s in Status if s.value.startswith(last.upper())]


def compilers(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    return _versions(ctx, "neuronx_cc", incomplete)


def library_versions(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    return _versions(ctx, "library_version", incomplete)


def changes(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Kinds of change, several with commas between them."""
    from trnui.catalog.analysis.comparison.compare import What

    head, comma, last = incomplete.rpartition(",")
    names = (what.replace(" ", "-") for what in What)
    return [_item(f"{head}{comma}{name}") for name in names if name.startswith(last.lower())]


def stacks(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """NEURONX_CC/LIBRARY_VERSION, as the names of the files on disk tell them."""
    from trnui.catalog.dataset.column_mapping import pair_in
    from trnui.catalog.dataset.versions import newest_first
    from trnui.catalog.query import Stack

    pairs = (pair_in(file) for file in _names(ctx))
    found = {Stack(p.get("neuronx_cc", ""), p.get("library_version", ""), p.get("library", "")) for p in pairs}
    words = [s.short for s in newest_first(found) if s.neuronx_cc and s.library_version]
    return [_item(word) for word in dict.fromkeys(words) if word.startswith(incomplete)]


def columns(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Columns of the view that is named, several with commas between them."""
    from trnui.catalog.columns import whole_row

    head, comma, last = incomplete.rpartition(",")
    names = (*(() if comma else ("shown", "all")), *whole_row(_view(ctx)))
    return [_item(f"{head}{comma}{name}") for name in names if name.startswith(last)]


def sort_columns(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Columns of the view that is named; behind a colon the direction."""
    from trnui.catalog.columns import sortable

    name, colon, direction = incomplete.partition(":")
    if colon:
        return [_item(f"{name}:{word}") for word in ("asc", "desc") if word.startswith(direction)]
    return [_item(column) for column in sortable(_view(ctx)) if column.startswith(incomplete)]


def runs(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Ids of this host's runs, newest first; `last` is the newest."""
    from trnui_runner.run_folder.folder import all_runs

    words = ["last", *(run.id for run in all_runs()[:200])]
    return [_item(word) for word in words if word.startswith(incomplete)]


def saved_views(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from trnui.catalog.saved_views import load

    return [_item(name) for name in load()[0] if name.startswith(incomplete)]


def watched(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from trnui.catalog.watch import load

    return [_item(name) for name in load().models if name.lower().startswith(incomplete.lower())]


def instances(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from trnui.catalog.analysis.what_if import INSTANCES

    return [_item(i.name) for i in INSTANCES if i.name.startswith(incomplete)]


def _view(ctx: click.Context) -> View:
    from trnui.catalog.query import View

    name = ctx.params.get("view")
    return View(name) if name in set(View) else View.SELECTED


def models(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Names that begin so, from the files themselves; one that cannot be read has none."""
    import duckdb

    from trnui.catalog.dataset.loader import READ, glob_safe

    found: set[str] = set()
    with duckdb.connect() as connection:
        for path in _paths(ctx):
            try:
                sql = f"SELECT DISTINCT model_id FROM {READ} WHERE starts_with(lower(model_id), lower(?)) LIMIT 200"
                found |= {row[0] for row in connection.execute(sql, [glob_safe(path), incomplete]).fetchall()}
            except (duckdb.Error, UnicodeError):
                continue
    return [_item(name) for name in sorted(found) if name.isprintable()]


def _item(word: str) -> CompletionItem:
    from click.shell_completion import CompletionItem  # 3 ms, wanted only when a shell asks

    return CompletionItem(word)


def _versions(ctx: click.Context, name: str, incomplete: str) -> list[CompletionItem]:
    """As the names of the files on disk tell them: nothing is opened, so a key press stays quick."""
    from trnui.catalog.dataset.column_mapping import pair_in
    from trnui.catalog.dataset.versions import key, public

    found = {public(pair_in(file).get(name, "")) for file in _names(ctx)} - {""}
    words = ["latest", "all", *sorted(found, key=key, reverse=True)]
    return [_item(w) for w in words if w.startswith(incomplete)]


def _names(ctx: click.Context) -> tuple[str, ...]:
    source = _source(ctx)
    return source.names if source else ()


def _paths(ctx: click.Context) -> tuple[Path, ...]:
    source = _source(ctx)
    return source.files if source else ()


def _source(ctx: click.Context) -> DatasetSource | None:
    from trnui.catalog.dataset.snapshot import resolve
    from trnui.settings import load
    from trnui_runner.common.errors import UserError

    dataset = next((c.params["dataset"] for c in _chain(ctx) if c.params.get("dataset")), None)
    try:
        return resolve(str(dataset or load().dataset), offline=True)
    except UserError:
        return None


def _chain(ctx: click.Context) -> list[click.Context]:
    found = [ctx]
    while found[-1].parent is not None:
        found.append(found[-1].parent)
    return found
