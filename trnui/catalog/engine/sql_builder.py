"""A Query as SQL with bound parameters: the one place where values become conditions. Screens and commands use the same.

Every view is a FROM clause that yields the row `r` (NULL for an untested model of a ranking) and its stack `s`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from trnui.catalog.columns import RANKED, REGISTRY, carried, sortable
from trnui.catalog.dataset.normalize_sql import lowered
from trnui.catalog.engine.database import OWN_BASE, UNTESTED_BASE
from trnui.catalog.engine.elsewhere import with_elsewhere
from trnui.catalog.engine.recency import newest_rows
from trnui.catalog.query import Query, View
from trnui_runner.common.dataset_schema import TASKS

ELSEWHERE: Final = "elsewhere"
# What each column is in SQL, and what else a command may ask for.
EXPRESSIONS: Final[dict[str, str]] = {
    **{spec.name: spec.sql for spec in REGISTRY if not spec.sql.startswith("k.")},
    "_file": "r.file",
    "_line": "r.line",
}
_ORDERS: Final[dict[str, str]] = {spec.name: spec.order for spec in REGISTRY if spec.order}


@dataclass(frozen=True)
class Sql:
    """A query taken apart. `source` needs `source_parameters`, `where` (with its keyword, or empty) `parameters`."""

    columns: tuple[str, ...]
    expressions: tuple[str, ...]
    identity: str
    source: str
    source_parameters: tuple[object, ...]
    where: str
    parameters: tuple[object, ...]
    base: str  # the condition of view and stack alone, with its keyword; it has no parameters
    filters: str  # the other conditions, bare
    order: str  # with its keyword; always ends in the identity, so it is one order
    sorted: bool  # whether anything but the order of loading is asked for
    plain: bool  # all rows of the dataset in the order of loading: places are rowids

    def select(self, columns: tuple[str, ...] | None = None) -> str:
        """`identity AS id, expression AS column, …` of the view."""
        chosen = self.columns if columns is None else columns
        return ", ".join((f"{self.identity} AS id", *(f"{self.expression(c)} AS {c}" for c in chosen)))

    def expression(self, column: str) -> str:
        return dict(zip(self.columns, self.expressions, strict=True)).get(column) or EXPRESSIONS[column]

    @property
    def all_parameters(self) -> list[object]:
        return [*self.source_parameters, *self.parameters]


def build(query: Query, stacks: tuple[int, ...] | None) -> Sql:
    """`stacks`: ids in table `s`, None for no limit. Raises ValueError for an unknown sort column."""
    view = query.view
    columns = carried(view)
    in_stacks = "" if stacks is None else f"r.stack IN ({', '.join(map(str, stacks))})" if stacks else "false"
    base: list[str] = []
    source_parameters: list[object] = []
    expressions = dict(EXPRESSIONS)
    if view in RANKED:
        source = (
            "(SELECT *, rowid AS place FROM rankings WHERE ranking = ? AND task = ?) k "
            f"LEFT JOIN {newest_rows(in_stacks)} r ON r.lower_id = k.lower_id LEFT JOIN s ON s.id = r.stack"
        )
        source_parameters = [view.value, query.task or TASKS[0]]
        identity, default_order = f"coalesce(r.row, {UNTESTED_BASE} + k.place)", "k.rank, r.row"
        expressions |= {spec.name: spec.sql for spec in REGISTRY if spec.sql.startswith("k.")} | {"task": "k.task"}
        expressions["model_id"] = (
            "coalesce(r.model_id, k.model_id)"  # a tested model is spelled as the dataset spells it
        )
        expressions["status"] = "coalesce(r.status, 'UNTESTED'::status)"
        lower_id = "k.lower_id"
    else:
        table = "own" if view is View.RUNS else "r"
        source = f"{table} r JOIN s ON s.id = r.stack"
        identity = f"{OWN_BASE} - r.line" if view is View.RUNS else "r.rowid"
        default_order = "r.line" if view is View.RUNS else "r.rowid"
        lower_id = "r.lower_id"
        if in_stacks:
            base.append(in_stacks)
        if view is View.FAILURES:
            base.append("r.status = 'FAIL'")
    more, parameters = _conditions(query, lower_id, identity, expressions)
    order = default_order
    if query.sort is not None:
        if query.sort not in sortable(view):
            raise ValueError(f"{query.sort}: no such column to sort by")
        keys = [lower_id if query.sort == "model_id" else _ORDERS.get(query.sort, expressions[query.sort])]
        if query.sort == "result":
            keys.insert(0, expressions["status"])
        order = (
            ", ".join(f"{k} {'DESC' if query.descending else 'ASC'} NULLS LAST" for k in keys) + f", {default_order}"
        )
    where = [*base, *more]
    return Sql(
        columns=columns,
        expressions=tuple(expressions[c] for c in columns),
        identity=identity,
        source=source,
        source_parameters=tuple(source_parameters),
        where=f" WHERE {' AND '.join(where)}" if where else "",
        parameters=tuple(parameters),
        base=f" WHERE {' AND '.join(base)}" if base else "",
        filters=" AND ".join(more),
        order=f" ORDER BY {order}",
        sorted=query.sort is not None or view in RANKED,
        plain=not where and query.sort is None and view is View.SELECTED,
    )


def _conditions(
    query: Query, lower_id: str, identity: str, expressions: dict[str, str]
) -> tuple[list[str], list[object]]:
    where: list[str] = []
    parameters: list[object] = []

    def add(condition: str, *values: object) -> None:
        where.append(condition)
        parameters.extend(values)

    for text in (query.text, query.anywhere):
        if not _encodable(text):  # broken bytes of a command line: no stored text can hold them
            add("false")
            return where, parameters
    if query.text:
        add(f"contains({lower_id}, {lowered('?')})", query.text)
    if query.anywhere:
        places = (lower_id, *(lowered(f"r.{name}") for name in ("notes", "error", "exclusion")))
        add(
            "(" + " OR ".join(f"coalesce(contains({p}, {lowered('?')}), false)" for p in places) + ")",
            *([query.anywhere] * len(places)),
        )
    if query.results:
        marks = ", ".join(["?"] * len(query.results))
        add(f"CAST({expressions['status']} AS VARCHAR) IN ({marks})", *(str(r) for r in query.results))
    if query.task and query.view not in RANKED:
        add("r.task = ?", query.task)
    if query.max_cores is not None:
        add("r.tp <= ?", query.max_cores)
    if query.models:
        add(f"{lower_id} IN ({', '.join([lowered('?')] * len(query.models))})", *query.models)
    if query.identities:
        add(f"{identity} IN (SELECT unnest(?::BIGINT[]))", list(query.identities))
    return where, parameters


def _encodable(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def rows_sql(sql: Sql, columns: tuple[str, ...] | None = None, limit: int | None = None) -> str:
    """Rows in order from the first one on. Without a sort the rows are picked before the stack is joined: it stops early."""
    end = "" if limit is None else f" LIMIT {int(limit)}"
    names = sql.columns if columns is None else columns
    if not sql.sorted and "rowid" in sql.identity:
        source, where, tail = f"(SELECT *, rowid FROM r{sql.where}{end}) r JOIN s ON s.id = r.stack", "", ""
    else:
        source, where, tail = sql.source, sql.where, end
    return listing(sql, f"{source}{where}", sql.order, tail, names)


def listing(sql: Sql, source: str, order: str, end: str = "", names: tuple[str, ...] | None = None) -> str:
    """`identity, column, …` of the rows of `source` (with its conditions), with what is worked out for these rows alone."""
    names = sql.columns if names is None else names
    if ELSEWHERE not in names:
        return f"SELECT {sql.select(names)} FROM {source}{order}{end}"
    plain = tuple(n for n in names if n != ELSEWHERE)
    lower = "k.lower_id" if "rankings" in sql.source else "r.lower_id"
    picked = (
        f"SELECT {sql.select(plain)}, {lower} AS _lower, s.neuronx_cc AS _cc, s.library AS _library, s.library_version AS _version, "
        f"row_number() OVER ({order.strip()}) AS _place FROM {source}{order}{end}"
    )
    return with_elsewhere(picked, ", ".join(names), "_place")


def for_screen(sql: Sql) -> Sql:
    """Times without a zone, which is UTC: the first object with one costs 5 ms."""
    zoned = EXPRESSIONS["tested_at"]
    plain = tuple(f"CAST({e} AS TIMESTAMP)" if e == zoned else e for e in sql.expressions)
    return replace(sql, expressions=plain)


def counts_sql(sql: Sql) -> str:
    """(rows of view and stack, rows that pass the filters too, how many of these are EXCLUDED); takes `all_parameters`."""
    source = "r" if sql.source.startswith("r r ") else sql.source
    counted = (
        f"(FROM {source} SELECT {sql.expression('status')} AS status, {sql.filters or 'true'} AS passes{sql.base})"
    )
    return f"SELECT count(*), count(*) FILTER (passes), count(*) FILTER (passes AND status = 'EXCLUDED') FROM {counted}"
