"""Failures by cause: rows whose errors mean the same stand together, with their stacks and the models behind them.

Causes come from the diagnosis of one error out of each template (an error with its numbers taken out); an error that no
rule knows is its own cause.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from trnui.catalog.dataset.loader import HEAD
from trnui.catalog.dataset.reason import reason_line
from trnui.catalog.engine.long_columns import deep_values
from trnui.catalog.engine.lookups import records
from trnui.catalog.engine.sql_builder import build
from trnui.catalog.messages import Record
from trnui.catalog.query import ALL, Query, Stack, View
from trnui_runner.common.text import one_line
from trnui_runner.diagnosis import Diagnosis, diagnose_row
from trnui_runner.diagnosis.titles import title

if TYPE_CHECKING:
    import duckdb

    from trnui.catalog.engine.database import Database

DIAGNOSED: Final = 1000  # templates; a diagnosis takes up to a few milliseconds
READ_WHOLE: Final = 5000  # rows whose error is longer than what a list holds, read from their files
_CODE = re.compile(r"\bNCC_[A-Z]{2,}\d+\b")
_EXCEPTION = re.compile(r"^(?:[A-Za-z_]\w*\.)*([A-Z]\w*(?:Error|Exception|Interrupt|Exit|Failure))\b", re.MULTILINE)
_NUMBERS = re.compile(r"0x[0-9a-fA-F]+|\d+")
_LABEL = 80


@dataclass(frozen=True)
class Cause:
    """`label` is an error code, a class of the diagnosis or the error itself. `stacks` by rows, most first; `models` by
    name; `identities` are its rows, and `identity` is one of them, to open as an example of `error`."""

    label: str
    cls: str
    group: str
    summary: str
    hint: str
    rows: int
    models: tuple[str, ...]
    stacks: tuple[tuple[Stack, int], ...]
    error: str
    identity: int
    identities: tuple[int, ...] = ()


@dataclass
class _Failing:
    """Rows of one template: what the diagnosis reads of one of them, and who fails so where."""

    sample: dict[str, Any]
    identity: int
    rows: int = 0
    identities: list[int] = field(default_factory=list)
    models: set[str] = field(default_factory=set)
    stacks: Counter[Stack] = field(default_factory=Counter)

    def add(self, stack: Stack, models: Sequence[str], identities: Sequence[int]) -> None:
        rows = len(identities)
        self.rows += rows
        self.identities += identities
        self.stacks[stack] += rows
        self.models.update(models)


COLUMNS: Final = ("cause", "class", "rows", "models", "stacks", "summary", "example")


def group(database: Database, query: Query, cursor: duckdb.DuckDBPyConnection | None = None) -> tuple[Cause, ...]:
    """The failing rows that the query means (its sort and limit aside), by cause, the most frequent first."""
    cursor = cursor or database.connection.cursor()
    failing = _failing(database, query.but(view=View.FAILURES, sort=None, limit=None), cursor)
    found: dict[tuple[str, str], list[tuple[_Failing, Diagnosis | None]]] = defaultdict(list)
    for place, rows in enumerate(sorted(failing, key=lambda f: -f.rows)):
        diagnosis = diagnose_row(rows.sample) if place < DIAGNOSED else None
        found[_key(str(rows.sample.get("error") or ""), diagnosis)].append((rows, diagnosis))
    causes = [_cause(label, cls, members) for (label, cls), members in found.items()]
    return tuple(sorted(causes, key=lambda c: (-c.rows, c.label)))


def same_error(database: Database, identity: int) -> tuple[tuple[Record, ...], str]:
    """Other rows, on every stack, that fail by the cause of this one, and the cause's name; both empty where it does not fail."""
    every = Query(neuronx_cc=(ALL,), library_version=(ALL,))
    cause = next((c for c in group(database, every) if identity in c.identities), None)
    if cause is None:
        return (), ""
    others = tuple(i for i in cause.identities if i != identity)
    return tuple(records(database, every.but(identities=others)) if others else ()), cause.label


def label_of(error: str, diagnosis: Diagnosis | None) -> str:
    """The cause's name, as `group` gives it."""
    return _key(error, diagnosis)[0]


def _key(error: str, diagnosis: Diagnosis | None) -> tuple[str, str]:
    """(label, class): the code that decided, else the class in words; for what no rule knows the error's own words."""
    cls = diagnosis.cls if diagnosis else "unknown"
    codes = _CODE.findall(error)
    code = str((diagnosis.facts.get("code") if diagnosis else "") or (codes[-1] if codes else ""))
    if cls != "unknown":
        return code or title(cls), cls
    if diagnosis is None and not code:  # too many different errors to look into each
        return next(iter(reversed(_EXCEPTION.findall(error))), "other"), cls
    return code or one_line(_template(reason_line(error)), _LABEL) or "no error text", cls


def _template(text: str) -> str:
    return _NUMBERS.sub("#", text)


def _cause(label: str, cls: str, members: Sequence[tuple[_Failing, Diagnosis | None]]) -> Cause:
    first, diagnosis = members[0]
    stacks: Counter[Stack] = sum((member.stacks for member, _ in members), Counter())
    error = str(first.sample.get("error") or "")
    return Cause(
        label=label,
        cls=cls,
        group=diagnosis.group if diagnosis else "data",
        summary=diagnosis.summary if diagnosis else one_line(reason_line(error)),
        hint=diagnosis.hint if diagnosis else "",
        rows=sum(member.rows for member, _ in members),
        models=tuple(sorted({model for member, _ in members for model in member.models}, key=str.lower)),
        stacks=tuple(sorted(stacks.items(), key=lambda item: (-item[1], str(item[0])))),
        error=one_line(reason_line(error)),
        identity=first.identity,
        identities=tuple(sorted(i for member, _ in members for i in member.identities)),
    )


def _failing(database: Database, query: Query, cursor: duckdb.DuckDBPyConnection) -> list[_Failing]:
    """Rows whose error a list holds in whole are gathered in the database; the others need their files."""
    ids, _ = database.resolve(query)
    sql = build(query, ids)
    whole = f"r.error <> '' AND length(r.error) < {HEAD}"
    where = f"{sql.where} {'AND' if sql.where else 'WHERE'}"
    stack = "s.neuronx_cc, s.library_version, s.library"
    template = f"regexp_replace(r.error, '{_NUMBERS.pattern}', '#', 'g')"
    found: dict[tuple[object, ...], _Failing] = {}

    def take(
        key: tuple[object, ...],
        identities: Sequence[int],
        sample: dict[str, Any],
        pair: Sequence[Any],
        models: Sequence[str],
    ) -> None:
        if key not in found:
            found[key] = _Failing(sample, min(identities))
        found[key].add(Stack(*(part or "" for part in pair)), models, identities)

    gathered = (
        f"SELECT {template} AS template, coalesce(r.tp, 1) > 1 AS sharded, {stack}, list({sql.identity}), any_value(r.result), "
        f"any_value(r.tp), any_value(r.error), list(DISTINCT r.model_id) FROM {sql.source}{where} {whole} GROUP BY ALL"
    )
    for words, sharded, *pair, identities, result, tp, error, models in cursor.execute(
        gathered, sql.all_parameters
    ).fetchall():
        sample = {"result": result, "tp": tp, "error": error}
        take((words, sharded), identities, sample, pair, [m for m in models if m])
    others = f"SELECT {sql.identity}, r.model_id, {stack}, r.result, r.tp, r.error FROM {sql.source}{where} NOT coalesce({whole}, false)"
    listed = cursor.execute(others, sql.all_parameters).fetchall()
    errors = _deep(database, cursor, [row[0] for row in listed if row[-1]], ("error",))
    checks = _deep(database, cursor, [row[0] for row in listed if not row[-1]], ("cpu_match", "english"))
    for identity, model, *pair, result, tp, head in listed:
        error = str((errors.get(identity) or (head,))[0] or "")
        check = checks.get(identity, ()) if not error else ()
        sample = {"result": result, "tp": tp, "error": error} | dict(zip(("cpu_match", "english"), check, strict=False))
        key = (_template(error[:HEAD] + error[-600:]), (tp or 1) > 1, check)
        take(key, [identity], sample, pair, [model] if model else [])
    return list(found.values())


def _deep(
    database: Database, cursor: duckdb.DuckDBPyConnection, ids: Sequence[int], columns: tuple[str, ...]
) -> dict[int, tuple[object, ...]]:
    return deep_values(database, cursor, ids[:READ_WHOLE], columns)


def table(causes: Sequence[Cause], *, names: bool) -> list[tuple[object, ...]]:
    """Causes as rows of `COLUMNS`; with `names` the models and stacks themselves in place of how many there are."""
    rows: list[tuple[object, ...]] = []
    for c in causes:
        stacks: object = {f"{s.neuronx_cc}/{s.library_version}": n for s, n in c.stacks}
        models: object = list(c.models)
        if not names:
            models = len(c.models)
            stacks = ", ".join(f"{s.short} {n}" for s, n in c.stacks[:3])
            stacks = f"{stacks} and {len(c.stacks) - 3} more" if len(c.stacks) > 3 else stacks
        rows.append((c.label, c.cls, c.rows, models, stacks, c.summary, c.error))
    return rows
