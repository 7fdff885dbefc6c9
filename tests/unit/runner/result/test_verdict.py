"""What a run means: never a PASS that was not checked, marks in the row, and the verdict against the row it came from."""

from __future__ import annotations

from typing import Any

import pytest

from trnui_runner.common.dataset_schema import COLUMNS, device_of, word_of
from trnui_runner.common.errors import Exit
from trnui_runner.result.termination import Ending
from trnui_runner.result.verdict import conclude, exit_code, nothing_tested
from trnui_runner.run_folder.event_reading import event_of
from trnui_runner.run_folder.folder import Result
from trnui_runner.run_folder.progress import Progress
from trnui_runner.run_folder.recipe import Recipe

PASSED = {"event": "check", "kind": "cpu-match", "outcome": "PASS", "reason": "32 of 32 tokens equal to the CPU run",
          "tokens": {"new_ids": [1], "text": "x"}, "stack": {"torch": "2.14.0", "transformers": "5.24.0", "python": "3.12.3"}}  # fmt: skip
GENERATED = {"event": "generate", "state": "end", "n": 1, "pid": 7, "new_ids": [1, 2], "text": "ab"}
OK = Ending("finished", codes={"run": 0, "check": 0}, wall_s=61.4)
FAILED = Ending("finished", codes={"run": 1})


def result(*events: dict[str, Any], ending: Ending = OK, stack: dict[str, Any] | None = None, **recipe: Any) -> Result:
    progress = Progress()
    for event in events:
        progress.add(event_of({"pid": 7, **event}))
    values = {"id": "r", "model": "owner/name", "device": "neuron", "script": "published", **recipe}
    return conclude(Recipe(**values), progress, ending, script=b"print(1)\n", stack=stack, now=1_800_000_000.0)


def test_checked_run_passes_with_its_kind_and_device() -> None:
    found = result(PASSED)
    assert (found.outcome, found.kind, found.device) == ("PASS", "cpu-match", "neuron")
    assert found.row is not None
    assert tuple(found.row) == tuple(COLUMNS)
    assert (found.row["result"], found.row["runner"], found.row["wall_s"]) == ("PASS", "trnui/neuron", 61)
    assert found.row["torch"] == "2.14.0"
    assert found.row["cpu_match"] == "32 of 32 tokens equal to the CPU run"
    assert found.row["english"] is None
    assert found.row["run_py"] == "print(1)\n"
    assert found.row["tested_at"] == "2027-01-15T08:00:00.000+00:00"


@pytest.mark.parametrize(
    ("device", "word", "runner"),
    [("cpu", "PASS (CPU)", "trnui/cpu"), ("stand-in", "PASS (stand-in)", "trnui/stand-in")],
)
def test_what_was_not_on_trainium_says_so_in_the_row(device: str, word: str, runner: str) -> None:
    memory = {"event": "memory", "rank": 0, "source": "neuron-monitor", "peak": 5 << 30, "capacity": 24 << 30}
    row = result(PASSED, memory, device=device).row
    assert row is not None
    assert (row["result"], row["runner"]) == (word, runner)
    assert row["hbm_peak_gb"] is None
    assert row["hbm_capacity_gb"] is None
    assert (device_of(row), word_of(row)) == (device, "PASS")


def test_stand_in_that_calls_itself_neuron_is_marked_all_the_same() -> None:
    found = result(PASSED, stack={"stand_in": True})
    assert found.device == "stand-in"
    assert found.row is not None
    assert found.row["result"] == "PASS (stand-in)"


def test_device_memory_is_the_fullest_core_in_gib_and_host_memory_never_counts() -> None:
    events = [
        {"event": "memory", "rank": 0, "source": "neuron-monitor", "peak": 5 << 30, "capacity": 24 << 30},
        {"event": "memory", "rank": 1, "source": "neuron-monitor", "peak": 6 << 30, "capacity": 24 << 30},
        {"event": "memory", "rank": 1, "source": "host", "peak": 90 << 30},
    ]
    row = result(PASSED, *events).row
    assert row is not None
    assert (row["hbm_peak_gb"], row["hbm_capacity_gb"]) == (6.0, 24.0)
    assert "GiB of the fullest core, as neuron-monitor counts it" in row["notes"]


@pytest.mark.parametrize(
    ("sources", "peak", "by"),
    [
        (("sysfs",), 3.0, "sysfs"),
        (("torch",), 3.0, "torch"),
        (("torch", "neuron-monitor"), 4.0, "neuron-monitor"),  # torch counts its own tensors only
        (("torch", "sysfs"), 4.0, "sysfs"),
        (("host",), None, None),
        ((), None, None),
    ],
)
def test_row_takes_device_memory_from_the_most_complete_counter_that_saw_any(
    sources: tuple[str, ...], peak: float | None, by: str | None
) -> None:
    events = [
        {"event": "memory", "rank": 0, "source": source, "peak": (3 + n) << 30} for n, source in enumerate(sources)
    ]
    row = result(PASSED, *events).row
    assert row is not None
    assert row["hbm_peak_gb"] == peak
    assert (by is not None and f"as {by} counts it" in row["notes"]) or "counts it" not in row["notes"]


def test_run_that_never_generated_is_unchecked() -> None:
    found = result(ending=OK)
    assert (found.outcome, found.reason, found.kind) == ("UNCHECKED", "run.py never called generate()", None)
    assert exit_code(found) == Exit.UNCHECKED


def test_check_that_crashed_is_no_pass() -> None:
    found = result(GENERATED, ending=Ending("finished", codes={"run": 0, "check": -9}))
    assert (found.outcome, found.reason) == ("UNCHECKED", "the check ended with code -9, see the log")
    assert found.tokens is not None
    assert found.tokens["new_ids"] == [1, 2]


def test_script_that_failed_after_generating_is_a_fail_whatever_its_tokens() -> None:
    found = result(PASSED, {"event": "error", "class": "AssertionError", "text": "own check"}, ending=FAILED)
    assert found.outcome == "FAIL"
    assert found.reason == "AssertionError: own check; what it had generated: 32 of 32 tokens equal to the CPU run"
    assert found.row is not None
    assert found.row["error"] == "AssertionError: own check"


def test_cause_is_named_not_the_echo_in_another_rank() -> None:
    events = [
        {"event": "group", "world_size": 2, "rank": 0},
        {"event": "error", "class": "ValueError", "text": "shape is invalid", "rank": 1},
        {"event": "error", "class": "RuntimeError", "text": "Connection closed by peer", "rank": 0},
    ]
    assert result(*events, ending=FAILED).reason == "rank 1: ValueError: shape is invalid"


def test_error_that_dynamo_met_is_named_itself() -> None:
    text = "RuntimeError when making fake tensor call\n  Explanation: … : got RuntimeError(\"shape '[1, 6, -1, 16]' is invalid\")\n"
    found = result({"event": "error", "class": "TorchRuntimeError", "text": text}, ending=FAILED)
    assert found.reason == "RuntimeError: shape '[1, 6, -1, 16]' is invalid (in TorchRuntimeError)"
    assert found.row is not None
    assert found.row["error"] == f"TorchRuntimeError: {text}"


def test_script_that_ended_without_a_word() -> None:
    assert result(ending=FAILED).reason == "run.py ended with exit code 1"
    assert result(ending=Ending("finished", codes={"run": -9})).reason == "run.py was killed by signal 9"


@pytest.mark.parametrize(
    ("how", "outcome", "code"),
    [("cancelled", "CANCELLED", 130), ("timeout", "TIMEOUT", 124), ("lost", "LOST", 1), ("unstarted", "UNCHECKED", 5)],
)
def test_run_that_was_ended_has_no_verdict(how: Any, outcome: str, code: int) -> None:
    found = result(PASSED, ending=Ending(how, "because"), row={"result": "PASS"})
    assert (found.outcome, found.reason) == (outcome, "because")
    if how != "unstarted":
        assert found.verdict is None
    assert exit_code(found) == code


ROW = {"result": "PASS", "tp": 1, "runner": "hf"}
SAME = {"row": ROW, "script_sha256": "aa", "options": {"row_script_sha256": "aa"}}


def test_same_result_cores_and_script_reproduce_the_row() -> None:
    found = result(PASSED, **SAME)
    assert (found.verdict, found.differences) == ("REPRODUCED", ())
    assert exit_code(found) == Exit.OK


def test_other_result_or_cores_differ() -> None:
    assert result(PASSED, **{**SAME, "row": {**ROW, "result": "FAIL"}}).differences == (
        "result: FAIL in the row, PASS here",
    )
    two = result({"event": "group", "world_size": 2, "rank": 0}, PASSED, **SAME)
    assert (two.verdict, two.differences) == ("DIFFERS", ("cores: 1 in the row, 2 here",))


def test_failure_of_a_failed_row_is_reproduced() -> None:
    found = result(
        {"event": "error", "class": "ValueError", "text": "no"},
        ending=FAILED,
        **{**SAME, "row": {**ROW, "result": "FAIL"}},
    )
    assert found.verdict == "REPRODUCED"
    assert exit_code(found) == Exit.FAILED


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"device": "cpu"}, "device: Trainium in the row, the CPU here"),
        ({"device": "stand-in"}, "device: Trainium in the row, a stand-in device here"),
        ({"script": "bundled", "script_sha256": "cc"}, "script: the row's own run.py was not the one that ran"),
        ({"script_sha256": "bb"}, "script: its SHA-256 is not the row's"),
        (
            {"row": {**ROW, "exclusion": "low priority"}},
            "result: EXCLUDED in the row, so there is nothing to reproduce",
        ),
        ({"row": {**ROW, "result": "PASS (CPU)"}}, "device: the CPU in the row, Trainium here"),
    ],
)
def test_other_device_or_script_cannot_be_compared(changes: dict[str, Any], words: str) -> None:
    found = result(PASSED, **{**SAME, **changes})
    assert found.verdict == "NOT COMPARABLE"
    assert words in found.differences
    assert exit_code(found) == Exit.UNCHECKED


def test_bundled_script_reproduces_a_row_made_by_the_very_same_script() -> None:
    row = {"result": "PASS (CPU)", "tp": 1, "runner": "trnui/cpu"}
    assert result(PASSED, **{**SAME, "row": row, "script": "bundled", "device": "cpu"}).verdict == "REPRODUCED"


def test_unchecked_run_of_a_row_is_not_comparable() -> None:
    found = result(GENERATED, **SAME)
    assert (found.outcome, found.verdict) == ("UNCHECKED", "NOT COMPARABLE")


def test_departures_from_the_protocol_are_noted() -> None:
    found = result(PASSED, max_new_tokens=8, device="cpu", script="bundled")
    assert "not the protocol: 8 new tokens instead of 32" in found.notes
    assert found.row is not None
    assert "8 new tokens instead of 32" in found.row["notes"]


@pytest.mark.parametrize(
    ("mine", "theirs", "verdict"),
    [
        ("hw_error", "RuntimeError: neuronx-cc failed [NCC_IBCG901]", "DIFFERS"),
        ("disk_full", None, "DIFFERS"),
        ("disk_full", "OSError: [Errno 28] No space left on device", "REPRODUCED"),
        ("compiler_failure", "RuntimeError: neuronx-cc failed [NCC_IBCG901]", "REPRODUCED"),
        ("unknown", "RuntimeError: neuronx-cc failed [NCC_IBCG901]", "REPRODUCED"),
    ],
)
def test_failure_of_the_host_alone_reproduces_no_failure_of_the_model(
    mine: str, theirs: str | None, verdict: str
) -> None:
    row = {**ROW, "result": "FAIL", "error": theirs}
    progress = Progress()
    progress.add(event_of({"event": "loaded", "pid": 7, "model_class": "M"}))
    recipe = Recipe(**{"id": "r", "model": "owner/name", "device": "neuron", "script": "published", **SAME, "row": row})
    found = conclude(recipe, progress, FAILED, script=b"print(1)\n", diagnosis={"class": mine})
    assert (found.outcome, found.verdict) == ("FAIL", verdict)
    assert any(mine in words for words in found.differences) == (verdict == "DIFFERS")


@pytest.mark.parametrize(
    ("graphs", "cores", "words"),
    [(1, 1, "1 graph"), (2, 1, "2 graphs"), (1, 2, "1 graph a rank"), (3, 4, "3 graphs a rank")],
)
def test_notes_count_graphs_in_good_english(graphs: int, cores: int, words: str) -> None:
    events = [{**GENERATED, "graphs": graphs}, {"event": "group", "rank": 0, "world_size": cores, "state": "end"}]
    row = result(PASSED, *events, cores=cores).row
    assert row is not None
    assert words in row["notes"].split("; ")


@pytest.mark.parametrize(
    ("script", "chunk", "graphs", "note"),
    [
        ("bundled", 6, 2, "prefill compiled"),
        ("bundled", None, 1, "prefill not compiled"),
        ("bundled", 6, 0, "prefill not compiled: nothing was"),  # the chunk is only an option
        ("published", 6, 2, "prefill compiled"),
        ("published", None, 1, None),
    ],
)
def test_result_records_whether_the_prefill_was_compiled(
    script: str, chunk: int | None, graphs: int, note: str | None
) -> None:
    start = {"event": "generate", "state": "start", "n": 1, "prompt_tokens": 6, "prefill_chunk": chunk}
    found = result(start, {**GENERATED, "graphs": graphs}, PASSED, script=script)
    assert found.row is not None
    assert [n for n in found.notes if "prefill" in n] == ([note] if note else [])
    assert ("prefill" in found.row["notes"]) == (note is not None)


def test_warm_second_call_is_reported_apart() -> None:
    warm = {"event": "warm", "seconds": 0.25, "tokens": 32, "new_graphs": 1, "same_tokens": False}
    found = result(GENERATED, warm, PASSED)
    assert "warm: 32 tokens in 0.25 s, new graphs: 1, OTHER tokens than the first time" in found.notes
    assert found.outcome == "PASS"
    assert not [n for n in result(GENERATED, PASSED).notes if "warm" in n]


@pytest.mark.parametrize(
    ("row", "device", "note"),
    [
        ({"torch": "2.14.0", "transformers": "5.24.0"}, "neuron", None),
        (
            {"torch": "2.13.0", "transformers": "5.18.0"},
            "neuron",
            "not the row's stack: torch 2.14.0 for 2.13.0, transformers 5.24.0 for 5.18.0",
        ),
        ({"torch": "2.14.0", "neuronx_cc": "2.28.1"}, "neuron", "not the row's stack: neuronx-cc – for 2.28.1"),
        ({"torch": "2.14.0", "python": "3.10.1"}, "neuron", None),  # makes no other result likely
        ({"torch": "2.13.0"}, "cpu", None),  # another device: not comparable anyway
    ],
)
def test_reproduced_on_another_stack_says_so(row: dict[str, Any], device: str, note: str | None) -> None:
    found = result(PASSED, device=device, row={"result": "PASS", "tp": 1, **row})
    assert [n for n in found.notes if "stack" in n] == ([note] if note else [])
    assert found.verdict == ("REPRODUCED" if device == "neuron" else "NOT COMPARABLE")


def test_a_call_that_failed_compiled_no_prefill_that_could_be_told_of() -> None:
    start = {"event": "generate", "state": "start", "n": 1, "prompt_tokens": 6, "prefill_chunk": 6}
    failed = {"event": "generate", "state": "failed", "n": 1, "class": "ValueError", "text": "too many values"}
    found = result(start, failed, ending=FAILED, script="bundled")
    assert found.outcome == "FAIL"
    assert not [n for n in found.notes if "prefill" in n]


def test_prefill_that_was_given_up_is_noted_with_its_error() -> None:
    first = {"event": "generate", "state": "start", "n": 1, "prompt_tokens": 6, "prefill_chunk": 6}
    error = {
        "event": "generate",
        "state": "failed",
        "n": 1,
        "class": "ValueError",
        "text": "Cannot use prefill chunking without a cache",
    }
    second = {**first, "n": 2, "prefill_chunk": None}
    found = result(first, error, second, {**GENERATED, "n": 2, "graphs": 1}, PASSED, script="bundled")
    assert (
        "prefill not compiled: no chunked prefill (ValueError: Cannot use prefill chunking without a cache)"
        in found.notes
    )
    assert found.outcome == "PASS"


def test_what_our_script_set_aside_is_noted_and_only_ours_is_believed() -> None:
    notice = {"event": "notice", "kind": "set aside", "text": "set aside of generation_config.json: stop_strings"}
    assert notice["text"] in result(notice, GENERATED, PASSED, script="bundled").notes
    assert notice["text"] not in result(notice, GENERATED, PASSED, script="published").notes


def test_time_of_the_run_is_without_our_check() -> None:
    events = [
        {"event": "step", "name": "run", "state": "start", "stage": "preparing", "s": 0.0},
        {"event": "step", "name": "run", "state": "end", "code": 0, "s": 40.0},
        {"event": "step", "name": "check", "state": "start", "stage": "checking", "s": 40.0},
        {**PASSED, "s": 60.0},
        {"event": "step", "name": "check", "state": "end", "code": 0, "s": 61.4},
    ]
    found = result(*events)
    assert found.wall_s == 40.0
    assert found.row is not None
    assert found.row["wall_s"] == 40


UNREACHABLE = {
    "event": "error",
    "pid": 7,
    "class": "OSError",
    "text": "We couldn't connect to 'https://huggingface.co'",
}
LOADED = {"event": "loaded", "pid": 7, "model_class": "M"}


def failed(cls: str, *events: dict[str, Any], **more: Any) -> Result:
    progress = Progress()
    for event in events:
        progress.add(event_of({"pid": 7, **event}))
    recipe = Recipe(
        **{"id": "r", "model": "o/n", "script": "published", **SAME, "row": {**ROW, "result": "FAIL"}, **more}
    )
    return conclude(recipe, progress, FAILED, script=b"", diagnosis={"class": cls})


@pytest.mark.parametrize("cls", ["hub_network", "hub_offline", "hub_gated", "hub_rate_limit", "hub_not_found"])
def test_checkpoint_that_could_not_be_fetched_was_not_tested(cls: str) -> None:
    found = failed(cls, UNREACHABLE, device="neuron")
    assert found.outcome == "UNCHECKED"
    assert found.reason.startswith("the checkpoint could not be fetched: OSError: We couldn't connect to")
    assert found.verdict == "NOT COMPARABLE"  # although the row says FAIL
    assert exit_code(found) == Exit.UNCHECKED
    assert nothing_tested(found)
    assert found.row is not None
    assert (found.row["result"], found.row["error"]) == ("UNCHECKED", None)


@pytest.mark.parametrize(
    ("cls", "events"),
    [
        ("hub_network", [LOADED, UNREACHABLE]),  # another file, later
        ("disk_full", [LOADED, UNREACHABLE]),
        ("hub_network", [{"event": "generate", "state": "start", "n": 1}, UNREACHABLE]),
        ("tokenizer", [UNREACHABLE]),
        ("model_unknown", [UNREACHABLE]),
    ],
)
def test_failure_after_loading_or_of_the_checkpoint_stays_a_failure(cls: str, events: list[dict[str, Any]]) -> None:
    found = failed(cls, *events)
    assert (found.outcome, exit_code(found), nothing_tested(found)) == ("FAIL", Exit.FAILED, False)


def test_full_disk_before_loading_nothing_tested() -> None:
    found = failed("disk_full", {**UNREACHABLE, "text": "[Errno 28] No space left on device"})
    assert (found.outcome, nothing_tested(found)) == ("UNCHECKED", True)
    assert found.reason.startswith("the disk was full before the checkpoint was loaded")


def test_unchecked_run_that_ended_well_has_tested_something() -> None:
    assert not nothing_tested(result(GENERATED))


@pytest.mark.parametrize("tp", ["2", None, "two"])
def test_a_tp_that_is_no_number_is_no_difference(tp: object) -> None:
    row = {"result": "PASS", "runner": "trnui/neuron", "tp": tp}
    assert result(PASSED, row=row).verdict == "REPRODUCED"


def test_cores_are_those_of_the_group_once_there_was_one_else_those_asked_for() -> None:
    group = {"event": "group", "rank": 0, "world_size": 4}
    row = {"result": "PASS", "runner": "trnui/neuron", "tp": 4}
    assert result(group, PASSED, row=row, cores=8).verdict == "REPRODUCED"
    assert result(PASSED, row=row, cores=4).verdict == "REPRODUCED"
    assert result(GENERATED, PASSED, row=row, cores=4).verdict == "DIFFERS"


@pytest.mark.parametrize("said", ["PASS", "FAIL", "UNCHECKED"])
def test_what_a_check_may_say_is_the_outcome(said: str) -> None:
    assert result({**PASSED, "outcome": said}).outcome == said


@pytest.mark.parametrize("said", ["EXCELLENT", "", None, 1])
def test_a_check_that_says_anything_else_says_nothing(said: object) -> None:
    assert result({**PASSED, "outcome": said}).outcome != "PASS"
