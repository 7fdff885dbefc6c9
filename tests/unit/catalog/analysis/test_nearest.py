"""The smallest change that passed."""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.called import called
from tests.datasets import database, folder, row
from trnui.catalog.analysis.checkpoint_names import parsed, siblings
from trnui.catalog.analysis.nearest import Asked, Passing, Way, nearest
from trnui.catalog.analysis.nearest_lookup import passing, suggestions
from trnui.catalog.engine.row_detail import detail
from trnui.catalog.hub.inference_catalog import ServingRecipe
from trnui.catalog.query import Stack

NOW = Stack("2.28.0.0+x", "5.24.0")
COMPILER = Stack("2.27.0.0+x", "5.24.0")
LIBRARY = Stack("2.28.0.0+x", "5.22.0")
BOTH = Stack("2.27.0.0+x", "5.22.0")
FAR = Stack("2.9.0.0+x", "5.24.0")
DEV = Stack("2.29.0.0+x", "5.24.0.dev0")
MODEL = "Qwen/Qwen3-8B"


def test_the_smallest_change_comes_first() -> None:
    rows = [
        Passing(MODEL, BOTH, 1), Passing(MODEL, COMPILER, 1), Passing(MODEL, NOW, 4, "english"), Passing("Qwen/Qwen3-8B-Base", NOW, 1),
        Passing("Qwen/Qwen3-4B", NOW, 1),
    ]  # fmt: skip
    found = nearest(Asked(MODEL, NOW, 1), rows, [ServingRecipe("dish-1", "vllm")])
    assert [(n.way, n.model_id) for n in found] == [
        (Way.CORES, MODEL), (Way.STACK, MODEL), (Way.SIBLING, "Qwen/Qwen3-8B-Base"), (Way.RECIPE, MODEL),
    ]  # fmt: skip
    assert found[0].words == "other cores: PASS on neuronx-cc 2.28.0.0 / transformers 5.24.0 (4 cores, judged as English, the weaker check)"  # fmt: skip
    assert found[1].passing is not None
    assert found[1].passing.stack == COMPILER
    assert "Qwen/Qwen3-8B-Base PASS" in found[2].words
    assert "not the dataset's test" in found[3].words


@pytest.mark.parametrize(
    ("stacks", "expected"),
    [
        ((BOTH, COMPILER), COMPILER),
        ((COMPILER, LIBRARY), LIBRARY),  # another library version is installed sooner than another compiler
        ((FAR, COMPILER), COMPILER),
        ((DEV, BOTH), BOTH),  # releases before development versions
        ((Stack("2.27.0.0+x", "0.30.0", "diffusers"), BOTH), BOTH),
    ],
)
def test_the_nearest_stack(stacks: tuple[Stack, ...], expected: Stack) -> None:
    for order in (stacks, stacks[::-1]):
        (found,) = nearest(Asked(MODEL, NOW, 1), [Passing(MODEL, s, 1) for s in order])
        assert found.passing is not None
        assert found.passing.stack == expected


def test_more_cores_before_fewer() -> None:
    (found,) = nearest(Asked(MODEL, NOW, 4), [Passing(MODEL, NOW, n) for n in (1, 2, 8, 16)])
    assert found.passing is not None
    assert found.passing.cores == 8
    assert nearest(Asked(MODEL, NOW, 4), [Passing(MODEL, NOW, 4)]) == ()  # an older PASS of the very same is none


def test_a_pass_on_a_cpu_says_so() -> None:
    (found,) = nearest(Asked(MODEL, NOW, 1), [Passing(MODEL, COMPILER, 1, device="cpu")])
    assert "on a CPU" in found.words


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("Qwen/Qwen3-8B", "Qwen/Qwen3-8B-Base", True),
        ("Qwen/Qwen3-8B", "someone/qwen3_8b-finetune", True),
        ("Qwen/Qwen3-8B", "Qwen/Qwen3-0.6B", False),
        ("Qwen/Qwen3-8B", "Qwen/Qwen2.5-8B", False),
        ("Qwen/Qwen3-8B", "Qwen/Qwen3-VL-8B", False),
        ("Qwen/Qwen3-8B", "Qwen/Qwen3-8B-AWQ", False),
        ("Qwen/Qwen3-30B-A3B", "Qwen/Qwen3-30B-A3B-Instruct-2507", True),
        ("Qwen/Qwen3-30B-A3B", "Qwen/Qwen3-30B", False),
        ("mistralai/Mixtral-8x7B-v0.1", "mistralai/Mixtral-8x7B-Instruct-v0.1", True),
        ("mistralai/Mixtral-8x7B-v0.1", "mistralai/Mixtral-8x22B-v0.1", False),
        ("meta-llama/Llama-3.1-8B", "meta-llama/Llama-3.2-8B", False),
    ],
)
def test_siblings_by_their_names(one: str, other: str, same: bool) -> None:
    a, b = parsed(one), parsed(other)
    assert a is not None
    assert b is not None
    assert (siblings(a, b), siblings(b, a)) == (same, same)


@pytest.mark.parametrize("name", ["gpt2", "8B", "o/", "", "EleutherAI/pythia", "o/b1m4x", "o/3.2"])
def test_a_name_without_family_or_size_has_no_siblings(name: str) -> None:
    assert parsed(name) is None


def test_of_several_siblings_the_one_of_the_same_owner_and_nearest_name() -> None:
    rows = [Passing(f"{name}", NOW, 1) for name in ("x/Qwen3-8B", "Qwen/Qwen3-8B-Base-x", "Qwen/Qwen3-8B-Base")]
    (found,) = nearest(Asked(MODEL, NOW, 1), rows)
    assert found.model_id == "Qwen/Qwen3-8B-Base"
    (task,) = nearest(
        Asked(MODEL, NOW, 1, "text-generation"),
        [Passing("x/Qwen3-8B", NOW, 1, task="feature-extraction"), Passing("y/Qwen3-8B", NOW, 1)],
    )
    assert task.model_id == "y/Qwen3-8B"


def test_only_the_newest_row_of_a_stack_counts(tmp_path: Path) -> None:
    late = datetime(2026, 12, 1, tzinfo=UTC)
    db = database(
        tmp_path,
        row(MODEL, "PASS", COMPILER), row("qwen/qwen3-8b", "FAIL", COMPILER, tested_at=late), row(MODEL, "PASS", LIBRARY, tp=2),
        row("Qwen/Qwen3-8B-Base", "PASS", NOW), row("Qwen/Qwen3-4B", "PASS", NOW), row(MODEL, "FAIL", NOW),
    )  # fmt: skip
    found = passing(db.connection.cursor(), MODEL)
    assert {(p.model_id, p.stack, p.cores) for p in found if siblings_of(p.model_id)} == {
        (MODEL, LIBRARY, 2), ("Qwen/Qwen3-8B-Base", NOW, 1),
    }  # fmt: skip


def siblings_of(name: str) -> bool:
    a, b = parsed(MODEL), parsed(name)
    return a is not None and b is not None and siblings(a, b)


def test_a_row_that_passes_asks_for_nothing(tmp_path: Path) -> None:
    db = database(tmp_path, row(MODEL, "PASS", NOW), row(MODEL, "PASS", COMPILER))
    cursor = db.connection.cursor()
    for identity in (0, 1):
        found = detail(db, cursor, identity)
        assert found is not None
        assert suggestions(db, found, "d") == ()


def test_show_offers_it_with_a_command(tmp_path: Path) -> None:
    path = tmp_path / "data"
    folder(
        path,
        row(MODEL, "FAIL", NOW, error="zorp"),
        row(MODEL, "PASS", COMPILER),
        row("o/out", None, NOW, exclusion="x"),
    )
    text = called("--dataset", path, "show", MODEL).out
    block = text[text.index("Nearest that works") :].splitlines()
    assert "another stack: PASS on neuronx-cc 2.27.0.0 / transformers 5.24.0" in block[1]
    assert block[2].split() == [
        "trnui", "--dataset", str(path), "run", MODEL, "--neuronx-cc", COMPILER.neuronx_cc, "--library-version", "5.24.0",
    ]  # fmt: skip
    found = json.loads(called("--dataset", path, "show", MODEL, "--format", "json").out)["nearest"]
    assert [(n["way"], n["neuronx_cc"], n["tp"]) for n in found] == [("stack", COMPILER.neuronx_cc, 1)]
    assert "Nearest" not in called("--dataset", path, "show", "o/out").out


def test_the_hubs_own_recipes_are_named(tmp_path: Path, home: Path) -> None:
    path = tmp_path / "data"
    folder(path, row(MODEL, "FAIL", NOW, error="zorp"))
    file = home / "cache" / "hub" / "inference-catalog.json"
    file.parent.mkdir(parents=True)
    models = {MODEL: [asdict(ServingRecipe("dish-7", "vllm"))]}
    file.write_text(json.dumps({"v": 1, "endpoint": "x", "fetched": 0, "models": models}))
    text = called("--dataset", path, "show", MODEL).out
    assert "has a tested Neuron recipe in the Hub's inference catalog (dish-7, vllm)" in text
    assert "dish-7 for serving by vllm" in text
