"""The README's pictures are what the app draws today."""

from __future__ import annotations

import sys

import pytest

from tests.conftest import ROOT

sys.path.insert(0, str(ROOT / "tools"))
import screenshots


@pytest.mark.parametrize("name", screenshots.pictures())
def test_picture_is_current(name: str) -> None:
    kept = (screenshots.OUT / f"{name}.svg").read_text(encoding="utf-8")
    assert screenshots.drawn(name) == kept, f"run: python tools/screenshots.py {name}, and look at it"
