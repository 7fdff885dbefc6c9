"""Every `trnui run …` line asks again for exactly what was run, whatever its words hold, and is safe to show and to paste."""

from __future__ import annotations

import shlex
import subprocess
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from trnui.cli.commands.run import command
from trnui_runner.cli.options import OPTIONS, fields
from trnui_runner.common.text import clean
from trnui_runner.request.command_line import (
    STACK,
    SWITCHES,
    VALUED,
    option_words,
    options_of,
    recipe_line,
    row_line,
    shell_line,
)
from trnui_runner.request.request import RunRequest
from trnui_runner.run_folder.recipe import NEW_TOKENS, PROMPT, QUESTION, Recipe, RowSource

RECIPE = Recipe("20260101-000000-tiny-ab12", "acme/tiny", python="/opt/env/bin/python", device="neuron")
ROW = {"neuronx_cc": "2.28.1", "library": "transformers", "library_version": "5.24.0", "tp": 4}
SOURCE = RowSource("acme/results", "1a2b3c4d" * 5, "a.parquet", 3)
HOSTILE = "acme/\x1b]0;owned\x07tiny\u202e;rm -rf ~"


def parsed(line: str) -> dict[str, Any]:
    """The line as `trnui run` reads it: fields of a RunRequest, with the model and the stack options beside them."""
    words = shlex.split(line)
    assert words[0] == "trnui"
    rest = words[words.index("run") + 1 :]
    with command.make_context("run", rest) as context:
        given_ = dict(context.params)
    for name in ("yes", "dry_run", "detach", "format_"):
        given_.pop(name)
    stack = {name: given_.pop(name) for name in STACK}
    return {"model": given_.pop("model"), **fields(given_), "stack": stack}


def test_each_option_of_a_run_can_be_said() -> None:
    names = {name for option in OPTIONS for name in option(lambda: None).__click_params__[-1].opts}  # type: ignore[attr-defined]
    names |= {n for option in OPTIONS for n in option(lambda: None).__click_params__[-1].secondary_opts}  # type: ignore[attr-defined]
    assert names - {"timeout_s"} == {*VALUED.values(), *SWITCHES.values()}
    assert {*VALUED} <= {*RunRequest.__dataclass_fields__}


# what trnui takes out of foreign text (controls, invisible characters) cannot come back; test_foreign_words_are_cleaned
words = st.text(min_size=1).filter(lambda text: clean(text) == text)


@given(
    st.fixed_dictionaries(
        {},
        optional={
            "script": st.sampled_from(["published", "bundled", "my run.py"]),
            "device": st.sampled_from(["neuron", "cpu"]),
            "cores": st.integers(1, 16),
            "parallelism": st.sampled_from(["tp", "ep"]),
            "task": st.sampled_from(["text-generation", "image-text-to-text"]),
            "revision": words,
            "dtype": st.sampled_from(["bfloat16", "float32"]),
            "prompt": words,
            "image": words,
            "max_new_tokens": st.integers(1, 4096),
            "judge": words,
            "timeout_s": st.floats(0, 1e6, allow_nan=False),
            "python": words,
            "backend": st.just("inductor"),
            "compile_prefill": st.booleans(),
            "warm": st.just(True),
        },
    )
)
@example({"prompt": "--yes"})
@example({"prompt": 'It\'s $HOME `id` \\ "x"\nline two'})
@example({"timeout_s": 0.5})
def test_options_come_back_as_they_were(options: dict[str, Any]) -> None:
    found = parsed(shell_line(["trnui", "run", "acme/tiny", *option_words(options)]))
    usual = {"script": "auto", "device": "auto"}
    assert {k: v for k, v in found.items() if k not in ("model", "stack")} == usual | options


@pytest.mark.parametrize(
    "recipe",
    [
        RECIPE,
        replace(RECIPE, device="cpu", prompt="It's mine", max_new_tokens=8, dtype="float32", revision="v2"),
        replace(RECIPE, device="stand-in", cores=4, parallelism="ep", judge="word order", timeout_s=90.0),
        replace(RECIPE, task="image-text-to-text", image="/data/a b.png", prompt=QUESTION),
        replace(RECIPE, options={"backend": "inductor", "compile_prefill": False, "warm": True}),
        replace(RECIPE, script="published", source=SOURCE, row=ROW, cores=1, prompt="the script's own"),
        replace(RECIPE, script="file"),
        replace(RECIPE, script="bundled", source=SOURCE, row=ROW, options={"row_script_sha256": "ab"}),
    ],
    ids=lambda r: f"{r.script}-{r.device}-{r.cores}",
)
def test_a_recipes_line_asks_for_the_same_again(recipe: Recipe) -> None:
    found = parsed(recipe_line(recipe, "/runs/x/run.py"))
    asked = {k: v for k, v in options_of(recipe, "/runs/x/run.py").items() if v is not None}
    stack = found.pop("stack")
    assert found.pop("model") == recipe.model
    assert found == asked
    assert asked["cores"] == recipe.cores  # a row says 4, this run took 1
    if recipe.source:
        assert stack["neuronx_cc"] == ("2.28.1",)
        assert "--dataset acme/results" in recipe_line(recipe)


def test_a_recipe_line_leaves_out_what_is_usual() -> None:
    line = recipe_line(replace(RECIPE, python=""))
    assert line == "trnui run acme/tiny --script bundled --device neuron --cores 1 --task text-generation"
    line = recipe_line(replace(RECIPE, python="", script="published", prompt="x", max_new_tokens=7, dtype="float32"))
    assert line == "trnui run acme/tiny --script published --device neuron --cores 1 --task text-generation"


def test_the_prompt_is_said_where_the_rows_script_may_have_another() -> None:
    recipe = replace(RECIPE, options={"row_script_sha256": "ab"})
    assert shlex.quote(PROMPT) in recipe_line(recipe)
    assert f"--max-new-tokens {NEW_TOKENS}" in recipe_line(recipe)


@pytest.mark.parametrize(
    ("row", "dataset", "line"),
    [
        (None, None, "trnui cache acme/tiny"),
        (ROW, None, "trnui cache acme/tiny --neuronx-cc 2.28.1 --library-version 5.24.0"),
        ({"library": "diffusers"}, "sample", "trnui --dataset sample cache acme/tiny --library diffusers"),
        ({"neuronx_cc": "", "library_version": None}, "a b", "trnui --dataset 'a b' cache acme/tiny"),
    ],
)
def test_a_rows_line_names_its_stack(row: Any, dataset: str | None, line: str) -> None:
    assert row_line("cache", "acme/tiny", row, dataset) == line


def test_a_model_that_looks_like_an_option_is_none() -> None:
    found = parsed(row_line("run", "--yes", {"neuronx_cc": "2.28.1"}, None))
    assert (found["model"], found["stack"]["neuronx_cc"]) == ("--yes", ("2.28.1",))


def test_foreign_words_are_cleaned_before_they_are_quoted() -> None:
    line = row_line("run", HOSTILE, {"neuronx_cc": "2\x00.28\n&& x"}, "d\x1b[31m")
    assert not {"\x1b", "\x07", "\x00", "\u202e"} & {*line}
    assert shlex.split(line) == ["trnui", "--dataset", "d", "run", "acme/tiny;rm -rf ~", "--neuronx-cc", "2.28\n&& x"]


@pytest.mark.parametrize(
    "word", ["a\tb", "a\r\nb", "tab\tand 'quotes' and \\ and $HOME", "plain", "", "two\nlines", "ä — 中"]
)
def test_a_shell_gets_every_word_as_it_was(word: str) -> None:
    line = shell_line(["printf", "%s", word])
    assert not {"\t", "\r"} & {*line}
    assert subprocess.run(["bash", "-c", line], capture_output=True, check=True).stdout.decode() == word
