"""What must be installed for a row, each requirement with its origin: version columns, install lines, imports of the script.

The dataset has no column for extra packages, so what is said here is read from the row and says where; nothing is invented.
"""

from __future__ import annotations

import ast
import re
import shlex
import sys
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from packaging.requirements import InvalidRequirement, Requirement

from trnui.catalog.dataset.column_mapping import plain
from trnui.catalog.dataset.versions import is_dev
from trnui_runner.common.text import Safe
from trnui_runner.request.command_line import shell_line

STACK_PACKAGES: Final = {
    "transformers": "transformers", "accelerate": "accelerate", "torch": "torch", "torch_neuronx": "torch-neuronx",
    "neuronx_cc": "neuronx-cc", "nki": "nki",
}  # fmt: skip
NEURON_PACKAGES: Final = ("torch-neuronx", "neuronx-cc", "nki")
PACKAGE_COLUMNS: Final = ("extra_packages", "packages", "requirements", "pip", "dependencies", "install")
PARSED: Final = (
    32_000  # characters of a script up to which it is read as Python (50 ms); of a longer one by its import lines
)
NONE_NAMED: Final = "the dataset names none"
# Modules that come with the stack: the packages themselves and what they need.
_WITH_STACK: Final = frozenset({
    "torch", "transformers", "accelerate", "torch_neuronx", "neuronxcc", "nki", "libneuronxla", "numpy", "huggingface_hub",
    "safetensors", "tokenizers", "regex", "requests", "tqdm", "packaging", "yaml", "filelock", "jinja2", "sympy", "networkx",
    "fsspec", "psutil", "httpx", "typing_extensions", "setuptools", "pkg_resources",
})  # fmt: skip
_DISTRIBUTION: Final = {
    "PIL": "pillow", "cv2": "opencv-python", "sklearn": "scikit-learn", "bs4": "beautifulsoup4", "skimage": "scikit-image",
    "google": "protobuf", "sentence_transformers": "sentence-transformers", "flash_attn": "flash-attn", "qwen_vl_utils": "qwen-vl-utils",
    "mamba_ssm": "mamba-ssm", "causal_conv1d": "causal-conv1d", "mistral_common": "mistral-common",
}  # fmt: skip
_WITH_VALUE: Final = (
    "-i",
    "--index-url",
    "--extra-index-url",
    "-f",
    "--find-links",
    "-c",
    "--constraint",
    "-t",
    "--target",
)
# Words that are no requirement: where a sentence goes on behind a command. Nothing is installed because of prose.
_PROSE: Final = frozenset({
    "a", "after", "also", "an", "and", "as", "at", "before", "but", "by", "first", "for", "from", "if", "in", "into", "is", "it", "manually",
    "needed", "needs", "not", "of", "on", "or", "required", "so", "that", "the", "then", "this", "to", "too", "was", "when", "which", "with",
    "works", "you",
})  # fmt: skip
_INSTALL_LINE = re.compile(r"\b(?:pip3?|uv\s+pip)(?:\s+-{1,2}[\w-]+)*\s+install\s+([^\n\r;&|`]+)")
_INSTALL_LIST = re.compile(r"""["']install["']\s*,\s*((?:["'][^"'\n]+["']\s*,?\s*)+)""")
_SCRIPT_BLOCK = re.compile(r"(?m)^# /// script\s*$\n((?:#.*\n)+?)# ///\s*$")
_IMPORT = re.compile(r"(?m)^\s*(?:import|from)\s+([A-Za-z_]\w*)")


@dataclass(frozen=True)
class Package:
    """One requirement. `extra`: beyond the stack that the version columns name."""

    requirement: str
    origin: str
    extra: bool


def packages_of(values: Mapping[str, Any]) -> tuple[Package, ...]:
    """All requirements of a row given in full; the stack first, extras in the order in which they are named, each once."""
    found: dict[str, Package] = {}

    def add(requirement: str, origin: str, extra: bool = True) -> None:
        name = _name(requirement)
        if name and name not in found:
            found[name] = Package(requirement, origin, extra)

    for requirement, origin in _stack(values):
        add(requirement, origin, False)
    for column, value in values.items():
        if plain(column) in PACKAGE_COLUMNS:
            for requirement in _listed(value):
                add(requirement, f"column {column}")
    script = values.get("run_py") or ""
    for source, text in (("notes", values.get("notes") or ""), ("run_py", script)):
        for requirement in install_lines(str(text)):
            add(requirement, f"an install line in {source}")
    for requirement in script_block(str(script)):
        add(requirement, "the dependency block of run_py")
    for module in imports(str(script)):
        add(_DISTRIBUTION.get(module, module.replace("_", "-")), f"run_py imports {module}")
    return tuple(found.values())


def install_command(packages: Iterable[Package], neuron_index: str, python: str = "python3") -> Safe:
    """One command that installs them, every word quoted for a shell; empty when there is nothing to install."""
    requirements = [p.requirement for p in packages]
    if not requirements:
        return Safe("")
    index = ["--extra-index-url", neuron_index] if any(_name(r) in NEURON_PACKAGES for r in requirements) else []
    return shell_line([python, "-m", "pip", "install", *index, *requirements])


def _stack(values: Mapping[str, Any]) -> list[tuple[str, str]]:
    found = []
    library, version = values.get("library"), values.get("library_version")
    if library and version:
        found.append((f"{library}=={version}", "columns library and library_version" + _dev_words(version)))
    for column, name in STACK_PACKAGES.items():
        if values.get(column):
            found.append((f"{name}=={values[column]}", f"column {column}" + _dev_words(values[column], name)))
    return [(r, o) for r, o in found if _name(r)]


def _dev_words(version: object, name: str = "") -> str:
    kind = (
        "a development version"
        if is_dev(str(version))
        else "a local build"
        if "+" in str(version) and name not in NEURON_PACKAGES
        else ""
    )
    return f"; {kind}, so perhaps on no package index" if kind else ""


def _name(requirement: str) -> str:
    """The normal name of a requirement; empty for what is none."""
    try:
        return re.sub(r"[-_.]+", "-", Requirement(requirement).name).lower()
    except InvalidRequirement:
        return requirement if requirement.startswith(("git+https://", "https://")) and requirement.isprintable() else ""


def _listed(value: object) -> list[str]:
    if isinstance(value, list | tuple):
        return [str(v).strip() for v in value if v]
    return [w for w in re.split(r"[\s,]+", value) if w] if isinstance(value, str) else []


def install_lines(text: str) -> list[str]:
    """Requirements of every `pip install …` in a text, and of `"pip", "install", "…"` lists in a script."""
    found: list[str] = []
    for match in _INSTALL_LINE.finditer(text):
        words = match[1].split(" #")[0]
        try:
            found += _requirements(shlex.split(words))
        except ValueError:  # a quote that ends elsewhere: what stands before it
            found += _requirements(re.split(r"\S*[\"']", words)[0].split())
    for match in _INSTALL_LIST.finditer(text):
        found += _requirements(re.findall(r"""["']([^"'\n]+)["']""", match[1]))
    return found


def _requirements(words: list[str]) -> list[str]:
    found = []
    skip = False
    for word in words:
        full_stop = word.endswith((".", ":", ".)"))
        word = word.strip("`'\"()[],.:")
        if skip or not word:
            skip = False
        elif word.startswith("-"):
            skip = word in _WITH_VALUE or word in ("-r", "--requirement")
        elif _name(word) and word.lower() not in _PROSE:
            found.append(word)
        else:
            break  # prose after the command
        if full_stop:
            break
    return found


def script_block(script: str) -> list[str]:
    """The dependencies of a script's inline metadata block (PEP 723)."""
    match = _SCRIPT_BLOCK.search(script)
    if not match:
        return []
    try:
        block = tomllib.loads("\n".join(line[2:] for line in match[1].splitlines()))
    except tomllib.TOMLDecodeError:
        return []
    found = block.get("dependencies")
    return [str(r) for r in found if isinstance(r, str)] if isinstance(found, list) else []


def imports(script: str) -> list[str]:
    """Top-level modules that a script imports and neither Python nor the stack brings, in order."""
    try:
        tree = ast.parse(script) if len(script) <= PARSED else None
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        tree = None
    if tree is None:
        modules = _IMPORT.findall(script)
    else:
        modules = []
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                modules += [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                modules.append(node.module)
    tops = dict.fromkeys(m.partition(".")[0] for m in modules)
    return [m for m in tops if m not in sys.stdlib_module_names and m not in _WITH_STACK and not m.startswith("_")]
