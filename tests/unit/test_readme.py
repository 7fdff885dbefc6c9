"""The README says what is true: its generated parts are current, its pictures are there, its commands exist."""

from __future__ import annotations

import re
import sys

import pytest

from tests.conftest import ROOT
from trnui.cli.main import COMMANDS

sys.path.insert(0, str(ROOT / "tools"))
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")


def test_generated_parts_are_current() -> None:
    import readme

    assert readme.filled(TEXT) == TEXT, "run: python tools/readme.py"


@pytest.mark.parametrize("path", sorted(set(re.findall(r"\]\((?!https?:)([^)#]+)\)", TEXT))))
def test_linked_files_are_there(path: str) -> None:
    assert (ROOT / path).is_file()


def test_commands_named_exist() -> None:
    named = set(re.findall(r"`?trnui ([a-z]+)", TEXT)) - {"reads", "is", "lives", "was", "works", "own", "and"}
    assert named - set(COMMANDS) == set()


def test_ci_finds_the_test_command() -> None:
    assert re.search(r"^python3 -m venv .*pytest", TEXT, re.M)
