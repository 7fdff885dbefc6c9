"""`trnui run`: one checkpoint's test on this host, told in plain lines until it ends, or detached."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from trnui.cli.shared_options import Options, global_options, note
from trnui.cli.stack_options import stack_options
from trnui_runner.cli.options import fields, how_to_run, what_to_run
from trnui_runner.common.errors import Exit, UsageError, UserError

if TYPE_CHECKING:
    from trnui.catalog.messages import Detail, Provenance
    from trnui_runner.cli.console import Format
    from trnui_runner.preflight.report import Preflight
    from trnui_runner.request.request import PreparedRun, RunRequest


class Known(NamedTuple):
    """The row to reproduce, where it is from, the dataset card's text, and where the model or its siblings pass, in words."""

    detail: Detail | None = None
    provenance: Provenance | None = None
    card: str | None = None
    siblings: tuple[str, ...] = ()
    newest: str | None = None


@click.command("run")
@click.argument("model", metavar="MODEL|FOLDER")
@what_to_run
@stack_options
@how_to_run
@global_options
@click.pass_obj
def command(
    options: Options,
    /,
    model: str,
    neuronx_cc: tuple[str, ...],
    library: str | None,
    library_version: tuple[str, ...],
    yes: bool,
    dry_run: bool,
    detach: bool,
    format_: Format,
    **given: Any,
) -> int:
    """Run a checkpoint's test here and say what came out.

    MODEL is a Hub id; its row in the dataset, if there is one, is reproduced with the row's own script. A folder with a
    checkpoint of your own runs with the bundled script. Ctrl-C ends the run; a closed terminal does not.
    """
    from trnui.run_requests import request_for
    from trnui_runner.cli.run_commands import run_and_tell, sweep

    sweep(note)
    known = find_row(options, model, neuronx_cc, library, library_version)
    name = str(known.detail.values["model_id"]) if known.detail else model
    request = request_for(
        name, options.settings, known.detail, known.provenance, offline=options.offline, **fields(given)
    )
    found = look(request, options, known)
    if dry_run:
        return show(found, format_)
    prepared = ready(request, found, yes)
    return run_and_tell(prepared, detach, format_, note)


def find_row(
    options: Options, model: str, neuronx_cc: tuple[str, ...], library: str | None, library_version: tuple[str, ...]
) -> Known:
    """The row to reproduce and what else the catalog knows of the model. Nothing for a folder, and for a model that the
    dataset does not have: it runs with the bundled script all the same."""
    from trnui_runner.request.checkpoint import is_folder

    if is_folder(model):
        return Known()
    from trnui.catalog.engine.catalog import UnknownModelError, open_catalog
    from trnui.catalog.engine.suggestions import advice
    from trnui.cli.row_choice import chosen_row

    catalog = open_catalog(options)
    try:
        detail = chosen_row(catalog, model, neuronx_cc, library, library_version)
    except UnknownModelError as error:
        if neuronx_cc or library_version:
            raise
        near = f"; near: {', '.join(error.near)}" if error.near else ""
        note(f"{model} is not in {catalog.provenance.dataset}{near}: nothing to compare with")
        return Known()
    note(("SAMPLE, CPU: " if catalog.provenance.sample else "") + catalog.provenance.words)
    file = catalog.source.card
    card = file.read_text(encoding="utf-8", errors="replace") if file is not None else None
    told = advice(catalog, str(detail.values["model_id"]))
    return Known(detail, catalog.provenance, card, tuple(told.get("siblings", ())), told.get("passes_on"))


def look(request: RunRequest, options: Options, known: Known) -> Preflight:
    from trnui_runner.preflight.gather import preflight

    return preflight(
        request,
        siblings=known.siblings,
        newest=known.newest,
        card=known.card,
        neff_bucket=options.settings["neff_bucket"],
        offline=options.offline,
    )


def show(found: Preflight, format_: Format) -> int:
    """What would be run and what stands in its way, on stdout. 1 when it could not start."""
    import json

    from trnui_runner.cli.console import plan_json, plan_lines
    from trnui_runner.preflight.report import CheckStatus, lines

    if format_ == "jsonl":
        plan = json.loads(plan_json(found.prepared)) if found.prepared else None
        print(json.dumps({"preflight": found.to_json(), "plan": plan}, default=str))
    else:
        print("\n".join([*(plan_lines(found.prepared) if found.prepared else ()), "", *lines(found.checks)]))
    return Exit.FAILED if found.status is CheckStatus.ERROR else Exit.OK


def ready(request: RunRequest, found: Preflight, yes: bool) -> PreparedRun:
    """The prepared run, once nothing speaks against it or the user has said yes. Raises UserError (red, or no yes)."""
    from trnui_runner.preflight import consent
    from trnui_runner.preflight.report import CheckStatus, lines
    from trnui_runner.request.prepare import prepare

    if found.prepared is None:
        return prepare(request)  # raises what it was refused for, with its own exit code
    prepared = found.prepared
    for words in (*prepared.notes, *(f"not the protocol: {w}" for w in prepared.recipe.departures())):
        note(words)
    red = found.of(CheckStatus.ERROR)
    if red:
        raise UserError(found.summary, "\n".join(check.remedy for check in red if check.remedy))
    yellow = found.of(CheckStatus.WARNING)
    for line in lines(yellow, details=False):
        note(line)
    if consent.allowed(prepared.recipe, prepared.script) is None:
        note(consent.question(prepared.recipe, prepared.script, judge=prepared.recipe.judge).text)
    if yellow and not yes and not agreed():
        raise UsageError("Not started.", "Say --yes to start it all the same, --dry-run to see all that was looked at.")
    remember(prepared)
    return prepared


def agreed() -> bool:
    """A confirmation by a person at a terminal."""
    if not sys.stdin.isatty():
        return False
    return click.confirm("Start it all the same?", default=False, err=True)


def remember(prepared: PreparedRun) -> None:
    """The yes holds for this script from now on."""
    from trnui_runner.preflight import consent

    if consent.allowed(prepared.recipe, prepared.script) is None:
        consent.remember(prepared.recipe, prepared.script)
