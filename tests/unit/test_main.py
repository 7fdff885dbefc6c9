"""Every end of a command is words and an exit code; a fault of ours is kept in a file, never thrown at the user."""

from __future__ import annotations

from pathlib import Path

import click
import pytest

import trnui.cli
from runner.errors import DataError, Exit
from trnui.__main__ import main


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

    monkeypatch.setattr(trnui.cli.cli, "main", fail)
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

    monkeypatch.setattr(trnui.cli.cli, "main", fail)
    with pytest.raises(SystemExit):
        main()
    assert "RuntimeError: odd" in (home / "state" / "errors.log").read_text()
