"""`trnui consent`: lists what was agreed to and takes it back; what others may have planted does not count."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from trnui.cli.commands.consent import command
from trnui.cli.global_options import GlobalOptions
from trnui_runner.common.errors import UsageError, UserError
from trnui_runner.common.files import private_dir
from trnui_runner.preflight import approvals
from trnui_runner.preflight.consent import allowed, remember
from trnui_runner.run_folder.recipe import Recipe, RowSource

COMMIT = "1a2b3c4d" * 5
SCRIPT = b"print(1)\n"
RECIPE = Recipe("20260101-000000-tiny-ab12", "acme/tiny", script="published", source=RowSource("acme/results", COMMIT))


def consent(*words: str) -> tuple[str, str]:
    done = CliRunner().invoke(command, list(words), obj=GlobalOptions(), standalone_mode=False)
    if done.exception is not None:
        raise done.exception
    return done.stdout, done.stderr


def test_it_lists_and_takes_back() -> None:
    remember(RECIPE, SCRIPT)
    remember(RECIPE, SCRIPT, "dataset")
    out, _ = consent()
    assert sorted(line.split("\t")[0] for line in out.splitlines()) == ["dataset", "script"]
    assert f"acme/results@{COMMIT}" in out
    assert len(json.loads(consent("--format", "json")[0])) == 2
    _, err = consent("--take-back", "acme/results@1a2b")
    assert "1 revoked" in err
    assert allowed(RECIPE, SCRIPT)
    consent("--take-back", "acme/tiny")
    assert allowed(RECIPE, SCRIPT) is None
    assert "No script has been approved" in consent()[1]


def test_a_key_that_is_none_is_an_error() -> None:
    with pytest.raises(UsageError, match="No approval matches"):
        consent("--take-back", "x\x1b[2J")


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o702])
def test_a_folder_that_others_may_write_into_is_refused_in_words(home: Path, mode: int) -> None:
    remember(RECIPE, SCRIPT)
    os.chmod(home / "state", mode)
    assert allowed(RECIPE, SCRIPT) is None
    assert "other users may write" in consent()[1]
    with pytest.raises(PermissionError, match="other users may write"):
        remember(RECIPE, SCRIPT)
    with pytest.raises(UserError, match="other users may write"):
        consent("--take-back", "all")


@pytest.mark.parametrize("way", ["link", "mode", "large", "deep", "none", "a folder"])
def test_a_file_that_is_not_ours_alone_counts_for_nothing(home: Path, tmp_path: Path, way: str) -> None:
    remember(RECIPE, SCRIPT)
    path = home / "state" / "consent.json"
    if way == "link":
        path.rename(tmp_path / "elsewhere")
        path.symlink_to(tmp_path / "elsewhere")
    elif way == "mode":
        path.chmod(0o666)
    elif way == "large":
        os.truncate(path, 20 << 30)
    elif way == "a folder":
        path.unlink()
        path.mkdir()
    else:
        path.write_text("[" * 100_000 if way == "deep" else "\x00\xff")
    assert allowed(RECIPE, SCRIPT) is None
    assert "does not count" in approvals.Approvals().problem


@pytest.mark.parametrize("umask", [0o000, 0o002, 0o077, 0o777])
def test_folders_are_ours_whatever_the_umask(tmp_path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        private_dir(tmp_path / "a" / "b" / "c")
    finally:
        os.umask(before)
    assert {(tmp_path / name).stat().st_mode & 0o777 for name in ("a", "a/b", "a/b/c")} == {0o700}


def test_a_folder_of_another_user_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "getuid", lambda: 4242)
    with pytest.raises(PermissionError, match="belongs to the user with id"):
        private_dir(tmp_path)
