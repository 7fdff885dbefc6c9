"""How long a run is likely to take, and what says so: an earlier run here, the row's own time, or the times of its kin."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from trnui_runner.common.dataset_schema import device_of
from trnui_runner.run_folder.folder import all_runs
from trnui_runner.run_folder.recipe import Recipe

LOOKED_AT: Final = 50  # newest runs of this host that are searched for one of the same test
ENDED: Final = ("PASS", "FAIL", "UNCHECKED")  # outcomes of runs that came to their own end


@dataclass(frozen=True)
class ExpectedWait:
    """`seconds`: of run.py, compilation included. `source`: where the figure is from, in words."""

    seconds: float
    source: str


def expected_wait(recipe: Recipe, kin: ExpectedWait | None = None, runs: Path | None = None) -> ExpectedWait | None:
    """`kin`: what the dataset says of similar rows on a Trainium. None: nothing is known of this test on this device."""
    return _earlier(recipe, runs) or _of_row(recipe.row, recipe.device) or (kin if recipe.device == "neuron" else None)


def _earlier(recipe: Recipe, parent: Path | None) -> ExpectedWait | None:
    """The newest run of the same script on as many cores of the same device that ended by itself."""
    for run in all_runs(parent)[:LOOKED_AT]:
        other = run.recipe()
        if other is None or _test(other) != _test(recipe):
            continue
        result = run.result()
        if result is not None and result.outcome in ENDED and result.wall_s:
            return ExpectedWait(result.wall_s, f"run {run.id} took that here")
    return None


def _test(recipe: Recipe) -> tuple[object, ...]:
    return recipe.model, recipe.script_sha256, recipe.device, recipe.cores, recipe.max_new_tokens, recipe.dtype


def _of_row(row: Mapping[str, Any] | None, device: str) -> ExpectedWait | None:
    wall = row.get("wall_s") if row is not None else None
    if row is None or not isinstance(wall, int | float) or wall <= 0 or device_of(row) != device:
        return None
    return ExpectedWait(float(wall), "the row's own test took that on its host")
