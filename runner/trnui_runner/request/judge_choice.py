"""Which judge of English a run loads: one rule for the preflight check, the consent and the plan that is shown."""

from __future__ import annotations

from typing import Final

from trnui_runner.payload.judge import DEFAULT, WORD_ORDER
from trnui_runner.request.checkpoint import folder_of, is_local

FETCHED: Final = "fetched from the Hub while preparing"


def judge_for(chosen: str | None, cores: int) -> str | None:
    """The judge of a run on `cores` cores; None on one, whose tokens are compared with a CPU run's instead."""
    return (chosen or DEFAULT) if cores > 1 else None


def loaded_judge(chosen: str | None, cores: int) -> str | None:
    """The checkpoint that is loaded to judge; None where none is: the word order ships with the runner."""
    judge = judge_for(chosen, cores)
    return None if judge == WORD_ORDER else judge


def at_hand(judge: str) -> bool:
    """Whether it needs no download."""
    return judge == WORD_ORDER or is_local(judge) or folder_of(judge) is not None
