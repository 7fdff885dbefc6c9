"""Failures by cause: rows whose errors mean the same stand together, with their stacks and the models behind them.

Causes come from the diagnosis of one error out of each template (an error with its numbers taken out); an error that no
rule knows is its own cause.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from runner.diagnosis import Diagnosis, diagnose_row
from runner.text import one_line
from trnui.catalog.loading import HEAD
from trnui.catalog.query import Query, Stack, View
from trnui.catalog.records import deep_values
from trnui.catalog.sql import build

if TYPE_CHECKING:
    import duckdb

    from trnui.catalog.database import Database

DIAGNOSED: Final = 1000  # templates; a diagnosis takes up to a few milliseconds
READ_WHOLE: Final = 5000  # rows whose error is longer than what a list holds, read from their files
_CODE = re.compile(r"\bNCC_[A-Z]{2,}\d+\b")
_EXCEPTION = re.compile(r"^(?:[A-Za-z_]\w*\.)*([A-Z]\w*(?:Error|Exception|Interrupt|Exit|Failure))\b", re.MULTILINE)
_NUMBERS = re.compile(r"0x[0-9a-fA-F]+|\d+")
_LABEL = 80


@dataclass(frozen=True)
class Cause:
    """`label` is an error code, a class of the diagnosis or the error itself. `stacks` by rows, most first; `models` by
    name; `identity` is one of the rows, to open as an example of `error`."""

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


@dataclass(frozen=True)
class _Failing:
    """Rows of one template on all stacks."""

    template: str
    sample: dict[str, Any]  # what the diagnosis reads
    identity: int
    rows: tuple[tuple[str, Stack], ...]  # model, stack


COLUMNS: Final = ("cause", "class", "rows", "models", "stacks", "summary", "example")


def group(database: Database, query: Query, cursor: duckdb.DuckDBPyConnection | None = None) -> tuple[Cause, ...]:
    """The failing rows that the query means (its sort and limit aside), by cause, the most frequent first."""
    cursor = cursor or database.connection.cursor()
    failing = _failing(database, query.but(view=View.FAILURES, sort=None, limit=None), cursor)
    found: dict[tuple[str, str], list[tuple[_Failing, Diagnosis | None]]] = defaultdict(list)
    for place, rows in enumerate(sorted(failing, key=lambda f: -len(f.rows))):
        diagnosis = diagnose_row(rows.sample) if place < DIAGNOSED else None
        found[_key(str(rows.sample.get("error") or ""), diagnosis)].append((rows, diagnosis))
    causes = [_cause(label, cls, members) for (label, cls), members in found.items()]
    return tuple(sorted(causes, key=lambda c: (-c.rows, c.label)))


def _key(error: str, diagnosis: Diagnosis | None) -> tuple[str, str]:
    """(label, class): the code that decided, else the class in words; for what no rule knows the error's own words."""
    cls = diagnosis.cls if diagnosis else "unknown"
    codes = _CODE.findall(error)
    code = str((diagnosis.facts.get("code") if diagnosis else "") or (codes[-1] if codes else ""))
    if cls != "unknown":
        return code or cls.replace("_", " "), cls
    if diagnosis is None and not code:  # too many different errors to look into each
        return next(iter(reversed(_EXCEPTION.findall(error))), "other"), cls
    return code or one_line(_template(last_line(error)), _LABEL) or "no error text", cls


def _template(text: str) -> str:
    return _NUMBERS.sub("#", text)


def last_line(error: str) -> str:
    """Of a traceback the exception, of anything else the first line."""
    lines = [line for line in error.strip().splitlines() if line.strip()]
    if not lines:
        return ""
    return lines[-1] if lines[0].startswith("Traceback") else lines[0]


def _cause(label: str, cls: str, members: Sequence[tuple[_Failing, Diagnosis | None]]) -> Cause:
    first, diagnosis = members[0]
    rows = [row for member, _ in members for row in member.rows]
    stacks = Counter(stack for _, stack in rows)
    error = str(first.sample.get("error") or "")
    return Cause(
        label=label,
        cls=cls,
        group=diagnosis.group if diagnosis else "data",
        summary=diagnosis.summary if diagnosis else one_line(last_line(error)),
        hint=diagnosis.hint if diagnosis else "",
        rows=len(rows),
        models=tuple(sorted({model for model, _ in rows}, key=str.lower)),
        stacks=tuple(sorted(stacks.items(), key=lambda item: (-item[1], str(item[0])))),
        error=one_line(last_line(error)),
        identity=first.identity,
    )


def _failing(database: Database, query: Query, cursor: duckdb.DuckDBPyConnection) -> list[_Failing]:
    ids, _ = database.resolve(query)
    sql = build(query, ids)
    rows = cursor.execute(
        f"SELECT {sql.identity}, r.model_id, s.neuronx_cc, s.library_version, s.library, r.result, r.tp, r.error "
        f"FROM {sql.source}{sql.where}",
        sql.all_parameters,
    ).fetchall()
    cut = [row[0] for row in rows if row[7] and len(row[7]) >= HEAD][:READ_WHOLE]
    whole = {i: values[0] for i, values in deep_values(database, cursor, cut, ("error",)).items()}
    silent = [row[0] for row in rows if not row[7]][:READ_WHOLE]
    checks = deep_values(database, cursor, silent, ("cpu_match", "english"))
    found: dict[tuple[object, ...], list[tuple[Any, ...]]] = defaultdict(list)
    for row in rows:
        identity, error = row[0], str(whole.get(row[0]) or row[7] or "")
        sharded = (row[6] or 0) > 1
        found[_template(error[:HEAD] + error[-600:]), sharded, *(() if error else checks.get(identity, ()))].append(row)
    result = []
    for (template, *_), members in found.items():
        identity, _, _, _, _, word, tp, error = members[0]
        sample = {"result": word, "tp": tp, "error": whole.get(identity) or error}
        if not sample["error"] and identity in checks:
            sample |= dict(zip(("cpu_match", "english"), checks[identity], strict=True))
        pairs = tuple((m[1], Stack(m[2] or "", m[3] or "", m[4] or "")) for m in members)
        result.append(_Failing(str(template), sample, identity, pairs))
    return result


def table(causes: Sequence[Cause], *, names: bool) -> list[tuple[object, ...]]:
    """Causes as rows of `COLUMNS`; with `names` the models and stacks themselves in place of how many there are."""
    rows: list[tuple[object, ...]] = []
    for c in causes:
        stacks: object = {f"{s.neuronx_cc}/{s.library_version}": n for s, n in c.stacks}
        models: object = list(c.models)
        if not names:
            models = len(c.models)
            stacks = ", ".join(f"{s.neuronx_cc.partition('+')[0]}/{s.library_version} {n}" for s, n in c.stacks[:3])
            stacks = f"{stacks} and {len(c.stacks) - 3} more" if len(c.stacks) > 3 else stacks
        rows.append((c.label, c.cls, c.rows, models, stacks, c.summary, c.error))
    return rows
