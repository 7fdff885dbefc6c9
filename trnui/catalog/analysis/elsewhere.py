"""How models stand on the other stacks: "PASS on 2.27/5.22.0 +3 · FAIL on 2 others", and what a filter would match there."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from trnui.catalog.dataset.versions import public, stack_key
from trnui.catalog.engine.result_set import Table
from trnui.catalog.engine.sql_builder import build, counts_sql
from trnui.catalog.query import ALL, Query, Stack, View

if TYPE_CHECKING:
    import duckdb

    from trnui.catalog.engine.database import Database

COLUMN: Final = "elsewhere"
NEEDED: Final = ("model_id", "neuronx_cc", "library_version", "library")
Asked = tuple[str, Stack | None]


@dataclass(frozen=True)
class Standing:
    """A model's newest results on the stacks besides one. `passing`: the newest of those on which it passes."""

    passed: int
    failed: int
    excluded: int
    passing: Stack | None = None

    def words(self, names: Mapping[Stack, str]) -> str | None:
        """`names`: stacks as `short_names` has them. None where no other stack says anything."""
        parts = []
        if self.passing is not None:
            more = f" +{self.passed - 1}" if self.passed > 1 else ""
            parts.append(f"PASS on {names.get(self.passing, self.passing.short)}{more}")
        for word, count in (("FAIL", self.failed), ("EXCLUDED", self.excluded)):
            if count:
                noun = "other" if parts else "stack"
                parts.append(f"{word} on {count} {noun}{'' if count == 1 else 's'}")
        return " · ".join(parts) or None


def short_names(stacks: Sequence[Stack]) -> dict[Stack, str]:
    """`2.27/5.22.0`: the compiler by its first two parts where no other compiler begins so, the library where it is not the usual."""
    compilers = {public(s.neuronx_cc) for s in stacks}
    heads: dict[str, int] = {}
    for compiler in compilers:
        head = ".".join(compiler.split(".")[:2])
        heads[head] = heads.get(head, 0) + 1
    names = {}
    for s in stacks:
        head = ".".join(public(s.neuronx_cc).split(".")[:2])
        compiler = head if heads[head] == 1 else public(s.neuronx_cc)
        library = "" if s.library == "transformers" else f" {s.library}"
        names[s] = f"{compiler or '–'}/{s.library_version or '–'}{library}"
    return names


def standings(
    database: Database, asked: Collection[Asked], cursor: duckdb.DuckDBPyConnection | None = None
) -> dict[Asked, Standing]:
    """For each (name in lower case, the stack not to count or None); models without any row are left out."""
    cursor = cursor or database.connection.cursor()
    ordered = sorted(database.stacks, key=stack_key)
    places = {stack: n for n, stack in enumerate(ordered)}
    numbers = [(n, i) for n, stack in enumerate(ordered) for i in database.ids_of(stack)]
    wanted = list(dict.fromkeys(asked))
    sql = (
        "WITH place AS (SELECT unnest(?::INTEGER[]) AS place, unnest(?::INTEGER[]) AS stack), "
        "asked AS (SELECT unnest(?::INTEGER[]) AS n, unnest(?::VARCHAR[]) AS lower_id, unnest(?::INTEGER[]) AS besides), "
        "seen AS (SELECT r.lower_id, p.place, arg_max(r.status::VARCHAR, (coalesce(epoch_us(r.tested_at), -1), r.rowid)) AS status "
        "FROM r JOIN place p USING (stack) WHERE r.lower_id IN (SELECT lower_id FROM asked) GROUP BY r.lower_id, p.place) "
        "SELECT a.n, count(*) FILTER (status = 'PASS'), count(*) FILTER (status = 'FAIL'), count(*) FILTER (status = 'EXCLUDED'), "
        "max(place) FILTER (status = 'PASS') FROM asked a JOIN seen USING (lower_id) WHERE place IS DISTINCT FROM a.besides GROUP BY a.n"
    )
    parameters = [
        [n for n, _ in numbers],
        [i for _, i in numbers],
        list(range(len(wanted))),
        [model for model, _ in wanted],
        [places.get(stack) if stack else None for _, stack in wanted],
    ]
    return {
        wanted[n]: Standing(passed, failed, excluded, None if place is None else ordered[place])
        for n, passed, failed, excluded, place in cursor.execute(sql, parameters).fetchall()
    }


def words_for(
    database: Database, asked: Sequence[Asked], cursor: duckdb.DuckDBPyConnection | None = None
) -> list[str | None]:
    """How each model (its name in any case) stands on the other stacks; None where none says anything."""
    wanted = [(model.lower(), stack) for model, stack in asked]
    found = standings(database, wanted, cursor)
    names = short_names(database.stacks)
    return [found[one].words(names) if one in found else None for one in wanted]


def with_elsewhere(database: Database, table: Table, cursor: duckdb.DuckDBPyConnection | None = None) -> Table:
    """The table, which must have the columns NEEDED, with `elsewhere` at its end."""
    at = [table.columns.index(c) for c in NEEDED]

    def asked(row: tuple[object, ...]) -> Asked:
        model, compiler, version, library = (str(row[n] or "") for n in at)
        return model, Stack(compiler, version, library) if compiler or version else None

    told = words_for(database, [asked(row) for row in table.rows], cursor)
    rows = tuple((*row, words) for row, words in zip(table.rows, told, strict=True))
    return replace(table, columns=(*table.columns, COLUMN), rows=rows)


def matches_elsewhere(database: Database, query: Query, cursor: duckdb.DuckDBPyConnection | None = None) -> int:
    """How many rows pass the query's filters on stacks other than those it means; 0 for a query about all of them."""
    if query.view not in (View.SELECTED, View.FAILURES):
        return 0
    ids, _ = database.resolve(query)
    if ids is None:
        return 0
    cursor = cursor or database.connection.cursor()
    everywhere = query.but(neuronx_cc=(ALL,), library_version=(ALL,), sort=None, limit=None)
    counted = []
    for one, stacks in ((everywhere, database.resolve(everywhere)[0]), (query.but(sort=None, limit=None), ids)):
        sql = build(one, stacks)
        counted.append(int(cursor.execute(counts_sql(sql), sql.all_parameters).fetchall()[0][1]))
    return counted[0] - counted[1]
