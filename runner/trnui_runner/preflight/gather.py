"""The preflight of a run, the same for the command line and the app: one look at the host, the checks, and the question of consent."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from trnui_runner.common.dataset_schema import device_of, word_of
from trnui_runner.common.errors import UsageError, UserError
from trnui_runner.common.hub_env import has_token, hub_cache, is_offline
from trnui_runner.host.devices import Devices
from trnui_runner.host.host_view import HostView, look
from trnui_runner.host.neff_cache import bucket, cache
from trnui_runner.host.stack import differences, not_asked
from trnui_runner.host.system_info import free_space, host_memory
from trnui_runner.payload import sharding
from trnui_runner.preflight import consent
from trnui_runner.preflight.checks import run_checks
from trnui_runner.preflight.expected_wait import ExpectedWait, expected_wait
from trnui_runner.preflight.facts import PreflightFacts
from trnui_runner.preflight.report import Preflight
from trnui_runner.request import checkpoint
from trnui_runner.request.checkpoint_check import missing
from trnui_runner.request.hub_info import HubInfo, ask_hub
from trnui_runner.request.judge_choice import at_hand, judge_for
from trnui_runner.request.placement import lacking
from trnui_runner.request.prepare import prepare
from trnui_runner.request.request import PreparedRun, RunRequest
from trnui_runner.request.task import task_of_request

AskHub = Callable[..., HubInfo]


@dataclass(frozen=True)
class KnownElsewhere:
    """What the dataset and the settings know of a model. siblings: models of its family that pass. newest: the newest stack on
    which it passes, in words. card: the dataset card's text. neff_bucket: the setting. kin: the time of similar rows."""

    siblings: tuple[str, ...] = ()
    newest: str | None = None
    card: str | None = None
    neff_bucket: str = ""
    kin: ExpectedWait | None = None


NOTHING_KNOWN = KnownElsewhere()


def preflight(request: RunRequest, known: KnownElsewhere = NOTHING_KNOWN, *, ask: AskHub | None = ask_hub) -> Preflight:
    """Takes about 0.3 s; a checkpoint that is not cached adds one request to the Hub (at most 12 s), unless offline or `ask` is None.

    Raises UsageError alone: what else keeps the run from starting is a check with the status ERROR.
    """
    host = look(request.python)
    prepared, refusal = _prepared(request, host)
    approval = consent.allowed(prepared.recipe, prepared.script) if prepared else ""
    facts = gather(request, prepared, host, approval, ask=ask)
    row = request.row
    named = bucket(known.neff_bucket, card=known.card, notes=_text(row, "notes"), run_py=_text(row, "run_py"))
    facts = replace(
        facts,
        siblings=known.siblings,
        newest=known.newest,
        bucket=named,
        wait=expected_wait(prepared.recipe, known.kin) if prepared else None,
        refusal=(refusal.message, refusal.remedy) if refusal else None,
    )
    question = consent.question(prepared.recipe, prepared.script, loads=prepared.loads) if prepared else None
    return Preflight(run_checks(facts), prepared, question, approval if prepared else None, refusal)


def _prepared(request: RunRequest, host: HostView) -> tuple[PreparedRun | None, UserError | None]:
    try:
        return prepare(request, host), None
    except UsageError:
        raise
    except UserError as error:
        return None, error


def gather(
    request: RunRequest,
    prepared: PreparedRun | None,
    host: HostView,
    approval: str | None,
    *,
    ask: AskHub | None = ask_hub,
) -> PreflightFacts:
    """All facts but those of KnownElsewhere. When the run was refused, its device and cores are those that were asked for."""
    row, here, interpreter = request.row, host.devices, host.interpreter
    stack: Mapping[str, Any] = interpreter.stack
    recipe = prepared.recipe if prepared else None
    compiler = stack.get("neuronx_cc")
    device = recipe.device if recipe else _wanted_device(request, here)
    cores = recipe.cores if recipe else request.cores or _row_cores(row) or 1
    local = checkpoint.is_local(request.model) or request.checkpoint is not None
    folder = request.checkpoint or checkpoint.folder_of(request.model, request.revision)
    weights = sharding.folder_bytes(str(folder)) if folder else None
    cached = folder is not None and weights is not None
    offline = request.supervision.offline or is_offline()
    hub = None
    if not local and not cached and not offline and ask is not None:
        hub = ask(request.model, request.revision, token=request.supervision.token)
    place = hub_cache()
    task = _task(request, prepared, folder)
    judge = judge_for(recipe.judge if recipe else request.judge, cores)
    return PreflightFacts(
        model=request.model,
        device=device,
        row_device=device_of(row) if row else None,
        row_word=word_of(row) if row else None,
        row_reason=_text(row, "exclusion"),
        script=recipe.script if recipe else request.script,
        consent=approval,
        interpreter=interpreter.path,
        problems=tuple(stack.get("problems", ())),
        not_asked=not_asked(stack),
        missing=lacking(stack, _bundled(request), task),
        native=stack.get("native"),
        differences=differences(stack, row) if row else (),
        devices=here,
        cores=cores,
        core_request=prepared.supervision.cores if prepared else None,
        weights=weights if weights is not None else hub.bytes if hub is not None else None,
        host_memory=host_memory(),
        row_peak_gb=_number(row, "hbm_peak_gb"),
        disk_free=free_space(place),
        disk_place=str(place),
        lacks=missing(folder, task) if folder and (local or offline) else (),
        cached=cached,
        local=local,
        hub=hub,
        offline=offline,
        token=has_token(),
        token_sent=request.supervision.token,
        judge=judge,
        judge_at_hand=judge is not None and at_hand(judge),
        cache=cache(compiler, request.supervision.neff_cache or "") if compiler and device != "cpu" else None,
    )


def _task(request: RunRequest, prepared: PreparedRun | None, folder: Path | None) -> str:
    if prepared is not None:
        return prepared.recipe.task
    return task_of_request(request, folder)


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


def _text(row: Mapping[str, Any] | None, name: str) -> str | None:
    value = row.get(name) if row else None
    return str(value) if value else None


def _number(row: Mapping[str, Any] | None, name: str) -> float | None:
    value = row.get(name) if row else None
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) and value == value else None
