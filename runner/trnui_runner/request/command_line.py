"""The one builder of `trnui …` lines that are shown, copied and reported: from words, each cleaned and quoted on its own.

A finished line is never cleaned: that would change what a shell reads.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping
from typing import Any, Final

from trnui_runner.common.text import Safe, clean
from trnui_runner.run_folder.recipe import NEW_TOKENS, PROMPT, QUESTION, Recipe

# Field of a RunRequest → option of `trnui run` that takes its value. Switches: (field, value) → option.
VALUED: Final[Mapping[str, str]] = {
    "script": "--script",
    "device": "--device",
    "cores": "--cores",
    "parallelism": "--parallelism",
    "task": "--task",
    "revision": "--revision",
    "dtype": "--dtype",
    "prompt": "--prompt",
    "image": "--image",
    "max_new_tokens": "--max-new-tokens",
    "judge": "--judge",
    "timeout_s": "--timeout",
    "python": "--python",
}
SWITCHES: Final[Mapping[tuple[str, object], str]] = {
    ("backend", "inductor"): "--inductor",
    ("compile_prefill", True): "--compile-prefill",
    ("compile_prefill", False): "--no-compile-prefill",
    ("warm", True): "--warm",
}
STACK: Final[Mapping[str, str]] = {  # column of a row → option that chooses the row's stack
    "neuronx_cc": "--neuronx-cc",
    "library": "--library",
    "library_version": "--library-version",
}
USUAL_LIBRARY: Final = "transformers"


def shell_line(words: Iterable[object]) -> Safe:
    """Words as one command of a shell. Control and bidi characters of foreign words are left out; white space stays as it is."""
    return Safe(" ".join(_quoted(str(word)) for word in words))


def _quoted(word: str) -> str:
    if "\t" not in word and "\r" not in word:
        return shlex.quote(clean(word))
    # as they are, a terminal would act on them when the line is pasted; bash, zsh and ksh read $'…'. Where a shell does not
    # (dash), it is a word in quotes all the same: a quote inside is given by its number.
    escapes = {"\t": "\\t", "\r": "\\r", "\n": "\\n", "\\": "\\134", "'": "\\047"}
    parts = re.split(r"([\t\r\n\\'])", word)
    return "$'" + "".join(escapes.get(part) or clean(part) for part in parts) + "'"


def row_words(
    command: str, model: str, row: Mapping[str, Any] | None, dataset: str | None, options: Iterable[str] = ()
) -> list[str]:
    """`trnui --dataset D COMMAND MODEL` with the stack of `row`; dataset None: the usual one; row None: the default stack."""
    words = ["trnui", *(["--dataset", dataset] if dataset else []), command]
    chosen: list[str] = []
    for column, option in STACK.items():
        value = (row or {}).get(column)
        if value and (column != "library" or value != USUAL_LIBRARY):
            chosen += [option, str(value)]
    chosen += options
    if model.startswith("-"):  # else it would be read as an option
        return [*words, *chosen, "--", model]
    return [*words, model, *chosen]


def row_line(command: str, model: str, row: Mapping[str, Any] | None, dataset: str | None) -> Safe:
    """A command about a row, as `trnui show` and the app offer it."""
    return shell_line(row_words(command, model, row, dataset))


def option_words(options: Mapping[str, Any]) -> list[str]:
    """Fields of a RunRequest as options of `trnui run`; what is None is left out."""
    found: list[str] = []
    for name, option in VALUED.items():
        value = options.get(name)
        if value is not None:
            found += [option, f"{value:g}" if isinstance(value, float) and value == int(value) else str(value)]
    return found + [option for (name, value), option in SWITCHES.items() if options.get(name) == value]


def options_of(recipe: Recipe, script_file: str = "run.py") -> dict[str, Any]:
    """What was asked for, as fields of a RunRequest: asked again, they make the same run. None is "as usual".

    script_file: where the copy of a user's own script is.
    """
    own = recipe.script == "bundled"
    kept: Mapping[str, Any] = recipe.options
    usual = QUESTION if recipe.task == "image-text-to-text" else PROMPT
    by_row = "row_script_sha256" in kept  # then what is usual is what the row's script says
    return {
        "script": script_file if recipe.script == "file" else recipe.script,
        "device": "cpu" if recipe.device == "cpu" else "neuron",
        "cores": recipe.cores,
        "parallelism": recipe.parallelism if own and recipe.parallelism != "none" else None,
        "task": recipe.task,
        "revision": recipe.revision if own else None,
        "dtype": recipe.dtype if own and recipe.dtype != "auto" else None,
        "prompt": recipe.prompt if own and (by_row or recipe.prompt != usual) else None,
        "image": recipe.image if own else None,
        "max_new_tokens": recipe.max_new_tokens if own and (by_row or recipe.max_new_tokens != NEW_TOKENS) else None,
        "judge": recipe.judge,
        "timeout_s": recipe.timeout_s,
        "python": recipe.python or None,
        "backend": kept.get("backend") if own else None,
        "compile_prefill": kept.get("compile_prefill") if own else None,
        "warm": kept.get("warm") if own else None,
    }


def recipe_line(recipe: Recipe, script_file: str = "run.py") -> Safe:
    """The command that makes this run again: same row, script, device, cores, interpreter and limits."""
    source = recipe.source
    row = recipe.row if source is not None else None
    options = option_words(options_of(recipe, script_file))
    return shell_line(row_words("run", recipe.model, row, source.dataset if source else None, options))
