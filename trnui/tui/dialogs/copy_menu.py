"""Menus that several screens open: what can be copied of a row, rows to a file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from trnui.catalog.messages import Detail
from trnui.tui.widgets.picker import Choice, Picker

if TYPE_CHECKING:
    from trnui.tui.context import AppContext


def copy_texts(context: AppContext, texts: Sequence[tuple[str, str, str]]) -> None:
    """A menu of (letter, label, text); what is empty cannot be taken."""

    def note(text: str) -> str:
        return f"{len(text.encode('utf-8', 'replace')):,} bytes"

    offered = [Choice(label, label, note(text), key, "" if text else "there is none") for key, label, text in texts]

    def take(chosen: tuple[str, ...] | None) -> None:
        for _, label, text in texts:
            if chosen and label == chosen[0]:
                context.copy(text, label)

    context.push_screen(Picker("Copy", offered, hint="a letter, or Enter copies  Esc back"), take)


def copy_row(context: AppContext, detail: Detail) -> None:
    """The row's id, JSON, commands, run.py, error, report."""
    from trnui.catalog.dataset.packages import install_command, packages_of
    from trnui.tui.dialogs.copy_texts import copyables

    install = install_command(packages_of(detail.values), context.settings.neuron_index)
    copy_texts(context, [(c.key, c.label, c.text) for c in copyables(detail, context.dataset, install)])


def copy_marked(context: AppContext, marked: Sequence[Detail]) -> None:
    """Of the marked rows: their ids, the rows as JSON or as a table with their errors, and one command a row."""
    from trnui.tui.dialogs.copy_texts import as_markdown, command, rows_as_json

    rows = [{**detail.values, **detail.derived} for detail in marked]
    count = f"{len(rows)} marked"
    copy_texts(
        context,
        [
            ("i", f"model ids ({count})", "\n".join(dict.fromkeys(str(r["model_id"]) for r in rows))),
            ("n", f"rows as JSON ({count})", rows_as_json(marked)),
            ("m", f"Markdown table ({count})", as_markdown(marked)),
            ("s", f"show commands ({count})", "\n".join(command("show", r, context.dataset) for r in rows)),
            ("r", f"run commands ({count})", "\n".join(command("run", r, context.dataset) for r in rows)),
            ("p", f"packages commands ({count})", "\n".join(command("packages", r, context.dataset) for r in rows)),
        ],
    )


def export_rows(context: AppContext, name: str, names: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Rows that a screen has at hand, to a file."""
    from trnui.tui.dialogs.export import export, rows_table

    export(context, name, lambda: rows_table(names, rows))
