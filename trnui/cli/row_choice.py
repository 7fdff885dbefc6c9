"""What `show`, `script` and `packages` share: from a model's name and the stack options to one row in full."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trnui.cli.stack_options import with_stack

if TYPE_CHECKING:
    from trnui.catalog.engine.catalog import Catalog
    from trnui.catalog.messages import Detail


def chosen_row(
    catalog: Catalog, model: str, neuronx_cc: tuple[str, ...], library: str | None, library_version: tuple[str, ...]
) -> Detail:
    """The row on the stack asked for, else on the default one, else on the newest that has one. Raises UsageError."""
    from trnui.catalog.query import Query

    name = catalog.find(model)
    return catalog.detail(catalog.choose(name, with_stack(catalog, Query(), neuronx_cc, library, library_version)))


def stack_words(detail: Detail) -> str:
    values = detail.values
    return f"neuronx-cc {values.get('neuronx_cc') or '–'} · {values.get('library') or 'library'} {values.get('library_version') or '–'}"
