"""What commands share: the global options (given before or after the command's name) and how notes reach stderr."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar

import click

from trnui.settings import Settings, load

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class Options:
    """The global options."""

    dataset: str | None = None
    offline: bool = False
    no_color: bool = False
    ascii: bool = False
    mouse: bool = False

    @cached_property
    def settings(self) -> Settings:
        """The settings with the flags on top; their problems are told once, on stderr."""
        flags = {"dataset": self.dataset, "ascii": "on" if self.ascii else None, "mouse": "on" if self.mouse else None}
        settings = load(flags)
        for problem in settings.problems:
            note(problem)
        return settings


def note(words: str) -> None:
    """One line for a person, on stderr."""
    from runner.text import clean

    print(clean(words), file=sys.stderr)


def global_options(function: F) -> F:
    """Lets the global options stand behind the command too: `trnui list --dataset sample`."""

    def keep(ctx: click.Context, param: click.Parameter, value: Any) -> None:
        if value not in (None, False) and param.name:
            root = ctx.find_root()
            root.obj = replace(root.obj or Options(), **{param.name: value})
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
