"""What the app remembers between two starts: the view, and each view's filters and order. Kept apart from the settings,
which are the user's own words; a file that is torn, foreign or of another version is the same as none."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Final

from trnui.catalog.query import Query, View
from trnui_runner.common.files import private_dir, read_json, state_dir, write_json

VERSION: Final = 1


@dataclass(frozen=True)
class SessionState:
    """`view` is the view's name on screen (the two that are no `View` included); `problem` says why nothing was read."""

    view: str = View.SELECTED.value
    queries: Mapping[str, Query] = field(default_factory=dict)
    theme: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)  # what single screens remember, by their name
    problem: str | None = None


def path() -> Path:
    return state_dir() / "explorer.json"


def recall() -> SessionState:
    """What was remembered; the defaults when there is nothing, with the reason when there should be."""
    file = path()
    try:
        owner = file.stat().st_uid
    except FileNotFoundError:
        return SessionState()
    except OSError as error:
        return SessionState(problem=f"{file}: cannot be read ({error.strerror}); starting with the defaults")
    if owner != os.getuid():
        return SessionState(problem=f"{file}: belongs to another user; starting with the defaults")
    value = read_json(file)
    if not isinstance(value, dict) or value.get("v") != VERSION:
        return SessionState(problem=f"{file}: cannot be read; starting with the defaults")
    queries = value.get("queries")
    found = {
        str(name): query_of(data)
        for name, data in (queries.items() if isinstance(queries, dict) else ())
        if isinstance(data, dict)
    }
    theme = value.get("theme")
    extra = value.get("extra")
    return SessionState(
        str(value.get("view") or View.SELECTED.value),
        found,
        theme if isinstance(theme, str) else None,
        extra if isinstance(extra, dict) else {},
    )


def remember(session: SessionState) -> str | None:
    """Writes it atomically; in words why that failed, else None."""
    try:
        private_dir(path().parent)
        write_json(
            path(),
            {
                "v": VERSION,
                "view": session.view,
                "theme": session.theme,
                "queries": {name: json_of(query) for name, query in session.queries.items()},
                "extra": dict(session.extra),
            },
        )
    except OSError as error:
        return f"{path()}: cannot be written ({error.strerror}); view and filters are not remembered"
    return None


TYPED: Final = ("text", "anywhere")  # a search is for now: the next start shows every model again


def json_of(query: Query) -> dict[str, Any]:
    """Only what differs from a bare query, without what was typed into the filter line."""
    bare = Query()
    names = [f.name for f in fields(query) if f.name not in TYPED]
    return {n: getattr(query, n) for n in names if getattr(query, n) != getattr(bare, n)}


def query_of(data: Mapping[str, Any]) -> Query:
    """A remembered query; a field of the wrong type is left out, so an edited file cannot break a start."""
    bare = Query()
    kept: dict[str, Any] = {}
    for f in fields(bare):
        value, model = data.get(f.name), getattr(bare, f.name)
        if value is None:
            continue
        if f.name == "view":
            if value in View._value2member_map_:
                kept[f.name] = View(value)
        elif isinstance(model, tuple):
            if isinstance(value, list) and all(isinstance(v, str) for v in value):
                kept[f.name] = tuple(value)
        elif f.name in ("max_cores", "limit"):
            if isinstance(value, int):
                kept[f.name] = value
        elif isinstance(value, bool if isinstance(model, bool) else str):
            kept[f.name] = value
    return Query(**kept)
