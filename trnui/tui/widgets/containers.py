"""Containers that do not lay the screen out twice. Textual does so at each start, since `virtual_size`, which it sets in the first
layout, is a layout reactive: needed for scrollbars, which nothing of ours has. It costs a second full paint (14 kB)."""

from __future__ import annotations

from textual.containers import Horizontal, Vertical
from textual.geometry import Size
from textual.reactive import Reactive


class RowContainer(Horizontal):
    virtual_size: Reactive[Size] = Reactive(Size(0, 0), layout=False, repaint=False)


class ColumnContainer(Vertical):
    virtual_size: Reactive[Size] = Reactive(Size(0, 0), layout=False, repaint=False)
