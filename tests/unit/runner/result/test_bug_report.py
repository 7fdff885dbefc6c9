"""A bug report: complete, redacted, marked where it ran, and proof against what a log or a model's name may hold."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from tests.conftest import ROOT
from trnui_runner import __version__
from trnui_runner.result.bug_report import cell, code, fence, report
from trnui_runner.result.redact import Redactor
from trnui_runner.run_folder.folder import Result, RunFolder
from trnui_runner.run_folder.recipe import Device, Recipe, RowSource

RUNS = ROOT / "tests" / "fixtures" / "runs"
TOKEN = "hf_" + "aB3" * 11
RECIPE = Recipe(
    "20260101-000000-tiny-ab12", "acme/tiny", device="stand-in", cores=2, parallelism="tp", script="published",
    script_sha256="5" * 64, source=RowSource("acme/results", "1a2b3c4d" * 5, "data/a.parquet", 7),
    row={"model_id": "acme/tiny", "result": "PASS", "tp": 2, "wall_s": 60, "neuronx_cc": "2.28.1", "torch": "2.14.0"},
    python="/home/lena/venv/bin/python",
)  # fmt: skip
RESULT = Result(
    "FAIL", "graph 2 did not compile", device="stand-in", verdict="DIFFERS", differences=("result: FAIL, not PASS",),
    stages={"loading": 1.5, "compiling": 61.0}, graphs=3, compile_s=60.5, wall_s=63.0,
    memory=({"scope": "core 0", "source": "neuron-monitor", "peak": 3 << 30, "capacity": 24 << 30},),
    neff={"hits": 1, "misses": 2, "new": 2}, stack={"neuronx_cc": "2.28.1", "torch": "2.13.0"},
    diagnosis={"class": "unsupported_op", "summary": "sort has no kernel", "hint": "Try a newer compiler.", "evidence": ["[NCC_EVRF029] sort"]},
    exit_code=1, row={"result": "FAIL (stand-in)", "tp": 2, "wall_s": 63}, notes=("log cut",),
)  # fmt: skip


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    folder = RunFolder.create(RECIPE, b"print(1)", tmp_path)
    folder.finish(RESULT)
    events = [
        {"t": 1.0, "s": 0.0, "src": "supervisor", "event": "environment", "step": "run",
         "values": {"NEURON_CC_FLAGS": "--model-type transformer", "NEURON_RT_VISIBLE_CORES": "0", "HF_ENDPOINT": "http://10.0.0.9:80"}},
        {"t": 2.0, "s": 4.0, "src": "rank", "rank": 1, "pid": 9, "event": "error", "class": "RuntimeError",
         "text": "exit code 70: NCC_EVRF029", "where": "/home/lena/run.py:12"},
        {"t": 3.0, "s": 5.0, "src": "rank", "rank": 0, "pid": 8, "event": "error", "class": "DistError", "text": "peer 10.0.0.5:4 closed"},
    ]  # fmt: skip
    (folder.path / "events.jsonl").write_text("".join(json.dumps(e) + "\n" for e in events))
    (folder.path / "output.log").write_bytes(
        f"0%|  |\r50%|# |\r100%|##|\n\x1b]0;owned\x07using token {TOKEN}\n```\nloaded from /home/lena/.cache\n".encode()
    )
    return folder


def text_of(run: RunFolder) -> str:
    return report(run, Redactor("trn2-bench-07", "/home/lena", "lena"))


def test_everything_a_maintainer_asks_for(run: RunFolder) -> None:
    shown = text_of(run)
    for part in (
        "# acme/tiny: FAIL",
        "**Run on a stand-in, not on a Trainium.**",
        "- reason: graph 2 did not compile",
        "- against the row: DIFFERS",
        "- row: acme/results at 1a2b3c4d",
        f"SHA-256 {'5' * 64}",
        "| wall\\_s | 60 | 63 |",
        "| result | PASS | FAIL (stand-in) |",
        "First error, rank 1, after 4.0 s",
        "RuntimeError: exit code 70: NCC_EVRF029",
        "1 more after it.",
        "Diagnosis: **unsupported\\_op**: sort has no kernel",
        "Try a newer compiler.",
        "[NCC_EVRF029] sort",
        "| torch | 2.14.0 | 2.13.0 | differs |",
        "trnui --dataset acme/results run acme/tiny --neuronx-cc 2.28.1 --script published --device neuron --cores 2",
        "NEURON_CC_FLAGS=--model-type transformer",
        "| compiling | 1 min 01 s |",
        "compiled graphs: 3, compiling 1 min 00 s",
        "1 hits, 2 misses, 2 new",
        "| core 0 | neuron-monitor | 3.0 GiB | 24.0 GiB |",
        "100%|##|",
        "- note: log cut",
    ):
        assert part in shown, part
    assert "50%" not in shown


def test_nothing_private_and_no_control_codes(run: RunFolder) -> None:
    shown = text_of(run)
    for secret in (TOKEN, "lena", "10.0.0.5", "10.0.0.9", "\x1b", "owned"):
        assert secret not in shown, secret
    assert "Taken out of this report: 1 ip, 1 token" in shown


def test_host_and_version_are_those_of_the_run_and_redacted(run: RunFolder, tmp_path: Path) -> None:
    host = {
        "trnui": "0.0.9",
        "os": "Ubuntu 24.04",
        "cpu": "CPU of lena@example.org",
        "cpus": 4,
        "instance": "trn2.3xlarge",
    }
    told = RunFolder.create(
        replace(RECIPE, id="20260101-000001-tiny-cd34", options={"host": host}), b"print(1)", tmp_path
    )
    text = report(told)
    assert "## Host\n\n- trnui: 0.0.9\n- operating system: Ubuntu 24.04\n- processor: 4 × CPU of \\<e-mail-1\\>" in text
    assert "- instance: trn2.3xlarge" in text
    assert f"## Host, as it is now\n\n- trnui: {__version__}" in report(run)  # an older run did not record it


def test_secrets_do_not_hide_behind_markdown(tmp_path: Path) -> None:
    told = RunFolder.create(replace(RECIPE, row=None), b"", tmp_path / "other")
    told.finish(replace(RESULT, reason=f"401 for lena@example.org with {TOKEN}", row=None))
    text = report(told, Redactor("host", "/home/lena", "lena"))
    assert "- reason: 401 for \\<e-mail-1\\> with \\<token-1\\>" in text
    assert TOKEN.replace("_", "\\_") not in text
    assert "1 e-mail, 1 token" in text


def test_unset_flags_are_said_to_be_unset(run: RunFolder) -> None:
    (run.path / "events.jsonl").write_text(
        '{"s":0,"src":"supervisor","event":"environment","values":{"OMP_NUM_THREADS":"1"}}\n'
    )
    assert "# NEURON_CC_FLAGS is not set" in text_of(run)
    (run.path / "events.jsonl").write_text("")
    assert "## Environment\n\nNot recorded." in text_of(run)


def test_a_log_cannot_leave_its_block(run: RunFolder) -> None:
    assert "\n````\n100%" in text_of(run)


def test_a_long_log_is_cut_to_its_end(run: RunFolder) -> None:
    (run.path / "output.log").write_bytes(b"".join(b"line %d %s\n" % (n, b"x" * 2000) for n in range(3000)))
    shown = text_of(run)
    assert "line 2999" in shown
    assert "line 100 " not in shown
    assert "lines of 5." in shown
    assert len(shown) < 60_000


def test_a_foreign_name_is_no_markup(tmp_path: Path) -> None:
    evil = replace(RECIPE, model="a/![x](http://e/x.png) @team <img src=x> | b\n# c")
    shown = text_of(RunFolder.create(evil, b"", tmp_path))
    assert "run 'a/![x](http://e/x.png) @team" in shown  # in a code block, quoted for a shell
    shown = re.sub(r"(?ms)^(`{3,})\w*$.*?^\1$", "", shown)
    assert "![x](" not in shown
    assert "<img" not in shown.replace("\\<", "")
    assert "\n# c" not in shown
    assert "@team" not in shown


def test_words_for_markdown() -> None:
    assert cell(None) == "–"
    assert cell("a|b") == "a\\|b"
    assert code("a `b`") == "`` a `b` ``"
    assert fence("```").startswith("````\n")


@pytest.mark.parametrize("name", sorted(p.name for p in RUNS.iterdir() if p.is_dir()))
def test_recorded_runs(name: str, tmp_path: Path) -> None:
    shutil.copytree(RUNS / name, tmp_path / name)
    shown = text_of(RunFolder(tmp_path / name))
    assert shown.startswith("# ")
    assert "## Stack" in shown
    assert "## Log" in shown


def test_an_empty_folder_is_no_reason_to_fail(tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    said = text_of(RunFolder(tmp_path / "x"))
    assert "# x: DAMAGED" in said
    assert "cannot be read: it has no recipe.json." in said


@pytest.mark.parametrize(
    ("asked", "was", "head"),
    [("cpu", "cpu", "PASS (CPU), cpu-match"), ("stand-in", "stand-in", "PASS (stand-in), cpu-match"), ("neuron", "neuron", "PASS, cpu-match"),
     ("neuron", "stand-in", "PASS (stand-in), cpu-match")],
)  # fmt: skip
def test_title_says_what_was_no_trainium(asked: Device, was: str, head: str, tmp_path: Path) -> None:
    folder = RunFolder.create(replace(RECIPE, device=asked), b"", tmp_path)
    folder.finish(Result("PASS", "32 of 32", kind="cpu-match", device=was))
    shown = text_of(folder)
    assert shown.splitlines()[0] == f"# acme/tiny: {head}"
    assert ("not on a Trainium" in shown) == (was != "neuron")
    assert f"- device: {was}, 2 cores" in shown
