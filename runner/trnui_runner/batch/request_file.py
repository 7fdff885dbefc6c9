"""One row's run request on disk: `requests/<n>.json`, its script apart in `scripts/<sha256>.py`, byte for byte and once."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from trnui_runner.common.errors import UserError
from trnui_runner.common.files import private_dir, read_json, write_atomic, write_json
from trnui_runner.request.request import RunRequest
from trnui_runner.request.steps import SupervisionOptions
from trnui_runner.run_folder.recipe import Source

_PATHS: Final = ("checkpoint",)


def write_request(folder: Path, n: int, request: RunRequest) -> None:
    """Raises OSError."""
    values = {f.name: getattr(request, f.name) for f in dataclasses.fields(request)}
    values["supervision"] = request.supervision.to_json()
    row = request.row
    if row is not None:
        script = str(row.get("run_py") or "").encode("utf-8", "surrogatepass")
        values["row"] = {k: v for k, v in row.items() if k != "run_py"}
        if script:
            values["script_sha256"] = _keep(folder / "scripts", script)
    values["source"] = dataclasses.asdict(request.source) if request.source is not None else None
    for name in _PATHS:
        values[name] = str(values[name]) if values[name] is not None else None
    write_json(private_dir(folder / "requests") / f"{n}.json", values, sync=False)


def _keep(folder: Path, script: bytes) -> str:
    digest = hashlib.sha256(script).hexdigest()
    path = private_dir(folder) / f"{digest}.py"
    if not path.exists():
        write_atomic(path, script, sync=False)
    return digest


def read_request(folder: Path, n: int) -> RunRequest:
    """Raises UserError naming the file: it is missing, is no request, or its script is not the one that was agreed to."""
    path = folder / "requests" / f"{n}.json"
    value = read_json(path)
    if not isinstance(value, dict) or not isinstance(value.get("model"), str):
        raise UserError(f"{path}: no run request can be read from it", "Make the batch again with `trnui batch new`.")
    row = value.get("row")
    if isinstance(row, dict):
        digest = value.get("script_sha256")
        row["run_py"] = _script(folder / "scripts", str(digest)) if digest else None
    known = {f.name for f in dataclasses.fields(RunRequest)}
    given: dict[str, Any] = {k: v for k, v in value.items() if k in known}
    if isinstance(given.get("source"), Mapping):
        names = {f.name for f in dataclasses.fields(Source)}
        given["source"] = Source(**{k: v for k, v in given["source"].items() if k in names})
    if isinstance(given.get("supervision"), Mapping):
        given["supervision"] = SupervisionOptions.from_json(given["supervision"])
    for name in _PATHS:
        given[name] = Path(given[name]) if given.get(name) else None
    return RunRequest(**given)


def _script(folder: Path, digest: str) -> str:
    path = folder / f"{digest}.py"
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}", "Make the batch again with `trnui batch new`.") from error
    if hashlib.sha256(data).hexdigest() != digest:
        raise UserError(
            f"{path}: its bytes are not those that its name says", "Make the batch again with `trnui batch new`."
        )
    return data.decode("utf-8", "surrogatepass")
