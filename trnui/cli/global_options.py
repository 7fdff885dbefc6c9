"""The global options as a value, and the command line that has nothing else: that one opens the app, and is read here, since
the first frame need not wait for click (7 ms)."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from trnui.settings import Settings, load

FLAGS: Final = {"--offline": "offline", "--no-color": "no_color", "--ascii": "ascii", "--mouse": "mouse"}


@dataclass(frozen=True)
class GlobalOptions:
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
    from trnui_runner.common.text import clean

    print(clean(words), file=sys.stderr)


def options_only(arguments: Sequence[str]) -> GlobalOptions | None:
    """The options of a command line that consists of them, as click (cli.py) reads it; None for any other, which is click's."""
    if "_TRNUI_COMPLETE" in os.environ:
        return None
    dataset: str | None = None
    flags: dict[str, bool] = {}
    rest = iter(arguments)
    for word in rest:
        if word in FLAGS:
            flags[FLAGS[word]] = True
        elif word == "--dataset" or word.startswith("--dataset="):
            dataset = word.partition("=")[2] if "=" in word else next(rest, None)
            if dataset is None or dataset.startswith("-"):
                return None
        else:
            return None
    return GlobalOptions(dataset, **flags)
