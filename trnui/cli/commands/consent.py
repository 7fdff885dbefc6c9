"""`trnui consent`: what was agreed to run with the user's rights, and taking it back."""

from __future__ import annotations

import json
from dataclasses import asdict

import click

from trnui.cli.global_options import note
from trnui.cli.shared_options import global_options
from trnui_runner.common.errors import Exit, UsageError, UserError
from trnui_runner.common.text import one_line


@click.command("consent")
@click.option(
    "--take-back", metavar="KEY", help="By SHA-256, dataset@commit (their beginning will do), model, dataset, or all."
)
@click.option("--format", "format_", type=click.Choice(("text", "json")), default="text")
@global_options
def command(take_back: str | None, format_: str) -> int:
    """The scripts, and datasets at one commit, whose scripts you have agreed to run."""
    from trnui_runner.preflight import approvals

    if take_back is not None:
        if not take_back:
            raise UsageError("--take-back wants a key.", "`trnui consent` lists them; all revokes every one.")
        try:
            found = approvals.take_back(take_back)
        except OSError as error:
            raise UserError(f"{error.filename}: {error.strerror}", "Nothing was revoked.") from error
        if not found and take_back != "all":
            raise UsageError(f"No approval matches {one_line(take_back)!r}.", "`trnui consent` lists the keys.")
    else:
        agreed = approvals.Approvals()
        found = agreed.all()
        if agreed.problem:
            note(agreed.problem)
    if format_ == "json":
        print(json.dumps([asdict(a) | {"taken_back": take_back is not None} for a in found], indent=1))
    else:
        for a in found:
            what = f"script of {a.model}" if a.scope == "script" else "every script"
            print("\t".join((a.scope, a.key, a.day, what + (f" in {a.dataset}" if a.dataset else ""))))
    if take_back is not None:
        note(f"{len(found)} revoked: you will be asked again")
    elif not found:
        note("No script has been approved yet: you are asked before a published script runs for the first time.")
    return Exit.OK
