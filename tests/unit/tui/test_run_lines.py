"""What a run's screen says, as lines of text made from values: nothing invented, nothing summed silently, every figure with its source."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from trnui.run_requests import Choices, command_of, request_again
from trnui.tui.run.lines.header import meaning_lines, state_line, what_lines
from trnui.tui.run.lines.memory import bar, memory_lines, parts_lines, plot, plot_lines
from trnui.tui.run.lines.preflight import check_lines, headline, install_line, ways
from trnui.tui.run.lines.stages import compile_lines, stage_strip, stages
from trnui.tui.run.lines.tokens import token_lines
from trnui.tui.run.lines.verdict import outcome_line, outcome_style, verdict_lines
from trnui.tui.run.run_snapshot import RunSnapshot
from trnui.tui.widgets.styled_lines import Line, plain
from trnui_runner.common.text import Safe
from trnui_runner.diagnosis import Diagnosis, LiveStatus
from trnui_runner.preflight.report import Check, CheckStatus, Preflight
from trnui_runner.run_folder.events import LockStart
from trnui_runner.run_folder.folder import Result, RunFolder, State
from trnui_runner.run_folder.progress import Compile, Generate, Memory, Note
from trnui_runner.run_folder.recipe import Recipe, RowSource

GIB = 1 << 30
RECIPE = Recipe("20261130-120000-m-0000", "org/model", device="neuron", cores=4, parallelism="tp")
ROW = {
    "result": "PASS",
    "tp": 4,
    "wall_s": 212.0,
    "hbm_peak_gb": 12.5,
    "neuronx_cc": "2.28.1",
    "transformers": "5.24.0",
}


def snapshot(**changes: Any) -> RunSnapshot:
    base = RunSnapshot(
        RunFolder(Path("/none/20261130-120000-m-0000")), RECIPE, outcome="running", elapsed=30.0, stage="compiling"
    )
    return replace(base, **changes)


def text(lines: list[Line]) -> str:
    return "\n".join(plain(line) for line in lines)


# -- stages and compiles


def test_stages_stand_in_their_order_and_compiling_apart_from_generating() -> None:
    now = snapshot(stages={"preparing": 4.0, "generating": 1.0, "compiling": 20.0})
    assert [(n, how) for n, _, how in stages(now)] == [
        ("preparing", "over"), ("loading", "ahead"), ("compiling", "now"), ("generating", "begun"), ("checking", "ahead"),
    ]  # fmt: skip
    assert "▶ compiling 20 s" in text(stage_strip(now, 80))
    done = snapshot(outcome="FAIL", stage="done", stages={"preparing": 4.0})
    assert [how for _, _, how in stages(done)] == ["over", "left out", "left out", "left out", "left out"]


def test_downloading_is_a_stage_only_where_it_happens() -> None:
    assert "downloading" not in text(stage_strip(snapshot(), 80))
    assert "downloading 9.0 s" in text(stage_strip(snapshot(stages={"downloading": 9.0}), 200))


def graph(name: str, rank: int, state: str = "start") -> Compile:
    return Compile(100 + rank, rank, name, "forward", 318, "neuron", state, 10.0)


def test_compiles_of_all_ranks_are_one_line_each_graph() -> None:
    at_work = tuple((graph("0/0", rank), 20.0 + rank) for rank in range(4))
    lines = text(
        compile_lines(
            snapshot(
                graphs=1,
                ranks=4,
                compile_s=25.0,
                compilers=3,
                compiler_cpu=187.0,
                compiling=at_work,
                neff={"hits": 2, "misses": 1},
            ),
            100,
        )
    )
    assert "1 graph done a rank, 25 s in all · cache 2 hits, 1 miss, 0 new" in lines
    assert "3 compiler processes at work, 187 % CPU" in lines
    assert "graph 0/0, 318 nodes on 4 ranks, going on for 23 s" in lines


def test_nothing_goes_on_in_a_run_that_is_over() -> None:
    assert "going on" not in text(
        compile_lines(snapshot(outcome="LOST", graphs=1, compiling=((graph("0/0", 0), 1.0),)), 100)
    )


def test_a_lock_is_said_with_its_holder_and_age() -> None:
    lock = LockStart(Safe("k"), 77, (), Safe("neuronx-cc"), 130.0)
    assert "waits for a compile lock held by neuronx-cc (pid 77), which is 2 min 10 s old" in text(
        compile_lines(snapshot(graphs=0, compilers=1, locks=(lock,)), 100)
    )


# -- memory


def test_each_figure_has_its_source_and_nothing_is_summed() -> None:
    memory = [
        Memory("process 9", "host", 2 * GIB, 3 * GIB, 64 * GIB),
        *(Memory(f"core {n}", "neuron-monitor", (n + 1) * GIB, (n + 2) * GIB, 24 * GIB) for n in range(4)),
    ]
    lines = text(memory_lines(memory, 100, 10))
    assert lines.index("neuron-monitor counts it") < lines.index("host memory, not device memory")
    for n in range(4):
        assert f"core {n}" in lines
    assert "10.0 GiB" not in lines  # the cores' sum


def test_what_has_no_room_is_counted_with_its_highest_peak() -> None:
    memory = [Memory(f"rank {n}", "torch", GIB, (n + 1) * GIB, None) for n in range(16)]
    assert "and 13 more; the highest peak of them: rank 15 16.0 GiB" in text(memory_lines(memory, 80, 5))
    two = memory_lines(memory, 80, 2)
    assert len(two) == 2
    assert "the highest of 16" in text(two)
    assert "rank 15" in text(two)


def test_absent_memory_is_a_dash_never_nought() -> None:
    lines = text(memory_lines([Memory("core 0", "neuron-monitor")], 100))
    assert "–" in lines
    assert "0 B" not in lines


@pytest.mark.parametrize(("now", "whole", "cells"), [(0, 10, 0), (0.01, 10, 1), (5, 10, 5), (99, 10, 10)])
def test_bars(now: float, whole: float, cells: int) -> None:
    full, empty = bar(now, whole, 10)
    assert (len(full), len(full + empty)) == (cells, 10)


def test_a_plot_begins_at_nought_and_keeps_what_was_measured_last() -> None:
    rows = plot(((0.0, 1), (50.0, 2)), 10, 1, 100.0)
    assert rows == ["▄▄▄▄▄█████"]
    assert plot((), 10, 2, 1.0) == []
    history = {("rank 0", "torch"): ((0.0, GIB), (20.0, 2 * GIB))}
    lines = text(plot_lines(snapshot(history=history), 40, 5))
    assert "rank 0 over 30 s, top 2.0 GiB (torch)" in lines


def test_a_live_plots_axis_stands_still_while_the_seconds_run() -> None:
    history = {("rank 0", "torch"): ((0.0, GIB), (40.0, 2 * GIB))}
    before, after = (plot_lines(snapshot(history=history, elapsed=s), 62, 3) for s in (40.2, 40.9))
    assert before == after
    assert "over 1 min 00 s" in text(before)
    assert len(plain(before[1])) <= 42


def test_the_fullest_core_says_what_its_memory_is_for() -> None:
    memory = [Memory("core 0", "neuron-monitor", GIB, GIB), Memory("core 1", "neuron-monitor", 2 * GIB, 2 * GIB)]
    parts = {"core 0": {"weights": GIB}, "core 1": {"scratchpad": GIB // 2, "weights": GIB + GIB // 2, "other": 0}}
    lines = text(parts_lines(parts, {"core 10": 3.0, "core 2": 99.6}, memory, 80))
    assert "core 1:   weights 1.5 GiB, scratchpad 512.0 MiB" in lines
    assert "2:100% 10:3%" in lines


def test_a_stand_ins_figures_say_so() -> None:
    lines = text(memory_lines([Memory("core 0", "neuron-monitor (stand-in)", GIB, GIB)], 100))
    assert "neuron-monitor counts it, a core, of a STAND-IN" in lines


# -- tokens


def test_tokens_of_a_bundled_script_stream_and_of_a_published_one_come_at_the_end() -> None:
    assert "12 of 32" in text(token_lines(snapshot(tokens=12, text=" some words", recipe=RECIPE), 80))
    published = replace(RECIPE, script="published")
    assert "5 forward passes; this script shows its text at the end" in text(
        token_lines(snapshot(forwards=5, recipe=published), 80)
    )
    ended = Generate(1, new_ids=(1, 2, 3), text="a b c", first_s=8.0, median_s=0.02)
    lines = text(token_lines(snapshot(generates=(ended,), recipe=published), 80))
    assert "3 · first after 8.0 s, then 20 ms each" in lines
    assert "a b c" in lines


def test_the_newest_text_stays_in_sight() -> None:
    lines = token_lines(snapshot(tokens=30, text="old " * 100 + "new end"), 60, 2)
    assert len(lines) == 3
    assert plain(lines[-1]).endswith("new end")


# -- head


def test_the_clock_stands_beside_the_rows_time_with_what_that_includes() -> None:
    line = plain(state_line(snapshot(recipe=replace(RECIPE, row=ROW))))
    assert line.startswith(" 0:30 · the row took 3:32, incl. compilation")


def test_a_device_that_is_no_trainium_is_loud() -> None:
    for device, word in (("cpu", "CPU, NOT TRAINIUM"), ("stand-in", "STAND-IN, NOT TRAINIUM")):
        line = what_lines(snapshot(recipe=replace(RECIPE, device=device)))[0]
        assert (word, "warn") in line
    assert "NOT" not in plain(what_lines(snapshot())[0])


def test_held_cores_are_named() -> None:
    assert "holds NeuronCore 0–3, 6" in plain(what_lines(snapshot(state=State(cores_held=(0, 1, 2, 3, 6))))[0])


def test_meaning_comes_from_the_log_and_the_first_error_counts() -> None:
    answer = LiveStatus(
        Diagnosis("cache_lock_wait", "wait", "Waits for a compile lock", "Look who holds it"), "compile", 1, 5.0
    )
    assert "Waits for a compile lock" in text(meaning_lines(snapshot(answer=answer)))
    errors = (Note(1.0, "no", "ValueError", 3), Note(2.0, "peer closed", "RuntimeError", 0))
    assert "rank 3: ValueError: no" in text(meaning_lines(snapshot(errors=errors)))
    calm = LiveStatus(Diagnosis("in_progress", "info", "", ""), "compile", 1, 5.0)
    assert meaning_lines(snapshot(answer=calm)) == []


def test_silence_is_said_unless_a_compiler_works() -> None:
    assert "no sign of life for 5 min 00 s" in text(meaning_lines(snapshot(quiet_for=300.0)))
    assert meaning_lines(snapshot(quiet_for=300.0, compilers=1)) == []


# -- verdict


def result(**changes: Any) -> Result:
    return replace(
        Result("PASS", "32 of 32", "cpu-match", "neuron", wall_s=200.0, graphs=2, compile_s=150.0), **changes
    )


def test_green_is_for_trainium_alone_and_sharded_is_weaker() -> None:
    assert outcome_style("PASS", "neuron", "cpu-match") == "good"
    assert outcome_style("PASS", "neuron", "english") == "weak"
    assert outcome_style("PASS", "cpu", "cpu-match") == "accent"
    assert "on STAND-IN, not on Trainium" in plain(outcome_line(result(device="stand-in")))
    assert "not on" not in plain(outcome_line(result()))


def test_a_pass_says_what_it_does_not_say() -> None:
    assert "Not said: speed" in text(verdict_lines(result(), RECIPE, 100))
    assert "weaker kind" in text(verdict_lines(result(kind="english"), RECIPE, 100))
    assert "Not said" not in text(verdict_lines(result(outcome="FAIL"), RECIPE, 100))


def test_the_first_difference_has_its_place_both_tokens_and_the_margin() -> None:
    tokens = {
        "new_ids": [1, 2, 7], "reference_ids": [1, 2, 9], "first_difference": 2, "margin": 0.0125,
        "text": "one two seven", "reference_text": "one two nine",
    }  # fmt: skip
    lines = text(verdict_lines(result(outcome="UNCHECKED", tokens=tokens), RECIPE, 100))
    assert "the first 2 equal; then 7 here, 9 in the reference" in lines
    assert "the reference prefers its token to its next best by 0.013" in lines
    assert "this run   one two seven" in lines
    assert "reference  one two nine" in lines


@pytest.mark.parametrize(
    ("gap", "limit", "words"),
    [
        (0.87631, 7e-05, "the reference prefers its own by 0.88: no near tie (that ends at 7e-05)"),
        (0.031, 0.06, "the reference prefers its own by 0.031: a near tie (up to 0.06), which may fall either way"),
    ],
)
def test_one_number_decides_whether_a_difference_is_a_near_tie(gap: float, limit: float, words: str) -> None:
    tokens = {"new_ids": [7], "reference_ids": [9], "first_difference": 0, "margin": 0.49967, "gap": gap}
    lines = " ".join(
        text(verdict_lines(result(outcome="FAIL", tokens={**tokens, "tie_limit": limit}), RECIPE, 120)).split()
    )
    assert words in lines
    assert "0.49" not in lines


def test_times_and_memory_stand_beside_the_rows() -> None:
    recipe = replace(RECIPE, row=ROW, source=RowSource("org/data", "a" * 40, "f.parquet", 3))
    memory = ({"scope": "core 1", "source": "neuron-monitor", "peak": 13 * GIB, "capacity": None},)
    lines = text(
        verdict_lines(result(verdict="REPRODUCED", memory=memory, stack={"neuronx_cc": "2.28.1"}), recipe, 100)
    )
    assert "REPRODUCED  against the row of org/data at aaaaaaaaaaaa" in lines
    assert "3 min 20 s" in lines
    assert "3 min 32 s, incl. compilation" in lines
    assert "2 min 30 s, 2 graphs" in lines
    assert "13.0 GiB (core 1, neuron-monitor)" in lines
    assert "12.5 GB on device" in lines


def test_not_comparable_says_in_what() -> None:
    lines = text(
        verdict_lines(
            result(verdict="NOT COMPARABLE", differences=("device: cpu, not neuron",)), replace(RECIPE, row=ROW), 90
        )
    )
    assert "NOT COMPARABLE" in lines
    assert "· device: cpu, not neuron" in lines


def test_of_a_failure_the_meaning_comes_first_and_evidence_is_cut() -> None:
    diagnosis = {"class": "hbm_oom", "summary": "It does not fit", "hint": "Take 8 cores", "evidence": ["x" * 5000]}
    lines = verdict_lines(result(outcome="FAIL", reason="long " * 500, kind=None, diagnosis=diagnosis), RECIPE, 80)
    assert plain(lines[0]) == "It does not fit (hbm_oom)"
    assert "Take 8 cores" in plain(lines[1])
    assert max(len(plain(line)) for line in lines) <= 80


def test_foreign_text_is_clean_on_the_card() -> None:
    nasty = "\x1b[2J\u202e[b]\x00"
    found = text(
        verdict_lines(
            result(reason=nasty, notes=(nasty,), differences=(nasty,), verdict="DIFFERS", tokens={"text": nasty}, stack={"torch": nasty}),
            replace(RECIPE, model=nasty, row={"result": nasty, "torch": nasty}), 80,
        )
    )  # fmt: skip
    assert not set("\x1b\u202e\x00") & set(found)


# -- before a run


def test_headline_and_ways_out() -> None:
    red = Preflight((Check("device", CheckStatus.ERROR, "no Neuron device on this host", "the sample"),))
    assert plain(headline(red, False, "y", "Enter")).startswith(" CANNOT START no Neuron device")
    assert "bundled sample" in text(ways(red, {"sample": "S", "cpu": "c", "look": "^r"}))
    green = Preflight((Check("device", CheckStatus.OK, "16 cores"),))
    assert "Enter starts" in plain(headline(green, True, "y", "Enter"))
    assert "y starts" in plain(headline(green, False, "y", "Enter"))  # nobody has agreed to the script yet
    assert ways(green, {}) == []
    assert "→ the sample" in text(check_lines(red.checks, 80))


def test_the_install_line_is_this_releases_own_extra() -> None:
    line = install_line("/opt/venv/bin/python")
    assert line.startswith("/opt/venv/bin/python -m pip install ")
    for name in ("torch", "transformers", "accelerate", "safetensors", "pillow"):
        assert name in line
    assert "pytest" not in line


@pytest.mark.parametrize(
    ("typed", "words"),
    [({"cores": "two"}, "cores"), ({"timeout_s": "-1"}, "timeout"), ({"max_new_tokens": "0"}, "new tokens")],
)
def test_options_that_are_no_numbers_name_their_field(typed: dict[str, str], words: str) -> None:
    from trnui_runner.common.errors import UsageError

    with pytest.raises(UsageError, match=words):
        Choices(**typed).changes()


def test_a_run_again_is_the_same_order_and_its_command_says_what_departs(tmp_path: Path) -> None:
    recipe = replace(
        RECIPE,
        device="cpu",
        script="bundled",
        max_new_tokens=8,
        prompt="It's a test",
        python="/p",
        row=ROW,
        source=RowSource("org/data", None, "f", 1),
    )
    run = RunFolder.create(recipe, b"print('\xc3\xa4')", tmp_path)
    order = request_again(recipe, run)
    assert (order.device, order.cores, order.max_new_tokens, order.parallelism) == ("cpu", 4, 8, "tp")
    command = command_of(recipe)
    assert command.startswith("trnui --dataset org/data run org/model --neuronx-cc 2.28.1")
    assert """--prompt 'It'"'"'s a test' --max-new-tokens 8""" in command
    published = request_again(replace(recipe, script="published"), run)
    assert published.row is not None
    assert str(published.row["run_py"]).encode() == b"print('\xc3\xa4')"
    assert Path(request_again(replace(recipe, script="file"), run).script).read_bytes() == b"print('\xc3\xa4')"


@pytest.mark.parametrize(("dtype", "words"), [("auto", "dtype auto"), ("bfloat16", "bfloat16")])
def test_the_header_says_what_auto_is_of(dtype: Any, words: str) -> None:
    first = "".join(part for part, _ in what_lines(snapshot(recipe=replace(RECIPE, dtype=dtype)))[0])
    assert words in first.split(" · ")
