"""The two themes of the app, dark and light: grey on the terminal's edge colours, one accent, results in their own colours."""

from __future__ import annotations

from textual.theme import Theme

DARK = Theme(
    name="trnui-dark",
    primary="#5fafd7",
    secondary="#5fafd7",
    accent="#5fafd7",
    success="#87af5f",
    warning="#d7af5f",
    error="#d7755f",
    foreground="#d0d0d0",
    background="#121212",
    surface="#1c1c1c",
    panel="#262626",
    dark=True,
    variables={
        "text-muted": "#8a8a8a",
        "text-success": "#87af5f",
        "text-error": "#d7875f",
        "text-warning": "#d7af5f",
        "text-accent": "#5fafd7",
        "block-cursor-background": "#264f68",
        "block-cursor-foreground": "#ffffff",
        "block-cursor-text-style": "none",
    },
)
LIGHT = Theme(
    name="trnui-light",
    primary="#005f87",
    secondary="#005f87",
    accent="#005f87",
    success="#005f00",
    warning="#875f00",
    error="#af0000",
    foreground="#1c1c1c",
    background="#ffffff",
    surface="#eeeeee",
    panel="#e4e4e4",
    dark=False,
    variables={
        "text-muted": "#626262",
        "text-success": "#005f00",
        "text-error": "#af0000",
        "text-warning": "#875f00",
        "text-accent": "#005f87",
        "block-cursor-background": "#afd7ff",
        "block-cursor-foreground": "#000000",
        "block-cursor-text-style": "none",
    },
)
THEMES = (DARK, LIGHT)
CYCLE = ("trnui-dark", "trnui-light", "ansi-dark", "ansi-light")
