"""A recipe becomes a run.py: settings that cannot break out, the same bytes for the same recipe, ours recognized as ours."""

from __future__ import annotations

import ast

import pytest

from trnui_runner.common.errors import UsageError
from trnui_runner.request import render_script
from trnui_runner.run_folder.recipe import Recipe

TEXT, PICTURE = "text-generation", "image-text-to-text"
FOLDER = render_script.FOLDER
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


@pytest.mark.parametrize("name", sorted(set(render_script.TEMPLATES.values())))
def test_template_has_one_line_for_each_setting(name: str) -> None:
    block = (FOLDER / name).read_text().partition(render_script.START)[2].partition(render_script.END)[0]
    statements = ast.parse(block).body
    assert len(statements) == len(block.splitlines()) > 10
    assert render_script.is_ours((FOLDER / name).read_bytes())


def test_templates_share_their_common_part_word_for_word() -> None:
    parts = []
    for name in sorted(set(render_script.TEMPLATES.values())):
        text = (FOLDER / name).read_text()
        parts.append(
            text.partition("# --- start of what all tasks share")[2].partition("# --- end of what all tasks share")[0]
        )
    assert len(parts[0]) > 5000
    assert parts[0] == parts[1]


OURS = render_script.render(recipe())


@pytest.mark.parametrize(
    "changed",
    [
        OURS.replace(b"TRUST_REMOTE_CODE = False", b"TRUST_REMOTE_CODE = True"),
        OURS.replace(b"WARM = False", b"WARM = __import__('os').system('id')"),
        OURS.replace(b"WARM = False", b"WARM = False; os.environ['HF_ENDPOINT'] = 'x'"),
        OURS.replace(b"WARM = False", b"os.environ['HF_ENDPOINT'] = 'x'"),
        OURS.replace(b"REVISION: str | None = None", b"REVISION: print(1) = None"),
        OURS.replace(b"def main() -> int:", b"def main() -> int:\n    os.system('id')"),
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
