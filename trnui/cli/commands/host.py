"""`trnui host`: this host's devices and who holds its cores, the stack, caches, and what a run would lack."""

from __future__ import annotations

import json

import click

from trnui.cli.shared_options import GlobalOptions, global_options
from trnui_runner.common.errors import Exit


@click.command("host")
@click.option("--python", metavar="P", help="Interpreter, or an environment's folder, to look at.")
@click.option("--format", "format_", type=click.Choice(["text", "json"]), default="text", show_default=True)
@global_options
@click.pass_obj
def command(options: GlobalOptions, python: str | None, format_: str) -> int:
    """This host: Neuron devices, cores with their owners, stack, NEFF caches, disk, and what is missing for a run."""
    from trnui_runner.preflight.host_summary import look

    host = look(python or options.settings.python or None, options.settings.neff_cache)
    print(json.dumps(host.to_json(), indent=1, default=str) if format_ == "json" else "\n".join(host.lines()))
    return Exit.OK
