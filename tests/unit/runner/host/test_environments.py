"""The line that installs what the bundled scripts need: of packages that an index has, as pyproject.toml names them."""

from __future__ import annotations

import importlib.metadata
import shlex
import tomllib

import pytest

from tests.conftest import ROOT
from trnui_runner.host import environments


def test_requirements_are_those_of_the_run_extra() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert list(environments.USUAL) == project["optional-dependencies"]["run"]
    assert environments.requirements() == environments.USUAL


def test_line_survives_a_missing_metadata_and_a_shell(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> list[str]:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "requires", absent)
    line = environments.install_line("/a b/python")
    assert shlex.split(line) == ["/a b/python", "-m", "pip", "install", *environments.USUAL]
    assert "'torch>=2.13'" in line  # unquoted, > writes a file
    assert "trnui" not in line
