"""The child process behind the SQL prompt: a DuckDB of its own, loaded, then locked, that answers one SELECT at a time.

`python -m trnui.catalog.engine.sql_worker`; the order on the first line of stdin (JSON), then one request a line: {"sql", "rows",
"bytes"} or {"interrupt": true}. Answers are frames on stdout, each a length (8 bytes) and a pickle: ("ready", ()), ("loading", None)
where data is loaded first, ("begin", None) when it is, ("columns", names), ("rows", list), of an answer that is cut ("cut", why) and where
it can be counted ("total", rows), ("end", why it was cut or ""), ("error", words).

Three walls: the parser must find exactly one SELECT, with nothing in it that writes; it runs in a read-only transaction; and
files and settings are out of reach since before the first statement.
"""

from __future__ import annotations

import json
import os
import pickle
import queue
import struct
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from trnui.catalog.dataset.loader import FOLDED
from trnui.catalog.query import Stack
from trnui_runner.common.dataset_schema import COLUMNS, STACK
from trnui_runner.common.text import clean, one_line

if TYPE_CHECKING:
    import duckdb

    from trnui.catalog.engine.database import Database

CHUNK: Final = 1000
TABLES: Final = ("results", "rankings", "runs")
FOLDED_SQL: Final = tuple(f"r.{c}::VARCHAR AS {c}" for c in FOLDED)
# Kinds of query nodes that only read; anything else in the tree (DuckDB 2 allows DELETE and COPY inside WITH) is refused.
_READING: Final = ("SELECT_NODE", "SET_OPERATION_NODE", "RECURSIVE_CTE_NODE", "CTE_NODE")
_WALL: Final = (
    "SET python_enable_replacements = false", "SET allow_community_extensions = false", "SET temp_directory = ''",
    "SET enable_external_access = false", "SET lock_configuration = true",
)  # fmt: skip


@dataclass(frozen=True)
class Request:
    sql: str
    rows: int
    bytes: int


class Refused(Exception):
    """Words for the user; no query was run."""


def main() -> None:
    order = json.loads(sys.stdin.readline())
    instance = SqlInstance(order)
    requests: queue.Queue[Request] = queue.Queue()
    threading.Thread(target=_listen, args=(instance, requests), daemon=True, name="requests").start()
    send("ready", ())
    while True:
        answer(instance, requests.get())


def _listen(instance: SqlInstance, requests: queue.Queue[Request]) -> None:
    for line in sys.stdin:
        value = json.loads(line)
        if value.pop("interrupt", False):
            instance.interrupt()
        else:
            requests.put(Request(**value))
    os._exit(0)  # the parent has gone


def send(kind: str, value: object) -> int:
    data = pickle.dumps((kind, value))
    try:
        sys.stdout.buffer.write(struct.pack(">Q", len(data)) + data)
        sys.stdout.buffer.flush()
    except OSError:
        os._exit(0)
    return len(data)


def answer(instance: SqlInstance, request: Request) -> None:
    import duckdb

    try:
        for kind, value in instance.run(request):
            send(kind, value)
    except Refused as error:
        send("error", str(error))
    except (duckdb.Error, ValueError, RuntimeError) as error:
        send("error", in_words(error))


def in_words(error: Exception) -> str:
    """DuckDB's own words with the marked position, without what it says about its insides."""
    kind = type(error).__name__
    if kind == "OutOfMemoryException":
        return "needs more memory than the prompt may take; ask for fewer rows or columns, or aggregate"
    words = clean(str(error)).strip()
    head, _, rest = words.partition(": ")
    return rest.strip() if head.endswith("Error") and rest else words


# -- what a statement is


def checked(connection: duckdb.DuckDBPyConnection, text: str) -> tuple[duckdb.Statement, Any]:
    """The one statement of type SELECT in `text`, and its tree as DuckDB's parser sees it. Raises Refused, duckdb.Error."""
    statements = connection.extract_statements(text)
    if not statements:
        raise Refused("nothing to run: write one SELECT")
    if len(statements) > 1:
        raise Refused(f"{len(statements)} statements: one SELECT at a time")
    try:
        kind = statements[0].type.name
    except ValueError:  # a kind of statement that the Python client has no name for
        raise Refused("this is not possible here: only SELECT is") from None
    if kind != "SELECT":
        raise Refused(f"{'this' if kind == 'MULTI' else kind.replace('_', ' ')} is not possible here: only SELECT is")
    found = connection.execute("SELECT json_serialize_sql(?::VARCHAR)", [text]).fetchall()[0][0]
    tree = json.loads(found)
    if tree.get("error"):
        raise Refused(f"only what DuckDB can take apart is run here: {one_line(tree.get('error_message'))}")
    for node in walk(tree):
        kind = str(node.get("type", ""))
        if kind.endswith("_NODE") and kind not in _READING:
            raise Refused(f"{kind.removesuffix('_NODE').replace('_', ' ')} inside a SELECT is not possible here")
    return statements[0], tree


def walk(tree: Any) -> Iterator[dict[str, Any]]:
    """Every object of a JSON tree, however deep."""
    waiting = [tree]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            yield value
            waiting.extend(value.values())
        elif isinstance(value, list):
            waiting.extend(value)


def wanted(tree: Any, deep: tuple[str, ...]) -> frozenset[str]:
    """Which columns of `results` that are not at hand a statement may mean: `deep` ones and "task" by name, all with a star."""
    nodes = list(walk(tree))
    tables = [n for n in nodes if n.get("type") == "BASE_TABLE" and str(n.get("table_name", "")).lower() == "results"]
    if not tables:
        return frozenset()
    wholes = {"results", *(str(t.get("alias") or "").lower() for t in tables)}
    every = (*deep, "task", "parallelism")
    names: set[str] = set()
    for node in nodes:
        if node.get("class") == "STAR":
            return frozenset(every)
        if node.get("class") == "COLUMN_REF":
            parts = [str(part).lower() for part in node.get("column_names") or ()]
            if parts[-1:] and parts[-1] in wholes:  # the table itself as a value
                return frozenset(every)
            names.update(parts)
        names.update(str(c).lower() for c in node.get("using_columns") or ())
    return frozenset(names & set(every))


# -- the instance


class SqlInstance:
    """Made when a statement first needs it, and made anew when a later one needs columns that were left in the files."""

    def __init__(self, order: dict[str, Any]) -> None:
        import duckdb

        self._order = order
        self._parser = duckdb.connect()
        self._connection: duckdb.DuckDBPyConnection | None = None
        self._has: frozenset[str] = frozenset()

    def interrupt(self) -> None:
        if self._connection is not None:
            self._connection.interrupt()

    def run(self, request: Request) -> Iterator[tuple[str, object]]:
        from trnui.catalog.engine.long_columns import DEEP

        _, tree = checked(self._parser, request.sql)
        needs = wanted(tree, DEEP)
        if self._connection is None or needs - self._has:
            self._has |= needs
            yield "loading", None
            self._open()
        connection = self._connection
        assert connection is not None
        yield "begin", None
        connection.execute("BEGIN TRANSACTION READ ONLY")
        try:
            cursor = connection.execute(request.sql)
            yield "columns", [str(column[0]) for column in cursor.description or ()]
            yield from self._rows(cursor, request)
        finally:
            connection.execute("ROLLBACK")

    def _rows(self, cursor: duckdb.DuckDBPyConnection, request: Request) -> Iterator[tuple[str, object]]:
        """The chunks; where they end early, also how many rows there are in all, if that can be counted in time."""
        import duckdb

        for kind, value in _chunks(cursor, request):
            if kind == "end" and value:
                yield "cut", value
                try:
                    found = cursor.execute(f"SELECT count(*) FROM (\n{request.sql.rstrip().rstrip(';')}\n)").fetchall()
                    yield "total", found[0][0]
                except duckdb.Error:  # interrupted after a while, or a statement that is no table
                    pass
            yield kind, value

    def _open(self) -> None:
        from trnui.catalog.dataset.own_results import own_rows
        from trnui.catalog.dataset.rankings import lines, stored
        from trnui.catalog.engine.database import Database
        from trnui.catalog.engine.script_facts import fill_from_scripts

        if self._connection is not None:
            self._connection.close()
        order = self._order
        host = Stack(**order["host"]) if order.get("host") else None
        database = Database(
            [Path(f) for f in order["files"]],
            order["names"],
            columns=order["columns"],
            host=host,
            sample=order["sample"],
        )
        connection = database.open()
        database.load()
        if self._has & {"task", "parallelism"}:
            fill_from_scripts(database)
        database.set_own(own_rows())
        database.set_rankings(lines(stored()))
        connection.execute("ATTACH ':memory:' AS data")  # the three views and nothing else
        _results(connection, database, self._has)
        _runs(connection, database)
        connection.execute("CREATE VIEW data.rankings AS FROM memory.rankings")
        connection.execute("USE data")
        held = connection.execute("SELECT sum(memory_usage_bytes) FROM duckdb_memory()").fetchall()[0][0] or 0
        connection.execute(f"SET memory_limit = '{(int(held) + int(order['memory'])) >> 20}MiB'")
        for statement in _WALL:
            connection.execute(statement)
        self._connection = connection


def _chunks(cursor: duckdb.DuckDBPyConnection, request: Request) -> Iterator[tuple[str, object]]:
    """Rows as they come, up to the limits; then why they end."""
    count = size = 0
    decimals = [n for n, column in enumerate(cursor.description or ()) if column[1].id == "decimal"]
    while rows := cursor.fetchmany(min(CHUNK, request.rows + 1 - count)):
        count += len(rows)
        if decimals:
            rows = [tuple(exact(v) if n in decimals else v for n, v in enumerate(row)) for row in rows]
        if count > request.rows:
            yield "rows", rows[: len(rows) - (count - request.rows)]
            yield "end", f"only the first {request.rows:,} rows"
            return
        yield "rows", rows
        size += len(pickle.dumps(rows))
        if size > request.bytes:
            yield "end", f"only the first {count:,} rows: they are {size >> 20} MiB"
            return
    yield "end", ""


def exact(value: Decimal | None) -> Decimal | float | None:
    """A plain number where that is the same number: every literal such as 1.5 is a decimal to DuckDB."""
    if value is None:
        return None
    number = float(value)
    return number if Decimal(repr(number)) == value else value


def _column(name: str, texts: frozenset[str]) -> str:
    return f"s.{name}" if name in ("library", *STACK) else f"t.{name}" if name in texts else f"r.{name}"


def _results(connection: duckdb.DuckDBPyConnection, database: Database, has: frozenset[str]) -> None:
    """The view `results`: the dataset's columns, then ours. Of those that stay in the files the ones asked for, in whole."""
    from trnui.catalog.dataset.loader import READ_NUMBERED, glob_safe
    from trnui.catalog.engine.long_columns import DEEP

    texts = frozenset(DEEP) & has
    if texts:
        kinds = ", ".join(f"{c} VARCHAR" for c in sorted(texts))
        connection.execute(f"CREATE TABLE texts (file SMALLINT, line INTEGER, {kinds})")
        for number, mapping in database.mappings.items():
            chosen = ", ".join(mapping.sql(c) for c in sorted(texts))
            connection.execute(
                f"INSERT INTO texts SELECT {number}, file_row_number, {chosen} FROM {READ_NUMBERED}",
                [glob_safe(database.files[number])],
            )
    connection.execute("CREATE TABLE sources (file SMALLINT, source VARCHAR)")
    names = list(database.names)
    connection.execute("INSERT INTO sources SELECT unnest(?), unnest(?)", [list(range(len(names))), names])
    columns = [f"{_column(c, texts)} AS {c}" for c in COLUMNS if c not in DEEP or c in texts] + [
        f"r.{c}" for c in FOLDED
    ]
    join = "JOIN memory.texts t ON t.file = r.file AND t.line = r.line" if texts else ""
    connection.execute(
        f"CREATE VIEW data.results AS SELECT {', '.join(columns)}, f.source, r.line AS row "
        f"FROM memory.r r JOIN memory.s s ON s.id = r.stack JOIN memory.sources f ON f.file = r.file {join}"
    )


def _runs(connection: duckdb.DuckDBPyConnection, database: Database) -> None:
    """The view `runs`: own finished runs, every text in whole."""
    from trnui.catalog.engine.long_columns import DEEP

    kinds = ", ".join(f"{c} VARCHAR" for c in (*DEEP, "outcome"))
    connection.execute(f"CREATE TABLE own_texts (line INTEGER, {kinds})")
    if database.own:
        values: list[list[Any]] = [list(range(len(database.own)))]
        values += [[row.get(c) for row in database.own] for c in (*DEEP, "outcome")]
        connection.execute(f"INSERT INTO own_texts SELECT {', '.join(['unnest(?)'] * len(values))}", values)
    columns = [f"{_column(c, frozenset(DEEP))} AS {c}" for c in COLUMNS]
    connection.execute(
        f"CREATE VIEW data.runs AS SELECT r.run, t.outcome, {', '.join([*columns, *FOLDED_SQL])} "
        "FROM memory.own r JOIN memory.s s ON s.id = r.stack JOIN memory.own_texts t ON t.line = r.line ORDER BY r.line"
    )


if __name__ == "__main__":
    main()
