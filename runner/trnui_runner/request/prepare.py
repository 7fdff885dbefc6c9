"""Turns a run request into what is executed: recipe, script, steps and supervision; or the reason why it cannot run."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from trnui_runner.common.errors import UsageError, UserError
from trnui_runner.common.text import decode, one_line
from trnui_runner.host.host_view import HostView, look
from trnui_runner.host.interpreter import Interpreter
from trnui_runner.host.system_info import machine
from trnui_runner.payload.judge import WORD_ORDER
from trnui_runner.request import checkpoint, placement, render_script
from trnui_runner.request.checkpoint_check import packages_of, unfit
from trnui_runner.request.request import PreparedRun, RunRequest
from trnui_runner.request.script_scan import loads_of
from trnui_runner.request.steps import Step, usual_steps
from trnui_runner.request.task import task_of_request
from trnui_runner.run_folder.recipe import NEW_TOKENS, PROMPT, QUESTION, Recipe, new_id

DTYPES: Final = ("auto", "bfloat16", "float16", "float32")
FIXED: Final = (
    "prompt",
    "image",
    "max_new_tokens",
    "dtype",
    "revision",
    "parallelism",
    "backend",
    "compile_prefill",
    "warm",
)


def prepare(request: RunRequest, host: HostView | None = None) -> PreparedRun:
    """Decides device, script, interpreter, cores and judge. About 0.2 s, with a plan by the run's interpreter 5 s.

    Raises UsageError (what was asked for contradicts itself), DeviceError (no such device here), UserError (it cannot
    work: no torch, heads do not divide, weights do not fit), each with what to do. host: as it was looked at; None: look now.
    """
    origin = _script_origin(request)
    host = host or look(request.python)
    interpreter, here = host.interpreter, host.devices
    device, notes = placement.device_for(request, interpreter, here)
    request = replace(request, model=_absolute(request.model), task=_task(request), image=_image(request))
    if request.dtype not in (None, *DTYPES):
        raise UsageError(f"Unknown dtype: {one_line(request.dtype)}.", f"--dtype takes {', '.join(DTYPES)}.")
    _require_own_device(request, origin, device)
    placement.require_stack(interpreter, origin == "bundled", request.task)
    if origin == "bundled" and not request.force:
        _require_fit(request, interpreter)
    cores, parallelism = placement.place(request, origin, device, interpreter, here)
    recipe = _recipe(request, origin, device, cores, parallelism, interpreter)
    recipe = replace(recipe, options={**recipe.options, "host": machine(here.instance_type)})
    source = _script_bytes(request, origin, recipe, interpreter)
    recipe = replace(recipe, script_sha256=render_script.digest(source))
    loads = loads_of(decode(source))
    if origin != "bundled" and loads.remote_code:  # as the consent says: never by a comment's words
        recipe = replace(recipe, options={**recipe.options, "trust_remote_code": True})  # the check must load it too
    supervision, more = placement.supervision_for(request, recipe, source, interpreter, here)
    return PreparedRun(recipe, source, _steps(request, recipe), supervision, (*notes, *more), interpreter, loads)


# --- script


def _script_origin(request: RunRequest) -> str:
    """ "published", "bundled" or "file"."""
    has_own = bool(request.row and request.row.get("run_py"))
    origin = {"auto": "published" if has_own else "bundled"}.get(request.script, request.script)
    if origin not in ("published", "bundled"):
        origin = "file"
        if not os.path.isfile(os.path.expanduser(request.script)):
            raise UsageError(
                f"Script not found: {one_line(request.script)}.", "--script takes published, bundled, or a file."
            )
    if origin == "published" and not has_own:
        raise UsageError(f"The row of {one_line(request.model)} has no run.py.", "Use --script bundled.")
    given = [name for name in FIXED if getattr(request, name) is not None]
    if origin != "bundled" and given:
        options = ", ".join(f"--{name.replace('_', '-')}" for name in given)
        raise UsageError(f"{options}: a {origin} script runs unchanged.", "Use --script bundled to change what is run.")
    return origin


def _require_own_device(request: RunRequest, origin: str, device: str) -> None:
    """A script made from our template names its device; on another it would generate nothing there. Raises UsageError."""
    if origin != "published" or request.row is None or device == "cpu":
        return
    if render_script.constants(str(request.row["run_py"])).get("DEVICE") == "cpu":
        raise UsageError(
            f"The row's own script of {one_line(request.model)} runs on the CPU alone.",
            "Say --script bundled to run it on the device, or leave out --device.",
        )


def _script_bytes(request: RunRequest, origin: str, recipe: Recipe, interpreter: Interpreter) -> bytes:
    if origin == "published":
        assert request.row is not None
        return str(request.row["run_py"]).encode("utf-8", "surrogatepass")
    if origin == "file":
        try:
            return Path(os.path.expanduser(request.script)).read_bytes()
        except OSError as error:
            raise UserError(f"{one_line(request.script)}: {error.strerror}", "Check the file's permissions.") from error
    stack: Mapping[str, Any] = interpreter.stack
    named = {
        name: stack.get(name)
        for name in ("python", "torch", "torch_neuronx", "neuronx_cc", "transformers", "accelerate")
    }
    return render_script.render(recipe, named)


# --- model and task


def _absolute(model: str) -> str:
    return os.path.realpath(os.path.expanduser(model)) if checkpoint.is_local(model) else model


def _image(request: RunRequest) -> str | None:
    """The picture's path, for the run has a folder of its own; or the name of one that comes with the checkpoint."""
    if request.image is None:
        return None
    path = os.path.expanduser(request.image)
    if os.path.isfile(path):
        return os.path.realpath(path)
    folder = request.checkpoint or checkpoint.folder_of(request.model, request.revision)
    if folder is None or not os.path.isfile(folder / request.image):
        raise UsageError(
            f"Picture not found: {one_line(request.image)}.",
            "--image takes a file, or a name in the checkpoint's folder.",
        )
    return request.image


def _task(request: RunRequest) -> str:
    folder = request.checkpoint or checkpoint.folder_of(request.model, request.revision)
    if not request.task and checkpoint.is_local(request.model) and folder is None:
        raise UsageError(
            f"Folder not found: {one_line(request.model)}.",
            "Give a Hub id (owner/name) or a folder with a checkpoint.",
        )
    return task_of_request(request, folder)


def _require_fit(request: RunRequest, interpreter: Interpreter) -> None:
    """What the checkpoint's config alone rules out for the bundled script. Raises UserError."""
    folder = request.checkpoint or checkpoint.folder_of(request.model, request.revision)
    config = checkpoint.config_of(folder) if folder else {}
    why = unfit(config, request.task or checkpoint.TEXT)
    if why:
        raise UserError(
            f"{one_line(request.model)} is not made for {one_line(request.task)}: {why}.",
            "Take a model that continues a text, or give a script of your own (--script FILE).",
        )
    installed = interpreter.stack.get("installed")
    lacking = [name for name in packages_of(config) if installed and name not in installed]
    if lacking:
        words = f"{one_line(request.model)} has quantized weights, and {interpreter.path} has no {' and no '.join(lacking)}."
        raise UserError(words, f"Install it: {interpreter.path} -m pip install {' '.join(lacking)}")


# --- recipe and steps


def _recipe(
    request: RunRequest, origin: str, device: str, cores: int, parallelism: str, interpreter: Interpreter
) -> Recipe:
    row = {k: _plain(v) for k, v in request.row.items() if k != "run_py"} if request.row else None
    options: dict[str, Any] = {
        "stack": {k: v for k, v in interpreter.stack.items() if k not in ("installed", "system", "problems")}
    }
    if request.row and request.row.get("run_py"):
        options["row_script_sha256"] = render_script.digest(str(request.row["run_py"]).encode("utf-8", "surrogatepass"))
    for name in ("backend", "compile_prefill", "warm"):
        if getattr(request, name) is not None:
            options[name] = getattr(request, name)
    if request.checkpoint:
        options["checkpoint"] = str(request.checkpoint)
    if request.trust_remote_code:
        options["trust_remote_code"] = True
    task = request.task or checkpoint.TEXT
    # What a script of ours in the row asks for is the row's; of a foreign one only the probe sees the tokens.
    said = render_script.constants(str(request.row.get("run_py") or "")) if request.row and origin != "file" else {}
    usual = said.get("PROMPT", QUESTION if task == checkpoint.PICTURE else PROMPT)
    prompt = usual if request.prompt is None else request.prompt
    image = request.image or said.get("IMAGE")
    tokens = request.max_new_tokens or said.get("NEW_TOKENS", NEW_TOKENS)
    values: dict[str, Any] = {
        "id": new_id(request.model),
        "model": request.model,
        "task": task,
        "library": request.library,
        "revision": request.revision,
        "script": origin,
        "source": request.source,
        "row": row,
        "device": device,
        "cores": cores,
        "parallelism": parallelism,
        "dtype": request.dtype or "auto",
        "prompt": prompt,
        "image": image,
        "max_new_tokens": tokens,
        "python": interpreter.path,
        "timeout_s": request.timeout_s,
        "judge": request.judge
        or (WORD_ORDER if request.source and request.source.dataset == "sample" and device != "neuron" else None),
        "options": options,
    }
    return Recipe(**values)


def _plain(value: Any) -> Any:
    """A row's value as JSON: times as ISO 8601, anything unusual as text."""
    if value is None or isinstance(value, str | int | float):
        return value
    return value.isoformat() if isinstance(value, datetime) else str(value)


def _steps(request: RunRequest, recipe: Recipe) -> tuple[Step, ...]:
    env = {"TRNUI_CHECKPOINT": str(request.checkpoint)} if request.checkpoint else {}
    if recipe.device == "cpu":
        env["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"  # an environment with TorchNeuron would take a device on import
    return tuple(replace(step, env={**env, **step.env}) for step in usual_steps(recipe.python))
