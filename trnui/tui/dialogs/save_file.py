"""Files that a user asks for: a file that is there is replaced only after a yes, and a path that cannot be written is asked for again."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from trnui.tui.dialogs.question import ask
from trnui.tui.widgets.text_prompt import TextPrompt
from trnui_runner.common.errors import UserError
from trnui_runner.common.text import one_line

if TYPE_CHECKING:
    from trnui.tui.context import AppContext

Write = Callable[[Path], str]  # in a thread: writes the file and says what was written. Raises OSError, UserError


def ask_path(
    context: AppContext, title: str, suggested: str, write: Write, hint: str = "Enter writes it  Esc back"
) -> None:
    """Asks where to; what was typed comes back with the reason when it cannot be written."""

    def typed(path: str | None) -> None:
        if path is not None:
            save(context, Path(path).expanduser(), write, lambda why: ask_path(context, title, path, write, why))

    context.push_screen(TextPrompt(title, suggested, hint), typed)


def save(context: AppContext, path: Path, write: Write, failed: Callable[[str], None] | None = None) -> None:
    """Writes `path`, after a yes if there is a file. `failed` gets why it could not be written; without it that is said."""

    def work() -> Callable[[], None]:
        try:
            words = write(path)
        except OSError as error:
            why = f"{path}: {error.strerror}"
        except UserError as error:
            why = one_line(error)
        else:
            return lambda: context.say(words)
        return lambda: failed(why) if failed is not None else context.say(why, "bad")

    def go() -> None:
        context.in_thread(work, "save")

    if not os.path.lexists(path):
        go()
    elif path.is_dir():
        why = f"{path} is a folder; name a file in it"
        if failed is not None:
            failed(why)
        else:
            context.say(why, "bad")
    else:
        ask(context, f"{path.name} exists in {path.parent}. Replace it?", "replace it", "keep it", go)
