"""What commands share: the global options, given before or after the command's name, and how notes reach stderr."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

import click

from trnui.cli.global_options import GlobalOptions, note

__all__ = ["GlobalOptions", "global_options", "note"]

F = TypeVar("F", bound=Callable[..., Any])


def global_options(function: F) -> F:
    """Lets the global options stand behind the command too: `trnui list --dataset sample`."""

    def keep(ctx: click.Context, param: click.Parameter, value: Any) -> None:
        if value not in (None, False) and param.name:
            root = ctx.find_root()
            root.obj = replace(root.obj or GlobalOptions(), **{param.name: value})
            ctx.obj = root.obj

    shared: dict[str, Any] = {"expose_value": False, "callback": keep, "hidden": True}
    for decorate in (
        click.option("--dataset", metavar="X", **shared),
        click.option("--offline", is_flag=True, **shared),
        click.option("--no-color", is_flag=True, **shared),
        click.option("--ascii", is_flag=True, **shared),
    ):
        function = decorate(function)
    return function
