"""A recipe as a run.py: the template of its task with its settings filled in, and a header that says where it is from.

The same recipe and stack give the same bytes, so that a script's SHA-256 stands for what was run.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Mapping
from functools import cache
from typing import Any, Final

from trnui_runner import __version__
from trnui_runner.common.text import one_line
from trnui_runner.request.join_template import END, FOLDER, START, TEMPLATES, joined, part_of
from trnui_runner.run_folder.recipe import Recipe

PACKAGES: Final[Mapping[str, str]] = {  # column of the stack → package, in the order of installing
    "torch": "torch",
    "torch_neuronx": "torch-neuronx",
    "neuronx_cc": "neuronx-cc",
    "transformers": "transformers",
    "accelerate": "accelerate",
}


def settings(recipe: Recipe) -> dict[str, Any]:
    """The template's constants by name; those that a template does not have are left out when it is rendered."""
    options = recipe.options
    device = "cpu" if recipe.device == "cpu" else "neuron"  # a stand-in is a neuron device that says what it is
    return {
        "MODEL": recipe.model,
        "REVISION": recipe.revision,
        "DEVICE": device,
        "CORES": recipe.cores,
        "PARALLELISM": recipe.parallelism,
        "DTYPE": recipe.dtype,
        "PROMPT": recipe.prompt,
        "IMAGE": recipe.image,
        "NEW_TOKENS": recipe.max_new_tokens,
        "BACKEND": options.get("backend") or ("aot_eager" if device == "cpu" else "neuron"),
        "COMPILE_PREFILL": options.get("compile_prefill"),  # None: the template's own default
        "WARM": bool(options.get("warm")),
        "TRUST_REMOTE_CODE": bool(options.get("trust_remote_code")),
    }


def render(recipe: Recipe, stack: Mapping[str, str | None] | None = None) -> bytes:
    """The run.py of `recipe`. `stack` (columns of the dataset → version) goes into the header only."""
    text = joined(part_of(recipe.library, recipe.task))
    before, _, rest = text.partition(START)
    lines, _, after = rest.partition(END)
    values = {
        name: value for name, value in settings(recipe).items() if value is not None or name in ("REVISION", "IMAGE")
    }
    filled = "".join(_filled(line, values) for line in lines.splitlines(keepends=True))
    return (_header(recipe, stack or {}) + before + START + filled + END + after).encode("utf-8")


def _filled(line: str, values: Mapping[str, Any]) -> str:
    left, equals, rest = line.partition(" = ")
    name = left.partition(":")[0]  # a constant may carry its type
    if not equals or name not in values:
        return line
    comment = rest.partition("  # ")[2]
    # !a: no quote, newline, bidi mark or odd character of a foreign name can leave its string
    return f"{left} = {values[name]!a}" + (f"  # {comment}" if comment else "\n")


def _header(recipe: Recipe, stack: Mapping[str, str | None]) -> str:
    """Comment lines. Every foreign word goes through `one_line`, so that none can end the comment."""
    known = {name: one_line(version) for name, version in stack.items() if version}
    named = [f"{PACKAGES.get(name, name)} {version}" for name, version in known.items()]
    # a local build ("2.13.0+cpu") is on no index: the release that it is of can be installed
    install = " ".join(f"{p}=={known[name].partition('+')[0]}" for name, p in PACKAGES.items() if name in known)
    lines = [
        f"Made by trnui {__version__} from its template {TEMPLATES[recipe.library, recipe.task]}"
        f" for {one_line(recipe.model)}, not taken from the dataset.",
        f"Stack: {', '.join(named)}" if named else "Stack: not known when this was made",
    ]
    if install:
        lines.append(f"Packages: pip install {install}")
    lines += [f"Not the protocol: {words}" for words in recipe.departures()]
    return "#!/usr/bin/env python3\n" + "".join(f"# {line}\n" for line in lines)


@cache
def _shipped() -> frozenset[str]:
    """SHA-256 of the sample's scripts (tools/make_sample.py writes the file)."""
    return frozenset((FOLDER / "shipped.sha256").read_text(encoding="ascii").split())


def digest(script: bytes) -> str:
    return hashlib.sha256(script).hexdigest()


def constants(source: str) -> dict[str, Any]:
    """The settings that a script made from one of our templates states; empty for any other script."""
    return _literals(source.partition(START)[2].partition(END)[0]) or {}


def is_ours(source: bytes) -> bool:
    """Whether a script is one of our templates with nothing but comments and literal settings changed, and runs no code
    that comes with a checkpoint, or one that made a row of the bundled sample with an older template: such a script needs
    no consent, wherever it was found."""
    if digest(source) in _shipped():
        return True
    try:
        text = source.decode("utf-8")
    except UnicodeDecodeError:
        return False
    for name in TEMPLATES.values():
        before, _, rest = joined(name).partition(START)
        own, _, after = rest.partition(END)
        head, start, found = text.partition(before + START)
        lines, end, tail = found.partition(END)
        if not start or not end or tail != after or not all(map(_comment, head.splitlines())):
            continue
        settings_, known = _literals(lines), _literals(own)
        if settings_ is not None and known is not None and settings_.keys() == known.keys():
            return settings_["TRUST_REMOTE_CODE"] is False
    return False


def _comment(line: str) -> bool:
    """A comment that does not change how Python reads the file."""
    return line.startswith("#") and "coding" not in line


def _literals(lines: str) -> dict[str, Any] | None:
    """{name: value} when every statement gives one plain name a literal; None when any does something else."""
    found: dict[str, Any] = {}
    try:
        for node in ast.parse(lines).body:
            if isinstance(node, ast.Assign) and len(node.targets) == 1:
                target = node.targets[0]
            elif isinstance(node, ast.AnnAssign) and ast.unparse(node.annotation) == "str | None":
                target = node.target
            else:
                return None
            if not isinstance(target, ast.Name) or node.value is None:
                return None
            found[target.id] = ast.literal_eval(node.value)
    except (SyntaxError, ValueError):
        return None
    return found
