"""Which rows a batch is made of: models by name, a list, a view, what a comparison has found, what is in the Hub's cache."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from trnui.batch_requests import ChosenRow
from trnui.cli.row_choice import chosen_row
from trnui.cli.shared_options import note
from trnui.cli.stack_options import split, with_stack
from trnui_runner.common.errors import UsageError
from trnui_runner.common.hub_env import hub_cache
from trnui_runner.common.text import clean, one_line
from trnui_runner.request.checkpoint import config_of, folder_of

if TYPE_CHECKING:
    from trnui.catalog.engine.catalog import Catalog

Stack = tuple[tuple[str, ...], str | None, tuple[str, ...]]  # the three stack options
RUN: Final = ("PASS", "FAIL")  # of a view, what is run when nothing else is said
MOST: Final = 100_000  # lines of a list


def by_name(catalog: Catalog, models: Iterable[str], stack: Stack) -> list[ChosenRow]:
    """Each model's row on the stack asked for (else the newest that has one); a model without a row is tried by itself."""
    from trnui.catalog.engine.catalog import UnknownModelError

    found, unknown = list[ChosenRow](), list[str]()
    for model in dict.fromkeys(models):
        try:
            detail = chosen_row(catalog, model, *stack)
        except UnknownModelError:
            unknown.append(model)
            found.append(ChosenRow(model))
        else:
            found.append(ChosenRow(str(detail.values["model_id"]), detail))
    if unknown:
        some = ", ".join(one_line(m, 60) for m in unknown[:5])
        note(
            f"{len(unknown)} without a row in {catalog.provenance.dataset}, tried with the bundled script: {some}{' …' if len(unknown) > 5 else ''}"
        )
    return found


def from_list(path: Path) -> list[str]:
    """A model a line, `-` for stdin; what stands after white space, a comma or a tab, and lines that begin with #, is left out.
    Raises UsageError."""
    try:
        text = sys.stdin.read() if str(path) == "-" else path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise UsageError(
            f"--from {path}: {error.strerror}", "It takes a file with one model a line, or - for stdin."
        ) from error
    found = []
    for number, line in enumerate(clean(text).splitlines(), 1):
        words = line.replace(",", " ").split()
        if not words or words[0].startswith("#") or words[0] in ("model_id", "model"):
            continue
        if number > MOST:
            raise UsageError(f"--from {path}: more than {MOST:,} lines", "Is that a list of models?")
        found.append(words[0].strip("\"'"))
    if not found:
        raise UsageError(f"--from {path}: no model in it", "It takes a file with one model a line, or - for stdin.")
    return found


def from_view(
    catalog: Catalog,
    view: str,
    stack: Stack,
    results: Sequence[str],
    task: str | None,
    search: str,
    max_cores: int | None,
) -> list[ChosenRow]:
    """The rows of a view on its stack. What is excluded is run only when it is asked for by --result."""
    from trnui.catalog.query import Query, View

    query = Query(View(view), task=task, text=search, results=tuple(results) or RUN, max_cores=max_cores)
    table = catalog.rows(with_stack(catalog, query, *stack), ("model_id",))
    return [_choice(catalog, str(row[0]), identity) for row, identity in zip(table.rows, table.ids, strict=True)]


def from_comparison(catalog: Catalog, a: str, b: str, change: Sequence[str], library: str | None) -> list[ChosenRow]:
    """The models under the kinds of change asked for (newly failing ones), with their rows on B."""
    from trnui.catalog.analysis.comparison.choice import choose, kinds
    from trnui.catalog.analysis.comparison.compare import compare

    wanted = kinds(split(tuple(change)) or ("newly-failing",))
    comparison = compare(catalog.database, *choose(catalog.stacks(), a, b, library), catalog.connection).only(wanted)
    note(f"A: {comparison.a} · B: {comparison.b}")
    sides = {c.model_id: c.b or c.a for c in comparison.changes}
    return [
        _choice(catalog, model, side.identity)
        for model, side in sides.items()
        if side is not None and side.identity is not None
    ]


def cached_models() -> list[str]:
    """Models in the Hub's cache on this host that generate text."""
    try:
        names = sorted(p.name for p in hub_cache().iterdir() if p.name.startswith("models--"))
    except OSError:
        return []
    models = (name.removeprefix("models--").replace("--", "/") for name in names)
    return [model for model in models if _generates(model)]


def _generates(model: str) -> bool:
    folder = folder_of(model)
    architectures = config_of(folder).get("architectures") if folder is not None else None
    return any("CausalLM" in str(a) or "ConditionalGeneration" in str(a) for a in architectures or ())


def _choice(catalog: Catalog, model: str, identity: int) -> ChosenRow:
    return ChosenRow(model, catalog.detail(identity))
