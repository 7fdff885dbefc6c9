"""The command-line options of a run: the same for `trnui run` and `trnui-runner run`."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])


def _seconds(ctx: click.Context, param: click.Parameter, value: float | None) -> float | None:
    """0 or more, and neither "nan" nor "inf". Raises BadParameter."""
    if value is not None and not 0 <= value < math.inf:
        raise click.BadParameter(f"{value} is not a number of seconds (0 or more).", ctx, param)
    return value


OPTIONS = (
    click.option(
        "--script",
        default="auto",
        metavar="published|bundled|FILE",
        help="Default: the row's own script, else bundled.",
    ),
    click.option(
        "--device", type=click.Choice(["auto", "neuron", "cpu"]), default="auto", help="auto: the row's device."
    ),
    click.option(
        "--cores", type=click.IntRange(1, 16), help="Default: the row's, else the fewest that hold the weights."
    ),
    click.option("--parallelism", type=click.Choice(["tp", "ep"]), help="Tensor or expert parallel."),
    click.option("--python", metavar="P", help="Interpreter, or an environment's folder, that runs the model."),
    click.option("--task", metavar="T", help="text-generation or image-text-to-text."),
    click.option("--revision", metavar="R", help="Branch, tag or commit of the checkpoint."),
    click.option("--dtype", metavar="D", help="bfloat16, float32, …; default: the checkpoint's own."),
    click.option("--prompt", metavar="TEXT", help="The text to continue, or the question about the picture."),
    click.option("--image", metavar="FILE", help="The picture; default: a red square."),
    click.option("--max-new-tokens", type=click.IntRange(1), metavar="N", help="Default: 32, as published."),
    click.option("--inductor", is_flag=True, help="On the CPU: compile with inductor, not aot_eager."),
    click.option(
        "--compile-prefill/--no-compile-prefill",
        default=None,
        help="Run the prompt (prefill) through the compiled model too.",
    ),
    click.option("--warm", is_flag=True, help="Generate a second time with everything compiled, timed separately."),
    click.option("--judge", metavar="J", help="Checkpoint that judges the English of a sharded run, or 'word order'."),
    click.option(
        "--timeout",
        "timeout_s",
        type=float,
        callback=_seconds,
        metavar="S",
        help="Stop the run after this many seconds; 0: never.",
    ),
)
HOW = (
    click.option("--yes", is_flag=True, help="Approve the row's own script, and start despite warnings."),
    click.option("--dry-run", is_flag=True, help="Show the plan and the preflight checks; start nothing."),
    click.option("--detach", is_flag=True, help="Start it, print its id, and return."),
    click.option("--format", "format_", type=click.Choice(["text", "jsonl"]), default="text", show_default=True),
)


def what_to_run(function: F) -> F:
    """Options that say what to run; `fields` turns them into fields of a RunRequest."""
    for option in reversed(OPTIONS):
        function = option(function)
    return function


def how_to_run(function: F) -> F:
    """--yes, --dry-run, --detach, --format (as `format_`)."""
    for option in reversed(HOW):
        function = option(function)
    return function


def fields(given: dict[str, Any]) -> dict[str, Any]:
    """The given options as fields of a RunRequest; the others are left out."""
    values = dict(given)
    values["backend"] = "inductor" if values.pop("inductor", False) else None
    values["warm"] = values.get("warm") or None
    return {name: value for name, value in values.items() if value is not None}
