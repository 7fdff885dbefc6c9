"""Python environments for runs: where AWS's machine images and containers keep them, and the line that installs what the bundled
scripts need (trnui is on no index, so it names the packages themselves)."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Final

# Below the host's root: machine images, containers, Conda.
VENVS: Final = ("opt/aws_neuronx_venv_*", "opt/*neuron*/.venv", "opt/*neuron*/venv", "opt/conda/envs/*neuron*")
EXAMPLES: Final = "on AWS's machine images /opt/aws_neuronx_venv_*, in its containers /opt/torch-neuronx/.venv"


def environments(root: Path) -> list[Path]:
    """Those of TorchNeuron first, then by the version in the name, newest first."""
    return [venv for pattern in VENVS for venv in sorted(root.glob(pattern), key=_newest, reverse=True)]


def _newest(venv: Path) -> tuple[bool, tuple[int, ...]]:
    name = venv.parent.name if venv.name in (".venv", "venv") else venv.name
    return "torch_neuronx" in name.replace("-", "_"), tuple(int(n) for n in re.findall(r"\d+", name))


# --- what they need

# The `run` extra of pyproject.toml, for an installation without its metadata.
USUAL: Final = ("torch>=2.13", "transformers>=5.18", "accelerate>=1.10", "safetensors>=0.5", "pillow>=11")
# Measured on 2026-11-30 over the installed files: torch 2.13.0+cpu with its dependencies, transformers 5.24, accelerate, pillow.
SIZE: Final = "about 1.2 GB with a CPU build of torch"
_EXTRA = re.compile(r"""extra\s*==\s*['"]run['"]""")


def requirements() -> tuple[str, ...]:
    """As the installed release names them, in the order of USUAL where it has the same packages."""
    import importlib.metadata

    try:
        listed = importlib.metadata.requires("trnui") or ()
    except importlib.metadata.PackageNotFoundError:
        listed = ()
    found = {r.partition(";")[0].strip() for r in listed if _EXTRA.search(r)}
    order = [re.split(r"[<>=!~ \[]", r, maxsplit=1)[0] for r in USUAL]
    return tuple(sorted(found, key=lambda r: _place(r, order))) or USUAL


def _place(requirement: str, order: list[str]) -> tuple[int, str]:
    name = re.split(r"[<>=!~ \[]", requirement, maxsplit=1)[0]
    return (order.index(name) if name in order else len(order), requirement)


def install_line(python: str, *options: str) -> str:
    """For a shell."""
    return shlex.join([python, "-m", "pip", "install", *options, *requirements()])
