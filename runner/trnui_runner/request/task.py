"""Which task a run is of: as asked, as the row's script says, or as the checkpoint's config says."""

from __future__ import annotations

import re
from pathlib import Path

from trnui_runner.common.dataset_schema import PICTURE_CLASSES
from trnui_runner.request.checkpoint import PICTURE, TEXT, config_of, task_of
from trnui_runner.request.request import RunRequest


def task_of_request(request: RunRequest, folder: Path | None) -> str:
    """folder: where the checkpoint is on this host, if it is."""
    if request.task:
        return request.task
    script = str(request.row.get("run_py") or "") if request.row else ""
    if re.search("|".join(PICTURE_CLASSES), script):
        return PICTURE
    return task_of(config_of(folder)) if folder else TEXT
