"""Faults of ours: the whole traceback goes into a file, a user is told one line. For the command line, the app and the store's threads."""

from __future__ import annotations


def kept(error: BaseException) -> str:
    """Appends the traceback to `<state>/errors.log` and says where; or why it could not."""
    import os
    import traceback

    from trnui_runner.common.files import open_private, private_dir, state_dir

    try:
        path = private_dir(state_dir()) / "errors.log"
        fd = open_private(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        with os.fdopen(fd, "a", encoding="utf-8", errors="replace") as file:
            file.write("".join(traceback.format_exception(error)) + "\n")
    except OSError as trouble:
        return f"It could not be written down: {trouble}"
    return f"The whole of it is in {path}; please report it."
