"""What a script would load, read from its text without running it: Hub repositories with their revisions, remote code."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Final

# Calls that fetch from the Hub → the names of the argument that says what; its position is the first.
_CALLS: Final = {
    "from_pretrained": ("pretrained_model_name_or_path",),
    "snapshot_download": ("repo_id",),
    "hf_hub_download": ("repo_id",),
    "load_dataset": ("path",),
    "pipeline": ("model",),
    "load": ("repo_or_dir",),  # torch.hub.load
}


@dataclass(frozen=True)
class Load:
    """One repository. `revision`: as the script says, None for the default ("main"). name None: computed at run time."""

    name: str | None
    revision: str | None
    call: str
    line: int


@dataclass(frozen=True)
class Loads:
    repositories: tuple[Load, ...] = ()
    remote_code: bool = False
    problem: str = ""  # the script cannot be read as Python


def loads_of(script: str) -> Loads:
    """By the script's syntax tree; string constants of the module are followed, nothing else is guessed."""
    try:
        tree = ast.parse(script)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return Loads(problem=f"it cannot be read as Python ({type(error).__name__})")
    constants = _constants(tree)
    found: dict[tuple[str | None, str | None], Load] = {}
    remote = False
    for node in ast.walk(tree):
        if isinstance(node, ast.keyword) and node.arg == "trust_remote_code":
            remote |= _value(node.value, constants) not in (False, None) or not _known(node.value, constants)
        if isinstance(node, ast.Dict):
            remote |= any(isinstance(k, ast.Constant) and k.value == "trust_remote_code" for k in node.keys)
        if isinstance(node, ast.Call):
            load = _load(node, constants)
            if load is not None:
                found.setdefault((load.name, load.revision), load)
    return Loads(tuple(sorted(found.values(), key=lambda one: one.line)), remote)


def _load(node: ast.Call, constants: dict[str, object]) -> Load | None:
    name = (
        node.func.attr
        if isinstance(node.func, ast.Attribute)
        else node.func.id
        if isinstance(node.func, ast.Name)
        else ""
    )
    if name not in _CALLS or (name == "load" and not _is_hub_load(node.func)):
        return None
    keywords = {k.arg: k.value for k in node.keywords if k.arg}
    what = next((keywords[n] for n in _CALLS[name] if n in keywords), None)
    position = 1 if name == "pipeline" else 0
    if what is None and len(node.args) > position:
        what = node.args[position]
    if what is None:
        return None
    value = _value(what, constants)
    asked = keywords.get("revision")
    revision = _value(asked, constants) if asked is not None else None
    unknown = asked is not None and not (revision is None and _known(asked, constants))
    said = revision if isinstance(revision, str) else "?" if unknown else None
    return Load(value if isinstance(value, str) else None, said, name, node.lineno)


def _is_hub_load(function: ast.expr) -> bool:
    return (
        isinstance(function, ast.Attribute)
        and isinstance(function.value, ast.Attribute)
        and function.value.attr == "hub"
    )


def _constants(tree: ast.Module) -> dict[str, object]:
    found: dict[str, object] = {}
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
            found |= {t.id: node.value.value for t in node.targets if isinstance(t, ast.Name)}
        elif (
            isinstance(node, ast.AnnAssign)
            and isinstance(node.target, ast.Name)
            and isinstance(node.value, ast.Constant)
        ):
            found[node.target.id] = node.value.value
    return found


def _known(node: ast.expr, constants: dict[str, object]) -> bool:
    return isinstance(node, ast.Constant) or (isinstance(node, ast.Name) and node.id in constants)


def _value(node: ast.expr, constants: dict[str, object]) -> object:
    if isinstance(node, ast.Constant):
        return node.value
    return constants.get(node.id) if isinstance(node, ast.Name) else None
