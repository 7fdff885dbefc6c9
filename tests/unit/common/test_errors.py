"""A place that cannot be written is told to the user with the way out; every other fault of the system stays ours."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from trnui_runner.common.errors import Exit, host_error, process_error, storage_error

NO_HOME = {"HOME": "/proc/no-such-home"}


@pytest.mark.parametrize(
    ("number", "environ", "told"),
    [
        (errno.ENOSPC, None, "Free some disk space"),
        (errno.EDQUOT, None, "Free some disk space"),
        (errno.EACCES, None, "TRNUI_STATE_DIR"),
        (errno.EROFS, None, "TRNUI_STATE_DIR"),
        (errno.ENOENT, NO_HOME, "TRNUI_STATE_DIR"),
        (errno.ENOTDIR, NO_HOME, "TRNUI_STATE_DIR"),
        (errno.ENOENT, None, None),  # the home is fine: a file of ours that is missing is a fault of ours
        (errno.EBADF, NO_HOME, None),
    ],
)
def test_which_faults_are_the_places(
    number: int, environ: dict[str, str] | None, told: str | None, tmp_path: Path
) -> None:
    found = storage_error(OSError(number, os.strerror(number), "/there"), environ or {"HOME": str(tmp_path)})
    assert (found is None) == (told is None)
    if found is not None and told is not None:
        assert told in found.remedy
        assert found.message.startswith(f"Cannot write /there: {os.strerror(number)}.")
        assert ("HOME is" in found.message) == (environ is not None)


@pytest.mark.parametrize("program", [["trnui", "--dataset", "sample"], ["trnui_runner"]])
def test_a_home_that_is_not_there_ends_no_command_with_a_traceback(program: list[str], tmp_path: Path) -> None:
    words = [*program, "run", *(["trnui-sample/recites"] if program[0] == "trnui" else [str(tmp_path)]), "--dry-run"]
    env = {k: v for k, v in os.environ.items() if not k.startswith(("TRNUI_", "XDG_", "HF_"))} | NO_HOME
    done = subprocess.run([sys.executable, "-m", *words], env=env, capture_output=True, text=True, timeout=120)
    assert "Traceback" not in done.stderr
    assert "internal error" not in done.stderr
    assert done.returncode == Exit.FAILED
    if program[0] == "trnui":
        assert "Cannot write /proc/no-such-home" in done.stderr


@pytest.mark.parametrize(
    "error",
    [
        BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable"),
        OSError(errno.ENOMEM, "Cannot allocate memory"),
        RuntimeError("can't start new thread"),
    ],
)
def test_a_process_that_could_not_be_started_names_the_limit_and_the_way_out(error: BaseException) -> None:
    for found in (process_error(error), host_error(error)):
        assert found is not None
        assert "No process could be started" in found.message
        assert "ulimit -u" in str(found)
        assert "Traceback" not in str(found)


@pytest.mark.parametrize("error", [RuntimeError("odd"), OSError(errno.ENOENT, "No such file"), KeyError("x")])
def test_other_errors_are_not_said_to_be_a_limit(error: BaseException) -> None:
    assert process_error(error) is None


@pytest.mark.parametrize("number", [errno.ESTALE, errno.EIO])
def test_a_file_system_that_went_away_is_named_as_such(number: int) -> None:
    found = host_error(OSError(number, os.strerror(number), "/mnt/share/x"))
    assert found is not None
    assert found.message.startswith("Cannot reach /mnt/share/x: ")
    assert "mount" in found.remedy
    assert "Free some disk space" not in str(found)
