"""Which Python runs the models: the configured one, else an environment with torch_neuronx, else this process's own."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trnui_runner.common.errors import UsageError
from trnui_runner.common.subprocesses import host_root
from trnui_runner.common.text import ABSENT, one_line
from trnui_runner.host.environments import environments
from trnui_runner.host.stack import StackVersions, stack_of


@dataclass(frozen=True)
class Interpreter:
    """`origin`: how it was chosen, in words. `passed`: the candidates before it, each with why it was not taken."""

    path: str
    origin: str
    stack: StackVersions
    passed: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """`/opt/…/bin/python · Python 3.12.3 · torch 2.14.0 · torch-neuronx 2.14.3.0 · neuronx-cc 2.28.7631.0`."""
        stack = self.stack
        parts = [self.path, f"Python {stack.get('python', ABSENT)}", f"torch {stack.get('torch', ABSENT)}"]
        kind = "" if stack.get("native") is not False else " (XLA)"
        parts += [
            f"torch-neuronx {stack.get('torch_neuronx', ABSENT)}{kind}",
            f"neuronx-cc {stack.get('neuronx_cc', ABSENT)}",
        ]
        parts += [f"transformers {stack.get('transformers', ABSENT)}"]
        return " · ".join(parts) + (" · stand-in" if stack.get("stand_in") else "")

    def to_json(self) -> dict[str, Any]:
        return {"path": self.path, "origin": self.origin, "stack": dict(self.stack), "passed": list(self.passed)}


def find(setting: str | None = None, ask: Callable[[str], StackVersions] = stack_of) -> Interpreter:
    """Raises UsageError when the configured one does not exist; without a setting there is always one, if only this process's own."""
    if setting:
        path = resolve(setting)
        return Interpreter(path, "set by --python or the setting", ask(path))
    passed: list[str] = []
    seen: set[str] = set()
    xla: Interpreter | None = None
    for path, origin in candidates():
        if path in seen:
            continue
        seen.add(path)
        stack = ask(path)
        if stack.get("native"):
            return Interpreter(path, origin, stack, tuple(passed))
        if stack.get("native") is False and xla is None:
            xla = Interpreter(path, origin, stack, tuple(passed))
        reason = "; ".join(stack.get("problems", ())) or "no torch_neuronx"
        passed.append(f"{path} ({origin}): {reason}")
    if xla is not None and "torch" not in ask(sys.executable):
        return xla
    return Interpreter(sys.executable, "no environment has torch_neuronx: this one", ask(sys.executable), tuple(passed))


def resolve(setting: str) -> str:
    """An interpreter's path from a path, an environment's folder, or a command's name. Raises UsageError."""
    path = Path(os.path.expanduser(setting))
    if os.path.isdir(path):
        path = path / "bin" / "python"
    if os.path.isfile(path) and os.access(path, os.X_OK):
        return os.path.abspath(path)
    command = shutil.which(setting) if os.sep not in setting else None
    if command is None:
        raise UsageError(
            f"No Python interpreter at {one_line(setting)}.",
            "Give --python (or the setting `python`) an interpreter, or the folder of an environment.",
        )
    return command


def candidates() -> list[tuple[str, str]]:
    """(interpreter, origin) in the order in which they are tried."""
    found = []
    active = os.environ.get("VIRTUAL_ENV")
    if active:
        found.append((Path(active) / "bin" / "python", "the active environment"))
    found += [(venv / "bin" / "python", "AWS's environment") for venv in environments(host_root())]
    on_path = shutil.which("python3")
    if on_path:
        found.append((Path(on_path), "python3 on the PATH"))
    return [(str(path), origin) for path, origin in found if os.access(path, os.X_OK)]
