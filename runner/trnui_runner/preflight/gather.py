"""What a run needs, looked at before it starts: host, interpreter, checkpoint, disk, caches, consent; judged by lights.py."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from trnui_runner.common.errors import UsageError, UserError
from trnui_runner.host.devices import Devices, devices
from trnui_runner.host.interpreter import Interpreter, find
from trnui_runner.host.neff_cache import bucket, cache
from trnui_runner.host.stack import differences
from trnui_runner.payload import sharding
from trnui_runner.payload.judge import DEFAULT, WORD_ORDER
from trnui_runner.preflight import consent
from trnui_runner.preflight.checks import Facts, Item, Light, Preflight, judge, lines
from trnui_runner.request import checkpoint
from trnui_runner.request.hub_info import HubFacts, ask_hub
from trnui_runner.request.placement import lacking
from trnui_runner.request.prepare import Order, Prepared, prepare
from trnui_runner.result.dataset_row import device_of, word_of


def preflight(
    order: Order,
    *,
    siblings: tuple[str, ...] = (),
    newest: str | None = None,
    card: str | None = None,
    neff_bucket: str = "",
    offline: bool = False,
    ask: Callable[..., HubFacts] | None = ask_hub,
) -> Preflight:
    """About 0.3 s; a checkpoint that is not cached adds one request to the Hub (at most 12 s), unless `offline` or `ask` is None.

    What the catalog knows: siblings that pass, the newest stack (in words) on which the model passes, the dataset card's text. Raises UsageError alone.
    """
    offline = (
        offline or order.terms.offline or os.environ.get("HF_HUB_OFFLINE", "").upper() in ("1", "ON", "YES", "TRUE")
    )
    here = devices()
    interpreter = find(order.python)
    prepared, refusal = _prepared(order)
    facts = gather(order, prepared, refusal, here, interpreter, offline=offline, ask=ask)
    named = bucket(neff_bucket, card=card, notes=_text(order.row, "notes"), run_py=_text(order.row, "run_py"))
    facts = replace(facts, siblings=siblings, newest=newest, bucket=named)
    return Preflight(judge(facts), prepared)


def _prepared(order: Order) -> tuple[Prepared | None, UserError | None]:
    try:
        return prepare(order), None
    except UsageError:
        raise
    except UserError as error:
        return None, error


def gather(
    order: Order,
    prepared: Prepared | None,
    refusal: UserError | None,
    here: Devices,
    interpreter: Interpreter,
    *,
    offline: bool = False,
    ask: Callable[..., HubFacts] | None = ask_hub,
) -> Facts:
    """Everything but what the catalog knows. When the run was refused, its device and cores are those that were asked for."""
    row = order.row
    stack: Mapping[str, Any] = interpreter.stack
    recipe = prepared.recipe if prepared else None
    compiler = stack.get("neuronx_cc")
    device = recipe.device if recipe else _wanted_device(order, here)
    cores = recipe.cores if recipe else order.cores or _row_cores(row) or 1
    local = checkpoint.is_local(order.model) or order.checkpoint is not None
    folder = order.checkpoint or checkpoint.folder_of(order.model, order.revision)
    weights = sharding.folder_bytes(str(folder)) if folder else None
    cached = folder is not None and weights is not None
    hub = None
    if not local and not cached and not offline and ask is not None:
        hub = ask(order.model, order.revision, token=order.terms.token)
    place = checkpoint.hub_cache()
    task = _task(order, prepared, folder)
    script, agreed = _script(order, prepared)
    judge_name = _judge_name(order, prepared, cores)
    return Facts(
        model=order.model,
        device=device,
        row_device=device_of(row) if row else None,
        row_word=word_of(row) if row else None,
        row_reason=_text(row, "exclusion"),
        script=script,
        consent=agreed,
        interpreter=interpreter.path,
        problems=tuple(stack.get("problems", ())),
        missing=lacking(stack, _bundled(order), task),
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
        token_sent=order.terms.token,
        judge=judge_name,
        judge_at_hand=judge_name is not None and _at_hand(judge_name),
        cache=cache(compiler, order.terms.neff_cache or "") if compiler and device != "cpu" else None,
        refusal=(refusal.message, refusal.remedy) if refusal else None,
    )


def _task(order: Order, prepared: Prepared | None, folder: Path | None) -> str:
    if prepared is not None:
        return prepared.recipe.task
    return order.task or (checkpoint.task_of(checkpoint.config_of(folder)) if folder else checkpoint.TEXT)


def _bundled(order: Order) -> bool:
    return order.script == "bundled" or (order.script == "auto" and not (order.row and order.row.get("run_py")))


def _wanted_device(order: Order, here: Devices) -> str:
    if order.device == "cpu" or (order.device == "auto" and order.row is not None and device_of(order.row) == "cpu"):
        return "cpu"
    return "stand-in" if here.stand_in and here.present else "neuron"


def _row_cores(row: Mapping[str, Any] | None) -> int | None:
    value = _number(row, "tp")
    return int(value) if value and value > 0 else None


def _fixed_cores(prepared: Prepared | None) -> tuple[int, ...] | None:
    """A published sharded script starts its own ranks on cores 0..n-1."""
    if prepared is None or prepared.recipe.script == "bundled" or prepared.recipe.cores == 1:
        return None
    return tuple(range(prepared.recipe.cores))


def _script(order: Order, prepared: Prepared | None) -> tuple[str, str | None]:
    if prepared is None:
        return order.script, ""
    return prepared.recipe.script, consent.allowed(prepared.recipe, prepared.script)


def _judge_name(order: Order, prepared: Prepared | None, cores: int) -> str | None:
    if cores == 1:
        return None
    return (prepared.recipe.judge if prepared else order.judge) or DEFAULT


def _at_hand(name: str) -> bool:
    return name == WORD_ORDER or checkpoint.folder_of(name) is not None


def host_memory() -> int | None:
    """MemAvailable."""
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            return next((int(line.split()[1]) << 10 for line in file if line.startswith("MemAvailable:")), None)
    except (OSError, ValueError):
        return None


def free_space(path: Path) -> int | None:
    """Free bytes of the file system on which `path` is or would be."""
    for folder in (path, *path.parents):
        try:
            return shutil.disk_usage(folder).free
        except OSError:
            continue
    return None


def has_token(environ: Mapping[str, str] = os.environ) -> bool:
    """Whether a Hub token is at hand. Only its presence is looked at, never what it is."""
    if environ.get("HF_TOKEN") or environ.get("HUGGING_FACE_HUB_TOKEN"):
        return True
    stored = environ.get("HF_TOKEN_PATH") or str(checkpoint.hub_cache(environ).parent / "token")
    try:
        return os.stat(stored).st_size > 0
    except OSError:
        return False


def _text(row: Mapping[str, Any] | None, name: str) -> str | None:
    value = row.get(name) if row else None
    return str(value) if value else None


def _number(row: Mapping[str, Any] | None, name: str) -> float | None:
    value = row.get(name) if row else None
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) and value == value else None


__all__ = ["Item", "Light", "Preflight", "gather", "lines", "preflight"]
