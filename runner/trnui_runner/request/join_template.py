"""The templates joined: what all tasks share, with the part of one task, as one self-contained script."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final

from trnui_runner.common.errors import UsageError
from trnui_runner.common.text import one_line

FOLDER: Final = Path(__file__).resolve().parent.parent / "payload" / "templates"
BASE: Final = "base.py"
TEMPLATES: Final[Mapping[tuple[str, str], str]] = {  # (library, task) → file of the part; more tasks are more lines
    ("transformers", "text-generation"): "text_generation.py",
    ("transformers", "image-text-to-text"): "image_text_to_text.py",
}
START, END = "# --- settings\n", "# --- end of settings\n"
_IMPORTS, _END_OF_IMPORTS, _FIRST = "# --- imports", "# --- end of imports\n", "from __future__"


def part_of(library: str, task: str) -> str:
    """The part's file name. Raises UsageError when there is no bundled script for this library and task."""
    name = TEMPLATES.get((library, task))
    if name is None:
        known = ", ".join(f"{lib} {kind}" for lib, kind in TEMPLATES)
        raise UsageError(
            f"No bundled script for {one_line(library)} {one_line(task)}.", f"The bundled scripts are for: {known}."
        )
    return name


@cache
def joined(name: str) -> str:
    """The whole template of the part called `name`: the part's docstring, the shared code with the part's settings in the
    place of its own, and the part's code."""
    part = (FOLDER / name).read_text(encoding="utf-8")
    base = (FOLDER / BASE).read_text(encoding="utf-8")
    docstring, rest = part.split(_IMPORTS, 1)
    code = rest.split(_END_OF_IMPORTS, 1)[1]
    own = ""
    if START in code:
        own, code = code.split(START, 1)[1].split(END, 1)
    before, shared = base.split(START, 1)
    settings, shared = shared.split(END, 1)
    return f"{docstring}{before[before.index(_FIRST) :]}{START}{merged(settings, own)}{END}{shared.rstrip()}\n\n\n{code.strip()}\n"


def merged(settings: str, own: str) -> str:
    """Lines of settings; one of `own` replaces that of the same name, and a new one comes last."""
    lines = {_name(line): line for line in settings.splitlines(keepends=True)}
    lines.update({_name(line): line for line in own.splitlines(keepends=True)})
    return "".join(lines.values())


def _name(line: str) -> str:
    return line.partition(" = ")[0].partition(":")[0]
