"""The words for where a run is, how it ended and what that says about its row."""

from __future__ import annotations

from typing import Literal, get_args

from trnui_runner.common.dataset_schema import Kind

Stage = Literal["queued", "preparing", "downloading", "loading", "compiling", "generating", "checking", "done"]
# UNCHECKED: it ran, and no verdict was possible; LOST: nobody who watched it is left to say.
Outcome = Literal["PASS", "FAIL", "UNCHECKED", "CANCELLED", "TIMEOUT", "LOST"]
Going = Literal["queued", "running"]  # what stands in an outcome's place until a run has ended
Verdict = Literal["REPRODUCED", "DIFFERS", "NOT COMPARABLE"]

STAGES: tuple[Stage, ...] = get_args(Stage)
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
KINDS: tuple[Kind, ...] = (Kind.CPU_MATCH, Kind.ENGLISH)  # what a check compares
GOING: tuple[Going, ...] = get_args(Going)
