"""Events as types: what the supervisor writes is read back as the same value, and what a process makes up breaks nothing."""

from __future__ import annotations

import json
from typing import Any

import pytest

from trnui_runner.common.dataset_schema import Kind
from trnui_runner.common.text import Safe
from trnui_runner.run_folder.event_reading import event_of, read_event
from trnui_runner.run_folder.events import (
    Body,
    CheckEvent,
    CompilersEvent,
    CoresEvent,
    DiagnosisEvent,
    DiskEvent,
    DownloadEvent,
    EnvironmentEvent,
    LockEnd,
    LockStart,
    MemoryEvent,
    NeffEvent,
    NoticeEvent,
    OtherEvent,
    ResultEvent,
    StepEnd,
    StepStart,
    TokenEvent,
    as_json,
)


def words(text: str) -> Safe:
    return Safe(text)


WRITTEN = [
    StepStart(words("run"), "preparing", 7),
    StepEnd(words("run"), None, 1.5, (8, 9)),
    EnvironmentEvent(words("run"), {"HOME": "/h"}),
    CoresEvent((0, 1), words("rank")),
    CompilersEvent(0),
    CompilersEvent(2, 1.5, 3.0, 99.0),
    NeffEvent("hit", words("ab")),
    NeffEvent(new=3),
    LockStart(words("ab"), 7, (8,), None, None),
    LockEnd(words("ab")),
    MemoryEvent(words("host"), 1, 2, 3, scope=words("run")),
    MemoryEvent(words("neuron-monitor"), 1, 2, core=0, parts={"tensors": 1}, busy=50.0),
    DownloadEvent(words("ab"), words("abcd"), done=5),
    DiskEvent(words("temporary files"), 5, 9),
    NoticeEvent(words("a"), words("silent")),
    DiagnosisEvent(words("host_oom"), words("fail"), words("a"), words("b")),
    ResultEvent("PASS", Kind.ENGLISH, words("neuron"), "REPRODUCED", words("fine"), 0.5),
    ResultEvent("LOST", None, words("cpu"), None, words("gone")),
]


@pytest.mark.parametrize("body", WRITTEN, ids=lambda b: type(b).__name__)
def test_what_is_written_is_read_as_the_same_value(body: Body) -> None:
    line = json.dumps({"s": 1.0, "src": "supervisor", "pid": 5, **as_json(body)}).encode()
    found = read_event(line)
    assert found is not None
    assert found.body == body
    assert (found.s, found.pid, found.rank, found.ours) == (1.0, 5, None, True)


def test_what_has_no_value_stands_as_null_only_where_readers_count_on_the_key() -> None:
    assert as_json(CompilersEvent(0)) == {"event": "compilers", "alive": 0}
    assert as_json(StepEnd(words("run"), None))["code"] is None
    assert as_json(DiagnosisEvent(*map(words, "abcd")))["class"] == "a"


def test_texts_are_clean_from_the_line_on() -> None:
    found = event_of({"event": "token", "text": "a\x1b]0;x\x07b", "n": 1}).body
    assert found == TokenEvent(1, words("ab"))
    check = event_of(
        {"event": "check", "outcome": "PASS", "reason": "\x1b[2Jfine", "stack": {"torch\x1b[1m": "2"}}
    ).body
    assert check == CheckEvent("PASS", words("fine"), None, stack={"torch": "2"})


@pytest.mark.parametrize(
    "raw",
    [
        {"event": "result", "outcome": "WON"},
        {"event": "compile", "state": "end"},
        {"event": "compile", "state": "melted", "pid": 1},
        {"event": "forward", "n": "many"},
        {"event": "disk", "place": ["a"], "free": 1},
        {"event": "environment", "values": 3},
        {"event": "lock"},
    ],
    ids=lambda raw: str(raw["event"]),
)
def test_an_event_without_what_makes_it_one_is_named_so(raw: dict[str, Any]) -> None:
    assert event_of(raw).body == OtherEvent(words(raw["event"]), wrong=True)


def test_an_unknown_event_is_no_fault() -> None:
    assert event_of({"event": "new\x1b[1mkind", "n": 1}).body == OtherEvent(words("newkind"))
