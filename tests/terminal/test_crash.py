"""A fault in a screen ends the app with words and a clean terminal: its traceback goes to a file, never to the screen."""

from __future__ import annotations

import re
import sys

import pytest

from tests.terminal.session import Session

pytestmark = pytest.mark.terminal
BROKEN = """
from trnui.tui.app import Explorer
def broken(self, *_):
    raise {error}
Explorer.action_view = broken
from trnui.cli.global_options import GlobalOptions
from trnui.cli.open_app import open_app
open_app(GlobalOptions(dataset="sample", offline=True))
"""


@pytest.mark.parametrize(
    ("error", "words"),
    [
        ("KeyError('the \\x1b[31mkey')", r"trnui: internal error, KeyError: 'the .*key'"),
        ('RuntimeError("can\'t start new thread")', r"trnui: No process could be started"),
        ("OSError(28, 'No space left on device', '/full')", r"trnui: Cannot write /full: No space left on device"),
    ],
)
def test_an_error_in_a_screen_is_told_in_words(error: str, words: str) -> None:
    with Session([sys.executable, "-c", BROKEN.format(error=error)], size=(100, 30)) as session:
        session.until("trnui-sample/recites")
        session.send("2")
        session.until(words)
        session.pump(2.0, quiet=0.5)
        assert "Traceback" not in session.text
        assert not re.search(rb"\x1b\[31mkey", session.sent)
        assert session.sent.rindex(b"\x1b[?1049l") > session.sent.rindex(b"\x1b[?1049h")  # the screen is given back
