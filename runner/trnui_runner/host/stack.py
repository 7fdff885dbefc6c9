"""An interpreter's versions, asked of the interpreter itself, the driver's with them, and how both differ from a row's."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, TypedDict

from trnui_runner.common.files import cache_dir, private_dir, read_json, write_json
from trnui_runner.common.subprocesses import ToolOutput, ask, host_root, is_stand_in, locate
from trnui_runner.common.text import one_line
from trnui_runner.common.versions import Gap, gap, release

SCRIPT: Final = Path(__file__).resolve().parent.parent / "payload" / "versions.py"
# Column of the dataset → distribution. `python`, `neuron_driver` and `library_version` have no distribution of a fixed name.
PACKAGES: Final = {
    "neuronx_cc": "neuronx-cc",
    "torch_neuronx": "torch-neuronx",
    "torch": "torch",
    "nki": "nki",
    "transformers": "transformers",
    "accelerate": "accelerate",
}
SYSTEM: Final = ("aws-neuronx-dkms", "aws-neuronx-runtime-lib", "aws-neuronx-collectives", "aws-neuronx-tools")
WORDS: Final = {
    "neuronx_cc": "neuronx-cc",
    "torch_neuronx": "torch-neuronx",
    "neuron_driver": "driver",
    "python": "Python",
}
# The columns of a stack, in the order in which a difference matters.
IN_ORDER: Final = (
    "neuronx_cc", "torch_neuronx", "torch", "transformers", "library_version", "accelerate", "nki", "neuron_driver", "python",
)  # fmt: skip
# A difference in one of these makes another result likely; in the others it is only said.
WEIGHTY: Final = ("neuronx_cc", "torch_neuronx", "torch", "transformers", "library_version")
NEURON_ONLY: Final = ("neuronx_cc", "torch_neuronx", "nki", "neuron_driver")
_COMPILER = re.compile(r"NeuronX Compiler version ([\w.+]+)")
_CHILD_TIMEOUT = 30.0


class StackVersions(TypedDict, total=False):
    """Under the dataset's column names; a key is absent when the thing is. `installed`: all distributions by name."""

    neuronx_cc: str
    torch_neuronx: str
    torch: str
    nki: str
    transformers: str
    accelerate: str
    python: str
    neuron_driver: str
    library_version: str
    executable: str
    native: bool | None  # torch-neuronx: PyTorch backend, or the XLA package of the same name; None without it
    stand_in: bool
    system: dict[str, str]  # Debian packages of the driver, runtime, collectives, tools
    installed: dict[str, str]
    problems: list[str]


def stack_of(python: str, library: str = "transformers") -> StackVersions:
    """The stack of an interpreter and of this host; never raises; what could not be found out is in `problems`. About 0.1 s, then cached."""
    stack = _cached(python)
    if stack is None:
        stack = _asked(python)
    stack |= _driver()
    found = stack.get("installed", {}).get(library) or stack.get(library, "")
    if found:
        stack["library_version"] = str(found)
    stack["stand_in"] = is_stand_in() or any("standin" in str(stack.get(name, "")) for name in PACKAGES)
    return stack


def not_asked(stack: Mapping[str, Any]) -> str:
    """Why an interpreter could not say what it has, in words; empty when it did."""
    problems = stack.get("problems") or ()
    answered = any(stack.get(name) for name in ("executable", "python", "installed", *PACKAGES))
    return "" if answered or not problems else str(problems[0])


def _asked(python: str) -> StackVersions:
    # As a run's environment: PYTHON* of the user's shell is not part of it.
    env = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    answer = ask(python, str(SCRIPT), timeout=_CHILD_TIMEOUT, env=env)
    stack, path = parse_versions(answer)
    if not path:
        return stack
    compiler = locate("neuronx-cc", [Path(python).parent])
    watched = [python, compiler or "", *path]
    if compiler is not None and "neuronx_cc" in stack:
        said = parse_compiler(ask(compiler, "--version", timeout=_CHILD_TIMEOUT))
        if said is not None and release(said) != release(stack["neuronx_cc"]):
            stack["problems"].append(f"neuronx-cc is {stack['neuronx_cc']} as a package, but {compiler} says {said}")
        elif said is not None and "+" in said:
            stack["neuronx_cc"] = said
    elif compiler is None and "torch_neuronx" in stack:
        stack["problems"].append("neuronx-cc is not on the PATH")
    _remember(python, watched, stack)
    return stack


def parse_versions(answer: ToolOutput) -> tuple[StackVersions, list[str]]:
    """What versions.py printed, and the folders whose change makes it stale."""
    if not answer.ok:
        return StackVersions(problems=[f"{answer.tool}: {answer.problem}"]), []
    try:
        value = json.loads(answer.out.splitlines()[-1])
        versions, path = dict(value["versions"]), [str(p) for p in value["path"]]
        stack = StackVersions(
            python=str(value["python"]),
            executable=str(value["executable"]),
            native=value["native"],
            installed={str(k): one_line(v, 80) for k, v in value["installed"].items()},
            problems=[],
        )
    except (ValueError, KeyError, TypeError, IndexError, AttributeError):
        return StackVersions(problems=[f"{answer.tool}: its answer about versions cannot be read"]), []
    for column, name in PACKAGES.items():
        if name in versions:
            stack[column] = one_line(versions[name], 80)  # type: ignore[literal-required]
    if stack["native"] is False:
        stack["problems"].append(
            f"torch-neuronx {stack.get('torch_neuronx')} is the XLA package: it has no `neuron` device (native from 2.13.3)"
        )
    return stack, path


def parse_compiler(answer: ToolOutput) -> str | None:
    """The version that `neuronx-cc --version` prints, on stdout or stderr, with its hash."""
    found = _COMPILER.search(answer.out) or _COMPILER.search(answer.err)
    return found[1] if found else None


def _driver() -> StackVersions:
    """The loaded driver's version and Debian packages; having none is normal."""
    here = StackVersions()
    try:
        version = (host_root() / "sys/module/neuron/version").read_text().strip()
    except (OSError, UnicodeDecodeError):
        version = "" if is_stand_in() else ask("modinfo", "-F", "version", "neuron", timeout=2).out.strip()
    if version:
        here["neuron_driver"] = one_line(version, 80)
    if not is_stand_in() and (host_root() / "var/lib/dpkg").is_dir():
        shown = ask("dpkg-query", "-W", "-f", "${Package} ${Version} ${db:Status-Status}\n", *SYSTEM, timeout=5)
        system = parse_dpkg(shown.out)
        if system:
            here["system"] = system
    return here


def parse_dpkg(out: str) -> dict[str, str]:
    """{package: version} of what is installed; it lists the rest too, and ends with 1 when one is unknown."""
    rows = (line.split() for line in out.splitlines())
    return {row[0]: row[1] for row in rows if len(row) == 3 and row[2] == "installed"}


def _cache_file() -> Path:
    return cache_dir() / "stacks.json"


def _mtimes(paths: list[str]) -> dict[str, int]:
    found = {}
    for path in paths:
        try:
            found[path] = os.stat(path).st_mtime_ns
        except OSError:
            found[path] = 0
    return found


def _cached(python: str) -> StackVersions | None:
    known = read_json(_cache_file())
    entry = known.get(python) if isinstance(known, dict) else None
    if (
        not isinstance(entry, dict)
        or not isinstance(entry.get("watched"), dict)
        or not isinstance(entry.get("stack"), dict)
    ):
        return None
    watched = {str(k): v for k, v in entry["watched"].items()}
    if _mtimes([*watched]) != watched or entry.get("search") != os.environ.get("PATH"):
        return None
    names = StackVersions.__annotations__
    stack: StackVersions = {k: v for k, v in entry["stack"].items() if k in names}  # type: ignore[assignment]
    return stack


def _remember(python: str, watched: list[str], stack: StackVersions) -> None:
    known = read_json(_cache_file())
    entries = dict(list(known.items())[-15:]) if isinstance(known, dict) else {}
    entries[python] = {"watched": _mtimes(watched), "search": os.environ.get("PATH"), "stack": stack}
    try:
        private_dir(_cache_file().parent)
        write_json(_cache_file(), entries)
    except OSError as error:
        stack["problems"].append(f"{_cache_file()}: {error.strerror}; versions are asked anew each time")


# -- differences


@dataclass(frozen=True)
class Difference:
    """One package: the row's version and the one here. state: same, differs, missing (here) or not in the row."""

    package: str  # column name
    row: str | None
    here: str | None
    state: str
    note: str = ""

    @property
    def words(self) -> str:
        """`transformers 5.24.0 here, 5.25.0 in the row`."""
        name = WORDS.get(self.package, self.package)
        said = f"{name} {self.here or 'missing'} here, {self.row or 'not named'} in the row"
        return f"{said} ({self.note})" if self.note else said

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def compare(row: str | None, here: str | None) -> tuple[str, str]:
    """(state, note). A stand-in equals only itself."""
    if not row:
        return "not in the row", ""
    if not here:
        return "missing", ""
    if "standin" in here and row != here:
        return "differs", "a stand-in"
    found = gap(row, here)
    return ("same", "") if found is Gap.NONE else ("differs", "another build" if found is Gap.BUILD else "")


def differences(stack: Mapping[str, Any], row: Mapping[str, Any]) -> tuple[Difference, ...]:
    """Every package of the dataset's stack columns, in the order in which a difference matters."""
    found = []
    for name in IN_ORDER:
        if name == "library_version" and (row.get("library") or "transformers") == "transformers":
            continue
        theirs, mine = _text(row.get(name)), _text(stack.get(name))
        state, note = compare(theirs, mine)
        if name == "python" and state == "differs" and theirs and mine and release(theirs)[:2] == release(mine)[:2]:
            state, note = "same", "" if release(theirs) == release(mine) else "another patch release"
        if name == "torch_neuronx" and stack.get("native") is False:
            note = "the XLA package, without a neuron device"
            state = "differs" if state == "same" else state
        found.append(Difference(name, theirs, mine, state, note))
    return tuple(found)


def _text(value: object) -> str | None:
    return one_line(value, 80) or None if value is not None else None
