"""A recipe becomes a run.py: settings that cannot break out, the same bytes for the same recipe, ours recognized as ours."""

from __future__ import annotations

import ast
import builtins
import symtable
from collections.abc import Iterator

import pytest

from trnui_runner.common.errors import UsageError
from trnui_runner.request import join_template, render_script
from trnui_runner.run_folder.recipe import Recipe

TEXT, PICTURE = "text-generation", "image-text-to-text"
PARTS = sorted(set(join_template.TEMPLATES.values()))
NASTY = 'a"b\'c\\ \n# x\r\n"""; import os\u202e\x1b[31m\x00\ud800 é'


def recipe(**fields: object) -> Recipe:
    return Recipe(**{"id": "x", "model": "owner/name", **fields})  # type: ignore[arg-type]


@pytest.mark.parametrize("task", [TEXT, PICTURE])
def test_settings_say_what_the_recipe_says(task: str) -> None:
    made = render_script.render(
        recipe(task=task, cores=4, parallelism="ep", dtype="float32", max_new_tokens=8, revision="v2")
    )
    said = render_script.constants(made.decode())
    assert (said["MODEL"], said["REVISION"], said["CORES"], said["PARALLELISM"]) == ("owner/name", "v2", 4, "ep")
    assert (said["DTYPE"], said["NEW_TOKENS"], said["DEVICE"], said["BACKEND"]) == ("float32", 8, "cpu", "aot_eager")
    assert said["TRUST_REMOTE_CODE"] is False


@pytest.mark.parametrize("task", [TEXT, PICTURE])
def test_foreign_words_stay_inside_their_strings(task: str) -> None:
    made = render_script.render(
        recipe(task=task, model=NASTY, prompt=NASTY, revision=NASTY, dtype=NASTY, image=NASTY), {"torch": NASTY}
    )
    text = made.decode()
    said = render_script.constants(text)
    assert said["MODEL"] == said["PROMPT"] == said["REVISION"] == NASTY
    plain = render_script.render(recipe(task=task))
    body = ast.parse(text).body
    assert len(body) == len(ast.parse(plain).body)  # not one statement more
    assert render_script.is_ours(made)
    head = text.partition('"""')[0]
    assert all(line.startswith("#") for line in head.splitlines())
    assert "\x1b" not in text


def test_same_recipe_same_bytes_and_another_prompt_other_bytes() -> None:
    assert render_script.render(recipe(id="a")) == render_script.render(recipe(id="b"))
    assert render_script.render(recipe()) != render_script.render(recipe(prompt="Once"))


def test_stand_in_is_a_neuron_device_to_its_script() -> None:
    said = render_script.constants(render_script.render(recipe(device="stand-in")).decode())
    assert (said["DEVICE"], said["BACKEND"]) == ("neuron", "neuron")


def test_header_names_stack_packages_and_origin() -> None:
    head = render_script.render(
        recipe(), {"python": "3.12.3", "torch": "2.14.0", "torch_neuronx": "2.14.3.0", "nki": None}
    ).decode()
    assert "# Stack: python 3.12.3, torch 2.14.0, torch-neuronx 2.14.3.0" in head
    assert "# Packages: pip install torch==2.14.0 torch-neuronx==2.14.3.0" in head
    assert "not taken from the dataset" in head
    assert "Not the protocol: on the CPU" in head


def test_unknown_task_is_refused_with_the_known_ones() -> None:
    with pytest.raises(UsageError) as caught:
        render_script.render(recipe(task="text-to-image"))
    assert "text-generation" in caught.value.remedy


@pytest.mark.parametrize("name", PARTS)
def test_template_has_one_line_for_each_setting(name: str) -> None:
    text = join_template.joined(name)
    block = text.partition(join_template.START)[2].partition(join_template.END)[0]
    statements = ast.parse(block).body
    assert len(statements) == len(block.splitlines()) > 10
    assert render_script.is_ours(text.encode())


@pytest.mark.parametrize("name", PARTS)
def test_joined_script_stands_alone_and_defines_everything_once(name: str) -> None:
    tree = ast.parse(join_template.joined(name))
    imported = [ast.unparse(n) for n in ast.walk(tree) if isinstance(n, ast.Import | ast.ImportFrom)]
    assert not [line for line in imported if "trnui" in line]
    functions = [n.name for n in tree.body if isinstance(n, ast.FunctionDef)]
    assert len(functions) == len(set(functions))
    assert {"main", "run", "generate", "load"} <= set(functions)
    symbols = symtable.symtable(join_template.joined(name), name, "exec")
    used = {s.get_name() for t in _tables(symbols) for s in t.get_symbols() if s.is_global() and s.is_referenced()}
    known = {s.get_name() for s in symbols.get_symbols() if s.is_assigned() or s.is_imported()} | set(functions)
    assert used - known - set(dir(builtins)) <= {"__name__", "__file__"}


def _tables(table: symtable.SymbolTable) -> Iterator[symtable.SymbolTable]:
    yield table
    for child in table.get_children():
        yield from _tables(child)


def test_part_has_its_own_settings_over_the_shared_ones() -> None:
    text, picture = (
        render_script.constants(join_template.joined(name)) for name in ("text_generation.py", "image_text_to_text.py")
    )
    assert (text["COMPILE_PREFILL"], picture["COMPILE_PREFILL"]) == (True, False)
    assert "IMAGE" not in text
    assert picture["IMAGE"] is None
    assert text.keys() == picture.keys() - {"IMAGE"}


OURS = render_script.render(recipe())


@pytest.mark.parametrize(
    "changed",
    [
        OURS.replace(b"TRUST_REMOTE_CODE = False", b"TRUST_REMOTE_CODE = True"),
        OURS.replace(b"WARM = False", b"WARM = __import__('os').system('id')"),
        OURS.replace(b"WARM = False", b"WARM = False; os.environ['HF_ENDPOINT'] = 'x'"),
        OURS.replace(b"WARM = False", b"os.environ['HF_ENDPOINT'] = 'x'"),
        OURS.replace(b"REVISION: str | None = None", b"REVISION: print(1) = None"),
        OURS.replace(b"def main(load: Load) -> int:", b"def main(load: Load) -> int:\n    os.system('id')"),
        b"import os\n" + OURS,
        b"# -*- coding: utf-7 -*-\n" + OURS,
        OURS + b"\nprint(1)\n",
        OURS.replace(b"CORES = 1", b"main = 1"),
        b"\xff" + OURS,
        b"",
    ],
)  # fmt: skip
def test_script_that_could_do_anything_else_is_not_ours(changed: bytes) -> None:
    assert render_script.is_ours(OURS)
    assert changed != OURS
    assert not render_script.is_ours(changed)
