"""The `trnui list` line that is equal to a Query: what the app copies, and what a saved view stands for."""

from __future__ import annotations

from typing import Final

from trnui.catalog.query import Query, View
from trnui.settings import DATASET
from trnui_runner.request.command_line import shell_line

_OPTIONS: Final = {
    "text": "--search",
    "anywhere": "--anywhere",
    "task": "--task",
    "results": "--result",
    "neuronx_cc": "--neuronx-cc",
    "library": "--library",
    "library_version": "--library-version",
    "max_cores": "--max-cores",
    "models": "--model",
}


def list_line(query: Query, *, dataset: str | None = None, columns: str = "") -> str:
    """Quoted for a shell. `dataset` None or the usual one is not named."""
    return shell_line(list_words(query, dataset=dataset, columns=columns))


def list_words(query: Query, *, dataset: str | None = None, columns: str = "") -> list[str]:
    """As `list_line`, word by word. What is usual is left out."""
    words = ["trnui", *(["--dataset", dataset] if dataset and dataset != DATASET else []), "list"]
    if query.view is not View.SELECTED:
        words += ["--view", str(query.view)]
    for name, option in _OPTIONS.items():
        value = getattr(query, name)
        for one in value if isinstance(value, tuple) else () if value in (None, "") else (value,):
            words += _option(option, str(one))
    if query.sort:
        words += ["--sort", query.sort + (":desc" if query.descending else "")]
    if query.limit is not None:
        words += ["--limit", str(query.limit)]
    return words + (["--columns", columns] if columns else [])


def _option(option: str, value: str) -> list[str]:
    """A value that looks like an option must stand in one word with its own."""
    return [f"{option}={value}"] if value.startswith("-") else [option, value]
