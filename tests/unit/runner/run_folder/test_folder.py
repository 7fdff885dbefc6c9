"""The run folder: what stands in it, what counts as its end, what it says when it is damaged, and what tidying may touch."""

from __future__ import annotations

import fcntl
import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from trnui_runner.run_folder import folder as module
from trnui_runner.run_folder.folder import Result, RunFolder, State, all_runs, find_run
from trnui_runner.run_folder.recipe import Recipe

RECIPE = Recipe(id="20260101-000000-tiny-aaaa", model="acme/tiny", device="cpu", script="published", v=2)
PASSED = Result(outcome="PASS", reason="equal", device="cpu", wall_s=3.0)


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    return RunFolder.create(RECIPE, b"print(1)\n", tmp_path / "runs")


def test_a_new_folder_is_private_and_holds_script_recipe_and_room_for_the_rest(run: RunFolder) -> None:
    assert run.path.stat().st_mode & 0o777 == 0o700
    assert {p.name for p in run.path.iterdir()} == {"events", "inputs", "reports", "work", "run.py", "recipe.json"}
    assert run.script() == b"print(1)\n"
    assert run.recipe() == RECIPE
    assert run.problem() == ""
    with pytest.raises(FileExistsError):
        RunFolder.create(RECIPE, b"", run.path.parent)
    neuron = RunFolder.create(replace(RECIPE, id="20260101-000000-tiny-bbbb", device="neuron"), b"", run.path.parent)
    assert (neuron.path / "metrics").is_dir()


def test_an_end_counts_once_it_is_written_and_nobody_watches(run: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    assert (run.result(), run.ended()) == (None, False)
    run.write_state(State(v=2))
    run.reserve()
    digest = run.finish(PASSED)
    assert run.written(digest)
    assert not run.written("0" * 64)
    assert run.ended()
    assert run.outcome() == "PASS"
    lock = os.open(run.path / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX)
    assert run.outcome() == "running"
    os.close(lock)
    monkeypatch.setattr(module, "watched", lambda path: True)
    assert run.result() is None  # guard or supervisor are alive: what stands there is no end yet
    assert run.outcome() == "running"


def test_a_result_that_the_supervisor_did_not_write_is_damage(run: RunFolder) -> None:
    run.write_state(State(v=2))
    (run.path / "result.json").write_text(json.dumps({"outcome": "PASS", "reason": "forged", "device": "neuron"}))
    assert run.result() is None  # no end in the state: it is no result at all
    assert run.problem() == ""
    run.finish(PASSED)
    (run.path / "result.json").write_text(json.dumps({"outcome": "PASS", "reason": "forged", "device": "neuron"}))
    assert run.result() is None
    assert run.problem() == "result.json is not what the run's supervisor wrote"


@pytest.mark.parametrize(("name", "body"), [("recipe.json", "{"), ("state.json", "[]"), ("recipe.json", "[" * 100_000)])
def test_a_damaged_file_is_named(run: RunFolder, name: str, body: str) -> None:
    (run.path / name).write_text(body)
    assert name in run.problem()
    assert run.result() is None


def test_events_are_read_from_a_plain_file_alone(run: RunFolder, tmp_path: Path) -> None:
    assert list(run.events()) == []
    (run.path / "events.jsonl").write_text('{"event": "a"}\nnot json\n[1]\n{"event": "b"}\n')
    assert [e.raw["event"] for e in run.events()] == ["a", "b"]
    (run.path / "events.jsonl").unlink()
    (tmp_path / "outside").write_text('{"event": "stranger"}\n')
    (run.path / "events.jsonl").symlink_to(tmp_path / "outside")
    assert list(run.events()) == []
    (run.path / "events.jsonl").unlink()
    os.mkfifo(run.path / "events.jsonl")
    assert list(run.events()) == []  # and does not wait for somebody to write


def test_a_file_with_a_second_name_is_not_written_to(run: RunFolder, tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("precious")
    os.link(tmp_path / "mine", run.path / ".result.json.part")
    run.finish(PASSED)
    assert (tmp_path / "mine").read_text() == "precious"
    assert run.ended()


def test_tidying_takes_away_only_a_temporary_folder_of_ours_and_torn_files(run: RunFolder, tmp_path: Path) -> None:
    ours, other = tmp_path / "trnui-x", tmp_path / "other"
    for folder, kept in ((ours, False), (other, True)):
        folder.mkdir()
        (folder / "file").touch()
        run.keep_tmp(folder)
        (run.path / ".state.json.part").touch()
        run.tidy()
        assert folder.exists() == kept
        assert not (run.path / "tmp").is_symlink()
        assert not (run.path / ".state.json.part").exists()
    run.reserve()
    run.tidy()
    assert (run.path / ".result.json.part").exists()  # the room kept for the end
    run.tidy(other)
    assert other.exists()


def test_the_disk_that_takes_only_a_part_of_a_state_leaves_the_one_before(
    run: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run.write_state(State(stage="loading", v=2))
    monkeypatch.setattr(os, "write", lambda fd, data: len(data) - 1)
    assert not run.write_state(State(stage="compiling", v=2))
    monkeypatch.undo()
    state = run.state()
    assert state is not None
    assert state.stage == "loading"
    monkeypatch.setattr(os, "replace", lambda *_: (_ for _ in ()).throw(OSError(28, "full")))
    assert not run.write_state(State(stage="compiling", v=2))


def test_holds_compares_every_byte(run: RunFolder) -> None:
    assert run.holds("run.py", b"print(1)\n")
    assert not run.holds("run.py", b"print(2)\n")
    assert not run.holds("run.py", b"print(1)")
    assert not run.holds("absent", b"")


def test_runs_are_found_by_id_by_part_and_as_the_last(tmp_path: Path) -> None:
    ids = ["20260101-000000-tiny-aaaa", "20260102-000000-tiny-bbbb", "20260103-000000-large-cccc"]
    for name in ids:
        RunFolder.create(replace(RECIPE, id=name), b"", tmp_path)
    (tmp_path / "notes").mkdir()
    assert [r.id for r in all_runs(tmp_path)] == ids[::-1]
    assert [r.id for r in find_run("last", tmp_path)] == ids[-1:]
    assert [r.id for r in find_run(ids[0], tmp_path)] == ids[:1]
    assert [r.id for r in find_run("tiny", tmp_path)] == [ids[1], ids[0]]
    assert find_run("", tmp_path) == find_run("zzz", tmp_path) == []
    assert all_runs(tmp_path / "absent") == []
