"""The few colours of the house, by meaning. Every own widget draws with them, so a theme is changed in one place."""

from __future__ import annotations

from typing import ClassVar

from rich.style import Style
from textual.widget import Widget

from trnui.catalog.schema import Device, Kind, Status

TONES = ("plain", "muted", "strong", "accent", "good", "weak", "warn", "bad", "cursor", "hit")


class Toned(Widget):
    """A widget that draws in `TONES` and keeps their styles until the theme changes."""

    DEFAULT_CSS = """
    Toned > .tone--plain { color: $foreground; }
    Toned > .tone--muted { color: $text-muted; }
    Toned > .tone--strong { color: $foreground; text-style: bold; }
    Toned > .tone--accent { color: $text-accent; }
    Toned > .tone--good { color: $text-success; text-style: bold; }
    Toned > .tone--weak { color: $text-success; }
    Toned > .tone--warn { color: $text-warning; }
    Toned > .tone--bad { color: $text-error; }
    Toned > .tone--cursor { background: $block-cursor-background; color: $block-cursor-foreground; }
    Toned > .tone--hit { background: $warning; color: $background; }
    """
    COMPONENT_CLASSES: ClassVar[set[str]] = {f"tone--{name}" for name in TONES}

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._tones: dict[str, Style] = {}

    def tone(self, name: str) -> Style:
        style = self._tones.get(name)
        if style is None:
            style = self._tones[name] = self.get_component_rich_style(f"tone--{name}")
        return style

    def notify_style_update(self) -> None:
        super().notify_style_update()
        old, self._tones = self._tones, {}
        if any(self.tone(name) != style for name, style in old.items()):
            self.recoloured()

    def recoloured(self) -> None:
        """A new theme: what was drawn is of no use."""


def tone_of(status: str | None, kind: str | None = None, device: str | None = None) -> str:
    """A result's tone: a PASS by tokens is strong, one by English alone weak, and neither is green off a Trainium."""
    if status == Status.PASS:
        if device not in (None, "", Device.NEURON):
            return "accent"
        return "good" if kind == Kind.CPU_MATCH else "weak"
    return {Status.FAIL.value: "bad", Status.OTHER.value: "warn"}.get(str(status), "muted")
