"""A finished run as one row of the dataset's own 24 columns, marked so that nobody takes it for a run on a Trainium."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Any, Final

from trnui_runner.common.dataset_schema import COLUMNS, MARKS, RUNNERS, STACK
from trnui_runner.common.text import decode, one_line
from trnui_runner.run_folder.folder import Result
from trnui_runner.run_folder.recipe import Recipe

VERSIONS: Final = tuple(name for name in STACK if name != "library_version")
# Who counts a device's memory, the most complete first: torch knows of its own tensors only. Their figures are never mixed.
COUNTERS: Final = ("neuron-monitor", "sysfs", "torch")
ERROR = 20_000  # characters


def make_row(
    recipe: Recipe,
    result: Result,
    *,
    error: str | None,
    script: bytes,
    cores: int | None = None,
    now: float | None = None,
) -> dict[str, Any]:
    """Every column, None where a thing was not measured: HBM only from a device, never from host memory."""
    peak, capacity = device_memory(result)
    stack = result.stack
    version = stack.get("library_version") or stack.get(recipe.library)
    row: dict[str, Any] = dict.fromkeys(COLUMNS)
    row.update({name: stack.get(name) for name in VERSIONS})
    row.update(
        model_id=recipe.model,
        library=recipe.library,
        tp=recipe.cores if cores is None else cores,  # the ranks that were seen, where they were
        runner=RUNNERS[result.device],
        result=result.outcome + MARKS[result.device],
        notes=notes_of(recipe, result, cores) or None,
        error=error[-ERROR:] if error else None,
        wall_s=round(result.wall_s) if result.wall_s is not None else None,
        hbm_peak_gb=_gib(peak),
        hbm_capacity_gb=_gib(capacity),
        library_version=version,
        tested_at=datetime.fromtimestamp(time.time() if now is None else now, UTC).isoformat(timespec="milliseconds"),
        run_py=decode(script) or None,
    )
    column = {"cpu-match": "cpu_match", "english": "english"}.get(result.kind or "")
    if column and result.outcome in ("PASS", "FAIL", "UNCHECKED") and result.tokens:
        row[column] = one_line(result.reason)
    return row


def device_memory(result: Result) -> tuple[int | None, int | None]:
    """(peak, capacity) in bytes of the fullest core, only where a Trainium's own memory was measured."""
    peaks = [m["peak"] for m in _measured(result) if isinstance(m.get("peak"), int)]
    capacities = [m["capacity"] for m in _measured(result, *COUNTERS) if isinstance(m.get("capacity"), int)]
    return max(peaks, default=None), max(capacities, default=None)


def memory_source(result: Result) -> str | None:
    """Who counted the peak: the first of COUNTERS that saw anything; None where no Trainium's memory was measured."""
    if result.device != "neuron":
        return None
    seen = {m.get("source") for m in result.memory if isinstance(m.get("peak"), int)}
    return next((source for source in COUNTERS if source in seen), None)


def _measured(result: Result, *sources: str) -> list[dict[str, Any]]:
    source = memory_source(result)
    wanted = (sources or (source,)) if source is not None else ()
    return [m for m in result.memory if m.get("source") in wanted]


def _gib(value: int | None) -> float | None:
    """The dataset does not say whether GB or GiB, per core or in all: ours is GiB of one core, as `notes` says."""
    return None if value is None else round(value / 2**30, 3)


def notes_of(recipe: Recipe, result: Result, cores: int | None = None) -> str:
    words: list[str] = [one_line(result.reason)] if result.reason else []
    words += [one_line(note) for note in result.notes]
    if recipe.parallelism == "ep":
        words.append("expert parallel")
    if result.graphs is not None:
        cores = recipe.cores if cores is None else cores
        words.append(f"{result.graphs} graph{'' if result.graphs == 1 else 's'}{' a rank' if cores > 1 else ''}")
    if result.compile_s is not None:
        words.append(f"{result.compile_s:.1f} s of compilation")
    if device_memory(result)[0] is not None:
        words.append(f"memory: GiB of the fullest core, as {memory_source(result)} counts it")
    return "; ".join(words)


# --- reading a row back
