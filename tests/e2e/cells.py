"""One cell of the table architectures × ways × devices: run through the real chain (order, launcher, supervisor, check)."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trnui.sample.models import OWNER, folder_of
from trnui_runner.common.errors import UserError
from trnui_runner.request.prepare import prepare
from trnui_runner.request.request import RunRequest
from trnui_runner.run_folder.folder import Result, RunFolder
from trnui_runner.run_folder.follower import Follower
from trnui_runner.run_folder.recipe import RowSource
from trnui_runner.supervise import launcher

WAYS = {"1 core": (1, None), "2 ranks TP": (2, "tp"), "2 ranks EP": (2, "ep")}
TRAINED = ("recites", "recites-moe", "recites-picture")  # these know English; random weights give equal tokens at best
PICTURES = ("recites-picture", "llava")


@dataclass(frozen=True)
class Cell:
    model: str
    way: str  # of WAYS
    device: str  # "cpu" or "stand-in"

    @property
    def dtype(self) -> str | None:
        """Random weights have near ties in bfloat16, so they are compared in float32."""
        return None if self.model in TRAINED else "float32"


@dataclass(frozen=True)
class Done:
    """`refused`: why it was not started. `seconds`: from the order to the result."""

    cell: Cell
    seconds: float
    result: Result | None = None
    refused: str = ""
    run: RunFolder | None = None

    @property
    def new_ids(self) -> list[int] | None:
        tokens = self.result.tokens if self.result else None
        return tokens["new_ids"] if tokens else None


def request_for_row(cell: Cell, **options: Any) -> RunRequest:
    cores, parallelism = WAYS[cell.way]
    checkpoint = folder_of(f"{OWNER}/{cell.model}")
    picture = {"image": "red-square.png"} if cell.model in PICTURES else {}
    return RunRequest(
        f"{OWNER}/{cell.model}",
        source=RowSource("sample"),
        device="cpu" if cell.device == "cpu" else "neuron",
        cores=cores,
        parallelism=parallelism,
        checkpoint=checkpoint,
        dtype=cell.dtype,
        timeout_s=300.0,
        **{**picture, **options},
    )


def run(cell: Cell, python: Path | str | None = None, **options: Any) -> Done:
    """Blocks until the run has ended. The stand-in's environment must be around this process."""
    began = time.monotonic()
    order = request_for_row(cell, python=str(python) if python else None, **options)
    try:
        prepared = prepare(order)
    except UserError as error:
        return Done(cell, time.monotonic() - began, refused=error.message)
    folder = launcher.start(prepared.recipe, prepared.script, prepared.steps, prepared.supervision, environ=quiet())
    result = wait(folder)
    return Done(cell, time.monotonic() - began, result, run=folder)


def quiet() -> dict[str, str]:
    """One thread a process: the machine is shared, and sums are then the same everywhere."""
    return {**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}


def wait(folder: RunFolder) -> Result:
    with Follower(folder, tail=None) as follower:
        while True:
            update = follower.poll()
            if update.over:
                assert update.result is not None, f"{folder} was lost"
                return update.result
            if not update.more:
                time.sleep(0.1)
