"""What a screen with a log view does for it: hands its text to the clipboard, writes its file where the user stands."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from trnui.tui.log.search import Search
from trnui.tui.log.view import LogView
from trnui_runner.common.errors import UserError


class LogOwner:
    """Mixed into a AppScreen; `log_name` is what a saved log is called."""

    context: Any

    def log_name(self, path: Path) -> str:
        return path.name

    def on_log_view_copied(self, message: LogView.Copied) -> None:
        message.stop()
        self.context.copy(message.text, message.words)

    def on_log_view_save_asked(self, message: LogView.SaveAsked) -> None:
        message.stop()
        target, only, context = free_name(Path.cwd() / self.log_name(message.path)), message.only, self.context
        source = message.path

        def work() -> Callable[[], None]:
            count = save(source, target, only)
            words = f"written: {target}" + (f" ({count:,} matching lines)" if count is not None else "")
            return lambda: context.say(words)

        context.in_thread(work, "save-log")


def free_name(path: Path) -> Path:
    """`path`, or the first `name-2.ext`, `name-3.ext`, … that is not taken."""
    number = 2
    found = path
    while found.exists():
        found = path.with_name(f"{path.stem}-{number}{path.suffix}")
        number += 1
    return found


def save(source: Path, target: Path, only: Search | None) -> int | None:
    """Copies the file, byte for byte, or its matching lines alone (their number is returned). Raises UserError."""
    try:
        if only is None:
            shutil.copyfile(source, target)
            return None
        count = 0
        with open(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644), "wb") as file:
            start = only.after(-1)
            while start is not None:
                line = only.index.line(start, only.index.file.size())
                at = line.start
                while at < line.end:
                    data = only.index.file.read(at, min(1 << 20, line.end - at))
                    if not data:
                        break
                    file.write(data)
                    at += len(data)
                file.write(b"\n")
                count += 1
                start = only.after(start)
        return count
    except OSError as error:
        raise UserError(
            f"{target}: {error.strerror}", "Choose another folder: start trnui in one you may write to"
        ) from error
