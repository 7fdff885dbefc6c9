"""`trnui batch` from the command line: sources, the look ahead, one question, and what is said when it cannot be."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tests.trainium.host import Host
from tests.unit.runner.batch.builders import a_batch, a_folder, event
from tests.visit import make_dataset
from trnui.cli.main import cli
from trnui_runner.batch import keeper_process
from trnui_runner.batch.folder import all_batches, batches_dir
from trnui_runner.common.errors import Exit, UserError


def call(*words: str, stdin: str = "") -> tuple[int, Result]:
    """(exit code, what was said). UserErrors come as their words on stderr, as trnui.__main__ turns them."""
    done = CliRunner().invoke(cli, [*words], input=stdin, standalone_mode=False)
    if isinstance(done.exception, UserError):
        return done.exception.code, done
    assert done.exception is None, done.exception
    return int(done.return_value or 0), done


def batch(*words: str, stdin: str = "") -> tuple[int, Result]:
    return call("--dataset", "sample", "batch", *words, stdin=stdin)


def test_a_view_is_looked_ahead_without_starting_anything(home: Path) -> None:
    code, done = batch("new", "--view", "selected", "--result", "FAIL", "--dry-run", "--format", "jsonl")
    look = json.loads(done.stdout)
    assert code == Exit.OK
    assert look["rows"] == 1
    assert look["estimated_from"] == {"same model": 1}
    assert not batches_dir().exists()


def test_excluded_rows_run_only_when_they_are_asked_for(home: Path) -> None:
    looks = [json.loads(batch("new", "--view", "selected", *more, "--dry-run", "--format", "jsonl")[1].stdout) for more in
             ((), ("--result", "EXCLUDED"))]  # fmt: skip
    assert [look["rows"] for look in looks] == [12, 3]


def test_a_list_skips_comments_and_columns_and_tries_what_has_no_row(home: Path) -> None:
    text = "model_id,tp\n# a comment\n\ntrnui-sample/gpt2,1\ntrnui-sample/gpt2\norg/unknown\n"
    code, done = batch(
        "new", "--from", "-", "--device", "cpu", "--script", "bundled", "--dry-run", "--format", "jsonl", stdin=text
    )
    assert code == Exit.OK
    assert json.loads(done.stdout)["rows"] == 2
    assert "1 without a row in" in done.stderr


def test_nothing_starts_without_a_yes(home: Path) -> None:
    code, done = batch("new", "trnui-sample/gpt2")
    assert code == Exit.USAGE
    assert "Say --yes" in str(done.exception)
    assert "time" in done.stderr
    assert all_batches() == []


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "none was given"),
        (("--mine", "--view", "selected"), "--view and --mine were given"),
        (("--from", "/nowhere/list"), "/nowhere/list"),
        (("--view", "selected", "--search", "no such thing"), "no row is left"),
        (("--compare", "9.9", "9.8"), "9.9: no such stack"),
        (("--view", "selected", "--name", "../x"), "id is '../x'"),
        (("--view", "selected", "--script", "mine.py"), "--script mine.py"),
        (("trnui-sample/gpt2", "--device", "neuron"), "nothing that this host could run"),
    ],
)
def test_what_is_wrong_is_named_with_the_way_out(home: Path, words: tuple[str, ...], said: str) -> None:
    code, done = batch("new", *words, "--dry-run")
    assert code == Exit.USAGE
    assert isinstance(done.exception, UserError)
    assert said in done.exception.message
    assert done.exception.remedy or "--name" in done.exception.message


def test_the_list_names_a_broken_batch_and_shows_the_others(home: Path) -> None:
    good, bad = a_folder(a_batch(name="good")), a_folder(a_batch(name="bad"))
    good.journal().add(event(0, "done", outcome="PASS"))
    (bad.path / "batch.json").write_text("{}")
    code, done = call("batch")
    assert code == Exit.OK
    assert "good  idle  1 of 3 · 1 PASS · 2 waiting" in done.stdout
    assert "bad" in done.stderr
    listed = json.loads(call("batch", "list", "--format", "json")[1].stdout)
    assert [b["id"] for b in listed] == ["good"]
    assert listed[0]["rows"][0]["change"] == "same"


def test_no_batch_of_that_name(home: Path) -> None:
    for words in (("attach", "x"), ("stop", "x"), ("retry", "x"), ("report", "x"), ("export", "x")):
        code, done = call("batch", *words)
        assert code == Exit.USAGE
        assert "There is no batch" in str(done.exception)


def test_stop_without_a_keeper_is_kept_for_the_next_one(home: Path) -> None:
    folder = a_folder(a_batch())
    code, done = call("batch", "stop", "b")
    assert code == Exit.OK
    assert folder.stop_asked() == "later"
    assert "goes on with it" in done.stderr


def test_a_report_is_written_whole_and_only_as_what_its_name_says(home: Path, tmp_path: Path) -> None:
    a_folder(a_batch())
    assert call("batch", "report", "-o", str(tmp_path / "r.html"))[0] == Exit.OK
    assert (tmp_path / "r.html").read_text().startswith("<!doctype html>")
    assert (
        json.loads((tmp_path / "r.json").read_text())["id"] == "b"
        if call("batch", "report", "-o", str(tmp_path / "r.json"))[0] == 0
        else False
    )
    code, done = call("batch", "report", "-o", str(tmp_path / "r.pdf"))
    assert code == Exit.USAGE
    assert "r.pdf" in str(done.exception)


@pytest.mark.standin
def test_one_yes_covers_the_scripts_of_a_batch_and_the_next_one_asks_for_none(
    home: Path, tmp_path: Path, standin_host: Callable[..., Host], monkeypatch: pytest.MonkeyPatch
) -> None:
    standin_host(devices=16)
    monkeypatch.setattr(keeper_process, "start_keeper", lambda folder, **_: True)
    dataset = str(make_dataset(tmp_path / "rows", "--models", "40"))
    words = ("--dataset", dataset, "batch", "new", "--view", "selected", "--result", "PASS", "--detach")
    code, done = call(*words)
    assert code == Exit.USAGE
    assert "run.py of" in done.stderr
    assert "they run with your rights" in done.stderr
    code, done = call(*words, "--yes")
    assert code == Exit.OK
    folder = all_batches()[0]
    assert done.stdout.strip() == folder.id
    rows = folder.batch().rows
    assert all(row.device == "stand-in" and row.published == "PASS" for row in rows)
    assert {row.cores for row in rows} - {1}
    request = folder.request(0)
    assert request.row is not None
    assert "import" in str(request.row["run_py"])
    code, done = call(*words, "--dry-run", "--again")
    assert "not agreed to" not in done.stdout
    code, done = call(*words)  # the same command goes on with it, and asks for nothing
    assert code == Exit.OK
    assert "has the same rows and is not finished" in done.stderr
    assert len(all_batches()) == 1
