"""Mutation run: change one thing at a time in a module, and see whether its tests notice.

    python tools/mutate.py                         the modules that decide (MODULES), 30 mutants each
    python tools/mutate.py runner/trnui_runner/result/verdict.py [--tests tests/unit/runner/result] [--count 30] [--seed 1]

Works on a copy of the checkout in a temporary folder; the checkout itself is never changed. A mutant is killed when its
tests fail or hang, survives when they pass, and is uncovered when no test of them executes its line in its own process.
Only the tests that execute the changed line are run.
Exit code 1 when a module has fewer than --least percent killed. By hand: all modules take about half an hour on two cores.
"""

from __future__ import annotations

import argparse
import ast
import copy
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
RUNNER: Final = "runner/trnui_runner"
MODULES: Final[dict[str, tuple[str, ...]]] = {  # module: the tests that are to notice
    f"{RUNNER}/result/verdict.py": ("tests/unit/runner/result",),
    f"{RUNNER}/result/termination.py": ("tests/unit/runner/result", "tests/unit/runner/supervise"),
    f"{RUNNER}/result/redact.py": ("tests/unit/runner/result",),
    f"{RUNNER}/payload/check.py": ("tests/unit/runner/payload",),
    f"{RUNNER}/payload/judge.py": ("tests/unit/runner/payload",),
    f"{RUNNER}/request/placement.py": ("tests/unit/runner/request", "tests/unit/runner/preflight"),
    f"{RUNNER}/preflight/gather.py": ("tests/unit/runner/preflight",),
    f"{RUNNER}/preflight/consent.py": ("tests/unit/runner/preflight",),
    f"{RUNNER}/host/core_leases.py": ("tests/unit/runner/host", "tests/unit/runner/supervise"),
    f"{RUNNER}/supervise/guard.py": ("tests/e2e/test_endings.py", "tests/e2e/test_forging.py"),
    f"{RUNNER}/run_folder/folder.py": (
        "tests/unit/runner",
        "tests/unit/cli/test_hostile_surfaces.py",
        "tests/unit/cli/test_run_command.py",
    ),
    f"{RUNNER}/diagnosis/classify.py": ("tests/unit/runner/diagnosis",),
    "trnui/catalog/analysis/comparison/compare.py": (
        "tests/unit/catalog/analysis",
        "tests/unit/cli/test_compare_command.py",
        "tests/pilot/explore/test_views.py",
    ),
    "trnui/catalog/analysis/failures.py": (
        "tests/unit/catalog",
        "tests/unit/cli/test_row_commands.py",
        "tests/pilot/explore/test_views.py",
    ),
    "trnui/catalog/dataset/column_mapping.py": ("tests/unit/catalog",),
    "trnui/catalog/dataset/versions.py": ("tests/unit/catalog", "tests/unit/common"),
    "trnui/catalog/dataset/loader.py": ("tests/unit/catalog",),
    "trnui/catalog/dataset/checksums.py": ("tests/unit/catalog/dataset",),
    "trnui/catalog/engine/sql_console.py": ("tests/unit/catalog/engine/test_sql_console.py",),
    "trnui/tui/widgets/result_table.py": ("tests/pilot/explore",),
}
# Executed in processes of their own, where no line is seen: every test is run for each mutant.
IN_CHILDREN: Final = frozenset({f"{RUNNER}/supervise/guard.py"})
SWAPPED: Final[dict[type[ast.AST], type[ast.AST]]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.BitOr: ast.BitAnd, ast.BitAnd: ast.BitOr,
    ast.And: ast.Or, ast.Or: ast.And, ast.Continue: ast.Break, ast.Break: ast.Continue,
}  # fmt: skip
TRACER: Final = """
import json, os, sys, threading, time
import pytest
FILE, OUT = os.environ["MUTATE_FILE"], os.environ["MUTATE_LINES"]
SEEN, TOOK, FAILED, NOW = {}, {}, [], [""]  # line -> tests that executed it; "" is the import of the module
def local(frame, event, arg):
    SEEN.setdefault(frame.f_lineno, set()).add(NOW[0])
    return local
def trace(frame, event, arg):
    if frame.f_code.co_filename != FILE:
        return None
    SEEN.setdefault(frame.f_lineno, set()).add(NOW[0])
    return local
sys.settrace(trace)
threading.settrace(trace)
@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item):
    NOW[0], began = item.nodeid, time.monotonic()
    yield
    TOOK[item.nodeid], NOW[0] = time.monotonic() - began, ""
def pytest_runtest_logreport(report):
    if report.failed:
        FAILED.append(report.nodeid)
def pytest_unconfigure(config):
    sys.settrace(None)
    with open(OUT, "w") as file:
        json.dump({"lines": {n: sorted(v) for n, v in SEEN.items()}, "seconds": {n: s for n, s in TOOK.items() if n not in FAILED}}, file)
"""
FOUND: Final = (1, 2, None)  # pytest's codes: a test failed, the module cannot even be imported; None: the time ran out
MOST_TESTS: Final = 400  # of those that execute a line, the quickest


class UnsoundTestsError(Exception):
    """A module's tests fail before anything is changed."""


@dataclass(frozen=True)
class Mutant:
    line: int
    statement: int  # line of the statement that holds it: a constant on a line of its own is never traced
    kind: str
    before: str
    source: str  # of the whole module, changed

    def __str__(self) -> str:
        return f"{self.line} {self.kind}: `{self.before[:90]}`"


def mutants(source: str) -> Iterator[Mutant]:
    """Every module that differs from `source` in one place, docstrings and type annotations aside."""
    tree = ast.parse(source)
    skipped = set(_told_only(tree))
    statements = {node.lineno for node in ast.walk(tree) if isinstance(node, ast.stmt)}
    for number, node in enumerate(ast.walk(tree)):
        if number in skipped:
            continue
        for kind, change in _changes(node):
            other = copy.deepcopy(tree)
            found = next(n for at, n in enumerate(ast.walk(other)) if at == number)
            change(found, other)
            line = getattr(node, "lineno", 0)
            statement = max((n for n in statements if n <= line), default=line)
            yield Mutant(line, statement, kind, ast.unparse(node), ast.unparse(ast.fix_missing_locations(other)))


def _told_only(tree: ast.Module) -> Iterator[int]:
    """Numbers (in walking order) of the nodes that tell and do nothing: docstrings, annotations, imports."""
    idle: set[ast.AST] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            idle |= {node, node.value}
        for name in ("annotation", "returns"):
            part = getattr(node, name, None)
            if isinstance(part, ast.AST):
                idle |= set(ast.walk(part))
        if isinstance(node, ast.Import | ast.ImportFrom):
            idle |= set(ast.walk(node))
        if isinstance(node, ast.Subscript) and ast.unparse(node.value) == "Literal":
            idle |= set(ast.walk(node))
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            idle |= set(ast.walk(node))
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            for decorator in node.decorator_list:  # frozen=True and the like: nothing to observe
                idle |= set(ast.walk(decorator))
    return (number for number, node in enumerate(ast.walk(tree)) if node in idle)


def _changes(node: ast.AST) -> Iterator[tuple[str, object]]:
    match node:
        case ast.Compare(ops=[op, *_]) if type(op) in SWAPPED:
            yield "comparison", lambda n, _: n.ops.__setitem__(0, SWAPPED[type(n.ops[0])]())
        case ast.BinOp(op=op) | ast.BoolOp(op=op) if type(op) in SWAPPED:
            yield "operator", lambda n, _: setattr(n, "op", SWAPPED[type(n.op)]())
            if isinstance(node, ast.BoolOp):
                yield (
                    "operand dropped",
                    lambda n, _: (
                        n.values.pop(0) if len(n.values) > 2 else setattr(n, "values", [n.values[1], n.values[1]])
                    ),
                )
        case ast.UnaryOp(op=ast.Not()):
            yield (
                "not dropped",
                lambda n, _: (
                    setattr(n, "op", ast.UAdd())
                    or setattr(n, "operand", ast.Call(ast.Name("bool", ast.Load()), [n.operand], []))
                ),
            )
        case ast.Constant(value=bool()):
            yield "constant", lambda n, _: setattr(n, "value", not n.value)
        case ast.Constant(value=int() | float()):
            yield "constant", lambda n, _: setattr(n, "value", n.value + 1)
        case ast.Constant(value=str()):
            yield "text", lambda n, _: setattr(n, "value", "XX" + n.value)
        case ast.Return(value=ast.Constant(value=None | False)):
            pass  # None in its place means the same
        case ast.Return(value=ast.AST()):
            yield "return None", lambda n, _: setattr(n, "value", ast.Constant(None))
        case ast.If() | ast.IfExp() | ast.While():
            yield "condition true", lambda n, _: setattr(n, "test", ast.Constant(True))
            yield "condition false", lambda n, _: setattr(n, "test", ast.Constant(False))
        case ast.Continue() | ast.Break():
            yield "loop", lambda n, tree: _replace(tree, n, SWAPPED[type(n)]())
        case ast.Expr(value=ast.Call()) | ast.Raise() | ast.AugAssign():
            yield "statement dropped", lambda n, tree: _replace(tree, n, ast.Pass())


def _replace(tree: ast.AST, old: ast.AST, new: ast.AST) -> None:
    for node in ast.walk(tree):
        for value in vars(node).values():
            if isinstance(value, list) and old in value:
                value[value.index(old)] = new


def copied(to: Path) -> None:
    for name in (
        "trnui",
        "runner",
        "tests",
        "tools",
        "docs",
        "pyproject.toml",
        "README.md",
        "CHANGELOG.md",
        "CONTRIBUTING.md",
    ):
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, to / name, ignore=shutil.ignore_patterns("__pycache__"))
        elif source.exists():
            shutil.copy(source, to / name)


def run_tests(
    root: Path, tests: tuple[str, ...], seconds: float, extra: tuple[str, ...] = (), **env: str
) -> int | None:
    """pytest's exit code; None when the time ran out."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *extra, *tests]
    path = os.pathsep.join((str(root), str(root / "runner")))
    surroundings = {**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1", **env}
    child = subprocess.Popen(
        command,
        cwd=root,
        env=surroundings,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        return child.wait(seconds)
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, 9)
        child.wait()
        return None


@dataclass(frozen=True)
class Tally:
    module: str
    killed: int
    survivors: tuple[str, ...]
    uncovered: tuple[str, ...]

    @property
    def percent(self) -> float:
        whole = self.killed + len(self.survivors) + len(self.uncovered)
        return 100 * self.killed / whole if whole else 100.0


@dataclass(frozen=True)
class Coverage:
    """Which tests execute a line of the module, the quickest first."""

    lines: Mapping[int, tuple[str, ...]]
    seconds: Mapping[str, float]

    @classmethod
    def read(cls, path: Path) -> Coverage:
        found = json.loads(path.read_text(encoding="utf-8"))
        return cls({int(n): tuple(v) for n, v in found["lines"].items()}, found["seconds"])

    def tests(self, line: int) -> list[str]:
        """Of a line that the import executes: every test that executes a line of the module at all."""
        named = self.lines.get(line, ())
        if "" in named:
            named = tuple({test for those in self.lines.values() for test in those})
        return sorted((n for n in named if n in self.seconds), key=lambda n: self.seconds[n])[:MOST_TESTS]


def measure(root: Path, module: str, tests: tuple[str, ...], count: int, seed: int) -> Tally:
    file = root / module
    source = file.read_text(encoding="utf-8")
    (root / "mutate_tracer.py").write_text(TRACER, encoding="utf-8")
    lines = root / "mutate_lines.json"
    code = run_tests(root, tests, 1800, ("-p", "mutate_tracer"), MUTATE_FILE=str(file), MUTATE_LINES=str(lines))
    covered = Coverage.read(lines) if lines.exists() else Coverage({}, {})
    if code not in (0, 1) or not covered.seconds:  # 1: a test of speed, which tracing slows down, is left out
        raise UnsoundTestsError(f"{module}: its tests do not pass unchanged (exit code {code}): {' '.join(tests)}")
    pool = list(mutants(source))
    chosen = random.Random(f"{seed} {module}").sample(pool, min(count, len(pool)))
    killed, survivors, uncovered = 0, [], []
    for mutant in sorted(chosen, key=lambda m: m.line):
        those = covered.tests(mutant.line) or covered.tests(mutant.statement)
        if module in IN_CHILDREN:
            those = sorted(covered.seconds, key=lambda n: covered.seconds[n])
        if not those:
            uncovered.append(str(mutant))
            continue
        file.write_text(mutant.source, encoding="utf-8")
        (root / "mutate_tests.txt").write_text("\n".join(those), encoding="utf-8")
        limit = 30 + 3 * sum(covered.seconds.get(n, 0.0) for n in those)
        if run_tests(root, ("@mutate_tests.txt",), limit, ("-x",)) in FOUND:
            killed += 1
        else:
            survivors.append(str(mutant))
    file.write_text(source, encoding="utf-8")
    return Tally(module, killed, tuple(survivors), tuple(uncovered))


def measured(module: str, tests: tuple[str, ...], count: int, seed: int) -> Tally:
    """In a copy of the checkout of its own, so that several modules can be measured side by side."""
    with tempfile.TemporaryDirectory(prefix="mutate-") as folder:
        copied(Path(folder))
        return measure(Path(folder), module, tests, count, seed)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("modules", nargs="*", metavar="MODULE")
    parser.add_argument("--tests", nargs="+", metavar="PATH", help="tests to run (default: those of MODULES)")
    parser.add_argument("--count", type=int, default=30, metavar="N")
    parser.add_argument("--seed", type=int, default=1, metavar="N")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="modules measured side by side")
    parser.add_argument("--least", type=float, default=90, metavar="PERCENT")
    given = parser.parse_args()
    poor = False
    chosen = {module: tuple(given.tests or MODULES.get(module, ())) for module in given.modules or MODULES}
    if untested := [module for module, tests in chosen.items() if not tests]:
        parser.error(f"{untested[0]}: name its tests with --tests")
    print("| module | killed | survived | uncovered | % |\n|---|---:|---:|---:|---:|", flush=True)
    with ThreadPoolExecutor(given.jobs) as pool:
        running = [pool.submit(measured, module, tests, given.count, given.seed) for module, tests in chosen.items()]
        for job in as_completed(running):
            try:
                found = job.result()
            except UnsoundTestsError as error:
                poor = True
                print(error, file=sys.stderr, flush=True)
                continue
            poor |= found.percent < given.least
            print(
                f"| {found.module} | {found.killed} | {len(found.survivors)} | {len(found.uncovered)} | {found.percent:.0f} |",
                flush=True,
            )
            for word, those in (("survived", found.survivors), ("uncovered", found.uncovered)):
                for mutant in those:
                    print(f"  {found.module}: {word}: {mutant}", file=sys.stderr, flush=True)
    return 1 if poor else 0


if __name__ == "__main__":
    sys.exit(main())
