"""What this terminal can do: whether there is one, its size, colours, mouse, character set and clipboard. Decided from the
environment by pure functions; the few that act say what they did. No Textual in here."""

from __future__ import annotations

import base64
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

SMALLEST: Final = (60, 16)  # columns, lines: below it a notice instead of half a screen
OSC52_MOST: Final = 74_994  # encoded bytes that terminals take (xterm's limit)

Clipboard = Literal["tmux", "osc52", "off"]


@dataclass(frozen=True)
class Terminal:
    """`why_plain` is why the app cannot be drawn here; None when it can."""

    why_plain: str | None
    mouse: bool
    ascii: bool
    clipboard: Clipboard


def look(
    environ: Mapping[str, str],
    *,
    stdin_tty: bool,
    stdout_tty: bool,
    stderr_tty: bool,
    encoding: str,
    mouse: str = "auto",
    ascii_: str = "auto",
    clipboard: str = "auto",
) -> Terminal:
    """The settings' `auto` resolved. Textual draws to stderr and would draw into a pipe or a dumb terminal without asking."""
    term = environ.get("TERM", "")
    why = None
    if not stdin_tty or not stderr_tty or not stdout_tty:
        missing = [n for n, tty in (("stdin", stdin_tty), ("stdout", stdout_tty), ("stderr", stderr_tty)) if not tty]
        why = f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} no terminal"
    elif term in ("", "dumb", "unknown"):
        why = f"TERM is {term or 'not set'}, which cannot place a cursor"
    remote = bool(environ.get("SSH_CONNECTION") or environ.get("SSH_TTY"))
    plain_text = encoding.lower().replace("-", "").replace("_", "") not in ("utf8", "utf8sig") or term == "linux"
    where: Clipboard = "tmux" if environ.get("TMUX") else "osc52"
    if clipboard in ("osc52", "tmux", "off"):
        where = clipboard  # type: ignore[assignment]  # one of the three words, by the line above
    return Terminal(
        why,
        mouse == "on" or (mouse == "auto" and not remote),
        ascii_ == "on" or (ascii_ == "auto" and plain_text),
        where,
    )


def here(*, mouse: str = "auto", ascii_: str = "auto", clipboard: str = "auto") -> Terminal:
    """This process's terminal. The encoding is stderr's, where Textual draws."""
    return look(
        os.environ,
        stdin_tty=sys.stdin is not None and sys.stdin.isatty(),
        stdout_tty=sys.stdout is not None and sys.stdout.isatty(),
        stderr_tty=sys.stderr is not None and sys.stderr.isatty(),
        encoding=(sys.stderr.encoding if sys.stderr is not None else None) or "utf-8",
        mouse=mouse,
        ascii_=ascii_,
        clipboard=clipboard,
    )


def osc52(text: str) -> str | None:
    """The sequence that hands `text` to the terminal's clipboard; None when it is longer than terminals take."""
    encoded = base64.b64encode(text.encode("utf-8", "replace")).decode("ascii")
    return None if len(encoded) > OSC52_MOST else f"\x1b]52;c;{encoded}\x07"


def tmux_buffer(text: str) -> str | None:
    """Hands `text` to tmux, which passes it on to the outer terminal (`-w`); None when that went well, else why not.

    tmux drops OSC 52 of its programs in its default setting, so this is the only way that works there.
    """
    tmux = shutil.which("tmux")
    if tmux is None:
        return "no tmux command here"
    try:
        done = subprocess.run(
            [tmux, "load-buffer", "-w", "-"], input=text.encode("utf-8", "replace"), capture_output=True, timeout=3
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    return None if done.returncode == 0 else done.stderr.decode("utf-8", "replace").strip() or f"exit {done.returncode}"


_SIMPLE: Final = {
    "–": "-", "—": "-", "…": "~", "·": "-", "•": "*", "▲": "^", "▼": "v", "→": ">", "←": "<", "↑": "^", "↓": "v", "▶": ">", "▸": ">",
    "‹": "<", "›": ">", "≤": "<", "≥": ">", "≠": "!", "≈": "~", "×": "x", "✓": "+", "✗": "x", "●": "*", "○": "o", "█": "#", "░": ".", "▒": ":",
    "▓": "#", "“": '"', "”": '"', "‘": "'", "’": "'", "─": "-", "━": "-", "│": "|", "┃": "|", "▏": "|", "▎": "|", "▕": "|", "▌": "|", "▐": "|",
    "▔": "-", "▁": "_", "▂": "_", "▃": ".", "▄": ".", "▅": ":", "▆": ":", "▇": "#", "▀": "#", "═": "=", "║": "|",
}  # fmt: skip


class _Ascii(dict[int, str]):
    """Every character's ASCII stand-in of the same width, found once each."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        if code < 128:
            found = char
        elif char in _SIMPLE:
            found = _SIMPLE[char]
        elif 0x2500 <= code <= 0x257F:
            found = "+"
        elif 0x2580 <= code <= 0x259F:
            found = "#"
        else:
            from rich.cells import cell_len

            found = "?" * cell_len(char)
        self[code] = found
        return found


_TABLE: Final = _Ascii()


def to_ascii(text: str) -> str:
    """`text` in ASCII, every cell kept in place; control sequences pass unharmed (they are ASCII)."""
    return text.translate(_TABLE)
