"""The app under a real pty: what it sends, how it ends, and what odd terminals get."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

import pytest

from tests.terminal.session import QUIET, Session, run
from tests.visit import make_dataset

pytestmark = pytest.mark.terminal
TRNUI = [sys.executable, "-m", "trnui"]


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_dataset(
        tmp_path_factory.mktemp("rows"),
        "--models",
        "60",
        "--compilers",
        "2",
        "--libraries",
        "2",
        "--script-bytes",
        "600",
    )


def started(
    dataset: Path, *options: str, size: tuple[int, int] = (120, 32), env: dict[str, str] | None = None
) -> Session:
    return Session([*TRNUI, "--dataset", str(dataset), "--offline", *options], size, env)


def settle(s: Session) -> None:
    s.until(r"60 rows . \d+ excluded *\n", 30)
    s.pump(5, quiet=QUIET)


def test_leaving_restores_the_terminal(dataset: Path) -> None:
    with started(dataset) as s:
        settle(s)
        assert s.modes()["alternate screen"]
        assert not s.modes()["mouse"] or "SSH_CONNECTION" not in os.environ
        s.send("q")
        assert s.wait() == 0
        assert not any(s.modes().values())
        assert s.cooked()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_signals_restore_the_terminal(dataset: Path, number: signal.Signals) -> None:
    with started(dataset) as s:
        settle(s)
        s.signal(number)
        assert s.wait() == 128 + number
        assert not any(s.modes().values())
        assert s.cooked()


def test_ctrl_c_leaves(dataset: Path) -> None:
    with started(dataset) as s:
        settle(s)
        s.send("\x03")
        assert s.wait() == 130
        assert s.cooked()


def test_an_exception_restores_the_terminal_and_says_what_happened(dataset: Path, tmp_path: Path) -> None:
    script = tmp_path / "broken.py"
    script.write_text(
        "from trnui.tui.explore import explore_screen\n"
        "explore_screen.ExploreScreen.action_reverse = lambda self: 1 / 0\n"
        "explore_screen.ExploreScreen.why_not = lambda self, id: None\n"
        "from trnui.__main__ import main\nmain()\n"
    )
    with Session(
        [sys.executable, str(script), "--dataset", str(dataset), "--offline"], (120, 32), {"PYTHONPATH": os.getcwd()}
    ) as s:
        settle(s)
        s.send("O")
        assert s.wait(10) == 1
        assert not any(s.modes().values())
        assert s.cooked()
        assert b"ZeroDivisionError" in s.sent


def test_suspend_and_fg(dataset: Path) -> None:
    with started(dataset) as s:
        settle(s)
        s.send("\x1a")
        deadline = time.monotonic() + 5
        while not _stopped(s.pid) and time.monotonic() < deadline:
            s.pump(0.05)
        assert _stopped(s.pid)
        assert not s.modes()["alternate screen"]
        assert s.cooked()
        s.signal(signal.SIGCONT)
        s.pump(2, quiet=QUIET)
        assert s.modes()["alternate screen"]
        s.press("j")
        s.send("q")
        assert s.wait() == 0


def _stopped(pid: int) -> bool:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in ("T", "t")


def test_legacy_mouse_bytes_do_no_harm(dataset: Path) -> None:
    with started(dataset) as s:
        settle(s)
        s.send(b"\x1b[M \xf0\xff\x1b[M#\x80\x81\xff\xfe")
        s.pump(1, quiet=0.3)
        s.press("j")
        s.until("example-org")
        s.send("q")
        assert s.wait() == 0


def test_bytes_an_action_stay_within_the_budget(dataset: Path) -> None:
    with started(dataset, size=(160, 45)) as s:
        settle(s)
        assert len(s.sent) < 55_000
        moves = [len(s.press("j")) for _ in range(8)]
        assert sorted(moves)[4] <= 400
        s.pump(1, quiet=QUIET)
        pages = [len(s.press("\x1b[6~")), len(s.press("\x1b[5~"))]
        s.pump(1, quiet=QUIET)
        assert max(pages) <= 9_000
        assert len(s.press("/")) <= 600
        s.press("\x1b", gap=0.3)
        s.pump(1, quiet=QUIET)
        assert len(s.pump(1.5)) == 0


def test_mouse_is_off_over_ssh_and_on_by_flag(dataset: Path) -> None:
    over_ssh = {"SSH_CONNECTION": "10.0.0.1 5 10.0.0.2 22"}
    with started(dataset, env=over_ssh) as s:
        settle(s)
        assert not s.modes()["mouse"]
    with started(dataset, "--mouse", env=over_ssh) as s:
        settle(s)
        assert s.modes()["mouse"]


def test_copying_sends_osc_52(dataset: Path) -> None:
    with started(dataset) as s:
        settle(s)
        assert b"\x1b]52;c;" in s.press("Y")
        s.until("sent to the terminal's clipboard")


def test_ascii_draws_ascii_only(dataset: Path) -> None:
    with started(dataset, "--ascii") as s:
        settle(s)
        s.press("j")
        s.press("c", gap=0.3)
        assert s.sent.isascii()
        s.until("default stack")


@pytest.mark.parametrize(
    "env", [{"NO_COLOR": "1"}, {"TERM": "screen-256color"}, {"TERM": "ansi"}, {"TRNUI_THEME": "ansi-dark"}]
)
def test_few_colours_are_enough(dataset: Path, env: dict[str, str]) -> None:
    with started(dataset, env=env) as s:
        settle(s)
        s.until("PASS|FAIL")
        s.send("q")
        assert s.wait() == 0


def test_a_dumb_terminal_gets_the_plain_list(dataset: Path) -> None:
    with started(dataset, env={"TERM": "dumb"}) as s:
        assert s.wait(20) == 0
        assert b"TERM is dumb" in s.sent
        assert b"example-org-00/" in s.sent
        assert b"\x1b[" not in s.sent


def test_a_pipe_gets_the_plain_list() -> None:
    done = run([*TRNUI, "--dataset", "sample", "--offline"])
    assert "is no terminal" in done.stderr or "are no terminal" in done.stderr
    assert "\x1b" not in done.stdout


def test_a_dropped_line_ends_the_app(dataset: Path) -> None:
    with started(dataset) as s:
        settle(s)
        os.close(s.fd)
        deadline = time.monotonic() + 5
        while time.monotonic() < deadline:
            pid, _ = os.waitpid(s.pid, os.WNOHANG)
            if pid:
                s.code = 0
                return
            time.sleep(0.02)
        raise AssertionError("still alive without a terminal")
