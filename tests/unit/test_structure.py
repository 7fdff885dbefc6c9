"""The structure that readers rely on: small folders, one class a name, no file that imports itself through others."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MOST = 15  # modules in a folder
MANY = {"trnui/cli/commands"}  # one module a command, found by its name


def modules() -> dict[str, Path]:
    """Every module of ours by its import name."""
    found = {}
    for base in (ROOT / "trnui", ROOT / "runner" / "trnui_runner"):
        for path in sorted(base.rglob("*.py")):
            parts = path.relative_to(base.parent).with_suffix("").parts
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports(path: Path, known: dict[str, Path]) -> Iterator[str]:
    """What a module imports of ours, wherever in it: inside functions and under TYPE_CHECKING too."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (a.name for a in node.names if a.name in known)
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                name = f"{node.module}.{alias.name}"
                if name in known:
                    yield name
                elif node.module in known:
                    yield node.module


def circles(graph: dict[str, set[str]]) -> list[set[str]]:
    """Groups of modules that reach each other (strongly connected, more than one): Tarjan's algorithm."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[set[str]] = []

    def visit(name: str) -> None:
        index[name] = low[name] = len(index)
        stack.append(name)
        for other in graph[name]:
            if other not in index:
                visit(other)
                low[name] = min(low[name], low[other])
            elif other in stack:
                low[name] = min(low[name], index[other])
        if low[name] == index[name]:
            group = set()
            while not group or name not in group:
                group.add(stack.pop())
            if len(group) > 1:
                found.append(group)

    for name in graph:
        if name not in index:
            visit(name)
    return found


def test_circles_are_found() -> None:
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) == [{"a", "b", "c"}]
    assert circles({"a": {"b"}, "b": set()}) == []


def test_no_module_imports_itself_through_others() -> None:
    known = modules()
    # A package's own file hands names of its modules on; that is no way back to them.
    graph = {n: {i for i in imports(p, known) if known[i].name != "__init__.py"} - {n} for n, p in known.items()}
    assert circles(graph) == []


def test_no_two_public_classes_have_one_name() -> None:
    names = Counter(
        node.name
        for path in modules().values()
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    assert [name for name, count in names.items() if count > 1] == []


@pytest.mark.parametrize("base", ["trnui", "runner/trnui_runner"])
def test_no_folder_has_more_modules_than_one_takes_in(base: str) -> None:
    counts = Counter(p.parent.relative_to(ROOT).as_posix() for p in (ROOT / base).rglob("*.py") if p.stem != "__init__")
    assert {folder: n for folder, n in counts.items() if n > MOST and folder not in MANY} == {}
