"""Text to the clipboard, with words for what was really done with it."""

from __future__ import annotations

from collections.abc import Callable

from trnui.tui import terminal


def send(text: str, what: str, where: terminal.Clipboard, write: Callable[[str], object] | None) -> tuple[str, str]:
    """(words, style). `write` sends to the terminal; None where there is none."""
    size = f"{len(text.encode('utf-8', 'replace')):,} bytes"
    if where == "off":
        return f"clipboard is off in the settings: {what} was not sent", "warn"
    if where == "tmux":
        why = terminal.tmux_buffer(text)
        if why is not None:
            return f"tmux did not accept it: {why}", "bad"
        return f"{what} copied to the tmux buffer ({size}); prefix ] pastes it", "accent"
    sequence = terminal.osc52(text)
    if sequence is None or write is None:
        return f"{what} ({size}) is more than terminals accept; write it to a file", "warn"
    write(sequence)
    return f"{what} sent to the terminal's clipboard ({size}); not every terminal accepts it", "accent"
