"""The few colours of the app, by meaning. Every own widget draws with them, so a theme is changed in one place."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from rich.color import Color as RichColor
from rich.style import Style
from textual.color import Color
from textual.geometry import Size
from textual.reactive import Reactive
from textual.widget import Widget

from trnui_runner.common.dataset_schema import Device, Kind, Status

# style → (the theme's variable for the text, for the background, bold). A style without a background has the widget's.
STYLES = {
    "plain": ("foreground", "", False), "muted": ("text-muted", "", False), "strong": ("foreground", "", True),
    "accent": ("text-accent", "", False), "good": ("text-success", "", True), "weak": ("text-success", "", False),
    "warn": ("text-warning", "", False), "bad": ("text-error", "", False),
    "cursor": ("block-cursor-foreground", "block-cursor-background", False), "hit": ("background", "warning", False),
}  # fmt: skip
_NEEDED = tuple(dict.fromkeys(v for pair in STYLES.values() for v in (*pair[:2], "background", "foreground") if v))


@lru_cache(maxsize=64)
def palette(values: tuple[str, ...], behind: RichColor | None) -> Mapping[str, Style]:
    """The styles' styles on a background, from the theme's variables. Component classes would do the same at 12 ms a start."""
    theme = dict(zip(_NEEDED, values, strict=True))
    found = {}
    for style, (text, ground, bold) in STYLES.items():
        under = _colour(theme[ground or "background"])
        if style == "cursor" and _colour(theme["background"]).ansi is not None:
            found[style] = Style(reverse=True, bold=True)  # whatever colours the terminal has, the cursor stands out
            continue
        colour, dim = _text(theme[text], under, theme["foreground"])
        found[style] = Style(
            color=colour.rich_color, bgcolor=under.rich_color if ground else behind, bold=bold or None, dim=dim or None
        )
    return found


def _colour(value: str) -> Color:
    return Color.parse(value.partition(" ")[0])


def _text(value: str, under: Color, foreground: str) -> tuple[Color, bool]:
    """(colour, dim). `auto 60%` is the text's colour at that strength; on the terminal's own colours strength is dimness."""
    name, _, strength = value.partition(" ")
    share = float(strength.rstrip("%")) / 100 if strength else 1.0
    if name != "auto":
        colour = _colour(name)
        return (colour, share < 1) if colour.ansi is not None else (under.blend(colour, share), False)
    full = _colour(foreground) if share < 0.8 else under.get_contrast_text(1.0)
    return under.blend(full, share), False


class Styled(Widget):
    """A widget that draws in `STYLES` and keeps their styles until the theme changes. It scrolls by itself, so a new virtual
    size is no reason for a layout (containers.py)."""

    virtual_size: Reactive[Size] = Reactive(Size(0, 0), layout=False, repaint=False)

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._drawn_styles: Mapping[str, Style] = {}

    def style(self, name: str) -> Style:
        if not self._drawn_styles:
            self._drawn_styles = self._palette()
        return self._drawn_styles[name]

    def _palette(self) -> Mapping[str, Style]:
        variables = self.app.theme_variables
        return palette(tuple(variables.get(n, "") for n in _NEEDED), self.rich_style.bgcolor)

    def notify_style_update(self) -> None:
        super().notify_style_update()
        if self._drawn_styles:
            old, self._drawn_styles = self._drawn_styles, self._palette()
            if self._drawn_styles != old:
                self.recoloured()

    def take_colours(self) -> None:
        """The colours of the theme of now, whatever was drawn before."""
        self._drawn_styles = {}
        self.recoloured()
        self.refresh()

    def recoloured(self) -> None:
        """A new theme: what was drawn is of no use."""


def style_of(status: str | None, kind: str | None = None, device: str | None = None) -> str:
    """A result's style: a PASS by tokens is strong, one by English alone weak, and neither is green off a Trainium."""
    if status == Status.PASS:
        if device not in (None, "", Device.NEURON):
            return "accent"
        return "good" if kind == Kind.CPU_MATCH else "weak"
    return {Status.FAIL.value: "bad", Status.OTHER.value: "warn"}.get(str(status), "muted")
