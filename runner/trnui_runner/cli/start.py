"""From a preflight to a start, for commands: the plan on stdout, the confirmation that differences and third-party code need."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable

import click

from trnui_runner.cli.console import Format, plan_json, plan_lines
from trnui_runner.common.errors import Exit, UsageError, UserError
from trnui_runner.preflight import consent
from trnui_runner.preflight.report import CheckStatus, Preflight, lines
from trnui_runner.request.request import PreparedRun


def show_preflight(found: Preflight, format_: Format) -> int:
    """What would be run and what stands in its way, on stdout. 1 when it could not start."""
    if format_ == "jsonl":
        plan = json.loads(plan_json(found.prepared)) if found.prepared else None
        print(json.dumps({"preflight": found.to_json(), "plan": plan}, default=str))
    else:
        plan_text = [*plan_lines(found.prepared), ""] if found.prepared else []
        print("\n".join([*plan_text, *lines(found.checks)]))
    return Exit.FAILED if found.status is CheckStatus.ERROR else Exit.OK


def confirmed(found: Preflight, yes: bool, say: Callable[[str], None]) -> PreparedRun:
    """The prepared run, once nothing is in its way and the user has approved what differs. `yes`: approved already.

    Raises UserError when a check is an ERROR (with the exit code of its cause), UsageError when it was not confirmed.
    """
    if found.prepared is None:
        raise found.refusal or UserError(found.summary)
    prepared = found.prepared
    for words in (*prepared.notes, *(f"not the protocol: {w}" for w in prepared.recipe.departures())):
        say(words)
    errors = found.of(CheckStatus.ERROR)
    if errors:
        raise UserError(found.summary, "\n".join(check.remedy for check in errors if check.remedy))
    warnings = found.of(CheckStatus.WARNING)
    for line in lines(warnings, details=False):
        say(line)
    if found.approval is None and found.question is not None:
        say(found.question.text)
    if warnings and not yes and not _confirmed_at_terminal():
        raise UsageError("Not started.", "Add --yes to start it anyway, --dry-run to see every check.")
    if found.approval is None:
        consent.remember(prepared.recipe, prepared.script)
    return prepared


def _confirmed_at_terminal() -> bool:
    if not sys.stdin.isatty():
        return False
    return click.confirm("Start it anyway?", default=False, err=True)
