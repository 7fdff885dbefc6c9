"""`trnui diagnose` as it is used: files, pipes, rows, errors; and under a pty, where nothing but text may arrive."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.terminal.session import Session

NASTY = (
    "\x1b]0;title\x07\x1b[31m[NCC_ITRF901]\x1b[0m Tritium \x1b]52;c;QUJD\x07assertion \x1b[?1049h\x1b[6n\x9b2J\x00bell\x07\x1bPq#0\x1b\\ "
    "[red]not markup[/red] [/] :smile: \u202eevil\u202c 你好 안녕하세요\r\n\x1b[2K\x1b[1A[bold\n"
)


def run(*args: str, data: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "trnui", "--dataset", "sample", "diagnose", *args],
        input=data,
        capture_output=True,
        timeout=60,
        check=False,
    )


def test_a_log_from_stdin_as_json() -> None:
    done = run(
        "-", "--format", "json", data=b'Requested: x\nRuntimeError: nrt_load status=4 message="Allocation Failure"\n'
    )
    found = json.loads(done.stdout)
    assert (done.returncode, found["class"], found["severity"]) == (0, "hbm_oom", "fail")
    assert set(found) == {"class", "severity", "summary", "hint", "evidence", "facts"}
    assert found["facts"]["status"] == 4
    assert done.stderr == b""


def test_a_file_as_text(tmp_path: Path) -> None:
    log = tmp_path / "output.log"
    log.write_text("[rank1]: RuntimeError: [NCC_EVRF001] An unsupported operator was used: sort\n")
    words = run(str(log)).stdout.decode()
    assert words.startswith("unsupported_op (fail)\nThe compiler does not support operator sort (NCC_EVRF001)")
    assert "What to do: " in words
    assert "  [rank1]: RuntimeError: [NCC_EVRF001] An unsupported operator was used: sort" in words


def test_a_row_and_what_show_prints_of_one(tmp_path: Path) -> None:
    row = {"model_id": "example-org/M-1B", "result": "FAIL", "tp": 1, "error": "MemoryError"}
    (tmp_path / "row.json").write_text(json.dumps(row))
    assert b"host_oom (fail)" in run("--row", str(tmp_path / "row.json")).stdout
    assert b"host_oom (fail)" in run("--row", "-", data=json.dumps([row]).encode()).stdout


@pytest.mark.parametrize(
    ("args", "data", "words"),
    [
        ((), b"", "Give either FILE"),
        (("--row", "-", "-"), b"{}", "Give either FILE"),
        (("/nowhere/x.log",), b"", "/nowhere/x.log: No such file"),
        (("--row", "-"), b"{torn", "not JSON"),
        (("--row", "-"), b"[1, 2]", "not one row"),
    ],
)
def test_what_is_wrong_is_said_on_stderr(args: tuple[str, ...], data: bytes, words: str) -> None:
    done = run(*args, data=data)
    assert done.returncode == 2
    assert done.stdout == b""
    assert words in done.stderr.decode()


def test_an_endless_line_and_a_huge_file_are_read_in_pieces(tmp_path: Path) -> None:
    log = tmp_path / "big.log"
    log.write_bytes(b"x" * (5 << 20) + b"\n" + b"step 1 of many\n" * 100_000 + b"MemoryError\n")
    assert b"host_oom (fail)" in run(str(log)).stdout


@pytest.mark.terminal
def test_nothing_but_text_reaches_the_terminal(tmp_path: Path) -> None:
    (tmp_path / "row.json").write_text(json.dumps({"result": "FAIL", "error": NASTY}))
    (tmp_path / "nasty.log").write_bytes(NASTY.encode() + b"\xff\xfe\xc0\n")
    for args in (["--row", str(tmp_path / "row.json")], [str(tmp_path / "nasty.log")]):
        with Session([sys.executable, "-m", "trnui", "--dataset", "sample", "diagnose", *args]) as session:
            session.pump(30.0, quiet=15.0)
            sent = b"".join(data for _, data in session.chunks)
        text = sent.decode()
        assert "[NCC_ITRF901]" in text
        assert "[red]not markup[/red] [/] :smile:" in text
        assert "你好 안녕하세요" in text
        assert not any(c in text for c in "\x1b\x07\x00\x9b\u202e\u202c")


def test_the_row_of_show_is_understood(monkeypatch: pytest.MonkeyPatch) -> None:
    from trnui.cli.commands.diagnose import read_row

    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b'{"row": {"model_id": "a/b", "error": "Killed"}}')))
    assert read_row(Path("-")) == {"model_id": "a/b", "error": "Killed"}


@pytest.mark.parametrize("data", [b"", b"\n\n  \n"])
def test_an_empty_log_is_said_to_be_empty(data: bytes) -> None:
    words = run("-", data=data).stdout.decode()
    assert "The log is empty" in words
    assert "2>&1" in words
