"""`trnui run`: one checkpoint's test on this host, told in plain lines until it ends, or detached."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from runner.errors import Exit, UsageError
from trnui.commands.common import Options, global_options, note

if TYPE_CHECKING:
    from runner.order import Prepared
    from trnui.catalog.answers import Detail, Provenance


@click.command("run")
@click.argument("model", metavar="MODEL|FOLDER")
@click.option(
    "--script", default="auto", metavar="published|bundled|FILE", help="Default: the row's own, else bundled."
)
@click.option("--device", type=click.Choice(["auto", "neuron", "cpu"]), default="auto", help="auto: the row's device.")
@click.option("--cores", type=click.IntRange(1, 16), help="Default: the row's, else the fewest that hold the weights.")
@click.option("--parallelism", type=click.Choice(["tp", "ep"]), help="Split by tensors or by experts.")
@click.option("--python", metavar="P", help="Interpreter, or an environment's folder, that runs the model.")
@click.option("--task", metavar="T", help="text-generation or image-text-to-text.")
@click.option("--revision", metavar="R", help="Branch, tag or commit of the checkpoint.")
@click.option("--dtype", metavar="D", help="bfloat16, float32, …; default: the checkpoint's own.")
@click.option("--prompt", metavar="TEXT", help="What to continue, or to ask about the picture.")
@click.option("--image", metavar="FILE", help="The picture; default: a red square.")
@click.option("--max-new-tokens", type=click.IntRange(1), metavar="N", help="Default: 32, as published.")
@click.option("--inductor", is_flag=True, help="On the CPU: compile with inductor, not aot_eager.")
@click.option(
    "--compile-prefill/--no-compile-prefill", default=None, help="Send the prompt through the compiled forward."
)
@click.option("--warm", is_flag=True, help="Generate once more, with everything compiled; timed apart.")
@click.option("--judge", metavar="J", help="Checkpoint that judges English when sharded, or 'word order'.")
@click.option("--timeout", "timeout_s", type=float, metavar="S", help="End the run after so many seconds.")
@click.option("--neuronx-cc", metavar="V", help="Which row to reproduce; default: this host's stack, else the newest.")
@click.option("--library-version", metavar="V", help="Likewise.")
@click.option("--yes", is_flag=True, help="Consent to run the row's own script.")
@click.option("--dry-run", is_flag=True, help="Say what would be run, and start nothing.")
@click.option("--detach", is_flag=True, help="Start it, print its id, and return.")
@click.option("--format", "format_", type=click.Choice(["text", "jsonl"]), default="text", show_default=True)
@global_options
@click.pass_obj
def command(options: Options, /, model: str, yes: bool, dry_run: bool, detach: bool, format_: str, **given: Any) -> int:
    """Run a checkpoint's test here and say what came out.

    MODEL is a Hub id; its row in the dataset, if there is one, is reproduced with the row's own script. A folder with a
    checkpoint of your own runs with the bundled script. Ctrl-C ends the run; a closed terminal does not.
    """
    from runner.order import prepare
    from trnui.ordering import order_for

    stack = {name: given.pop(name) for name in ("neuronx_cc", "library_version")}
    given["backend"] = "inductor" if given.pop("inductor") else None
    given["warm"] = given["warm"] or None
    detail, provenance = find_row(options, model, stack)
    prepared = prepare(order_for(model, options.settings, detail, provenance, **given))
    for words in prepared.notes:
        note(words)
    for words in prepared.recipe.departures():
        note(f"not the protocol: {words}")
    if dry_run:
        return show_plan(prepared, format_)
    consent(prepared, yes)
    return start(prepared, detach, format_)


def find_row(options: Options, model: str, stack: dict[str, str | None]) -> tuple[Detail | None, Provenance | None]:
    """The row to reproduce and where it is from; none for a folder, nor for a model without a tested row."""
    from pathlib import Path

    if Path(model).expanduser().is_dir():
        return None, None
    from trnui.catalog.catalog import open_catalog

    with open_catalog(options) as catalog:
        row = catalog.row_to_run(model, stack.get("neuronx_cc"), stack.get("library_version"))
        return (row, catalog.provenance) if row is not None else (None, None)


def consent(prepared: Prepared, yes: bool) -> None:
    """A script that is not ours is someone's code. Raises UsageError when nobody has said yes to it."""
    from runner import script

    if prepared.recipe.script != "published" or script.is_ours(prepared.script):
        return
    if not yes:
        raise UsageError(
            f"This row's run.py is someone's code (SHA-256 {prepared.recipe.script_sha256[:16]}…); it would run with your rights.",
            "Read it with: trnui script MODEL. Then say --yes, or use --script bundled.",
        )


def show_plan(prepared: Prepared, format_: str) -> int:
    """What would be run, on stdout."""
    from runner.telling import plan_json, plan_lines

    if format_ == "jsonl":
        print(plan_json(prepared))
    else:
        print("\n".join(plan_lines(prepared)))
    return Exit.OK


def start(prepared: Prepared, detach: bool, format_: str) -> int:
    from runner import launch
    from runner.telling import Format, ending_code, follow_or_stop, summary

    run = launch.start(prepared.recipe, prepared.script, prepared.steps, prepared.terms)
    if detach:
        print(run.id)
        return Exit.OK
    note(f"run {run.id} · log {run.path / 'output.log'}")
    note(f"Ctrl-C ends it; `trnui attach {run.id}` follows it from anywhere.")
    kind: Format = "jsonl" if format_ == "jsonl" else "text"
    result = follow_or_stop(run, lambda line: print(line, flush=True), kind)
    if result is not None:
        out = sys.stderr if format_ == "jsonl" else sys.stdout
        print("\n".join(["", *summary(prepared.recipe, result)]), file=out, flush=True)
    return ending_code(run, result)
