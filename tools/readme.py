"""Fills the README's generated parts: the table of keys and the table of commands, each from its registry.

python tools/readme.py            writes README.md; --check exits with 1 if it is not current
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from trnui.actions import ACTIONS
from trnui.cli.commands.keys import render
from trnui.cli.main import COMMANDS

MAIN = ("app", "list", "run")  # the places whose keys the README shows
README = Path(__file__).resolve().parent.parent / "README.md"


def filled(text: str) -> str:
    commands = "\n".join(["| command | |", "|---|---|", *(f"| `trnui {n}` | {h} |" for n, (_, h) in COMMANDS.items())])
    chosen = tuple(a for a in ACTIONS if a.where in MAIN)
    keys = f"{render(chosen, 'markdown').strip()}\n\nAll others: `?` in the app, or `trnui keys`."
    for name, value in (("commands", commands), ("keys", keys)):
        text = re.sub(
            rf"(<!-- {name}:[^\n]*-->\n).*?(<!-- /{name} -->)",
            lambda m, v=value: f"{m[1]}{v}\n{m[2]}",
            text,
            flags=re.S,
        )
    return text


if __name__ == "__main__":
    old = README.read_text(encoding="utf-8")
    if "--check" in sys.argv:
        sys.exit(filled(old) != old)
    README.write_text(filled(old), encoding="utf-8")
