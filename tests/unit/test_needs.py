"""The line that installs what the bundled scripts need: of packages that an index has, as pyproject.toml names them."""

from __future__ import annotations

import importlib.metadata
import shlex
import tomllib
from pathlib import Path

import pytest

from runner import needs


def test_requirements_are_those_of_the_run_extra() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert list(needs.USUAL) == project["optional-dependencies"]["run"]
    assert needs.requirements() == needs.USUAL


def test_line_survives_a_missing_metadata_and_a_shell(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> list[str]:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "requires", absent)
    line = needs.install_line("/a b/python")
    assert shlex.split(line) == ["/a b/python", "-m", "pip", "install", *needs.USUAL]
    assert "'torch>=2.13'" in line  # unquoted, > writes a file
    assert "trnui" not in line
