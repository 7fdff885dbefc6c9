"""The result of a preflight: a status for each check, the worst of all, and both as text."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any, Final

from trnui_runner.common.errors import UserError
from trnui_runner.common.text import one_line
from trnui_runner.preflight.consent import Question
from trnui_runner.request.request import PreparedRun


class CheckStatus(StrEnum):
    """OK starts, WARNING asks for a confirmation, ERROR cannot start. Deliberately not PASS and FAIL: a check is not a test."""

    OK = "ok"
    WARNING = "warning"
    ERROR = "error"


_SEVERITY: Final = {CheckStatus.OK: 0, CheckStatus.WARNING: 1, CheckStatus.ERROR: 2}
_WIDTH: Final = max(len(status) for status in CheckStatus)


@dataclass(frozen=True)
class Check:
    """`details`: more lines, for who wants them. `remedy` is empty where nothing is to be done."""

    name: str
    status: CheckStatus
    message: str
    remedy: str = ""
    details: tuple[str, ...] = ()


@dataclass(frozen=True)
class Preflight:
    """Everything that is known before a start.

    prepared: None when the run cannot be prepared; then one check is an ERROR, and `refusal` is why.
    question: what the user is asked before the script runs. approval: why it may run, in words; None: the user has to be asked.
    """

    checks: tuple[Check, ...]
    prepared: PreparedRun | None = None
    question: Question | None = None
    approval: str | None = None
    refusal: UserError | None = None

    @property
    def status(self) -> CheckStatus:
        """The worst of all checks."""
        return max((check.status for check in self.checks), key=_SEVERITY.__getitem__, default=CheckStatus.OK)

    def of(self, status: CheckStatus) -> tuple[Check, ...]:
        return tuple(check for check in self.checks if check.status is status)

    @property
    def summary(self) -> str:
        """One line: what keeps it from starting, what differs, or that nothing does."""
        for status, start in ((CheckStatus.ERROR, "cannot start: "), (CheckStatus.WARNING, "differs: ")):
            found = self.of(status)
            if found:
                return start + "; ".join(check.message for check in found)
        return "ready"

    def to_json(self) -> dict[str, Any]:
        return {"status": str(self.status), "summary": self.summary, "checks": [asdict(c) for c in self.checks]}


def lines(checks: Iterable[Check], *, details: bool = True) -> list[str]:
    """As text that needs no colour: the status is a word."""
    found = []
    indent = " " * (_WIDTH + 15)
    for check in checks:
        found.append(f"{check.status:<{_WIDTH}}  {check.name:<11}  {one_line(check.message, 1000)}")
        found += [f"{indent}{one_line(d, 300)}" for d in check.details if details and d]
        if check.remedy:
            found.append(f"{indent}→ {one_line(check.remedy, 600)}")
    return found
