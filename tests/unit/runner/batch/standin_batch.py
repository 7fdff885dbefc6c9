"""Batches of made durations on a stand-in host: real detached runs with real leases, whose script only sleeps.

python standin_batch.py FOLDER [SECONDS]      is their keeper as a process, to be killed
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from trnui_runner.batch.batch_file import Batch, BatchRow, Limits
from trnui_runner.batch.engines.local import LocalEngine
from trnui_runner.batch.folder import BatchFolder
from trnui_runner.batch.keeper import Keeper
from trnui_runner.batch.planning.checkpoints import Checkpoints
from trnui_runner.host.core_blocks import CoreRequest
from trnui_runner.host.devices import Devices, devices
from trnui_runner.host.interpreter import Interpreter, find
from trnui_runner.request.request import PreparedRun, RunRequest
from trnui_runner.request.steps import Step, SupervisionOptions
from trnui_runner.run_folder.recipe import Recipe, new_id

MANY = Limits(compiling=10_000)
PREFIX = "org/sleeps-"


def sleeping_batch(jobs: Sequence[tuple[int, float]], name: str = "b", limits: Limits = MANY) -> BatchFolder:
    """jobs: (cores, seconds)."""
    rows = tuple(BatchRow(n, f"{PREFIX}{seconds}", cores, "neuron", seconds) for n, (cores, seconds) in enumerate(jobs))
    requests = [RunRequest(row.model, cores=row.cores, script="bundled") for row in rows]
    stack = {k: str(v) for k, v in find().stack.items() if isinstance(v, str)}
    batch = Batch(name, time.time(), "made for a test", rows, stack=stack, host_cores=64, limits=limits)
    return BatchFolder.create(batch, requests)


def prepared(request: RunRequest) -> PreparedRun:
    """What `prepare` would make of it, with a step that sleeps as long as the model's name says."""
    cores = request.cores or 1
    recipe = Recipe(new_id(request.model), request.model, device="neuron", cores=cores)
    seconds = request.model.removeprefix(PREFIX)
    step = Step("run", ("/bin/sh", "-c", f"echo cores $NEURON_RT_VISIBLE_CORES; exec sleep {seconds}"), probe=False)
    ids = tuple(core.id for core in here().cores)
    interpreter = Interpreter(sys.executable, "this one", {})
    return PreparedRun(
        recipe, b"# sleeps\n", (step,), SupervisionOptions(cores=CoreRequest(cores, ids), wait=False), (), interpreter
    )


_here: Devices | None = None


def here() -> Devices:
    """neuron-ls is asked once: it takes longer than these runs' starts."""
    global _here
    _here = _here or devices()
    return _here


def keeper(folder: BatchFolder, look_s: float = 0.2) -> Keeper:
    engine = LocalEngine(folder.id, folder.request, host="", ask_consent=False, prepare=prepared, devices=here)
    checkpoints = Checkpoints(folder.path / "checkpoints.jsonl", budget=None, spare=0)
    return Keeper(folder, engine, checkpoints, look_s=look_s)


if __name__ == "__main__":
    at = BatchFolder(Path(sys.argv[1]))
    lock = at.lock()
    if lock is None:
        sys.exit("kept")
    print("held", flush=True)
    keeper(at, float(sys.argv[2]) if len(sys.argv) > 2 else 0.2).run()
    os.close(lock)
