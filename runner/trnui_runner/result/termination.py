"""How the processes of a run ended, and the plain result that this alone allows (the verdict adds what was checked)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from trnui_runner.run_folder.folder import Outcome, Result
from trnui_runner.run_folder.progress import Progress
from trnui_runner.run_folder.recipe import Recipe

How = Literal["finished", "unstarted", "cancelled", "timeout", "lost"]
OUTCOMES: Mapping[How, Outcome] = {
    "cancelled": "CANCELLED",
    "timeout": "TIMEOUT",
    "lost": "LOST",
    "unstarted": "UNCHECKED",
}


@dataclass(frozen=True)
class Ending:
    """`finished`: every step that was to run has ended by itself, with `codes` (negative: killed by that signal)."""

    how: How
    reason: str = ""
    codes: Mapping[str, int] = field(default_factory=dict)
    wall_s: float | None = None
    notes: tuple[str, ...] = ()


def plain(recipe: Recipe, progress: Progress, ending: Ending) -> Result:
    """What is certain without a check: how it ended. An unchecked run is never a PASS."""
    code, stages = ending.codes.get("run"), progress.stage_seconds()
    wall = ending.wall_s
    if (
        wall is not None and "check" in ending.codes
    ):  # the time of run.py, as the dataset's wall_s is: without our check
        wall = round(max(0.0, wall - stages.get("checking", 0.0)), 3)
    outcome = OUTCOMES.get(ending.how) or ("UNCHECKED" if code == 0 else "FAIL")
    reason = ending.reason
    if not reason and code:
        reason = f"run.py ended with exit code {code}" if code > 0 else f"run.py was killed by signal {-code}"
    return Result(
        outcome=outcome,
        reason=reason or "nothing was checked",
        device=recipe.device,
        stages=stages,
        graphs=progress.graphs,
        compile_s=progress.compile_seconds(),
        wall_s=wall,
        memory=progress.memory_rows(),
        neff=progress.neff(),
        exit_code=code,
        notes=ending.notes,
    )
