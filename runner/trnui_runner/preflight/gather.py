"""What a run needs, looked at before it starts: host, interpreter, checkpoint, disk, caches, consent; judged by checks.py."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from trnui_runner.common.errors import UsageError, UserError
from trnui_runner.common.hub_env import has_token, hub_cache, is_offline
from trnui_runner.host.devices import Devices, devices
from trnui_runner.host.interpreter import Interpreter, find
from trnui_runner.host.neff_cache import bucket, cache
from trnui_runner.host.resources import free_space, host_memory
from trnui_runner.host.stack import differences
from trnui_runner.payload import sharding
from trnui_runner.payload.judge import DEFAULT, WORD_ORDER
from trnui_runner.preflight import consent
from trnui_runner.preflight.checks import run_checks
from trnui_runner.preflight.facts import PreflightFacts
from trnui_runner.preflight.report import Preflight
from trnui_runner.request import checkpoint
from trnui_runner.request.hub_info import HubInfo, ask_hub
from trnui_runner.request.placement import lacking
from trnui_runner.request.prepare import prepare
from trnui_runner.request.request import PreparedRun, RunRequest
from trnui_runner.result.dataset_row import device_of, word_of


def preflight(
    request: RunRequest,
    *,
    siblings: tuple[str, ...] = (),
    newest: str | None = None,
    card: str | None = None,
    neff_bucket: str = "",
    offline: bool = False,
    ask: Callable[..., HubInfo] | None = ask_hub,
) -> Preflight:
    """About 0.3 s; a checkpoint that is not cached adds one request to the Hub (at most 12 s), unless `offline` or `ask` is None.

    What the catalog knows: siblings that pass, the newest stack (in words) on which the model passes, the dataset card's text. Raises UsageError alone.
    """
    offline = offline or request.supervision.offline or is_offline()
    here = devices()
    interpreter = find(request.python)
    prepared, refusal = _prepared(request)
    facts = gather(request, prepared, refusal, here, interpreter, offline=offline, ask=ask)
    named = bucket(neff_bucket, card=card, notes=_text(request.row, "notes"), run_py=_text(request.row, "run_py"))
    facts = replace(facts, siblings=siblings, newest=newest, bucket=named)
    return Preflight(run_checks(facts), prepared)


def _prepared(request: RunRequest) -> tuple[PreparedRun | None, UserError | None]:
    try:
        return prepare(request), None
    except UsageError:
        raise
    except UserError as error:
        return None, error


def gather(
    request: RunRequest,
    prepared: PreparedRun | None,
    refusal: UserError | None,
    here: Devices,
    interpreter: Interpreter,
    *,
    offline: bool = False,
    ask: Callable[..., HubInfo] | None = ask_hub,
) -> PreflightFacts:
    """Everything but what the catalog knows. When the run was refused, its device and cores are those that were asked for."""
    row = request.row
    stack: Mapping[str, Any] = interpreter.stack
    recipe = prepared.recipe if prepared else None
    compiler = stack.get("neuronx_cc")
    device = recipe.device if recipe else _wanted_device(request, here)
    cores = recipe.cores if recipe else request.cores or _row_cores(row) or 1
    local = checkpoint.is_local(request.model) or request.checkpoint is not None
    folder = request.checkpoint or checkpoint.folder_of(request.model, request.revision)
    weights = sharding.folder_bytes(str(folder)) if folder else None
    cached = folder is not None and weights is not None
    hub = None
    if not local and not cached and not offline and ask is not None:
        hub = ask(request.model, request.revision, token=request.supervision.token)
    place = hub_cache()
    task = _task(request, prepared, folder)
    script, agreed = _script(request, prepared)
    judge_name = _judge_name(request, prepared, cores)
    return PreflightFacts(
        model=request.model,
        device=device,
        row_device=device_of(row) if row else None,
        row_word=word_of(row) if row else None,
        row_reason=_text(row, "exclusion"),
        script=script,
        consent=agreed,
        interpreter=interpreter.path,
        problems=tuple(stack.get("problems", ())),
        missing=lacking(stack, _bundled(request), task),
        native=stack.get("native"),
        differences=differences(stack, row) if row else (),
        devices=here,
        cores=cores,
        wanted=_fixed_cores(prepared),
        weights=weights if weights is not None else hub.bytes if hub is not None else None,
        host_memory=host_memory(),
        row_peak_gb=_number(row, "hbm_peak_gb"),
        disk_free=free_space(place),
        disk_place=str(place),
        lacks=checkpoint.missing(folder, task) if folder and (local or offline) else (),
        cached=cached,
        local=local,
        hub=hub,
        offline=offline,
        token=has_token(),
        token_sent=request.supervision.token,
        judge=judge_name,
        judge_at_hand=judge_name is not None and _at_hand(judge_name),
        cache=cache(compiler, request.supervision.neff_cache or "") if compiler and device != "cpu" else None,
        refusal=(refusal.message, refusal.remedy) if refusal else None,
    )


def _task(request: RunRequest, prepared: PreparedRun | None, folder: Path | None) -> str:
    if prepared is not None:
        return prepared.recipe.task
    return request.task or (checkpoint.task_of(checkpoint.config_of(folder)) if folder else checkpoint.TEXT)


def _bundled(request: RunRequest) -> bool:
    return request.script == "bundled" or (request.script == "auto" and not (request.row and request.row.get("run_py")))


def _wanted_device(request: RunRequest, here: Devices) -> str:
    if request.device == "cpu" or (
        request.device == "auto" and request.row is not None and device_of(request.row) == "cpu"
    ):
        return "cpu"
    return "stand-in" if here.stand_in and here.present else "neuron"


def _row_cores(row: Mapping[str, Any] | None) -> int | None:
    value = _number(row, "tp")
    return int(value) if value and value > 0 else None


def _fixed_cores(prepared: PreparedRun | None) -> tuple[int, ...] | None:
    """A published sharded script starts its own ranks on cores 0..n-1."""
    if prepared is None or prepared.recipe.script == "bundled" or prepared.recipe.cores == 1:
        return None
    return tuple(range(prepared.recipe.cores))


def _script(request: RunRequest, prepared: PreparedRun | None) -> tuple[str, str | None]:
    if prepared is None:
        return request.script, ""
    return prepared.recipe.script, consent.allowed(prepared.recipe, prepared.script)


def _judge_name(request: RunRequest, prepared: PreparedRun | None, cores: int) -> str | None:
    if cores == 1:
        return None
    return (prepared.recipe.judge if prepared else request.judge) or DEFAULT


def _at_hand(name: str) -> bool:
    return name == WORD_ORDER or checkpoint.folder_of(name) is not None


def _text(row: Mapping[str, Any] | None, name: str) -> str | None:
    value = row.get(name) if row else None
    return str(value) if value else None


def _number(row: Mapping[str, Any] | None, name: str) -> float | None:
    value = row.get(name) if row else None
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) and value == value else None
