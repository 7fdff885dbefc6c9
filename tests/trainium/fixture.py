"""The pytest fixture `standin_host`: builds a host for one test and puts it around the test's own process and its children."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from .host import Host, build
from .shape import Shape


@pytest.fixture
def standin_host(tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Host]:
    """`standin_host(devices=1, busy={0: Busy(pid)}, …)`; the fields are those of `trainium.shape.Shape`."""

    def make(**fields: Any) -> Host:
        host = build(tmp_path / "trn2", Shape(**fields))
        for name, value in host.environ.items():
            monkeypatch.setenv(name, value)
        return host

    return make
