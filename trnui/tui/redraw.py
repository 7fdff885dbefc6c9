"""Draws everything anew: after `fg`, after another program has written over the screen, after another theme."""

from __future__ import annotations

from typing import Any

from textual.app import App

from trnui.tui.widgets.palette import Styled


def redraw(app: App[Any]) -> None:
    """Sends the whole screen, with those that shine through a dialog, whether anything has changed or not.

    Textual sends what changed since the last frame; a terminal that was cleared meanwhile (`fg`) stays blank.
    """
    screen = app.screen
    app._display(screen, screen._compositor.render_update(full=True, screen_stack=app._background_screens))


def recolour(app: App[Any]) -> None:
    """Every widget takes the colours of the theme of now, those of screens below the one on top too."""
    for screen in app.screen_stack:
        for widget in screen.walk_children(Styled):
            widget.take_colours()
        screen.refresh()
    redraw(app)
