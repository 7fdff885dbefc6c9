"""Saved views: filters and columns under a name, as tables of `views.toml` in the settings' folder, to read and to edit by hand."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Final

from trnui.catalog.query import Query, View
from trnui.settings import toml
from trnui_runner.common.errors import UsageError, UserError
from trnui_runner.common.files import config_dir, private_dir, write_atomic
from trnui_runner.common.text import one_line

NAME: Final = re.compile(r"[\w][\w .+-]{0,59}")
_TUPLES: Final = ("results", "neuronx_cc", "library_version", "models")
_FIELDS: Final = tuple(f.name for f in fields(Query) if f.name != "identities")  # those mean rows of one loading


@dataclass(frozen=True)
class SavedView:
    """`columns` as `--columns` takes them; empty: the usual ones."""

    query: Query
    columns: str = ""


def path() -> Path:
    return config_dir() / "views.toml"


def load() -> tuple[dict[str, SavedView], tuple[str, ...]]:
    """The views by name, and what in the file could not be read, in words that name the view and the key."""
    import tomllib

    file = path()
    try:
        found = tomllib.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}, ()
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        return {}, (f"{file}: {error}",)
    views, problems = {}, []
    for name, table in found.items():
        try:
            views[name] = _view(table)
        except (TypeError, ValueError) as error:
            problems.append(f"{file}: [{one_line(name, 80)}]: {error}")
    return views, tuple(problems)


def named(name: str) -> SavedView:
    """Raises UsageError, with the names that there are."""
    views, problems = load()
    if name in views:
        return views[name]
    for problem in problems:
        if f"[{one_line(name, 80)}]" in problem or not views:
            raise UsageError(problem, f"trnui views lists what can be read; {path()} can be edited.")
    near = difflib.get_close_matches(name, views, 1)
    hint = f"Did you mean {near[0]}? " if near else ""
    raise UsageError(
        f"{one_line(name, 80)}: no such saved view",
        f"{hint}There {'is none yet' if not views else 'are: ' + ', '.join(map(one_line, views))}. "
        "trnui list … --save NAME makes one.",
    )


def save(name: str, view: SavedView) -> bool:
    """Writes the view under its name; returns whether one of that name was replaced. Raises UsageError, UserError."""
    if not NAME.fullmatch(name):
        raise UsageError(
            f"{one_line(name, 80)}: not a name for a view", "Letters, digits, spaces, and . + - _; at most 60."
        )
    views, problems = load()
    if problems:
        raise UserError(problems[0], "Mend the file first: saving would lose what it holds.")
    replaced = name in views
    _write({**views, name: view})
    return replaced


def remove(name: str) -> None:
    """Raises UsageError, UserError."""
    named(name)
    views, problems = load()
    if problems:
        raise UserError(problems[0], "Mend the file first: saving would lose what it holds.")
    _write({n: v for n, v in views.items() if n != name})


def _write(views: Mapping[str, SavedView]) -> None:
    lines = [
        "# Saved views of trnui: one table a view, with the names of its filters as in `trnui list --format json`."
    ]
    for name, view in views.items():
        lines += ["", f"[{toml(name)}]"]
        lines += [f"{key} = {_toml(value)}" for key, value in as_table(view).items()]
    try:
        private_dir(path().parent)
        write_atomic(path(), "\n".join(lines) + "\n")
    except OSError as error:
        raise UserError(f"{path()}: cannot be written ({error.strerror})", "TRNUI_CONFIG_DIR names another folder.") from error  # fmt: skip


def as_table(view: SavedView) -> dict[str, Any]:
    """The fields that are not as usual."""
    usual = Query()
    table: dict[str, Any] = {}
    for name in _FIELDS:
        value = getattr(view.query, name)
        if value != getattr(usual, name):
            table[name] = list(value) if isinstance(value, tuple) else str(value) if isinstance(value, View) else value
    return table | ({"columns": view.columns} if view.columns else {})


def _view(table: object) -> SavedView:
    """Raises ValueError, TypeError in words."""
    if not isinstance(table, dict):
        raise TypeError("is not a table of filters")
    usual, values = Query(), dict(table)
    columns = values.pop("columns", "")
    if not isinstance(columns, str):
        raise TypeError("columns takes text")
    for name, value in values.items():
        if name not in _FIELDS:
            near = difflib.get_close_matches(name, _FIELDS, 1)
            raise ValueError(f"unknown key {one_line(name, 40)}" + (f"; did you mean {near[0]}?" if near else ""))
        if name in _TUPLES:
            if not isinstance(value, list) or not all(isinstance(v, str) for v in value):
                raise TypeError(f"{name} takes a list of texts")
            values[name] = tuple(value)
        elif name == "view":
            if value not in set(View):
                raise ValueError(f"view takes one of {', '.join(View)}")
            values[name] = View(value)
        elif name in ("max_cores", "limit"):
            if isinstance(value, bool) or not isinstance(value, int) or value < 0:
                raise TypeError(f"{name} takes a whole number")
        elif not isinstance(value, bool if isinstance(getattr(usual, name), bool) else str):
            raise TypeError(f"{name} takes {'true or false' if name == 'descending' else 'text'}")
    return SavedView(Query(**values), columns)


def _toml(value: object) -> str:
    return f"[{', '.join(toml(v) for v in value)}]" if isinstance(value, list) else toml(value)
