"""The result of a run whose processes have gone: the verdict, and what the log of one that failed means."""

from __future__ import annotations

import os
import sys
import time
import traceback
from dataclasses import replace
from typing import Any

from trnui_runner.common.text import decode, one_line
from trnui_runner.result.termination import Ending, How, plain
from trnui_runner.result.verdict import conclude
from trnui_runner.run_folder.folder import Result, RunFolder
from trnui_runner.run_folder.progress import Progress
from trnui_runner.run_folder.recipe import Recipe

LAST = 8 << 10  # bytes in which the last line is looked for
HEAD, TAIL = 64 << 10, 256 << 10  # of the log, for the diagnosis: bounded, whatever was printed in between


def result_of(run: RunFolder, recipe: Recipe, progress: Progress, ending: Ending, script: bytes) -> Result:
    """The verdict; if it fails, what is certain without it, saying so. A run must have an end whatever happens."""
    stack, why = recipe.options.get("stack"), asks_why(ending, progress)
    if not why and progress.diagnosis is not None and progress.diagnosis.severity in ("fail", "wait"):
        progress.diagnosis = None  # it was got over
    try:
        return conclude(
            recipe,
            progress,
            ending,
            script=script,
            stack=stack if isinstance(stack, dict) else None,
            diagnosis=diagnosis_of(run, recipe, ending.how) if why else None,
            last_words=last_line(log_ends(run)) if why else "",
            now=time.time(),
        )
    except Exception as error:  # noqa: BLE001 see above
        traceback.print_exc(file=sys.stderr)
        note = f"no verdict: {type(error).__name__}: {error}"
        return plain(recipe, progress, replace(ending, notes=(*ending.notes, note)))


def asks_why(ending: Ending, progress: Progress) -> bool:
    """Whether the log may say why. A run that was stopped on request needs no explanation; one that ended with 0 and
    generated nothing does: it may have printed its error and gone on."""
    if ending.how != "finished":
        return ending.how in ("timeout", "lost")
    return any(ending.codes.values()) or not progress.generated


def last_line(log: bytes) -> str:
    """The last line that is not empty, without what only a terminal would show."""
    lines = (one_line(line, 1000).strip() for line in reversed(decode(log[-LAST:]).splitlines()))
    return next((line for line in lines if line), "")


def diagnosis_of(run: RunFolder, recipe: Recipe, how: How = "finished") -> dict[str, Any] | None:
    """What beginning and end of output.log mean; None for an empty log."""
    data = log_ends(run)
    if not data:
        return None
    from trnui_runner.diagnosis import diagnose  # two hundred rules: loaded only where something went wrong
    from trnui_runner.diagnosis.host_facts import advised, versions

    stack = recipe.options.get("stack")
    found = diagnose(data)
    if how != "finished" and found.cls == "unknown":
        return None  # the log of a run that was cut off need not hold a cause: then it is not said to be unknown
    return advised(
        found,
        model=recipe.model,
        cores_asked=recipe.cores,
        row_versions=versions(recipe.row),
        versions=versions(stack if isinstance(stack, dict) else None),
    ).to_json()


def log_ends(run: RunFolder) -> bytes:
    """The first HEAD and the last TAIL bytes of the log, cut at line ends where they do not meet."""
    try:
        with open(run.path / "output.log", "rb") as file:
            size = os.fstat(file.fileno()).st_size
            if size <= HEAD + TAIL:
                return file.read()
            head = file.read(HEAD)
            file.seek(size - TAIL)
            return head[: head.rfind(b"\n") + 1] + file.read().partition(b"\n")[2]
    except OSError:
        return b""
