"""A row's own words as status, kind, device, task and parallelism."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.datasets import parquet, row
from tests.unit.catalog.dataset.drift import load
from trnui.catalog.dataset.normalize_sql import TASK_NAMES
from trnui.catalog.engine.script_facts import fill_from_scripts, parallelism_in, task_in
from trnui_runner.common.dataset_schema import TASKS


def folded(path: Path, *rows: dict[str, Any], sample: bool = False) -> list[tuple[Any, ...]]:
    (path / "x.parquet").write_bytes(parquet(list(rows)))
    database = load(path, sample=sample)
    fill_from_scripts(database)
    return database.connection.execute("SELECT status, kind, device, task, parallelism FROM r ORDER BY line").fetchall()


WORDS = {
    "PASS": "PASS", "pass": "PASS", " Passed ": "PASS", "✅ Passing": "PASS", "ok": "PASS", "true": "PASS",
    "FAIL": "FAIL", "failed_runtime": "FAIL", "OOM": "FAIL", "❌ error": "FAIL", "mismatch": "FAIL",
    "skip": "EXCLUDED", "pass_due_to_skip": "EXCLUDED", "not_supported_skip": "EXCLUDED",
    None: "UNTESTED", "": "UNTESTED", "  ": "UNTESTED", "untested": "UNTESTED", "❓ Untested": "UNTESTED", "NOT TESTED": "UNTESTED",
    "PASS (CPU)": "OTHER", "FAIL (stand-in)": "OTHER", "UNCHECKED": "OTHER", "PASSABLE": "OTHER", "PASS?": "OTHER", "passe": "OTHER",
    "合格": "OTHER", "[red]PASS[/red]": "OTHER", "\x1b[32mPASS": "OTHER",
}  # fmt: skip


def test_words_that_are_no_known_ones_are_other_and_never_a_failure(tmp_path: Path) -> None:
    found = folded(tmp_path, *(row("o/a", word) for word in WORDS))
    assert dict(zip(WORDS, (r[0] for r in found), strict=True)) == WORDS


@pytest.mark.parametrize("result", ["PASS", "FAIL", None, "whatever"])
def test_an_exclusion_is_neither_pass_nor_fail(tmp_path: Path, result: str | None) -> None:
    found = folded(tmp_path, row("o/a", result, exclusion="low priority"), row("o/b", "PASS", exclusion="  "))
    assert [r[0] for r in found] == ["EXCLUDED", "PASS"]
    assert found[0][1:3] == (None, None)


def test_a_pass_says_what_it_was_checked_by(tmp_path: Path) -> None:
    found = folded(
        tmp_path,
        row("o/a", cpu_match="32/32", english=None), row("o/b", cpu_match=None, english="yes", tp=4), row("o/c", cpu_match="", english=""),
        row("o/d", cpu_match="32/32", english="yes", tp=4), row("o/e", cpu_match="32/32", english="yes", tp=1),
        row("o/f", "FAIL", cpu_match="7/32"),
    )  # fmt: skip
    assert [r[1] for r in found] == ["cpu-match", "english", None, "english", "cpu-match", None]


def test_what_did_not_run_on_a_trainium_counts_only_where_its_device_is_shown(tmp_path: Path) -> None:
    rows = [row("o/a", "PASS (CPU)", runner="trnui/cpu"), row("o/b", "FAIL (stand-in)", runner="trnui/stand-in")]
    rows += [row("o/c", "PASS", runner="trnui/neuron"), row("o/d", "UNCHECKED (CPU)", runner="trnui/cpu")]
    plain = folded(tmp_path, *rows)
    assert [r[0] for r in plain] == ["OTHER", "OTHER", "PASS", "OTHER"]
    assert [r[1] for r in plain] == [None, None, "cpu-match", None]
    ours = folded(tmp_path, *rows, sample=True)
    assert [(r[0], r[2]) for r in ours] == [("PASS", "cpu"), ("FAIL", "stand-in"), ("PASS", "neuron"), ("OTHER", "cpu")]


def test_task_from_the_runner_else_the_script_else_unknown(tmp_path: Path) -> None:
    causal = "from transformers import AutoModelForCausalLM\nm = AutoModelForCausalLM.from_pretrained(M)"
    vision = "m = AutoModelForImageTextToText.from_pretrained(M, tp_plan='auto')"
    found = folded(
        tmp_path,
        row("o/a", runner="text-generation", run_py=vision), row("o/b", runner="image_text_to_text/generate"),
        row("o/c", runner="generate", run_py=causal), row("o/d", runner=None, run_py=vision, tp=4), row("o/e", runner="generate", run_py="x"),
        row("o/f", runner="trnui/cpu", run_py="AutoModelForCausalLMish"),
    )  # fmt: skip
    assert [r[3] for r in found] == [
        "text-generation", "image-text-to-text", "text-generation", "image-text-to-text", None, None,
    ]  # fmt: skip
    assert [r[4] for r in found] == ["none", "none", "none", "tp", "none", "none"]


def test_how_a_model_was_sharded_is_said_or_unknown(tmp_path: Path) -> None:
    runners = ["generate-ep", "expert_parallel", "generate/tp", "depth", "text-generation", None]
    found = folded(tmp_path, *(row("o/a", runner=r, tp=4, run_py="AutoModelForCausalLM") for r in runners))
    assert [r[4] for r in found] == ["ep", "ep", "tp", None, None, None]
    assert folded(tmp_path, row("o/a", tp=1, runner="ep"), row("o/b", tp=None))[0][4] == "none"


def test_scripts_say_their_task_and_sharding() -> None:
    assert task_in("x = AutoModelForSeq2SeqLM") == "text2text-generation"
    assert task_in("") is None
    assert parallelism_in("DistributedConfig(enable_expert_parallel=True)") == "ep"
    assert parallelism_in('from_pretrained(M, tp_plan="auto")') == "tp"
    assert parallelism_in("expert_parallel=False") is None


def test_every_task_is_known_alone_and_inside_a_runners_name(tmp_path: Path) -> None:
    assert set(TASKS) <= set(TASK_NAMES)
    for shape in ("{}", "hf/{}/v2"):
        found = folded(tmp_path, *(row("o/a", runner=shape.format(name)) for name in TASK_NAMES))
        assert [r[3] for r in found] == list(TASK_NAMES)
