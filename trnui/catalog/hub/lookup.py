"""A model that is in no list on disk, looked up on the Hub: NOT TESTED, with its size and whether that would fit."""

from __future__ import annotations

import re
from dataclasses import asdict
from typing import Any

from trnui.catalog.dataset.rankings import Ranked, fit
from trnui.catalog.engine.database import UNTESTED_BASE
from trnui.catalog.hub.fetch_client import Refresh
from trnui.catalog.hub.fetch_worker import Order
from trnui.catalog.messages import Detail
from trnui_runner.common.dataset_schema import COLUMNS, Status
from trnui_runner.common.errors import DataError, UsageError
from trnui_runner.common.text import one_line

_NAME = re.compile(r"[\w][\w.-]*(?:/[\w][\w.-]*)?")
_IDENTITY = 2 * UNTESTED_BASE  # of no row and no place in a ranking


def look_up(model: str, settings: Any, *, offline: bool = False) -> Detail:
    """Asks the Hub, for ten seconds at most. Raises UsageError for a name it does not know, DataError when it cannot be asked."""
    if not _NAME.fullmatch(model):
        raise UsageError(f"{one_line(model, 200)}: not a model's name", "A name on the Hub is owner/name.")
    if offline:
        raise DataError("--offline: the Hub is not asked", "Leave --offline out to look a name up.")
    order = Order(model=model, timeout=settings.hub_timeout_s, token=settings.hub_token)
    refresh = Refresh(order).start()
    try:
        found = refresh.wait().model
    finally:
        refresh.close()
    if isinstance(found, Ranked):
        return described(found)
    words, remedy, kind = (found.words, found.remedy, found.kind) if found else ("no answer", "", "odd")
    if kind == "missing":
        raise UsageError(f"{one_line(model)}: {words}", remedy)
    raise DataError(f"{one_line(model)}: {words}", remedy)


def described(model: Ranked) -> Detail:
    """As the details of an untested model in a ranking are, with its size and where that fits."""
    fits = fit(model.weight_bytes)
    known = {k: v for k, v in asdict(model).items() if k not in ("model_id", "rank", "last_modified")}
    values = (
        dict.fromkeys(COLUMNS) | {"model_id": model.model_id} | known | {"fits_cores": fits.cores, "fits": fits.words}
    )
    derived = {"status": Status.UNTESTED.value, "task": model.pipeline_tag}
    derived |= dict.fromkeys(("kind", "device", "parallelism", "file", "row", "path", "run"))
    return Detail(_IDENTITY, values, derived, ())
