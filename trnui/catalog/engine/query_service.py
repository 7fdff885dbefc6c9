"""The Database behind two threads, for the app: one loads file by file, one answers, and the newest question wins.

`ask` interrupts the query that runs and replaces the one that waits; answers carry their generation, so the owner can drop a
late one. Answers (answers.py) are delivered by calling `post` from these threads. DuckDB is imported by them too, so
that the first frame need not wait for it.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

from trnui.catalog.dataset.host_stack import host_stack
from trnui.catalog.engine.database import Database
from trnui.catalog.engine.script_facts import fill_from_scripts
from trnui.catalog.engine.sql_builder import Sql, build, counts_sql, for_screen, listing, rows_sql
from trnui.catalog.messages import Answer, Detail, Failed, Listed, Loaded, PageOf, Row
from trnui.catalog.query import Query, Stack
from trnui_runner.common.errors import UserError
from trnui_runner.common.text import one_line

if TYPE_CHECKING:
    import duckdb

    from trnui.catalog.dataset.rankings import Line
    from trnui.catalog.dataset.snapshot import DatasetSource

PAGE: Final = 200
SMALL: Final = (
    200_000  # up to here the whole order is made before the first answer; above it the first page comes first
)


class Store:
    """`host` is the pair preferred; with `python` (the setting) it is looked up in the loading thread.

    Starts nothing by itself: `start` loads and answers, `close` ends both threads (they are daemons)."""

    def __init__(
        self,
        source: DatasetSource,
        post: Callable[[Answer], object],
        *,
        columns: Mapping[str, str] | None = None,
        host: Stack | None = None,
        python: str | None = None,
    ) -> None:
        self.database = Database(
            source.files, source.names, columns=columns, host=host, sample=source.provenance.sample
        )
        self._first_problems = source.problems
        self._post = post
        self._python = python
        self._lock = threading.Condition()
        self._query: tuple[int, Query, int | None] | None = None  # generation, query, identity of the cursor's row
        self._pages: list[tuple[int, int]] = []
        self._details: list[int] = []
        self._jobs: list[Callable[[], object]] = []
        self._running: duckdb.DuckDBPyConnection | None = None
        self._current: tuple[int, Query, Sql] | None = None
        self._ordered = -1  # generation whose order lies in the temporary table `v`
        self._closed = False
        self._opened = False

    def start(self) -> None:
        threading.Thread(target=self._load, daemon=True, name="load").start()

    def ask(self, generation: int, query: Query, identity: int | None = None) -> None:
        """Queues a query; an older one that runs is interrupted, one that waits is replaced."""
        with self._lock:
            self._query = (generation, query, identity)
            self._pages.clear()
            if self._running is not None:
                self._running.interrupt()
            self._lock.notify_all()

    def ask_page(self, generation: int, page: int) -> None:
        with self._lock:
            self._pages.append((generation, page))
            self._lock.notify_all()

    def ask_detail(self, identity: int) -> None:
        """The newest wish replaces an older one that waits."""
        with self._lock:
            self._details = [identity]
            self._lock.notify_all()

    def set_own(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """New rows for the view of own runs; the loading thread takes them, then `Loaded` is posted again."""
        found = tuple(rows)
        self._do(lambda: self.database.set_own(found))

    def set_rankings(self, lines: Iterable[Line]) -> None:
        """The Hub's lists anew, as rankings.lines gives them."""
        found = tuple(lines)
        self._do(lambda: self.database.set_rankings(found))

    def close(self) -> None:
        with self._lock:
            self._closed = True
            self._lock.notify_all()
            if self._opened:
                self.database.connection.interrupt()
            if self._running is not None:
                self._running.interrupt()

    # -- the loading thread: the only one that writes

    def _do(self, job: Callable[[], object]) -> None:
        with self._lock:
            self._jobs.append(job)
            self._lock.notify_all()

    def _load(self) -> None:
        import duckdb

        database = self.database
        database.problems = tuple(self._first_problems)
        base = database.open()
        if self._python is not None:
            database.prefer(host_stack(self._python) or database.host)
        with self._lock:
            self._opened = True
        threading.Thread(target=self._serve, args=(base.cursor(),), daemon=True, name="query").start()
        try:
            if not database.files:
                self._post(database.loaded(0))
            database.load(self._loaded, lambda: self._closed)
            if fill_from_scripts(database, lambda: self._closed):
                self._loaded(database.loaded(len(database.files)))
            if not self._closed:
                database.keep()
            while True:
                with self._lock:
                    while not (self._closed or self._jobs):
                        self._lock.wait()
                    if self._closed:
                        return
                    job = self._jobs.pop(0)
                self._run(job)
                self._post(database.loaded(len(database.files)))
        except duckdb.InterruptException:
            return  # closed
        except duckdb.Error as error:
            self._post(Failed(-1, one_line(error)))
        except Exception as error:  # noqa: BLE001 a fault of ours: what is loaded can be used
            self._post(_fault(error))

    def _run(self, job: Callable[[], object]) -> None:
        """One that fails is said, and takes no other with it."""
        import duckdb

        try:
            job()
        except duckdb.InterruptException:
            raise
        except Exception as error:  # noqa: BLE001 as in `_load`
            with contextlib.suppress(duckdb.Error):
                self.database.connection.execute("ROLLBACK")
            self._post(_fault(error))

    def _loaded(self, answer: Loaded) -> None:
        if not self._closed:
            self._post(answer)

    # -- the answering thread

    def _serve(self, cursor: duckdb.DuckDBPyConnection) -> None:
        import duckdb

        while True:
            with self._lock:
                while not (self._closed or self._query or self._pages or self._details):
                    self._lock.wait()
                if self._closed:
                    return
                query, self._query = self._query, None
                page = self._pages.pop(0) if query is None and self._pages else None
                detail = self._details.pop() if query is None and page is None else None
                self._running = cursor
            try:
                if query is not None:
                    self._answer(cursor, *query)
                elif page is not None and self._current is not None and page[0] == self._current[0]:
                    self._post(PageOf(page[0], page[1], self._page(cursor, page[1])))
                elif detail is not None:
                    found = self._detail(cursor, detail)
                    if found is not None:
                        self._post(found)
            except duckdb.InterruptException:  # a newer question, or the end; a row in full is still wanted then
                with self._lock:
                    if detail is not None and not self._details:
                        self._details.append(detail)
            except (duckdb.Error, ValueError, UserError) as error:
                self._post(Failed(query[0] if query else page[0] if page else -1, one_line(error)))
            except Exception as error:  # noqa: BLE001 a fault of ours: said and kept, and the next question is answered all the same
                self._post(_fault(error, query[0] if query else page[0] if page else -1))
            finally:
                with self._lock:
                    self._running = None

    def _answer(self, cursor: duckdb.DuckDBPyConnection, generation: int, query: Query, identity: int | None) -> None:
        ids, stacks = self.database.resolve(query)
        sql = for_screen(build(query, ids))
        self._current = (generation, query, sql)
        total, count, excluded = cursor.execute(counts_sql(sql), sql.all_parameters).fetchall()[0]
        if self._query is not None:  # a newer one waits; its interrupt may have fallen between two statements
            return

        def listed(rows: tuple[Row, ...], page: int, place: int) -> Listed:
            return Listed(generation, query, stacks, sql.columns, count, total, excluded, rows, page, place)

        rows = self._page(cursor, 0)
        place = next((n for n, row in enumerate(rows) if row[0] == identity), None)
        if identity is None or place is not None or total > SMALL:
            self._post(listed(rows, 0, place or 0))
            if identity is None or place is not None:
                return
        place = self._place(cursor, identity) if count > len(rows) else 0
        if place:
            self._post(listed(self._page(cursor, place // PAGE), place // PAGE, place))
        elif total <= SMALL:
            self._post(listed(rows, 0, 0))

    def _page(self, cursor: duckdb.DuckDBPyConnection, page: int) -> tuple[Row, ...]:
        """The first page by LIMIT, which stops early or keeps a top-N; later ones of a plain list by rowid, of any other
        from its stored order (OFFSET sorts everything again: 180 ms at a million rows)."""
        assert self._current is not None
        _, query, sql = self._current
        low, high = page * PAGE, page * PAGE + PAGE - 1
        if query.limit is not None:
            high = min(high, query.limit - 1)
        if high < low:
            return ()
        if page == 0:
            return tuple(cursor.execute(rows_sql(sql, limit=high + 1), sql.all_parameters).fetchall())
        if sql.plain:
            where = f" WHERE r.rowid BETWEEN {low} AND {high}"
            return tuple(cursor.execute(listing(sql, f"{sql.source}{where}", " ORDER BY r.rowid")).fetchall())
        self._order(cursor)
        inner = f"(SELECT rowid AS place, * FROM v WHERE rowid BETWEEN {low} AND {high}) o"
        if "rowid" in sql.identity:
            source = f"{inner} JOIN r ON r.rowid = o.id JOIN s ON s.id = r.stack"
            return tuple(cursor.execute(listing(sql, source, " ORDER BY o.place")).fetchall())
        source = f"{sql.source} JOIN {inner} ON o.id = {sql.identity}"  # own runs and rankings: a few hundred rows
        return tuple(cursor.execute(listing(sql, source, " ORDER BY o.place"), list(sql.source_parameters)).fetchall())

    def _order(self, cursor: duckdb.DuckDBPyConnection) -> None:
        assert self._current is not None
        generation, _, sql = self._current
        if self._ordered != generation:
            ordered = f"SELECT {sql.identity} AS id FROM {sql.source}{sql.where}{sql.order}"
            cursor.execute(f"CREATE OR REPLACE TEMP TABLE v AS {ordered}", sql.all_parameters)
            self._ordered = generation

    def _place(self, cursor: duckdb.DuckDBPyConnection, identity: int | None) -> int:
        """Where the row is in the current result; 0 when it is not."""
        assert self._current is not None
        if self._current[2].plain:
            return identity if identity is not None and 0 <= identity < self.database.rows else 0
        self._order(cursor)
        found = cursor.execute("SELECT rowid FROM v WHERE id = ?", [identity]).fetchall()
        return int(found[0][0]) if found else 0

    def _detail(self, cursor: duckdb.DuckDBPyConnection, identity: int) -> Detail | None:
        from trnui.catalog.engine.row_detail import detail

        return detail(self.database, cursor, identity)


def _fault(error: Exception, generation: int = -1) -> Failed:
    from trnui_runner.common.crash_log import kept

    return Failed(generation, f"internal error, {type(error).__name__}: {one_line(error)}. {kept(error)}")
