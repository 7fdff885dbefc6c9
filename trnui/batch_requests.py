"""From rows of the dataset to a batch: its requests, what each is expected to take, and whose scripts need a yes first."""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from trnui.catalog.analysis.wall_times import kin_of, observations
from trnui.run_requests import request_for
from trnui_runner.batch.batch_file import Batch, BatchRow, Limits
from trnui_runner.batch.planning.estimates import Estimate, Estimates
from trnui_runner.batch.planning.look_ahead import HostRoom, LookAhead, look_ahead, why_impossible
from trnui_runner.batch.planning.prices import price_of
from trnui_runner.common.dataset_schema import device_of, word_of
from trnui_runner.common.errors import UsageError
from trnui_runner.common.hub_env import hub_cache
from trnui_runner.common.text import slug
from trnui_runner.host.devices import Devices, devices
from trnui_runner.host.interpreter import Interpreter, find
from trnui_runner.host.logind import sessions
from trnui_runner.host.system_info import free_space
from trnui_runner.payload.sharding import folder_bytes
from trnui_runner.preflight import consent
from trnui_runner.request.checkpoint import folder_of, is_local
from trnui_runner.request.request import RunRequest
from trnui_runner.run_folder.recipe import Recipe

if TYPE_CHECKING:
    from trnui.catalog.engine.catalog import Catalog
    from trnui.catalog.messages import Detail
    from trnui.settings import Settings


@dataclass(frozen=True)
class ChosenRow:
    """One row to run: of the dataset (`detail`), or a model alone that no row is known of."""

    model: str
    detail: Detail | None = None


@dataclass(frozen=True)
class PlannedBatch:
    """A batch before its start. `unapproved`: requests whose script is third-party code, not yet approved."""

    batch: Batch
    requests: tuple[RunRequest, ...]
    look: LookAhead
    interpreter: Interpreter
    unapproved: tuple[RunRequest, ...]
    logout: str = ""


def plan_batch(
    choices: Sequence[ChosenRow],
    catalog: Catalog | None,
    settings: Settings,
    *,
    source: str,
    name: str | None = None,
    limits: Limits | None = None,
    fail_on: str = "newly-failing",
    sizes: Mapping[str, int] | None = None,
    offline: bool = False,
    options: Mapping[str, Any] | None = None,
) -> PlannedBatch:
    """source: where the rows are from, in words; sizes: bytes by repository, where the Hub was asked; options: fields of
    RunRequest for every row. Raises UsageError when nothing is left to run."""
    given = {k: v for k, v in (options or {}).items() if v is not None}
    interpreter = find(given.get("python") or settings.python or None)
    here = devices()
    host = room_of(here)
    provenance = catalog.provenance if catalog is not None else None
    estimates = Estimates(observations(catalog, [c.model for c in choices]) if catalog is not None else ())
    rows, requests, left_out = list[BatchRow](), list[RunRequest](), list[tuple[str, str]]()
    expected: dict[int, Estimate] = {}
    for choice in choices:
        request = request_for(choice.model, settings, choice.detail, provenance, offline=offline, **given)
        request = replace(request, python=interpreter.path)
        row, estimate = _row(len(rows), request, here, estimates, sizes or {})
        why = why_impossible(row.cores, row.device, host)
        if why:
            left_out.append((choice.model, why))
            continue
        rows.append(row)
        requests.append(request)
        if estimate is not None:
            expected[row.n] = estimate
    if not rows:
        raise UsageError("There is nothing that this host could run.", "\n".join(sorted({why for _, why in left_out})))
    stack = {k: str(v) for k, v in interpreter.stack.items() if isinstance(v, str)}
    limits, price = limits or Limits(), price_of(here.instance_type, settings.price_per_hour)
    batch = Batch(
        id=name or _name(stack),
        created=time.time(),
        source=source,
        rows=tuple(rows),
        dataset=provenance.dataset if provenance is not None else "",
        commit=provenance.commit if provenance is not None else None,
        python=interpreter.path,
        stack=stack,
        host_cores=len(host.ids) or host.slots,
        limits=limits,
        price=price,
        fail_on=fail_on,
        digest=_digest(rows, requests, stack),
    )
    on_disk = frozenset(row.repo for row in rows if row.repo and folder_of(row.repo) is not None)
    look = look_ahead(rows, expected, host, limits=limits, price=price, at_hand=on_disk, left_out=left_out)
    logout = sessions()
    warning = logout.words if logout.survive is False else ""
    return PlannedBatch(batch, tuple(requests), look, interpreter, tuple(_unapproved(requests)), warning)


def room_of(here: Devices) -> HostRoom:
    import os

    counts = [sum(core.device == device for core in here.cores) for device in {core.device for core in here.cores}]
    return HostRoom(
        words=here.words,
        ids=tuple(core.id for core in here.cores),
        per_device=min(counts, default=4),
        slots=max(1, (os.cpu_count() or 1) // 4),
        free=len(here.free),
        disk=free_space(hub_cache()),
    )


def _row(
    n: int, request: RunRequest, here: Devices, estimates: Estimates, sizes: Mapping[str, int]
) -> tuple[BatchRow, Estimate | None]:
    row = request.row
    device = request.device
    if device == "auto":
        device = device_of(row) if row is not None else "neuron" if here.present else "cpu"
    device = "stand-in" if device != "cpu" and here.stand_in else "neuron" if device != "cpu" else "cpu"
    cores = request.cores or _whole((row or {}).get("tp")) or 1
    kin = kin_of(request.model)
    folder = request.checkpoint or folder_of(request.model, request.revision)
    repo = "" if request.checkpoint is not None or is_local(request.model) else request.model
    weights = folder_bytes(str(folder)) if folder is not None else None
    estimate = estimates.of(request.model, kin.name, cores)
    return BatchRow(
        n=n,
        model=request.model,
        cores=cores,
        device=device,
        expected_s=estimate.seconds if estimate else None,
        basis=estimate.basis if estimate else "",
        family=f"{kin.name} on {cores}" if kin.sized and device != "cpu" else "",
        repo=repo,
        weights=weights if weights is not None else sizes.get(repo),
        published=word_of(row) if row is not None else "",
    ), estimate


def _unapproved(requests: Iterable[RunRequest]) -> Iterable[RunRequest]:
    for request in requests:
        script = script_of(request)
        if script and consent.allowed(recipe_of(request), script) is None:
            yield request


def script_of(request: RunRequest) -> bytes:
    """The row's own script, if that is what would run."""
    if request.script not in ("auto", "published") or request.row is None:
        return b""
    return str(request.row.get("run_py") or "").encode("utf-8", "surrogatepass")


def recipe_of(request: RunRequest) -> Recipe:
    """As much of a recipe as a consent asks for."""
    row = {k: v for k, v in request.row.items() if k != "run_py"} if request.row is not None else None
    return Recipe("", request.model, script="published", source=request.source, row=row)


def look_words(planned: PlannedBatch) -> list[tuple[str, str]]:
    """The look ahead as (name, words), whose code it is among them."""
    batch = planned.batch
    found = [("batch", f"{batch.id} · {len(batch.rows)} rows: {batch.source}"), ("stack", planned.interpreter.words)]
    found += planned.look.lines()
    found += [("logout", planned.logout)] if planned.logout else []
    if planned.unapproved:
        where = f"{batch.dataset} at {batch.commit}" if batch.commit else batch.dataset
        words = f"{len(planned.unapproved)} run.py of {where} not agreed to yet; they run with your rights (trnui script MODEL shows one)"
        found.append(("code", words))
    return found


def approve(planned: PlannedBatch) -> None:
    """The yes of the batch's one question: for the dataset at its commit; where there is none, for each script."""
    if planned.batch.commit and re.fullmatch(r"[0-9a-f]{40}", planned.batch.commit) and planned.unapproved:
        consent.remember(recipe_of(planned.unapproved[0]), script_of(planned.unapproved[0]), "dataset")
    for request in _unapproved(planned.unapproved):
        consent.remember(recipe_of(request), script_of(request))


def _digest(rows: Sequence[BatchRow], requests: Sequence[RunRequest], stack: Mapping[str, str]) -> str:
    """Names what is to be done: the same rows, scripts and options on the same stack."""
    scripts = [hashlib.sha256(script_of(request)).hexdigest() for request in requests]
    what = [
        (r.model, r.cores, r.device, q.script, q.revision, q.dtype, s)
        for r, q, s in zip(rows, requests, scripts, strict=True)
    ]
    return hashlib.sha256(json.dumps([what, sorted(stack.items())]).encode()).hexdigest()


def _name(stack: Mapping[str, str]) -> str:
    """`20261201-2.28.7631.0`, `20261201-cpu`; with a number where there is one of that name."""
    from trnui_runner.batch.folder import batches_dir

    base = f"{time.strftime('%Y%m%d')}-{slug(stack.get('neuronx_cc', '').partition('+')[0]) if stack.get('neuronx_cc') else 'cpu'}"
    number = 1
    while (batches_dir() / (base if number == 1 else f"{base}-{number}")).exists():
        number += 1
    return base if number == 1 else f"{base}-{number}"


def _whole(value: object) -> int | None:
    return int(value) if isinstance(value, int | float) and not isinstance(value, bool) and value >= 1 else None
