"""What the app remembers: written whole, read with care."""

from __future__ import annotations

import json

from trnui.catalog.query import Query, View
from trnui.tui.session_state import SessionState, json_of, path, query_of, recall, remember


def test_nothing_remembered_is_the_defaults() -> None:
    assert recall() == SessionState()


def test_view_filters_and_order_come_back() -> None:
    query = Query(
        view=View.TRENDING,
        task="t",
        results=("PASS",),
        neuronx_cc=("2.1",),
        max_cores=4,
        sort="tp",
        descending=True,
    )
    kept = SessionState("trending", {"trending": query}, "ansi-dark", {"sql": ["SELECT 1"]})
    assert remember(kept) is None
    assert recall() == kept


def test_what_was_typed_into_the_filter_line_is_not_remembered() -> None:
    assert json_of(Query(text="a", anywhere="b", task="t")) == {"task": "t"}


def test_a_torn_or_foreign_file_starts_with_the_defaults_and_says_so() -> None:
    remember(SessionState())
    path().write_text('{"v": 1, "que')
    assert recall().queries == {}
    assert "cannot be read" in str(recall().problem)


def test_fields_of_a_wrong_type_are_left_out() -> None:
    assert query_of(
        {"text": 5, "results": ["PASS", 3], "max_cores": "x", "sort": None, "view": "nowhere", "descending": True}
    ) == Query(descending=True)


def test_only_what_differs_is_written() -> None:
    assert json_of(Query(task="a")) == {"task": "a"}
    remember(SessionState("selected", {"selected": Query()}))
    assert json.loads(path().read_text())["queries"] == {"selected": {}}
