"""Every end of a command is words and an exit code; a fault of ours is kept in a file, never thrown at the user."""

from __future__ import annotations

import os
import re
import stat
import subprocess
import sys
from pathlib import Path

import click
import pytest

import trnui.cli.main
from trnui.__main__ import main
from trnui.cli.global_options import GlobalOptions, options_only
from trnui_runner.common.errors import DataError, Exit


@pytest.fixture(autouse=True)
def a_command(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not the app, whatever the tests themselves were started with."""
    monkeypatch.setattr("sys.argv", ["trnui", "list"])


@pytest.mark.parametrize(
    ("raised", "code", "words"),
    [
        (DataError("no such folder: x", "Give a folder."), Exit.NO_DATA, "no such folder: x\nGive a folder."),
        (click.UsageError("no such option"), Exit.USAGE, "no such option"),
        (KeyboardInterrupt(), Exit.INTERRUPTED, ""),
        (RuntimeError("odd"), Exit.FAILED, "internal error, RuntimeError: odd"),
    ],
)
def test_ends_in_words(
    raised: BaseException, code: int, words: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*args: object, **kwargs: object) -> None:
        raise raised

    monkeypatch.setattr(trnui.cli.main.cli, "main", fail)
    with pytest.raises(SystemExit) as end:
        main()
    told = capsys.readouterr()
    assert end.value.code == code
    assert words in told.err
    assert "Traceback" not in told.err
    assert told.out == ""


def test_a_fault_of_ours_is_kept_whole(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: object, **kwargs: object) -> None:
        raise RuntimeError("odd")

    monkeypatch.setattr(trnui.cli.main.cli, "main", fail)
    with pytest.raises(SystemExit):
        main()
    assert "RuntimeError: odd" in (home / "state" / "errors.log").read_text()


def trnui_with(
    *args: str, stdout: int | None = None, env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "trnui", "--dataset", "sample", *args],
        stdout=stdout or subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, **(env or {})}, check=False,
    )  # fmt: skip


@pytest.mark.parametrize(
    "args",
    [["list"], ["show", "trnui-sample/recites"], ["script", "trnui-sample/recites"], ["list", "--format", "json"]],
)
def test_a_full_disk_behind_stdout_is_no_success(args: list[str]) -> None:
    with open("/dev/full", "wb") as full:
        found = trnui_with(*args, stdout=full.fileno())
    assert (found.returncode, "No space left" in found.stderr) == (Exit.FAILED, True)
    assert "internal error" not in found.stderr


def test_a_reader_that_leaves_is_no_failure() -> None:
    read, written = os.pipe()
    os.close(read)
    try:
        found = trnui_with("list", "--format", "csv", stdout=written)
    finally:
        os.close(written)
    assert (found.returncode, "Error" in found.stderr) == (Exit.OK, False)


def test_a_closed_stdout_is_no_fault_of_ours() -> None:
    closed = "import os, sys; os.close(1); os.execv(sys.executable, [sys.executable, '-m', 'trnui', '--dataset', 'sample', 'list'])"
    found = subprocess.run([sys.executable, "-c", closed], capture_output=True, text=True, check=False)
    assert (found.returncode, "internal error" in found.stderr) == (Exit.OK, False)


def test_a_file_that_is_named_is_written_and_nothing_else_replaced(tmp_path: Path) -> None:
    target, link, old = tmp_path / "real.csv", tmp_path / "link.csv", tmp_path / "old.csv"
    link.symlink_to(target)
    old.write_text("old")
    old.chmod(0o640)
    pipe = tmp_path / "pipe.csv"
    os.mkfifo(pipe)
    with subprocess.Popen(["cat", str(pipe)], stdout=subprocess.PIPE) as reader:
        for file in (link, old, pipe):
            assert trnui_with("list", "-o", str(file)).returncode == Exit.OK
        out, _ = reader.communicate()
    assert link.is_symlink()
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert target.read_bytes() == old.read_bytes() == out
    assert stat.S_IMODE(old.stat().st_mode) == 0o640
    found = trnui_with("list", "-o", "/dev/full")
    assert (found.returncode, stat.S_ISCHR(os.stat("/dev/full").st_mode)) == (Exit.FAILED, True)


EVIL = "x\x1b[2J\u202ey\x9b2J"


@pytest.mark.parametrize(
    "args",
    [
        ["list", "--sort", EVIL], ["list", "--neuronx-cc", EVIL], ["list", "--result", EVIL], ["list", "--columns", EVIL], ["list", "--view", EVIL],
        ["list", "--task", EVIL], ["list", "--bogus" + EVIL], ["show", EVIL], ["script", EVIL], ["compare", EVIL, "y"], ["sql", f"select {EVIL}"],
        ["diagnose", f"/tmp/{EVIL}"], ["diagnose", "--row", EVIL], ["report", EVIL], ["attach", EVIL], [EVIL],
    ],
    ids=lambda a: " ".join(a)[:20].replace(EVIL, "X"),
)  # fmt: skip
def test_words_of_the_user_come_back_without_control_characters(args: list[str]) -> None:
    found = trnui_with(*args)
    assert found.returncode != Exit.OK
    assert "internal error" not in found.stderr
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]", found.stdout + found.stderr)


LINES = [
    [], ["--offline"], ["--dataset", "sample"], ["--dataset=a/b", "--offline", "--mouse"], ["--dataset", "x", "--dataset", "y"],
    ["--dataset="], ["--ascii", "--no-color", "--ascii"],
]  # fmt: skip
OTHERS = [
    ["list"], ["--help"], ["-h"], ["--version"], ["--dataset"], ["--dataset", "--offline"], ["--data", "x"], ["--offline", "list"], ["--"],
    ["--offline=1"], [""], ["--dataset", "x", "show"],
]  # fmt: skip


@pytest.mark.parametrize("line", LINES, ids=" ".join)
def test_the_quick_reading_of_a_command_line_is_clicks(line: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[GlobalOptions] = []
    monkeypatch.setattr("trnui.cli.open_app.open_app", opened.append)
    trnui.cli.main.cli.main(line, standalone_mode=False)
    assert opened == [options_only(line)]


@pytest.mark.parametrize("line", OTHERS, ids=" ".join)
def test_whatever_else_a_command_line_says_is_left_to_click(line: list[str]) -> None:
    assert options_only(line) is None


def test_shell_completion_is_left_to_click(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_TRNUI_COMPLETE", "bash_complete")
    assert options_only([]) is None
