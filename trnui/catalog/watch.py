"""Models that a user watches: pinned by name in the state folder, with the results last told, so that each look says what is new.

Who tells keeps a place of its own: `trnui sync` and `trnui watch --check` both say every change once.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from trnui.catalog.dataset.versions import stack_key
from trnui.catalog.query import Stack
from trnui_runner.common.errors import UsageError
from trnui_runner.common.files import locked, private_dir, read_json, state_dir, write_json
from trnui_runner.common.text import one_line

if TYPE_CHECKING:
    import duckdb

    from trnui.catalog.engine.catalog import Catalog
    from trnui.catalog.engine.database import Database

MOST: Final = 500  # models watched
SYNC, CHECK, APP = "sync", "check", "app"
_NAME = re.compile(r"[\w][\w.-]*(?:/[\w][\w.-]*)?")
Statuses = Mapping[Stack, str]


@dataclass(frozen=True)
class WatchList:
    """`models`: name → when it was pinned (UTC epoch seconds). `seen`: teller and dataset → model → stack → status."""

    models: Mapping[str, float] = field(default_factory=dict)
    seen: Mapping[str, Mapping[str, Mapping[str, str]]] = field(default_factory=dict)


@dataclass(frozen=True)
class WatchChange:
    """A result that is other than at the last look; `before` None where there was none on this stack."""

    model_id: str
    stack: Stack
    before: str | None
    after: str | None

    @property
    def words(self) -> str:
        """`began to pass on 2.29.5.0/5.24.0 (FAIL before)`."""
        was = f"{self.before} before" if self.before else "no result before"
        if self.after is None:
            return f"no result any more on {self.stack.short} ({was})"
        verb = {"PASS": "passes", "FAIL": "fails"}.get(self.after, f"is {self.after}")
        if self.before is not None and self.after in ("PASS", "FAIL"):
            verb = f"began to {'pass' if self.after == 'PASS' else 'fail'}"
        return f"{verb} on {self.stack.short} ({was})"


def path() -> Path:
    return state_dir() / "watch.json"


def load() -> WatchList:
    """What is pinned; nothing where the file is absent or cannot be read."""
    value = read_json(path())
    if not isinstance(value, dict) or value.get("v") != 1:
        return WatchList()
    models = value.get("models")
    seen = value.get("seen")
    return WatchList(
        {str(k): float(v) for k, v in models.items() if isinstance(v, int | float)} if isinstance(models, dict) else {},
        {str(k): v for k, v in seen.items() if isinstance(v, dict)} if isinstance(seen, dict) else {},
    )


def add(names: Iterable[str], now: float | None = None) -> tuple[str, ...]:
    """Pins models; returns those that were not pinned yet. Raises UsageError for what is not a model's name, OSError."""
    when = time.time() if now is None else now
    wanted = list(dict.fromkeys(names))
    for name in wanted:
        if not _NAME.fullmatch(name) or len(name) > 200:
            raise UsageError(f"{one_line(name, 200)}: not a model's name", "A name on the Hub is owner/name.")
    with _locked():
        watched = load()
        pinned = {m.lower() for m in watched.models}
        new = [n for n in wanted if n.lower() not in pinned]
        if len(watched.models) + len(new) > MOST:
            raise UsageError(f"at most {MOST} models can be watched", "trnui watch --remove MODEL makes room.")
        _write(replace(watched, models={**watched.models, **dict.fromkeys(new, when)}))
    return tuple(new)


def remove(names: Iterable[str]) -> tuple[str, ...]:
    """Returns the names that were pinned and are no more. Raises OSError."""
    gone = {n.lower() for n in names}
    with _locked():
        watched = load()
        removed = tuple(m for m in watched.models if m.lower() in gone)
        seen = {teller: {m: s for m, s in models.items() if m not in gone} for teller, models in watched.seen.items()}
        _write(WatchList({m: t for m, t in watched.models.items() if m not in removed}, seen))
    return removed


def results(
    database: Database, models: Iterable[str], cursor: duckdb.DuckDBPyConnection | None = None
) -> dict[str, dict[Stack, str]]:
    """Status by stack for each model's name in lower case."""
    from trnui.catalog.analysis.model_results import newest_results

    found = newest_results(database, list(models), cursor)
    return {lower: {stack: r.status for stack, r in rows.items()} for lower, rows in found.items()}


def news(catalog: Catalog, teller: str) -> tuple[WatchChange, ...]:
    """What is new to this teller in the data that is loaded. Raises OSError."""
    pinned = load().models
    if not pinned:
        return ()
    return look(teller, catalog.provenance.dataset, results(catalog.database, pinned, catalog.connection))


def look(teller: str, dataset: str, now: Mapping[str, Statuses]) -> tuple[WatchChange, ...]:
    """What is new to this teller since its last look, which this one becomes. A model that it sees for the first time has
    nothing new. `now`: by name in lower case. Raises OSError."""
    place = f"{teller} {dataset}"
    with _locked():
        watched = load()
        last = watched.seen.get(place, {})
        found: list[WatchChange] = []
        for model in watched.models:
            before = last.get(model.lower())
            if isinstance(before, dict):
                found += changes(model, _stacks(before), now.get(model.lower(), {}))
        kept = {m.lower(): {_key(s): status for s, status in now.get(m.lower(), {}).items()} for m in watched.models}
        if kept != last:
            _write(replace(watched, seen={**watched.seen, place: kept}))
    return tuple(found)


def changes(model: str, before: Statuses, after: Statuses) -> list[WatchChange]:
    """Newest stack first; what is the same is left out."""
    stacks = sorted({*before, *after}, key=stack_key, reverse=True)
    return [WatchChange(model, s, before.get(s), after.get(s)) for s in stacks if before.get(s) != after.get(s)]


def _key(stack: Stack) -> str:
    return "\t".join((stack.neuronx_cc, stack.library_version, stack.library))


def _stacks(seen: Mapping[str, str]) -> dict[Stack, str]:
    return {Stack(*key.split("\t")): str(status) for key, status in seen.items() if key.count("\t") == 2}


def _locked() -> Any:
    private_dir(path().parent)
    return locked(path().with_suffix(".lock"))


def _write(watched: WatchList) -> None:
    write_json(path(), {"v": 1, "models": dict(watched.models), "seen": dict(watched.seen)})
