"""Files that the Hub's library fetches: name, size, end. How far they are, the watcher of the cache sees."""

from __future__ import annotations

import inspect
import os
from typing import Any

from .emit import emit
from .patching import observed


def watch(module: Any) -> None:
    original = module._download_to_tmp_and_move
    signature = inspect.signature(original)

    def before(args: Any, kwargs: Any) -> dict[str, Any]:
        given = signature.bind(*args, **kwargs).arguments
        note = {"file": str(given["filename"])[:400], "blob": os.path.basename(str(given["destination_path"]))}
        emit("download", state="start", done=0, total=given["expected_size"], **note)
        return note | {"total": given["expected_size"]}

    def after(note: dict[str, Any], _: Any, error: BaseException | None) -> None:
        emit("download", state="end" if error is None else "failed", **note)

    module._download_to_tmp_and_move = observed(original, before, after)
