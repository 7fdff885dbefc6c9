"""`trnui` without a command: the app, or the plain list where there is no terminal for it."""

from __future__ import annotations

from trnui.commands.common import Options


def open_app(options: Options) -> None:
    raise NotImplementedError
