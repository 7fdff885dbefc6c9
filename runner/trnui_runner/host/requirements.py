"""What the bundled scripts run on, as one line that installs it: trnui is on no index, so it names the packages themselves."""

from __future__ import annotations

import importlib.metadata
import re
import shlex
from typing import Final

# The `run` extra of pyproject.toml, for an installation without its metadata.
USUAL: Final = ("torch>=2.13", "transformers>=5.18", "accelerate>=1.10", "safetensors>=0.5", "pillow>=11")
# Measured on 2026-11-30 over the installed files: torch 2.13.0+cpu with its dependencies, transformers 5.24, accelerate, pillow.
SIZE: Final = "about 1.2 GB with a CPU build of torch"
_EXTRA = re.compile(r"""extra\s*==\s*['"]run['"]""")


def requirements() -> tuple[str, ...]:
    """As the installed release names them, in the order of USUAL where it has the same packages."""
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
