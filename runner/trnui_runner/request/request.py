"""What is asked for (RunRequest) and what is made of it (PreparedRun): values without the work in between (prepare.py)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from trnui_runner.host.interpreter import Interpreter
from trnui_runner.request.script_scan import Loads
from trnui_runner.request.steps import Step, SupervisionOptions
from trnui_runner.run_folder.recipe import Recipe, RowSource


@dataclass(frozen=True)
class RunRequest:
    """What is asked for; None means "as usual". `row`: all columns of the row to reproduce, `run_py` among them."""

    model: str
    row: Mapping[str, Any] | None = None
    source: RowSource | None = None
    script: str = "auto"  # "published", "bundled" or a file
    device: str = "auto"  # "neuron" or "cpu"
    cores: int | None = None
    parallelism: str | None = None  # "tp" or "ep"
    python: str | None = None
    task: str | None = None
    library: str = "transformers"
    revision: str | None = None
    dtype: str | None = None
    prompt: str | None = None
    image: str | None = None
    max_new_tokens: int | None = None
    timeout_s: float | None = None
    judge: str | None = None
    checkpoint: Path | None = None  # a folder that holds a copy of `model`
    backend: str | None = None  # of torch.compile
    compile_prefill: bool | None = None
    warm: bool | None = None
    trust_remote_code: bool = False
    force: bool = False  # run what cannot work all the same, to see how it fails
    supervision: SupervisionOptions = field(default_factory=SupervisionOptions)


@dataclass(frozen=True)
class PreparedRun:
    """Ready for `supervise.launcher.start(recipe, script, steps, supervision)`.

    notes: what the user should know before. loads: what the script's text says that it loads, read once.
    """

    recipe: Recipe
    script: bytes
    steps: tuple[Step, ...]
    supervision: SupervisionOptions
    notes: tuple[str, ...]
    interpreter: Interpreter
    loads: Loads = field(default_factory=Loads)
