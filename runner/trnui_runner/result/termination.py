"""How the processes of a run ended, and the plain result that this alone allows (the verdict adds what was checked)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from trnui_runner.run_folder.folder import Result
from trnui_runner.run_folder.progress import Progress
from trnui_runner.run_folder.recipe import Recipe

How = Literal["finished", "unstarted", "cancelled", "timeout", "lost"]
OUTCOMES: Mapping[How, str] = {"cancelled": "CANCELLED", "timeout": "TIMEOUT", "lost": "LOST", "unstarted": "FAIL"}


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
    code = ending.codes.get("run")
    outcome = OUTCOMES.get(ending.how) or ("UNCHECKED" if code == 0 else "FAIL")
    reason = ending.reason
    if not reason and code:
        reason = f"run.py ended with exit code {code}" if code > 0 else f"run.py was killed by signal {-code}"
    return Result(
        outcome=outcome,
        reason=reason or "nothing was checked",
        device=recipe.device,
        stages=progress.stage_seconds(),
        graphs=progress.graphs,
        compile_s=progress.compile_seconds(),
        wall_s=ending.wall_s,
        memory=progress.memory_rows(),
        neff=progress.neff(),
        exit_code=code,
        notes=ending.notes,
    )
