"""What a run's events add up to, whatever order, clock or shape they come in."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.recorded import FAIL, GOING_ON, PASS, REAL, REAL_FAIL, REAL_GOING_ON, REAL_MISMATCH, REAL_PASS, recorded
from trnui_runner.run_folder.event_reading import event_of
from trnui_runner.run_folder.intervals import Union
from trnui_runner.run_folder.progress import Progress


def folded(*events: dict[str, Any]) -> Progress:
    """Events of rank-less process 7 at `s` = 0, 1, 2, … unless they say otherwise."""
    progress = Progress()
    for n, event in enumerate(events):
        progress.add(event_of({"s": float(n), "src": "rank", "rank": None, "pid": 7, **event}))
    return progress


STEP = {"event": "step", "name": "run", "state": "start", "stage": "preparing", "child": 7}


def test_stages_follow_from_what_goes_on_and_their_seconds_add_up_to_the_whole() -> None:
    progress = folded(
        STEP,
        {"event": "stage", "name": "loading"},
        {"event": "download", "file": "a", "done": 0, "total": 10},
        {"event": "download", "file": "a", "done": 10, "total": 10},
        {"event": "loaded", "bytes": 5},
        {"event": "generate", "state": "start", "n": 1},
        {"event": "dynamo", "state": "start"},
        {"event": "dynamo", "state": "end"},
        {"event": "generate", "state": "end", "n": 1, "new_ids": [1, 2]},
        {"event": "step", "name": "run", "state": "end", "code": 0},
        {"event": "step", "name": "check", "state": "start", "stage": "checking"},
        {"event": "step", "name": "check", "state": "end", "code": 0},
        {"event": "result", "src": "supervisor", "outcome": "PASS"},
    )
    assert progress.stage == "done"
    assert progress.stage_seconds() == {
        "preparing": 1.0,
        "loading": 3.0,
        "downloading": 1.0,
        "generating": 4.0,
        "compiling": 1.0,
        "checking": 2.0,
    }
    assert sum(progress.stage_seconds().values()) == pytest.approx(progress.now)


def test_compile_time_is_a_union() -> None:
    progress = folded(
        STEP,
        {"event": "dynamo", "state": "start", "s": 1.0},
        {"event": "dynamo", "state": "start", "s": 2.0, "pid": 8},
        {"event": "compile", "state": "start", "graph": "0/0", "s": 3.0},
        {"event": "compile", "state": "end", "graph": "0/0", "s": 4.0, "seconds": 1.0},
        {"event": "dynamo", "state": "end", "s": 5.0},
        {"event": "dynamo", "state": "end", "s": 6.0, "pid": 8},
        {"event": "compilers", "alive": 2, "s": 10.0},
        {"event": "compilers", "alive": 0, "s": 13.0},
    )
    assert progress.compile_seconds() == 8.0
    assert not progress.compiler_busy


def test_a_frame_told_only_at_its_end_counts_once() -> None:
    union = Union()
    union.begin("a", 1.0)
    union.end("a", 2.0)
    union.end("b", 4.0, 5.0)  # began at -1 by its own word: what lies after 2 counts
    assert union.seconds(9.0) == 3.0


def test_a_killed_rank_does_not_compile_for_ever() -> None:
    progress = folded(
        STEP,
        {"event": "compile", "state": "start", "graph": "0/0"},
        {"event": "step", "name": "run", "state": "end", "code": 1},
    )
    assert not progress.compiler_busy
    assert progress.compile_seconds(100.0) == 1.0
    assert [c.state for c in progress.compiles.values()] == ["failed"]


def test_graphs_are_counted_a_rank() -> None:
    both = [
        {"event": "compile", "state": state, "graph": graph, "pid": pid, "rank": pid}
        for pid in (0, 1)
        for graph in ("0/0", "1/0")
        for state in ("start", "end")
    ]
    assert folded(STEP, *both).graphs == 2
    assert folded(STEP, *both, {"event": "generate", "state": "end", "n": 1, "graphs": 8}).graphs == 8
    assert folded(STEP).graphs is None


def test_what_the_check_does_is_not_what_the_run_did() -> None:
    progress = folded(
        STEP,
        {"event": "generate", "state": "end", "n": 1, "new_ids": [5], "text": "a"},
        {"event": "step", "name": "check", "state": "start", "stage": "checking", "child": 9},
        {"event": "generate", "state": "end", "n": 1, "new_ids": [6], "text": "b", "pid": 9},
        {"event": "memory", "source": "host", "process": 9, "now": 5, "peak": 9, "src": "supervisor"},
        {"event": "memory", "source": "host", "scope": "run", "now": 500, "peak": 900, "src": "supervisor"},
    )
    assert progress.generates[1].text == "a"
    assert {m.scope for m in progress.memory.values()} == {"check"}


def test_tokens_of_a_second_generate_begin_anew() -> None:
    first = [{"event": "token", "n": n, "text": f"{n} "} for n in (1, 2)]
    progress = folded(
        STEP,
        {"event": "generate", "state": "start", "n": 1},
        *first,
        {"event": "generate", "state": "start", "n": 2},
        *first[:1],
    )
    assert (progress.tokens, progress.text) == (1, "1 ")


def test_memory_keeps_the_peak_and_the_source_of_each_figure() -> None:
    progress = folded(
        STEP,
        {"event": "memory", "source": "host", "process": 8, "now": 5 << 20, "src": "supervisor"},
        {"event": "process", "pid": 8, "rank": 0},
        {"event": "memory", "source": "torch", "pid": 8, "rank": 0, "now": 3, "peak": 9},
        {"event": "memory", "source": "torch", "pid": 8, "rank": 0, "now": 2, "peak": 7},
        {"event": "memory", "source": "neuron-monitor", "core": 4, "now": 8, "capacity": 24},
    )
    assert progress.memory_rows() == (
        {"scope": "rank 0", "source": "host", "peak": 5 << 20, "capacity": None},
        {"scope": "core 4", "source": "neuron-monitor", "peak": 8, "capacity": 24},
        {"scope": "rank 0", "source": "torch", "peak": 9, "capacity": None},
    )


def test_the_sum_over_all_processes_peaks_at_least_as_high_as_each() -> None:
    progress = folded(
        STEP,
        {"event": "memory", "source": "host", "scope": "run", "now": 5, "peak": 6, "src": "supervisor"},
        {"event": "memory", "source": "host", "pid": 7, "now": 3, "peak": 9},
    )
    assert {m.scope: (m.now, m.peak) for m in progress.memory.values()} == {"run": (5, 9), "run.py": (3, 9)}


def test_silence_ends_with_output_or_an_event_but_not_with_a_look_at_memory() -> None:
    progress = folded(STEP, {"event": "notice", "kind": "silent", "text": "nothing has moved for 15 min", "s": 900.0})
    assert progress.silent
    progress.add(event_of({"event": "memory", "source": "host", "process": 7, "now": 1, "s": 950.0}))
    assert progress.silent
    assert progress.silent_for(960.0) == 960.0
    progress.output(961.0)
    assert progress.silent is None
    assert progress.silent_for(961.0) == 0.0


def test_a_clock_that_jumps_changes_no_duration() -> None:
    jumping = [
        {**STEP, "t": 1_800_000_000.0, "s": 0.0},
        {"event": "stage", "name": "loading", "t": 1_700_000_000.0, "s": 2.0},
        {"event": "generate", "state": "start", "n": 1, "t": 1_900_000_000.0, "s": 3.0},
    ]
    assert folded(*jumping).stage_seconds(4.0) == {"preparing": 2.0, "loading": 1.0, "generating": 1.0}


def test_only_the_supervisor_ends_a_run() -> None:
    assert folded(STEP, {"event": "result", "outcome": "PASS"}).outcome is None


WORDS = st.sampled_from(
    ["step", "stage", "start", "end", "generate", "compile", "memory", "token", "name", "checking", "", "\x1b[2J"]
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | WORDS | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=5,
)
FIELDS = (
    "s",
    "t",
    "name",
    "state",
    "stage",
    "pid",
    "rank",
    "n",
    "text",
    "file",
    "total",
    "done",
    "new_ids",
    "now",
    "peak",
    "scope",
    "key",
)
EVENTS = st.fixed_dictionaries(
    {
        "event": st.sampled_from(
            [
                *["step", "stage", "process", "group", "loaded", "dynamo", "compile", "compilers", "neff", "lock"],
                *[
                    "generate",
                    "token",
                    "forward",
                    "memory",
                    "download",
                    "disk",
                    "notice",
                    "error",
                    "exit",
                    "check",
                    "diagnosis",
                    "result",
                ],
            ]
        )
        | VALUES
    },
    optional=dict.fromkeys(FIELDS, VALUES),
)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(EVENTS, max_size=12))
def test_no_event_of_any_shape_raises(events: list[dict[str, Any]]) -> None:
    progress = Progress()
    for event in events:
        progress.add(event_of(event))
    progress.stage_seconds(1e6)
    progress.compile_seconds(1e6)
    json.dumps(progress.memory_rows())


def test_recorded_runs_add_up() -> None:
    passed, failed, going = (Progress() for _ in range(3))
    for progress, name in ((passed, PASS), (failed, FAIL), (going, GOING_ON)):
        for event in recorded(name).events():
            progress.add(event)
    assert (passed.stage, passed.outcome, passed.graphs, passed.tokens) == ("done", "PASS", 2, 32)
    assert failed.outcome == "FAIL"
    assert failed.errors
    assert (going.stage, going.world_size, going.compiler_busy) == ("compiling", 2, True)


def test_real_runs_add_up() -> None:
    seen = {}
    for name in REAL:
        run, progress = recorded(name), Progress()
        for event in run.events():
            progress.add(event)
        seen[name] = progress
        result = run.result()
        if result is not None:
            assert progress.stage_seconds() == pytest.approx(
                result.stages, abs=1.5
            )  # the verdict itself takes a moment
            assert progress.compile_seconds() == result.compile_s
            assert sum(result.stages.values()) == pytest.approx(progress.now, abs=1.5)
            assert result.outcome == progress.outcome
    assert (seen[REAL_PASS].tokens, seen[REAL_PASS].graphs) == (32, 2)
    assert {"preparing", "loading", "compiling", "generating", "checking"} == seen[REAL_PASS].stage_seconds().keys()
    assert seen[REAL_MISMATCH].check is not None
    assert seen[REAL_FAIL].world_size == 4
    assert any(e.kind == "TorchRuntimeError" for e in seen[REAL_FAIL].errors)
    assert (seen[REAL_GOING_ON].stage, seen[REAL_GOING_ON].compiler_busy) == ("compiling", True)
