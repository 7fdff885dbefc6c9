"""Options that take one word out of several, and a group of commands: a word that is none of them is answered with the nearest."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import click

from trnui.did_you_mean import did_you_mean


class NearestChoice(click.Choice[str]):
    """click's, which names all choices and not the nearest."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter as error:
            words = f"{error.message} {did_you_mean(str(value), map(str, self.choices))}".rstrip()
            raise click.BadParameter(words, ctx, param) from None


def no_such_command(name: str, known: Iterable[str]) -> click.UsageError:
    return click.UsageError(f"No such command {name!r}. {did_you_mean(name, known)}".rstrip())
