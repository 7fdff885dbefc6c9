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
from trnui_runner.run_folder.recipe import RowSource

_PATHS: Final = ("checkpoint",)


def write_request(folder: Path, n: int, request: RunRequest) -> None:
    """Raises OSError."""
    values, script = to_values(request)
    if script is not None:
        path = private_dir(folder / "scripts") / f"{values['script_sha256']}.py"
        if not path.exists():
            write_atomic(path, script, sync=False)
    write_json(private_dir(folder / "requests") / f"{n}.json", values, sync=False)


def to_values(request: RunRequest) -> tuple[dict[str, Any], bytes | None]:
    """(the request as JSON has it, its row's own script)."""
    values = {f.name: getattr(request, f.name) for f in dataclasses.fields(request)}
    values["supervision"] = request.supervision.to_json()
    script = None
    if request.row is not None:
        script = str(request.row.get("run_py") or "").encode("utf-8", "surrogatepass") or None
        values["row"] = {k: v for k, v in request.row.items() if k != "run_py"}
    if script is not None:
        values["script_sha256"] = hashlib.sha256(script).hexdigest()
    values["source"] = dataclasses.asdict(request.source) if request.source is not None else None
    for name in _PATHS:
        values[name] = str(values[name]) if values[name] is not None else None
    return values, script


def read_request(folder: Path, n: int) -> RunRequest:
    """Raises UserError naming the file: it is missing, is no request, or its script is not the one that was agreed to."""
    values, script = read_values(folder, n)
    return from_values(values, script)


def read_values(folder: Path, n: int) -> tuple[dict[str, Any], bytes | None]:
    """As `to_values` gave them. Raises UserError."""
    path = folder / "requests" / f"{n}.json"
    value = read_json(path)
    if not isinstance(value, dict) or not isinstance(value.get("model"), str):
        raise UserError(f"{path}: no run request can be read from it", "Make the batch again with `trnui batch new`.")
    digest = value.get("script_sha256")
    return value, _script(folder / "scripts", str(digest)) if digest else None


def from_values(values: Mapping[str, Any], script: bytes | None) -> RunRequest:
    known = {f.name for f in dataclasses.fields(RunRequest)}
    given: dict[str, Any] = {k: v for k, v in values.items() if k in known}
    if isinstance(given.get("row"), dict):
        given["row"] = {
            **given["row"],
            "run_py": script.decode("utf-8", "surrogatepass") if script is not None else None,
        }
    if isinstance(given.get("source"), Mapping):
        names = {f.name for f in dataclasses.fields(RowSource)}
        given["source"] = RowSource(**{k: v for k, v in given["source"].items() if k in names})
    if isinstance(given.get("supervision"), Mapping):
        given["supervision"] = SupervisionOptions.from_json(given["supervision"])
    for name in _PATHS:
        given[name] = Path(given[name]) if given.get(name) else None
    return RunRequest(**given)


def _script(folder: Path, digest: str) -> bytes:
    path = folder / f"{digest}.py"
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}", "Make the batch again with `trnui batch new`.") from error
    if hashlib.sha256(data).hexdigest() != digest:
        raise UserError(
            f"{path}: its bytes are not those that its name says", "Make the batch again with `trnui batch new`."
        )
    return data
