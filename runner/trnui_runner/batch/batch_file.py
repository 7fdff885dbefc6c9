"""`batch.json`: what a batch is to do, frozen when it is made. Read with every value checked; the journal says what has happened."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from trnui_runner.common.errors import UserError
from trnui_runner.common.files import read_json

VERSION: Final = 1
DEVICES: Final = ("neuron", "cpu", "stand-in")
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}")


@dataclass(frozen=True, slots=True)
class BatchRow:
    """One model to be run. `n` counts from 0; its request lies in `requests/<n>.json`.

    cores: NeuronCores (the row's `tp`); on the CPU 1. expected_s: seconds, None when nothing is known, from `basis`.
    family: rows that share it share their compiled graphs. repo: the Hub's repository that its checkpoint comes from, empty for
    one in a folder. weights: bytes of the checkpoint, None if unknown.
    published: the result word of the row that it repeats, empty without one.
    """

    n: int
    model: str
    cores: int = 1
    device: str = "neuron"
    expected_s: float | None = None
    basis: str = ""
    family: str = ""
    repo: str = ""
    weights: int | None = None
    published: str = ""


@dataclass(frozen=True)
class Limits:
    """Besides cores. compiling: runs before their first token, 0 = a quarter of the vCPUs. disk: bytes that the batch's own
    checkpoints may take together, None = what is free less `spare`. ahead: checkpoints fetched before their turn."""

    compiling: int = 0
    disk: int | None = None
    spare: int = 20 << 30
    ahead: int = 2
    attempts: int = 3


@dataclass(frozen=True)
class Price:
    """Dollars an hour of one host, and where the figure is from."""

    per_hour: float
    source: str


@dataclass(frozen=True)
class Batch:
    """`digest` names what is to be done (rows, scripts, stack): the same command finds its unfinished batch by it.

    host_cores: NeuronCores of the host it was made for, or how many rows run there at a time on the CPU.
    source: where the rows are from, in words; dataset and commit as in a run's recipe. stack: versions by package of the interpreter `python`.
    """

    id: str
    created: float
    source: str
    rows: tuple[BatchRow, ...]
    dataset: str = ""
    commit: str | None = None
    python: str = ""
    stack: Mapping[str, str] = field(default_factory=dict)
    host_cores: int = 1
    limits: Limits = Limits()
    price: Price | None = None
    fail_on: str = "newly-failing"
    digest: str = ""
    v: int = VERSION

    def to_json(self) -> dict[str, Any]:
        return dataclasses.asdict(self)


class BatchFileError(UserError):
    """`batch.json` is no batch that this version reads."""

    def __init__(self, path: Path, what: str) -> None:
        super().__init__(f"{path}: {what}", "Make the batch again with `trnui batch new`, or remove its folder.")


def read_batch(path: Path) -> Batch:
    """Raises BatchFileError naming the file and the key."""
    value = read_json(path)
    if not isinstance(value, dict):
        raise BatchFileError(path, "is missing or is no JSON object" if path.exists() else "there is no such batch")
    try:
        return parse_batch(value)
    except ValueError as error:
        raise BatchFileError(path, str(error)) from None


def parse_batch(value: Mapping[str, Any]) -> Batch:
    """Raises ValueError that names the key and what it takes."""
    version = value.get("v", VERSION)
    if version != VERSION:
        raise ValueError(f"v is {version!r}; this version of trnui reads {VERSION}")
    rows = value.get("rows")
    if not isinstance(rows, list) or not rows:
        raise ValueError("rows takes a list with at least one row")
    limits, price = value.get("limits", {}), value.get("price")
    return Batch(
        id=check_id(value.get("id")),
        created=_number(value, "created", least=0.0) or 0.0,
        source=_text(value, "source"),
        rows=tuple(_row(row, n) for n, row in enumerate(rows)),
        dataset=_text(value, "dataset"),
        commit=_text(value, "commit") or None,
        python=_text(value, "python"),
        stack={str(k): str(v) for k, v in _table(value, "stack").items() if v is not None},
        host_cores=_whole(value, "host_cores", 1, least=1),
        limits=_limits(limits if isinstance(limits, dict) else {}),
        price=None if price is None else _price(price),
        fail_on=_text(value, "fail_on") or "newly-failing",
        digest=_text(value, "digest"),
    )


def check_id(value: object) -> str:
    """Raises ValueError: a batch's name becomes a folder's."""
    if not isinstance(value, str) or not _ID.fullmatch(value):
        raise ValueError(
            f"id is {value!r}; it takes letters, digits, '.', '_' and '-', at most 80, first a letter or digit"
        )
    return value


def _row(value: object, n: int) -> BatchRow:
    if not isinstance(value, dict):
        raise ValueError(f"rows[{n}] takes an object")
    try:
        if value.get("n") != n:
            raise ValueError(f"n is {value.get('n')!r}, not {n}")
        model = _text(value, "model")
        if not model:
            raise ValueError("model is missing")
        device = _text(value, "device") or "neuron"
        if device not in DEVICES:
            raise ValueError(f"device is {device!r}; it takes {', '.join(DEVICES)}")
        weights = _number(value, "weights", least=0.0)
        return BatchRow(
            n=n,
            model=model,
            cores=_whole(value, "cores", 1, least=1),
            device=device,
            expected_s=_number(value, "expected_s", least=0.0),
            basis=_text(value, "basis"),
            family=_text(value, "family"),
            repo=_text(value, "repo"),
            weights=None if weights is None else int(weights),
            published=_text(value, "published"),
        )
    except ValueError as error:
        raise ValueError(f"rows[{n}].{error}") from None


def _limits(value: Mapping[str, Any]) -> Limits:
    usual, disk = Limits(), _number(value, "disk", least=0.0)
    return Limits(
        compiling=_whole(value, "compiling", usual.compiling, least=0),
        disk=None if disk is None else int(disk),
        spare=_whole(value, "spare", usual.spare, least=0),
        ahead=_whole(value, "ahead", usual.ahead, least=0),
        attempts=_whole(value, "attempts", usual.attempts, least=1),
    )


def _price(value: object) -> Price:
    if not isinstance(value, dict):
        raise ValueError("price takes an object with per_hour and source")
    per_hour = _number(value, "per_hour", least=0.0)
    if per_hour is None:
        raise ValueError("price.per_hour takes a number")
    return Price(per_hour, _text(value, "source"))


def _text(value: Mapping[str, Any], name: str) -> str:
    found = value.get(name)
    if found is None:
        return ""
    if not isinstance(found, str):
        raise ValueError(f"{name} takes text, not {found!r}")
    return found


def _number(value: Mapping[str, Any], name: str, *, least: float) -> float | None:
    found = value.get(name)
    if found is None:
        return None
    if isinstance(found, bool) or not isinstance(found, int | float) or not least <= found < float("inf"):
        raise ValueError(f"{name} is {found!r}; it takes a number from {least:g}")
    return float(found)


def _whole(value: Mapping[str, Any], name: str, usual: int, *, least: int) -> int:
    found = value.get(name)
    if found is None:
        return usual
    if isinstance(found, bool) or not isinstance(found, int) or found < least:
        raise ValueError(f"{name} is {found!r}; it takes a whole number from {least}")
    return found


def _table(value: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = value.get(name)
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise ValueError(f"{name} takes an object")
    return found
