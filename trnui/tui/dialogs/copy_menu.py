"""Menus that several screens open: what can be copied of a row, rows to a file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from trnui.catalog.messages import Detail
from trnui.tui.widgets.picker import Choice, Picker

if TYPE_CHECKING:
    from trnui.tui.app import Explorer


def copy_texts(house: Explorer, texts: Sequence[tuple[str, str, str]]) -> None:
    """A menu of (letter, label, text); what is empty cannot be taken."""

    def note(text: str) -> str:
        return f"{len(text.encode('utf-8', 'replace')):,} bytes"

    offered = [Choice(label, label, note(text), key, "" if text else "there is none") for key, label, text in texts]

    def take(chosen: tuple[str, ...] | None) -> None:
        for _, label, text in texts:
            if chosen and label == chosen[0]:
                house.copy(text, label)

    house.push_screen(Picker("Copy", offered, hint="a letter, or Enter copies  Esc back"), take)


def copy_row(house: Explorer, detail: Detail) -> None:
    """The row's id, JSON, commands, run.py, error, report."""
    from trnui.catalog.dataset.packages import install_command, packages_of
    from trnui.tui.dialogs.copy_texts import copyables

    install = install_command(packages_of(detail.values), house.settings["neuron_index"])
    copy_texts(house, [(c.key, c.label, c.text) for c in copyables(detail, house.dataset, install)])


def copy_marked(house: Explorer, marked: Sequence[tuple[str, ...]]) -> None:
    """Of the marked rows (model, compiler, library version): their ids, and one command a row, to show or to run them."""
    from trnui.tui.dialogs.copy_texts import command

    rows = [
        {"model_id": m, "neuronx_cc": c if c != "None" else "", "library_version": v if v != "None" else ""}
        for m, c, v in marked
    ]
    count = f"{len(rows)} marked"
    copy_texts(
        house,
        [
            ("i", f"model ids ({count})", "\n".join(dict.fromkeys(r["model_id"] for r in rows))),
            ("s", f"show commands ({count})", "\n".join(command("show", r, house.dataset) for r in rows)),
            ("r", f"run commands ({count})", "\n".join(command("run", r, house.dataset) for r in rows)),
            ("p", f"packages commands ({count})", "\n".join(command("packages", r, house.dataset) for r in rows)),
        ],
    )


def export_rows(house: Explorer, name: str, names: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Rows that a screen has at hand, to a file."""
    from trnui.tui.dialogs.export import export, rows_table

    export(house, name, lambda: rows_table(names, rows))
