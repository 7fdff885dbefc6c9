"""Placement of a run: device, number of cores, how the model is split over them, and which of the host's cores it asks for."""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from trnui_runner.common.dataset_schema import device_of
from trnui_runner.common.errors import DeviceError, UsageError, UserError
from trnui_runner.common.subprocesses import ask
from trnui_runner.common.text import one_line
from trnui_runner.host.core_blocks import CORES_PER_DEVICE, CoreRequest, Visible
from trnui_runner.host.devices import Devices
from trnui_runner.host.environments import EXAMPLES, SIZE, install_line
from trnui_runner.host.interpreter import Interpreter
from trnui_runner.host.stack import not_asked
from trnui_runner.payload import sharding
from trnui_runner.request import checkpoint
from trnui_runner.request.request import RunRequest
from trnui_runner.request.steps import SupervisionOptions
from trnui_runner.run_folder.recipe import Recipe

PLAN_S = 180.0
SAMPLE_WAY: Final = (
    "The bundled sample runs anywhere: trnui --dataset sample run trnui-sample/recites;"
    " or say --device cpu --script bundled to try this checkpoint on the CPU (not comparable with the row)."
)


# --- device and interpreter


def device_for(request: RunRequest, interpreter: Interpreter, here: Devices) -> tuple[str, tuple[str, ...]]:
    """(neuron, cpu or stand-in, notes). A Trainium row never falls back to the CPU by itself."""
    stand_in = bool(interpreter.stack.get("stand_in")) or here.stand_in
    able = bool(interpreter.stack.get("native"))
    wanted = request.device
    if wanted not in ("auto", "neuron", "cpu"):
        raise UsageError(f"Unknown device: {one_line(wanted)}.", "--device takes auto, neuron or cpu.")
    notes: list[str] = []
    if wanted == "auto" and request.row is not None:
        wanted = "cpu" if device_of(request.row) == "cpu" else "neuron"
    elif wanted == "auto":
        wanted = "neuron" if able and here.present else "cpu"
        if wanted == "cpu":
            notes.append("no Neuron device on this host: runs on the CPU, which says nothing about Trainium")
    if wanted == "cpu":
        return "cpu", tuple(notes)
    if not here.present and not (stand_in and able):
        raise DeviceError(f"{one_line(request.model)} needs a Trainium, and this host has none.", SAMPLE_WAY)
    if not able:
        raise DeviceError(
            f"{interpreter.path} has no torch-neuronx with a `neuron` device.",
            f"Give --python an environment that has it ({EXAMPLES}).",
        )
    return ("stand-in" if stand_in else "neuron"), tuple(notes)


def lacking(stack: Mapping[str, Any], bundled: bool, task: str | None) -> tuple[str, ...]:
    """Packages without which nothing runs; of a published script only those that every one needs."""
    found = [name for name in ("torch", "transformers") if not stack.get(name)]
    installed = stack.get("installed")
    if bundled and not found and installed:  # accelerate: from_pretrained puts the weights on a device by it
        wanted = ("accelerate", "pillow") if task == checkpoint.PICTURE else ("accelerate",)
        found += [name for name in wanted if name not in installed]
    return tuple(found)


def require_stack(interpreter: Interpreter, bundled: bool, task: str | None) -> None:
    if silent := not_asked(interpreter.stack):
        raise UserError(
            f"{interpreter.path} could not be asked which packages it has: {silent}",
            "Give another interpreter with --python, or try again.",
        )
    missing = lacking(interpreter.stack, bundled, task)
    if missing:
        line = install_line(interpreter.path)
        remedy = f"Install it: {line} ({SIZE}), or give --python an environment that has it."
        problems = "; ".join(interpreter.stack.get("problems", []))
        raise UserError(
            f"{interpreter.path} has no {' and no '.join(missing)}." + (f" ({problems})" if problems else ""), remedy
        )


# --- cores


def place(request: RunRequest, origin: str, device: str, interpreter: Interpreter, here: Devices) -> tuple[int, str]:
    """(cores, parallelism). Raises UserError with the reason when a bundled script cannot work."""
    of_row = request.row.get("tp") if request.row else None
    wanted = request.cores or (int(of_row) if isinstance(of_row, int | float) and of_row > 0 else None)
    if origin != "bundled":
        return wanted or 1, _way_of(request) if (wanted or 1) > 1 else "none"
    folder = request.checkpoint or checkpoint.folder_of(request.model, request.revision)
    total = sharding.folder_bytes(str(folder)) if folder else None
    room = _core_bytes(device, here)
    if wanted in (None, 1) and sharding.one_core(total, room):
        return 1, "none"
    if device == "cpu" and wanted in (None, 1):
        return 1, "none"  # a CPU's memory is shared: splitting wins nothing
    planned = _ask_plan(request, wanted, room, _host_cores(device, here), interpreter)
    if planned.refused and not request.force:
        raise UserError(
            f"{one_line(request.model)} cannot run on this host: {planned.refused}.", _remedy(request, planned)
        )
    return planned.cores, planned.parallelism


def _remedy(request: RunRequest, planned: sharding.ShardingPlan) -> str:
    if request.parallelism is not None and "-parallel plan" in str(planned.refused):
        return "Leave out --parallelism, or run it on one core." if "(but" in str(planned.refused) else "Say --cores 1."
    return "Try another --cores." if request.cores is not None else "Try --cores N, or a larger instance."


def _ask_plan(
    request: RunRequest, cores: int | None, room: int, host_cores: int | None, interpreter: Interpreter
) -> sharding.ShardingPlan:
    """Runs sharding.py under the run's interpreter, whose Transformers knows the architecture."""
    words = [
        str(request.checkpoint or request.model),
        "--task",
        request.task or checkpoint.TEXT,
        "--core-bytes",
        str(room),
    ]
    words += ["--dtype", request.dtype or "auto"]
    for name, value in (
        ("revision", request.revision),
        ("cores", cores),
        ("parallelism", request.parallelism),
        ("host-cores", host_cores),
    ):
        words += [f"--{name}", str(value)] if value is not None else []
    words += ["--trust-remote-code"] if request.trust_remote_code else []
    env = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    answer = ask(interpreter.path, sharding.__file__, *words, timeout=PLAN_S, env=env)
    try:
        value = json.loads(answer.out.splitlines()[-1])
    except (ValueError, IndexError):
        said = one_line(answer.err.strip().rpartition("\n")[2] or answer.problem or "its answer cannot be read")
        raise UserError(f"Planning failed: {said}", "Say --cores N to go without a plan.") from None
    if "error" in value:
        raise UserError(
            f"{one_line(request.model)}: {one_line(value['error'])}",
            "Is the name right, the checkpoint cached or the Hub reachable?",
        )
    names = sharding.ShardingPlan.__dataclass_fields__
    known: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in value.items() if k in names}
    return sharding.ShardingPlan(**known)


def _way_of(request: RunRequest) -> str:
    """How a published script splits the model, judging by its text."""
    source = str((request.row or {}).get("run_py") or "")
    found = re.search(r"^PARALLELISM(?:: str)? = '(\w+)'", source, re.M)
    if found and found[1] in ("tp", "ep"):
        return found[1]
    return "ep" if re.search(r"expert_parallel|ep_size|PARALLELISM = .ep", source) else "tp"


def _core_bytes(device: str, here: Devices) -> int:
    if device == "cpu":
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return here.core_hbm or sharding.CORE_BYTES


def _host_cores(device: str, here: Devices) -> int | None:
    return len(here.cores) or None if device != "cpu" else None


# A script that names one of these places its ranks itself.
_PLACES_ITSELF: Final = re.compile(rb"NEURON_RT_(?:VISIBLE|NUM)_CORES")


def supervision_for(
    request: RunRequest, recipe: Recipe, script: bytes, interpreter: Interpreter, here: Devices
) -> tuple[SupervisionOptions, tuple[str, ...]]:
    """How the run is supervised and which cores it needs, with notes. Raises DeviceError when other processes hold them."""
    stack: Mapping[str, Any] = interpreter.stack
    supervision = replace(request.supervision, neuronx_cc=stack.get("neuronx_cc") or request.supervision.neuronx_cc)
    if recipe.device == "cpu" or not here.cores:
        return supervision, ()
    if recipe.cores > len(here.cores):
        raise DeviceError(f"It needs {recipe.cores} cores, this host has {len(here.cores)}.", "Use a larger instance.")
    cores = core_request(recipe.cores, here, visible_of(recipe, script, supervision.move_sharded))
    if not cores.candidates():
        busy = "; ".join(f"core {c.id}: {c.held_by}" for c in here.cores if c.id in cores.held)
        raise DeviceError(
            f"{_block_words(cores)} needed, and other processes use too many: {busy}.",
            "Wait for them to end (trnui host shows who holds what).",
        )
    leased = [core.id for core in here.cores if core.lease is not None]
    notes: tuple[str, ...] = () if cores.candidates(leased) else ("waits for cores that other runs hold",)
    if cores.visible == "none" and _PLACES_ITSELF.search(script):
        notes += ("not moved off its first cores: the script places its ranks itself",)
    return replace(supervision, cores=cores), notes


def core_request(count: int, here: Devices, visible: Visible = "all") -> CoreRequest:
    """The request of a run on `count` cores of this host."""
    ids = tuple(core.id for core in here.cores)
    held = tuple(c.id for c in here.cores if any(owner.run is None or owner.leftover for owner in c.owners))
    per_device = max(Counter(core.device for core in here.cores).values(), default=CORES_PER_DEVICE)
    return CoreRequest(count, ids, held, per_device, visible)


def visible_of(recipe: Recipe, script: bytes, move_sharded: bool) -> Visible:
    """A bundled script distributes its cores itself; a published sharded one takes 0..n-1 unless the probe gives each rank its own."""
    if recipe.script == "bundled" or recipe.cores == 1:
        return "all"
    return "rank" if move_sharded and not _PLACES_ITSELF.search(script) else "none"


def _block_words(cores: CoreRequest) -> str:
    if cores.visible == "none":
        return f"Cores {cores.ids[0]} to {cores.ids[cores.count - 1]}"
    return "A core" if cores.count == 1 else f"An aligned block of {cores.count} cores"
