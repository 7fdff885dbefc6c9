"""`trnui` without a command: the app, or the plain list where there is no terminal for it."""

from __future__ import annotations

import gc
import os
import sys

from trnui.cli.global_options import GlobalOptions, note


def open_app(options: GlobalOptions) -> None:
    """Ends the process itself: the terminal is restored by then, and taking the interpreter apart would cost 60 ms more."""
    gc.disable()  # imports make no garbage worth collecting; the app turns it on again after the first rows
    os.environ.setdefault("TEXTUAL_FPS", "120")  # read on import: a result waits 8 ms for the next frame, not 17
    if options.no_color:
        os.environ["NO_COLOR"] = "1"
    from trnui.tui import terminal

    settings = options.settings
    term = terminal.here(mouse=settings.mouse, ascii_=settings.ascii, clipboard=settings.clipboard)
    if term.why_plain:
        gc.enable()
        plain_list(options, term.why_plain)
        return
    from trnui.tui.app import Explorer

    app = Explorer(settings, offline=options.offline, term=term)
    app.run(mouse=term.mouse)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(app.return_code or 0)


def plain_list(options: GlobalOptions, why: str) -> None:
    """What `trnui list` prints, and on stderr why the app was not drawn."""
    import click

    from trnui.cli.commands.list_ import command

    note(f"trnui: {why}: here is the plain list; trnui --help names the other commands")
    context = click.Context(command, obj=options, parent=click.get_current_context(silent=True))
    with context:
        context.invoke(command)
