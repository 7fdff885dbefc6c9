"""Checkpoints of a batch: fetched ahead, counted against the disk, and removed again, but never what was there before."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakehub import FakeHub
from trnui_runner.batch.planning.checkpoint_sizes import ask_sizes
from trnui_runner.batch.planning.checkpoints import Checkpoints
from trnui_runner.common.hub_env import hub_cache
from trnui_runner.request.checkpoint import folder_of

FILES = {
    "config.json": b"{}",
    "model.safetensors": b"w" * 5000,
    "tokenizer.json": b"{}",
    "pytorch_model.bin": b"x" * 9000,
    "onnx/m.onnx": b"o",
}


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeHub]:
    monkeypatch.delenv("HF_HUB_OFFLINE")
    with FakeHub() as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.url)
        hub.add_repo("models", "o/a", FILES)
        hub.add_repo("models", "o/b", FILES)
        yield hub


def checkpoints(folder: Path, **fields: object) -> Checkpoints:
    values: dict[str, object] = {"budget": None, "spare": 0}
    return Checkpoints(folder / "checkpoints.jsonl", **(values | fields))  # type: ignore[arg-type]


def cached(model: str, size: int = 100) -> Path:
    """A checkpoint that lies in the Hub's cache."""
    repository = hub_cache() / f"models--{model.replace('/', '--')}"
    snapshot = repository / "snapshots" / "c0ffee"
    snapshot.mkdir(parents=True)
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text("c0ffee")
    (snapshot / "model.safetensors").write_bytes(b"w" * size)
    return repository


def fetched(found: Checkpoints, model: str) -> None:
    until = time.monotonic() + 60
    while found.fetching:
        assert time.monotonic() < until
        time.sleep(0.05)
    assert folder_of(model) is not None


def test_one_is_fetched_at_a_time_and_only_what_from_pretrained_takes(home: Path, hub: FakeHub, tmp_path: Path) -> None:
    found = checkpoints(tmp_path)
    assert found.fetch("o/a")
    assert found.fetching == "o/a"
    assert not found.fetch("o/b")
    fetched(found, "o/a")
    snapshot = folder_of("o/a")
    assert snapshot is not None
    assert sorted(p.name for p in snapshot.iterdir()) == ["config.json", "model.safetensors", "tokenizer.json"]
    assert not found.fetch("o/a")  # it is here
    assert found.fetch("o/b")
    found.close()
    assert found.fetching == ""


def test_what_the_batch_brought_goes_and_what_was_there_stays(home: Path, tmp_path: Path) -> None:
    before = cached("o/before")
    found = checkpoints(tmp_path)
    assert found.claim("o/before")
    assert found.claim("o/mine")
    mine = cached("o/mine")  # fetched by its run
    assert found.owned() == ("o/mine",)
    assert not found.release("o/before", ())
    assert not found.release("o/never-claimed", ())
    assert not found.release("o/mine", {"o/mine"})  # another row needs it
    assert found.release("o/mine", ())
    assert before.is_dir()
    assert not mine.exists()


def test_a_killed_keeper_forgets_neither(home: Path, tmp_path: Path) -> None:
    checkpoints(tmp_path).claim("o/mine")
    cached("o/mine")
    later = checkpoints(tmp_path)
    later.claim("o/mine")  # it is there now; but the batch has brought it
    with open(tmp_path / "checkpoints.jsonl", "ab") as file:
        file.write(b'{"model": "o/torn')
    assert checkpoints(tmp_path).release("o/mine", ())


def test_nothing_is_claimed_when_the_note_cannot_be_written(home: Path, tmp_path: Path) -> None:
    found = Checkpoints(tmp_path / "no such folder" / "checkpoints.jsonl", budget=None, spare=0)
    assert not found.claim("o/a")
    assert not found.fetch("o/a")


def test_room_counts_what_is_free_what_is_spared_what_is_coming_and_the_budget(home: Path, tmp_path: Path) -> None:
    found = checkpoints(tmp_path, spare=100, free=lambda _: 1000)
    assert found.room() == 900
    assert found.room([("o/coming", 300)]) == 600
    assert checkpoints(tmp_path, budget=50, free=lambda _: 1000).room() == 50
    assert checkpoints(tmp_path, free=lambda _: None).room() is None
    found.claim("o/mine")
    cached("o/mine", 200_000)
    held = checkpoints(tmp_path, budget=1_000_000, free=lambda _: None).room()
    assert held is not None
    assert 700_000 < held <= 800_000


def test_rows_without_a_repository_need_nothing(home: Path, tmp_path: Path) -> None:
    found = checkpoints(tmp_path)
    assert found.at_hand("")
    assert found.claim("")
    assert not found.release("", ())
    assert not found.fetch("")


def test_the_hub_is_asked_for_many_sizes_at_once(home: Path, hub: FakeHub) -> None:
    assert ask_sizes(["o/a", "o/b", "o/none"]) == {"o/a": 5004, "o/b": 5004}
    assert ask_sizes([]) == {}


def test_a_hub_that_does_not_answer_is_no_error(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HF_HUB_OFFLINE")
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    assert ask_sizes(["o/a"], timeout=20) == {}
