"""The threaded store: the newest question wins, pages are one order, the cursor's row is found again."""

from __future__ import annotations

import queue
import random
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.datasets import folder, row
from trnui.catalog.dataset.snapshot import DatasetSource
from trnui.catalog.engine.query_service import PAGE, Store
from trnui.catalog.messages import Answer, Detail, Failed, Listed, Loaded, PageOf
from trnui.catalog.query import Query, Stack, View

EVERY = Query(neuronx_cc=("all",), library_version=("all",))
COUNT = 450


class Asking:
    """A store and its answers in the order in which they came."""

    def __init__(self, source: DatasetSource) -> None:
        self.answers: queue.Queue[Answer] = queue.Queue()
        self.store = Store(source, self.answers.put)
        self.generation = 0

    def loaded(self) -> Loaded:
        while True:
            answer = self.answers.get(timeout=30)
            assert isinstance(answer, Loaded), answer
            if answer.done == answer.files:
                return answer

    def ask(self, query: Query, identity: int | None = None) -> Listed:
        self.generation += 1
        self.store.ask(self.generation, query, identity)
        return self.next(Listed)

    def next(self, kind: type[Any]) -> Any:
        while True:
            answer = self.answers.get(timeout=30)
            if not isinstance(answer, Loaded):
                assert isinstance(answer, kind), answer
                return answer

    def page(self, number: int) -> PageOf:
        self.store.ask_page(self.generation, number)
        return self.next(PageOf)


@pytest.fixture
def asking(tmp_path: Path) -> Iterator[Asking]:
    rng = random.Random(3)
    stacks = [Stack("2.28.100.0+aaaa", "5.9.0"), Stack("2.29.5.0+bbbb", "5.20.0")]
    rows = [
        row(
            f"o/{rng.choice(['Iris', 'Elm'])}-{n:04d}",
            rng.choice(["PASS", "FAIL"]),
            rng.choice(stacks),
            wall_s=rng.choice([None, n % 97]),
        )
        for n in range(COUNT)
    ]
    found = Asking(folder(tmp_path, *rows))
    yield found
    found.store.close()


def test_few_rows_come_all_at_once(asking: Asking) -> None:
    asking.store.start()
    first = asking.answers.get(timeout=30)
    assert isinstance(first, Loaded)
    assert (first.done, first.files, first.rows) == (2, 2, COUNT)


def test_of_many_rows_the_newest_stack_comes_first(asking: Asking, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trnui.catalog.engine.database.AT_ONCE", COUNT - 1)
    asking.store.start()
    first = asking.answers.get(timeout=30)
    assert isinstance(first, Loaded)
    assert (first.done, first.files) == (1, 2)
    assert first.default == Stack("2.29.5.0+bbbb", "5.20.0")
    last = asking.loaded()
    assert last.rows == COUNT
    assert last.default == first.default
    assert len(last.stacks) == 2


QUERIES = [
    EVERY, Query(), EVERY.but(sort="wall_s"), EVERY.but(sort="wall_s", descending=True), EVERY.but(sort="neuronx_cc"), EVERY.but(text="iris"),
    EVERY.but(text="o/", sort="model_id", descending=True), EVERY.but(results=("FAIL",), sort="status"), EVERY.but(limit=230),
]  # fmt: skip


@pytest.mark.parametrize("query", QUERIES, ids=lambda q: " ".join((*q.narrowed(), q.sort or "plain")))
def test_pages_together_are_the_whole_result_in_one_order(asking: Asking, query: Query) -> None:
    asking.store.start()
    asking.loaded()
    first = asking.ask(query)
    rows = list(first.rows)
    for number in range(1, -(-first.count // PAGE)):
        rows += asking.page(number).rows
    wanted = first.count if query.limit is None else min(first.count, query.limit)
    assert len(rows) == len({r[0] for r in rows}) == wanted
    assert all(len(r) == len(first.columns) + 1 for r in rows)
    if query.sort:
        at = first.columns.index(query.sort) + 1
        values = [r[at] for r in rows if r[at] is not None]
        assert values == sorted(
            values, key=lambda v: (v != "PASS", v) if query.sort == "status" else v, reverse=query.descending
        )
        assert all(r[at] is None for r in rows[len(values) :])


@pytest.mark.parametrize("query", QUERIES[:-1], ids=lambda q: " ".join((*q.narrowed(), q.sort or "plain")))
def test_the_cursor_stays_on_its_row(asking: Asking, query: Query) -> None:
    asking.store.start()
    asking.loaded()
    first = asking.ask(query)
    last = first.count - 1
    row = asking.page(last // PAGE).rows[last % PAGE] if last >= PAGE else first.rows[last]
    again = asking.ask(query, row[0])
    assert (again.cursor, again.page) == (last, last // PAGE)
    assert again.rows[again.cursor - again.page * PAGE][0] == row[0]
    gone = asking.ask(query.but(text="nothing like it"), row[0])
    assert (gone.cursor, gone.count, gone.rows) == (0, 0, ())


def test_the_newest_question_wins(asking: Asking) -> None:
    asking.store.start()
    asking.loaded()
    for generation in range(1, 301):
        asking.store.ask(generation, EVERY.but(text=f"{generation:04d}", sort="wall_s"), None)
    seen = []
    while not seen or seen[-1] != 300:
        answer = asking.next(Listed)
        seen.append(answer.generation)
        assert answer.query.text == f"{answer.generation:04d}"
    assert seen == sorted(seen)
    assert len(seen) < 300  # most were never run, or not to their end
    time.sleep(0.1)
    assert asking.answers.empty()


def test_a_page_of_an_older_question_is_not_answered(asking: Asking) -> None:
    asking.store.start()
    asking.loaded()
    asking.ask(EVERY)
    asking.store.ask_page(0, 1)
    assert asking.page(1).generation == asking.generation


def test_a_row_in_full_and_a_row_that_is_not_there(asking: Asking) -> None:
    asking.store.start()
    asking.loaded()
    listed = asking.ask(Query())
    asking.store.ask_detail(10**6)
    asking.store.ask_detail(listed.rows[3][0])
    detail = asking.next(Detail)
    assert detail.identity == listed.rows[3][0]
    assert detail.values["model_id"] == listed.rows[3][1 + listed.columns.index("model_id")]
    assert detail.values["run_py"] == "print(1)\n"


def test_a_row_in_full_outlives_the_question_that_interrupts_it(
    asking: Asking, monkeypatch: pytest.MonkeyPatch
) -> None:
    import duckdb

    asking.store.start()
    asking.loaded()
    read, tries = asking.store._detail, iter((True, False))

    def interrupted_once(cursor: duckdb.DuckDBPyConnection, identity: int) -> Detail | None:
        if next(tries):
            raise duckdb.InterruptException("INTERRUPT Error: Interrupted!")
        return read(cursor, identity)

    monkeypatch.setattr(asking.store, "_detail", interrupted_once)
    asking.store.ask_detail(0)
    assert asking.next(Detail).identity == 0


def test_a_query_that_fails_says_so_and_the_next_one_works(asking: Asking) -> None:
    asking.store.start()
    asking.loaded()
    asking.generation += 1
    asking.store.ask(asking.generation, Query(sort="nonsense"), None)
    failed = asking.next(Failed)
    assert failed.generation == asking.generation
    assert "nonsense" in failed.words
    assert asking.ask(EVERY).count == COUNT


def test_a_file_that_is_gone_is_said_for_the_row_only(asking: Asking) -> None:
    asking.store.start()
    asking.loaded()
    identity = asking.ask(EVERY).rows[0][0]
    asking.store.database.files[0].unlink()
    asking.store.ask_detail(identity)
    assert "cannot be read" in asking.next(Failed).words
    assert asking.ask(EVERY).count == COUNT


def test_own_runs_and_rankings_arrive_later(asking: Asking) -> None:
    asking.store.start()
    asking.loaded()
    assert asking.ask(Query(view=View.RUNS)).count == 0
    asking.store.set_own([row("o/mine", "PASS (CPU)", runner="trnui/cpu", run="r1")])
    asking.store.set_rankings([("downloads", "text-generation", 1, "x/y", 1, None, None, None)])
    asking.loaded(), asking.loaded()
    listed = asking.ask(Query(view=View.RUNS))
    assert listed.rows[0][1:3] == ("r1", "o/mine")
    assert asking.ask(Query(view=View.DOWNLOADS)).rows[0][1 + 5] == "x/y"


def test_asked_before_anything_is_loaded(asking: Asking) -> None:
    asking.store.ask(1, EVERY, None)
    asking.store.start()
    asking.generation = 1
    assert asking.next(Listed).generation == 1


def test_closing_ends_both_threads(asking: Asking) -> None:
    before = set(threading.enumerate())
    asking.store.start()
    asking.loaded()
    own = [t for t in threading.enumerate() if t not in before and t.name in ("load", "query")]
    assert {t.name for t in own} >= {"query"}
    asking.store.close()
    for thread in own:
        thread.join(60)  # waits for the state, however busy the machine
    assert not [t.name for t in own if t.is_alive()]


def test_a_fault_of_ours_in_a_query_is_said_and_the_next_question_is_answered(
    asking: Asking, monkeypatch: pytest.MonkeyPatch, home: Path
) -> None:
    asking.store.start()
    asking.loaded()
    with monkeypatch.context() as broken:
        broken.setattr(asking.store.database, "resolve", lambda _: {}["no such key"])
        asking.generation += 1
        asking.store.ask(asking.generation, EVERY, None)
        failed = asking.next(Failed)
    assert failed.generation == asking.generation
    assert "internal error, KeyError" in failed.words
    assert "no such key" in (home / "state" / "errors.log").read_text()
    assert asking.ask(EVERY).count == COUNT


def test_own_runs_that_cannot_be_taken_do_not_keep_later_ones_out(asking: Asking, home: Path) -> None:
    asking.store.start()
    asking.loaded()
    asking.store.set_own([row("o/mine", "PASS (CPU)", run="r1"), row("o/\ud800", run="r2")])
    assert "internal error" in asking.next(Failed).words
    asking.store.set_own([row("o/mine", "PASS (CPU)", run="r1")])
    end = time.monotonic() + 10
    while asking.ask(Query(view=View.RUNS)).count != 1:
        assert time.monotonic() < end
