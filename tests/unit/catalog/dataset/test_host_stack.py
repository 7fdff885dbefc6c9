"""On a host whose pair the dataset has, that pair is the default and its rows come first."""

from __future__ import annotations

import queue
from pathlib import Path

import pytest

from tests.datasets import NEW, OLD, folder, row
from trnui.catalog.dataset import host_stack
from trnui.catalog.engine.catalog import Catalog
from trnui.catalog.engine.query_service import Store
from trnui.catalog.messages import Loaded
from trnui.catalog.query import Query, Stack


def test_a_host_without_a_neuron_environment_asks_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_stack, "DEVICE", Path("/dev/none"))
    monkeypatch.setattr("trnui_runner.host.interpreter.find", lambda *_: pytest.fail("asked an interpreter"))
    assert host_stack.host_stack("") is None


def test_an_interpreter_that_is_not_there_is_no_pair() -> None:
    assert host_stack.host_stack("/nonexistent/python") is None


def test_this_interpreter_has_no_compiler_here() -> None:
    import sys

    assert host_stack.host_stack(sys.executable) is None


def test_the_hosts_pair_is_the_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = folder(tmp_path, row("o/a", stack=OLD), row("o/b", stack=NEW))
    mine = Stack("2.28.100.0", "5.24.0")
    assert Catalog(source, host=mine).rows(Query()).stacks == (OLD,)
    assert Catalog(source).rows(Query()).stacks == (NEW,)
    monkeypatch.setattr("trnui.catalog.engine.query_service.host_stack", lambda _: mine)
    answers: queue.Queue[object] = queue.Queue()
    store = Store(source, answers.put, python="")
    store.start()
    first = answers.get(timeout=30)
    store.close()
    assert isinstance(first, Loaded)
    assert first.default == OLD
