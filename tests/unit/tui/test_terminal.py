"""What is decided about a terminal from its environment alone, and what becomes of text on its way there."""

from __future__ import annotations

import base64

import pytest

from trnui.tui.terminal import OSC52_MOST, look, osc52, to_ascii

TTY = {"stdin_tty": True, "stdout_tty": True, "stderr_tty": True, "encoding": "utf-8"}
XTERM = {"TERM": "xterm-256color"}


def test_a_good_terminal_gets_the_app() -> None:
    found = look(XTERM, **TTY)
    assert (found.why_plain, found.mouse, found.ascii, found.clipboard) == (None, True, False, "osc52")


@pytest.mark.parametrize("term", ["", "dumb", "unknown"])
def test_a_terminal_without_cursor_gets_the_list(term: str) -> None:
    assert "TERM is" in str(look({"TERM": term}, **TTY).why_plain)


@pytest.mark.parametrize("stream", ["stdin_tty", "stdout_tty", "stderr_tty"])
def test_a_redirected_stream_gets_the_list(stream: str) -> None:
    assert stream.partition("_")[0] in str(look(XTERM, **{**TTY, stream: False}).why_plain)


def test_over_ssh_the_mouse_is_off_unless_asked_for() -> None:
    ssh = {**XTERM, "SSH_CONNECTION": "a b c d"}
    assert not look(ssh, **TTY).mouse
    assert look(ssh, **TTY, mouse="on").mouse
    assert not look(XTERM, **TTY, mouse="off").mouse


def test_ascii_where_the_encoding_is_not_utf_8() -> None:
    assert look(XTERM, **{**TTY, "encoding": "ANSI_X3.4-1968"}).ascii
    assert look({"TERM": "linux"}, **TTY).ascii
    assert not look(XTERM, **{**TTY, "encoding": "latin-1"}, ascii_="off").ascii


def test_in_tmux_its_buffer_is_the_clipboard() -> None:
    assert look({**XTERM, "TMUX": "/tmp/x"}, **TTY).clipboard == "tmux"
    assert look({**XTERM, "TMUX": "/tmp/x"}, **TTY, clipboard="off").clipboard == "off"


def test_osc_52_carries_the_text_and_refuses_too_much() -> None:
    sequence = osc52("héllo\n")
    assert sequence is not None
    assert base64.b64decode(sequence[len("\x1b]52;c;") : -1]).decode() == "héllo\n"
    assert osc52("x" * OSC52_MOST) is None


def test_ascii_keeps_every_cell_in_place() -> None:
    from rich.cells import cell_len

    text = "│ – … ▲ 漢字 é █░ \x1b[1m"
    assert to_ascii(text).isascii()
    assert len(to_ascii(text)) == cell_len(text) + len("\x1b")  # rich counts the escape as nothing
