"""The mutation tool: one change a mutant, nothing that only tells, and a tally that counts lines no test executes."""

from __future__ import annotations

import ast
import importlib.util
import sys
from types import ModuleType

import pytest

from tests.conftest import ROOT

SOURCE = '''"""Docstring."""
import os

def f(a: "int | None", b=1) -> "str":
    """Says what."""
    if a and b < 2:
        return "x"
    raise ValueError(a)
'''


@pytest.fixture(scope="module")
def mutate() -> ModuleType:
    spec = importlib.util.spec_from_file_location("mutate", ROOT / "tools" / "mutate.py")
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules["mutate"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_each_mutant_is_valid_and_differs_from_the_source(mutate: ModuleType) -> None:
    plain = ast.unparse(ast.parse(SOURCE))
    found = list(mutate.mutants(SOURCE))
    assert {m.kind for m in found} == {
        "comparison", "operator", "operand dropped", "constant", "text", "return None", "condition true",
        "condition false", "statement dropped",
    }  # fmt: skip
    for mutant in found:
        ast.parse(mutant.source)
        assert mutant.source != plain
        assert sum(a != b for a, b in zip(plain.splitlines(), mutant.source.splitlines(), strict=True)) == 1


def test_what_only_tells_is_left_alone(mutate: ModuleType) -> None:
    for mutant in mutate.mutants(SOURCE):
        assert '"""Says what."""' in mutant.source
        assert "import os" in mutant.source
        assert "'int | None'" in mutant.source


def test_modules_and_their_tests_exist(mutate: ModuleType) -> None:
    for module, tests in mutate.MODULES.items():
        assert [name for name in (module, *tests) if not (ROOT / name).exists()] == []


def test_uncovered_lines_count_against_a_module(mutate: ModuleType) -> None:
    assert mutate.Tally("m", 8, ("a",), ("b",)).percent == 80
