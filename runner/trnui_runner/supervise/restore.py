"""Puts a run folder right after its run: what the run's own processes removed or changed of it stands there again as the
supervisor knows it, and the result says so."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Mapping
from typing import Final

from trnui_runner.common.files import json_text, write_atomic
from trnui_runner.run_folder import recipe as recipe_file
from trnui_runner.run_folder.folder import RunFolder, clear
from trnui_runner.run_folder.recipe import Recipe

PIECE: Final = 1 << 20


def restore(run: RunFolder, recipe: Recipe, script: bytes, written: Mapping[str, tuple[int, int]]) -> list[str]:
    """What was put right, in words. written: {file: (its descriptor, bytes that were written into it)}. Never raises."""
    notes = []
    try:
        if not run.path.is_dir() or run.path.is_symlink():
            clear(run.path)
            run.path.mkdir(mode=0o700)
            notes.append("the run removed its own folder; what is known of it was written again")
        os.chmod(run.path, 0o700)
    except OSError as error:
        return [f"the run removed its own folder, and it could not be made again: {error.strerror}"]
    known = {recipe_file.NAME: json_text(recipe.to_json()).encode("utf-8", "surrogatepass"), "run.py": script}
    for name, data in known.items():
        if run.holds(name, data):
            continue
        with contextlib.suppress(OSError):  # the result is what matters, and it has its room
            clear(run.path / name)
            write_atomic(run.path / name, data)
        if not notes:
            notes.append(f"the run changed {name}; it was written again as it was at the start")
    for name, (fd, size) in written.items():
        with contextlib.suppress(OSError):
            notes += _same_file(run, name, fd, size, bool(notes))
    return notes


def _same_file(run: RunFolder, name: str, fd: int, size: int, told: bool) -> list[str]:
    """The file under its name is the one that was written; a removed one is copied back from its descriptor."""
    mine = os.fstat(fd)
    try:
        there = os.lstat(run.path / name)
    except OSError:
        there = None
    if there is None or (there.st_dev, there.st_ino) != (mine.st_dev, mine.st_ino):
        clear(run.path / name)
        part = run.path / f".{name}.part"
        with open(f"/proc/self/fd/{fd}", "rb") as source, open(part, "xb") as target:
            shutil.copyfileobj(source, target, PIECE)
        os.replace(part, run.path / name)
        return [] if told else [f"the run removed or replaced {name}; it was written again"]
    if mine.st_size != size:
        return [f"the run changed {name}: it has {mine.st_size} bytes, {size} were written"]
    return []
