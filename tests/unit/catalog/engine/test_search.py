"""Search, filters, order and counts, compared with plain Python over the same rows."""

from __future__ import annotations

from typing import Any

import pytest

from tests.datasets import NEW, OLD, folder, row
from trnui.catalog.engine.catalog import Catalog, UnknownModelError
from trnui.catalog.query import Query, View
from trnui_runner.common.errors import UsageError

EVERY = Query(neuronx_cc=("all",), library_version=("all",))
NAMES = [
    "org/Iris2-8B", "org/iris2-VL", "ORG/IRIS20", "a%b/50%_off", "a_b/x.y", "back\\slash/n\\ew", "quo'te/d\"ouble", "br[ack]/et{s}(1)",
    "sp ace/two  spaces", "示例/模型-7B", "émile/Ünïcode", "star*/q?", "plus+/a+b", "semi;/drop--table", "new\nline/x", "tab\t/x",
    "emoji/🤗-7B", "nul\x00/x", "esc\x1b[31m/red", "dollar$/^caret$", "pipe|/a|b", "hash#/c#", "tilde~/n", "İstanbul/ıi", "Straße/ß", "a/",
]  # fmt: skip
TEXTS = [
    "", "iris2", "IRIS2", "Iris2-8", "%", "_", "50%_", "%_%", "\\", "\\e", "'", '"', "[", "]", "[ack]", "{s}", "(1)", " ", "  ", "two  spaces", "示",
    "模型", "é", "ÜNÏ", "*", "?", "+", "a+b", ";", "--", "\n", "\t", "🤗", "\x00", "\x1b[31m", "$", "^", "|", "#", "~", "ß", "org/", "/", ".", "x.y",
    "x_y", "?1", "$1", "' OR 1=1 --", "zzz", "-8B", "b/50", "lower(", "a/", "İ", "i̇", "ı", "ss",
]  # fmt: skip


@pytest.fixture(scope="module")
def names(tmp_path_factory: pytest.TempPathFactory) -> Catalog:
    return Catalog(folder(tmp_path_factory.mktemp("names"), *(row(n) for n in NAMES)))


@pytest.mark.parametrize("text", TEXTS, ids=[ascii(t) for t in TEXTS])
def test_search_is_a_plain_part_of_the_name_in_any_case(names: Catalog, text: str) -> None:
    found = [r[0] for r in names.rows(EVERY.but(text=text), ("model_id",)).rows]
    assert found == [n for n in NAMES if text.lower() in n.lower()]


@pytest.mark.parametrize("text", ["\udcff", "a\ud800"])
def test_broken_bytes_of_a_command_line_find_nothing(names: Catalog, text: str) -> None:
    for query in (EVERY.but(text=text), EVERY.but(anywhere=text)):
        assert names.rows(query).count == 0


ROWS = [
    row("o/a", "PASS", OLD, tp=1, wall_s=50, notes="needs TikToken"),
    row("o/b", "FAIL", OLD, tp=4, wall_s=None, error="RuntimeError: 100% broken_here\nsecond line"),
    row("o/c", None, OLD, tp=None, wall_s=None, exclusion="Low Priority", cpu_match=None),
    row("o/d", "strange", OLD, tp=16, wall_s=10),
    row("o/a", "FAIL", NEW, tp=1, wall_s=70, error="x" * 400 + "needle"),
    row("o/e", None, NEW, tp=None, wall_s=None),
]


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> Catalog:
    return Catalog(folder(tmp_path_factory.mktemp("rows"), *ROWS))


def ids(catalog: Catalog, **narrow: Any) -> list[str]:
    return [f"{m}@{c[:4]}" for m, c in catalog.rows(EVERY.but(**narrow), ("model_id", "neuronx_cc")).rows]


def test_the_default_is_one_stack_and_counts_are_honest(catalog: Catalog) -> None:
    table = catalog.rows(Query())
    assert (table.count, table.total, table.excluded, table.stacks) == (2, 2, 0, (NEW,))
    table = catalog.rows(EVERY.but(results=("FAIL", "EXCLUDED"), limit=1))
    assert (len(table.rows), table.count, table.total, table.excluded) == (1, 3, 6, 1)
    assert catalog.rows(EVERY.but(limit=0)).rows == ()


def test_filters(catalog: Catalog) -> None:
    assert ids(catalog, results=("FAIL",)) == ["o/a@2.29", "o/b@2.28"]
    assert ids(catalog, results=("FAIL", "OTHER", "UNTESTED")) == ["o/a@2.29", "o/e@2.29", "o/b@2.28", "o/d@2.28"]
    assert ids(catalog, max_cores=4) == ["o/a@2.29", "o/a@2.28", "o/b@2.28"]
    assert ids(catalog, models=("o/a", "o/'")) == ["o/a@2.29", "o/a@2.28"]
    assert ids(catalog, view=View.FAILURES) == ["o/a@2.29", "o/b@2.28"]
    assert ids(catalog, task="text-generation") == []


def test_anywhere_looks_into_name_notes_exclusion_and_the_head_of_the_error(catalog: Catalog) -> None:
    assert ids(catalog, anywhere="tiktoken") == ["o/a@2.28"]
    assert ids(catalog, anywhere="0% BROKEN_") == ["o/b@2.28"]
    assert ids(catalog, anywhere="low p") == ["o/c@2.28"]
    assert ids(catalog, anywhere="O/B") == ["o/b@2.28"]
    assert ids(catalog, anywhere="needle") == []  # behind the head


def test_absent_values_come_last_both_ways(catalog: Catalog) -> None:
    stack = {"neuronx_cc": (OLD.neuronx_cc,)}
    assert ids(catalog, sort="wall_s", **stack) == ["o/d@2.28", "o/a@2.28", "o/b@2.28", "o/c@2.28"]
    assert ids(catalog, sort="wall_s", descending=True, **stack) == ["o/a@2.28", "o/d@2.28", "o/b@2.28", "o/c@2.28"]
    assert ids(catalog, sort="neuronx_cc", limit=3) == ["o/a@2.28", "o/b@2.28", "o/c@2.28"]
    assert ids(catalog, sort="status", limit=1) == ["o/a@2.28"]
    with pytest.raises(UsageError, match="no such column to sort by"):
        ids(catalog, sort="model_id; DROP TABLE r")


def test_every_list_column_can_be_sorted_by(catalog: Catalog) -> None:
    from trnui.catalog.engine.sql_builder import sortable

    for view in View:
        for column in sortable(view):
            catalog.rows(Query(view=view, sort=column, descending=True))


def test_whole_texts_where_they_are_asked_for(catalog: Catalog) -> None:
    (line,) = catalog.rows(Query(models=("o/a",)), ("error", "view", "source", "row", "status")).rows
    assert line == ("x" * 400 + "needle", "selected", f"{NEW.neuronx_cc}_transformers-5.24.0.parquet", 0, "FAIL")
    with pytest.raises(UsageError, match="no such column"):
        catalog.rows(Query(), ("nonsense",))


def test_a_models_row_is_the_default_stacks_else_the_newest(catalog: Catalog) -> None:
    def where(model: str, query: Query) -> str:
        return str(catalog.detail(catalog.choose(model, query)).values["neuronx_cc"])

    assert where("o/a", Query()) == NEW.neuronx_cc
    assert where("o/b", Query()) == OLD.neuronx_cc
    assert where("o/a", Query(neuronx_cc=("2.28.100.0",))) == OLD.neuronx_cc
    with pytest.raises(UsageError, match="no row on the stack asked for"):
        where("o/b", Query(neuronx_cc=(NEW.neuronx_cc,)))


def test_names_are_found_in_any_case_and_without_their_owner(catalog: Catalog, names: Catalog) -> None:
    assert catalog.find("O/A") == "o/a"
    assert catalog.find("b") == "o/b"
    assert names.find("50%_off") == "a%b/50%_off"
    with pytest.raises(UnknownModelError) as raised:
        names.find("org/Iris2-9B")
    assert raised.value.near[0] == "org/Iris2-8B"
    with pytest.raises(UnknownModelError):
        catalog.find("")


def test_own_runs_and_rankings_are_views_of_the_same_shape(catalog: Catalog) -> None:
    own = row("o/a", "PASS (CPU)", runner="trnui/cpu", run="20261130-a", run_py="print(2)")
    catalog.database.set_own([own])
    catalog.database.set_rankings(
        [
            ("trending", "text-generation", 1, "x/y", 7, 2.5, 8_000, "auto"),
            ("trending", "text-generation", 2, "o/a", 5, None, None, None),
        ]
    )
    (run,) = catalog.rows(Query(view=View.RUNS), ("run", "status", "result", "device", "run_py")).rows
    assert run == ("20261130-a", "PASS", "PASS (CPU)", "cpu", "print(2)")
    ranked = catalog.rows(Query(view=View.TRENDING), ("rank", "model_id", "status", "tp", "downloads", "error"))
    assert ranked.rows == ((1, "x/y", "UNTESTED", None, 7, None), (2, "o/a", "FAIL", 1, 5, "x" * 400 + "needle"))
    assert catalog.detail(ranked.ids[0]).derived["status"] == "UNTESTED"
    assert catalog.detail(ranked.ids[1]).values["model_id"] == "o/a"
    assert catalog.rows(Query(view=View.DOWNLOADS)).total == 0
    assert [r[0] for r in catalog.rows(EVERY, ("status",)).rows].count("PASS") == 1  # own runs are in their view only
