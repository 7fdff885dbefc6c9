"""What a user asks for, made into what is run: recipe, script, steps and terms, or the reason why it cannot be."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from trnui_runner.common.errors import UsageError, UserError
from trnui_runner.common.text import decode, one_line
from trnui_runner.host.devices import devices
from trnui_runner.host.interpreter import Interpreter, find
from trnui_runner.host.system_info import machine
from trnui_runner.payload.judge import WORD_ORDER
from trnui_runner.request import checkpoint, placement, render_script
from trnui_runner.request.script_scan import loads_of
from trnui_runner.request.steps import Step, Terms, usual_steps
from trnui_runner.run_folder.recipe import NEW_TOKENS, PROMPT, QUESTION, Recipe, Source, new_id

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


@dataclass(frozen=True)
class Order:
    """What is asked for; None means "as usual". `row`: all columns of the row to reproduce, `run_py` among them."""

    model: str
    row: Mapping[str, Any] | None = None
    source: Source | None = None
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
    terms: Terms = field(default_factory=Terms)


@dataclass(frozen=True)
class Prepared:
    """Ready for `trnui_runner.supervise.launcher.start(recipe, script, steps, terms)`. `notes`: what the user should know before."""

    recipe: Recipe
    script: bytes
    steps: tuple[Step, ...]
    terms: Terms
    notes: tuple[str, ...]
    interpreter: Interpreter


def prepare(order: Order) -> Prepared:
    """Decides device, script, interpreter, cores and judge. About 0.2 s, with a plan by the run's interpreter 5 s.

    Raises UsageError (what was asked for contradicts itself), DeviceError (no such device here), UserError (it cannot
    work: no torch, heads do not divide, weights do not fit), each with what to do.
    """
    origin = _script_origin(order)
    interpreter = find(order.python)
    here = devices()
    device, notes = placement.device_for(order, interpreter, here)
    order = replace(order, model=_absolute(order.model), task=_task(order), image=_image(order))
    if order.dtype not in (None, *DTYPES):
        raise UsageError(f"There is no dtype {one_line(order.dtype)}.", f"--dtype takes {', '.join(DTYPES)}.")
    placement.require_stack(interpreter, origin == "bundled", order.task)
    cores, parallelism = placement.place(order, origin, device, interpreter, here)
    recipe = _recipe(order, origin, device, cores, parallelism, interpreter)
    recipe = replace(recipe, options={**recipe.options, "host": machine(here.instance_type)})
    source = _script_bytes(order, origin, recipe, interpreter)
    recipe = replace(recipe, script_sha256=render_script.digest(source))
    if origin != "bundled" and loads_of(decode(source)).remote_code:  # as the consent says: never by a comment's words
        recipe = replace(recipe, options={**recipe.options, "trust_remote_code": True})  # the check must load it too
    terms, more = placement.terms_for(order, recipe, interpreter, here)
    return Prepared(recipe, source, _steps(order, recipe), terms, (*notes, *more), interpreter)


# --- script


def _script_origin(order: Order) -> str:
    """ "published", "bundled" or "file"."""
    has_own = bool(order.row and order.row.get("run_py"))
    origin = {"auto": "published" if has_own else "bundled"}.get(order.script, order.script)
    if origin not in ("published", "bundled"):
        origin = "file"
        if not os.path.isfile(os.path.expanduser(order.script)):
            raise UsageError(
                f"There is no script {one_line(order.script)}.", "--script takes published, bundled, or a file."
            )
    if origin == "published" and not has_own:
        raise UsageError(f"No row of {one_line(order.model)} brings a run.py.", "Use --script bundled.")
    given = [name for name in FIXED if getattr(order, name) is not None]
    if origin != "bundled" and given:
        options = ", ".join(f"--{name.replace('_', '-')}" for name in given)
        raise UsageError(f"{options}: a {origin} script runs as it is.", "Use --script bundled to change what is run.")
    return origin


def _script_bytes(order: Order, origin: str, recipe: Recipe, interpreter: Interpreter) -> bytes:
    if origin == "published":
        assert order.row is not None
        return str(order.row["run_py"]).encode("utf-8", "surrogatepass")
    if origin == "file":
        try:
            return Path(os.path.expanduser(order.script)).read_bytes()
        except OSError as error:
            raise UserError(f"{one_line(order.script)}: {error.strerror}", "Check the file's permissions.") from error
    stack: Mapping[str, Any] = interpreter.stack
    named = {
        name: stack.get(name)
        for name in ("python", "torch", "torch_neuronx", "neuronx_cc", "transformers", "accelerate")
    }
    return render_script.render(recipe, named)


# --- model and task


def _absolute(model: str) -> str:
    return os.path.realpath(os.path.expanduser(model)) if checkpoint.is_local(model) else model


def _image(order: Order) -> str | None:
    """The picture's path, for the run has a folder of its own; or the name of one that comes with the checkpoint."""
    if order.image is None:
        return None
    path = os.path.expanduser(order.image)
    if os.path.isfile(path):
        return os.path.realpath(path)
    folder = order.checkpoint or checkpoint.folder_of(order.model, order.revision)
    if folder is None or not os.path.isfile(folder / order.image):
        raise UsageError(
            f"There is no picture {one_line(order.image)}.",
            "--image takes a file, or a name in the checkpoint's folder.",
        )
    return order.image


def _task(order: Order) -> str:
    if order.task:
        return order.task
    if order.row is not None and re.search(r"AutoModelForImageTextToText", str(order.row.get("run_py") or "")):
        return checkpoint.PICTURE
    folder = order.checkpoint or checkpoint.folder_of(order.model, order.revision)
    if checkpoint.is_local(order.model) and folder is None:
        raise UsageError(
            f"There is no folder {one_line(order.model)}.", "Give a Hub id (owner/name) or a folder with a checkpoint."
        )
    return checkpoint.task_of(checkpoint.config_of(folder)) if folder else checkpoint.TEXT


# --- recipe and steps


def _recipe(order: Order, origin: str, device: str, cores: int, parallelism: str, interpreter: Interpreter) -> Recipe:
    row = {k: _plain(v) for k, v in order.row.items() if k != "run_py"} if order.row else None
    options: dict[str, Any] = {
        "stack": {k: v for k, v in interpreter.stack.items() if k not in ("installed", "system", "problems")}
    }
    if order.row and order.row.get("run_py"):
        options["row_script_sha256"] = render_script.digest(str(order.row["run_py"]).encode("utf-8", "surrogatepass"))
    for name in ("backend", "compile_prefill", "warm"):
        if getattr(order, name) is not None:
            options[name] = getattr(order, name)
    if order.checkpoint:
        options["checkpoint"] = str(order.checkpoint)
    if order.trust_remote_code:
        options["trust_remote_code"] = True
    task = order.task or checkpoint.TEXT
    # What a script of ours in the row asks for is the row's; of a foreign one only the probe sees the tokens.
    said = render_script.constants(str(order.row.get("run_py") or "")) if order.row and origin != "file" else {}
    usual = said.get("PROMPT", QUESTION if task == checkpoint.PICTURE else PROMPT)
    prompt = usual if order.prompt is None else order.prompt
    image = order.image or said.get("IMAGE")
    tokens = order.max_new_tokens or said.get("NEW_TOKENS", NEW_TOKENS)
    values: dict[str, Any] = {
        "id": new_id(order.model),
        "model": order.model,
        "task": task,
        "library": order.library,
        "revision": order.revision,
        "script": origin,
        "source": order.source,
        "row": row,
        "device": device,
        "cores": cores,
        "parallelism": parallelism,
        "dtype": order.dtype or "auto",
        "prompt": prompt,
        "image": image,
        "max_new_tokens": tokens,
        "python": interpreter.path,
        "timeout_s": order.timeout_s,
        "judge": order.judge
        or (WORD_ORDER if order.source and order.source.dataset == "sample" and device != "neuron" else None),
        "options": options,
    }
    return Recipe(**values)


def _plain(value: Any) -> Any:
    """A value of a row as JSON knows it: times as ISO 8601, whatever is odd as text."""
    if value is None or isinstance(value, str | int | float):
        return value
    return value.isoformat() if isinstance(value, datetime) else str(value)


def _steps(order: Order, recipe: Recipe) -> tuple[Step, ...]:
    env = {"TRNUI_CHECKPOINT": str(order.checkpoint)} if order.checkpoint else {}
    if recipe.device == "cpu":
        env["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"  # an environment with TorchNeuron would take a device on import
    return tuple(replace(step, env={**env, **step.env}) for step in usual_steps(recipe.python))
