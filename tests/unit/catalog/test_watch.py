"""Watched models: each teller says every change once."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.called import called
from tests.datasets import NEW, OLD, folder, row
from trnui.catalog import watch
from trnui.catalog.query import Stack
from trnui_runner.common.errors import UsageError

A, B = Stack("2.28.0.0", "5.24.0"), Stack("2.29.0.0", "5.24.0")


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ({A: "FAIL"}, {A: "PASS"}, ["began to pass on 2.28.0.0/5.24.0 (FAIL before)"]),
        ({A: "PASS"}, {A: "FAIL"}, ["began to fail on 2.28.0.0/5.24.0 (PASS before)"]),
        ({A: "PASS"}, {A: "PASS", B: "FAIL"}, ["fails on 2.29.0.0/5.24.0 (no result before)"]),
        ({}, {A: "PASS"}, ["passes on 2.28.0.0/5.24.0 (no result before)"]),
        ({A: "PASS"}, {A: "EXCLUDED"}, ["is EXCLUDED on 2.28.0.0/5.24.0 (PASS before)"]),
        ({A: "PASS"}, {}, ["no result any more on 2.28.0.0/5.24.0 (PASS before)"]),
        ({A: "PASS"}, {A: "PASS"}, []),
    ],
)
def test_words(before: watch.Statuses, after: watch.Statuses, words: list[str]) -> None:
    assert [c.words for c in watch.changes("o/m", before, after)] == words


def test_each_teller_says_a_change_once_and_a_new_model_has_none() -> None:
    watch.add(["O/M"], 1.0)
    assert watch.look("sync", "d", {"o/m": {A: "FAIL"}}) == ()
    assert watch.look("check", "d", {"o/m": {A: "FAIL"}}) == ()
    now = {"o/m": {A: "PASS"}}
    assert [c.after for c in watch.look("sync", "d", now)] == ["PASS"]
    assert watch.look("sync", "d", now) == ()
    assert [c.before for c in watch.look("check", "d", now)] == ["FAIL"]
    assert watch.look("sync", "another dataset", {}) == ()
    watch.remove(["o/m"])
    assert watch.load() == watch.WatchList({}, {"sync d": {}, "check d": {}, "sync another dataset": {}})
    watch.add(["o/m"])
    assert watch.look("sync", "d", now) == ()


def test_names_and_their_number_are_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("", "a b", "../x", "a/b/c", "x" * 201, "\x1b[2J"):
        with pytest.raises(UsageError):
            watch.add([name])
    monkeypatch.setattr(watch, "MOST", 2)
    assert watch.add(["o/a", "o/b"]) == ("o/a", "o/b")
    assert watch.add(["O/A"]) == ()
    with pytest.raises(UsageError, match="at most"):
        watch.add(["o/c"])


@pytest.mark.parametrize(
    "text", ["", "[]", "null", '{"v": 2}', '{"v": 1, "models": 3, "seen": []}', '{"v": 1, "seen": {"sync d": 3}}']
)
def test_a_damaged_file_counts_as_empty(text: str) -> None:
    watch.add(["o/m"])
    watch.path().write_text(text)
    assert watch.load() == watch.WatchList()


def test_the_command_for_cron(tmp_path: Path) -> None:
    path = tmp_path / "data"
    folder(path, row("Org/M", "FAIL", OLD), row("org/other", "PASS", OLD))
    data = ("--dataset", path, "watch")
    done = called(*data, "org/m", "org/none-yet")
    assert (done.code, done.out) == (0, "")
    assert "Org/M: watched from now on" in done.err
    assert "org/none-yet: no row yet" in done.err
    assert "is watched already" in called(*data, "Org/M").err
    assert called(*data, "--check").code == 0
    folder(path, row("Org/M", "PASS", OLD), row("Org/M", "FAIL", NEW), row("org/other", "PASS", OLD))
    done = called(*data, "--check", "--format", "json")
    assert done.code == 1
    assert [(c["model_id"], c["before"], c["after"]) for c in json.loads(done.out)] == [
        ("Org/M", None, "FAIL"), ("Org/M", "FAIL", "PASS"),
    ]  # fmt: skip
    assert (called(*data, "--check").code, called(*data, "--check").out) == (0, "")
    assert called(*data).out.splitlines() == [
        "Org/M\tPASS on 2.28/5.24.0 · FAIL on 1 other", "org/none-yet\tNOT TESTED",
    ]  # fmt: skip
    assert called(*data, "--remove", "ORG/M").code == 0
    assert called(*data, "--remove", "org/mm").code == 2
    assert called(*data, "org/x", "--check").code == 2
