"""This host's pair, so that its rows come first where the dataset has them. Costs nothing on a host without a Neuron environment."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from trnui.catalog.query import Stack
from trnui_runner.common.errors import UserError
from trnui_runner.host.environments import environments

DEVICE: Final = Path("/dev/neuron0")


def host_stack(python: str, library: str = "transformers") -> Stack | None:
    """The versions that runs here would have, by the interpreter that is set or found; None without a Neuron compiler.

    Asks an interpreter only where one is set, AWS's environments lie, or a device is: 0.1 s, then remembered.
    """
    root = Path(
        os.environ.get("TRNUI_HOST_ROOT") or "/"
    )  # as trnui_runner.common.subprocesses has it, whose import costs more than all of this
    if not (python or root != Path("/") or DEVICE.exists() or environments(root)):
        return None
    from trnui_runner.host.interpreter import find
    from trnui_runner.host.stack import stack_of

    try:
        found = find(python or None)
    except UserError:
        return None  # what is wrong with the setting is said where something is to be run
    stack = found.stack if library == "transformers" else stack_of(found.path, library)
    compiler, version = stack.get("neuronx_cc"), stack.get("library_version")
    return Stack(compiler, version, library) if compiler and version else None
