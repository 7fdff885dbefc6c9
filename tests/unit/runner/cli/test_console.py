"""A run in plain lines: what came out first, figures with their sources, nothing of a script's that could harm a terminal."""

from __future__ import annotations

from typing import Any

import pytest

from trnui_runner.cli.console import Teller, event_words, memory_lines, summary
from trnui_runner.cli.run_commands import RunLine, listing
from trnui_runner.common.text import clean
from trnui_runner.result.verdict import against_row
from trnui_runner.run_folder.event_reading import event_of
from trnui_runner.run_folder.folder import Result
from trnui_runner.run_folder.follower import Update
from trnui_runner.run_folder.recipe import Recipe

RECIPE = Recipe("r", "owner/name", device="cpu")


def lines(recipe: Recipe = RECIPE, **fields: Any) -> list[str]:
    return [
        *summary(
            recipe, Result(**{"outcome": "PASS", "device": "cpu", "kind": "cpu-match", "reason": "32 of 32", **fields})
        )
    ]


def test_first_line_is_the_verdict_with_its_device_and_kind() -> None:
    assert lines()[0] == "PASS (CPU) · cpu-match · 32 of 32"
    assert lines(device="neuron")[0] == "PASS · cpu-match · 32 of 32"
    assert lines(outcome="UNCHECKED", reason="near tie")[0] == "UNCHECKED (CPU) · near tie"


def test_difference_shows_both_texts() -> None:
    tokens = {"text": "a\x1b[31m\n", "reference_text": "b", "first_difference": 3}
    found = lines(outcome="FAIL", tokens=tokens, verdict="DIFFERS", differences=("result: PASS in the row, FAIL here",))
    assert "DIFFERS: result: PASS in the row, FAIL here" in found
    assert "text       'a\\x1b[31m\\n'" in found
    assert "CPU        'b'" in found


def test_what_was_not_measured_is_a_dash_never_nought() -> None:
    row = {"result": "PASS", "tp": 1, "wall_s": 210}
    found = lines(Recipe("r", "owner/name", device="cpu", row=row), wall_s=12.0)
    assert "time       12 s (row: 3 min 30 s), compilation –" in found
    assert "graphs     –" in found
    assert "row        PASS, 1 core, peak device memory –" in found


def test_many_helpers_of_a_compiler_are_counted() -> None:
    rows = [{"scope": f"process {n}", "source": "host", "peak": n << 20} for n in range(9)] + [
        {"scope": "rank 0", "source": "host", "peak": 1 << 30}
    ]
    assert [*memory_lines(rows)] == [
        "memory     rank 0: peak 1.0 GiB (host)",
        "memory     9 helper processes: the largest peak 8.0 MiB",
    ]


def test_events_of_any_shape_are_words_or_nothing() -> None:
    assert (
        event_words(event_of({"event": "error", "class": "E", "text": "a\nb\x1b]0;x\x07", "rank": 1}))
        == "rank 1: error: E: a b"
    )
    assert (
        event_words(
            event_of({"event": "compile", "state": "end", "pid": 7, "graph": "0/0", "nodes": 9, "seconds": 2.0})
        )
        == "graph 0/0 (9 nodes) compiled in 2.0 s"
    )
    assert event_words(event_of({"event": "token", "id": 1})) == ""
    assert event_words(event_of({})) == ""


def test_foreign_values_where_numbers_belong_break_nothing() -> None:
    for name in ("loaded", "group", "compile", "warm", "error", "notice"):
        for value in ("x\x1b[2J", None, [1], {"a": 1}, True, float("nan"), float("inf")):
            keys = (
                "state",
                "bytes",
                "seconds",
                "nodes",
                "graph",
                "rank",
                "class",
                "text",
                "world_size",
                "tokens",
                "model_class",
            )
            words = event_words(event_of({"event": name, **dict.fromkeys(keys, value), "state": "end"}))
            assert "\x1b" not in words


@pytest.mark.parametrize(
    ("told", "words"),
    [
        ((1,), ["token 1: a"]),
        ((2,), ["tokens 1-2: aa"]),
        ((1, 4), ["token 1: a", "tokens 2-4: aaa"]),
        ((2, 3), ["tokens 1-2: aa", "token 3: a"]),
    ],
)
def test_tokens_are_counted_in_good_english(told: tuple[int, ...], words: list[str]) -> None:
    teller, found, last = Teller(), list[str](), 0
    for upto in told:
        events = [{"event": "token", "pid": 7, "n": n, "id": 5, "text": "a"} for n in range(last + 1, upto + 1)]
        last = upto
        update = Update(tuple(map(event_of, events)), b"", 0, 0, None, None, "running", False)
        found += [line.strip() for line in teller.lines(update, None)]
    assert [line.partition("  ")[2] for line in found if "token" in line] == words


def test_row_beside_the_result_has_its_mark_and_units() -> None:
    row = {"result": "PASS (CPU)", "runner": "trnui/cpu", "tp": 1}
    assert "row        PASS (CPU), 1 core, peak device memory –" in lines(Recipe("r", "m", device="cpu", row=row))
    row = {"result": "FAIL", "tp": 2, "hbm_peak_gb": 2.5}
    assert "row        FAIL, 2 cores, peak device memory 2.5 GB" in lines(Recipe("r", "m", device="cpu", row=row))


HOSTILE = ["P\x1b[1mASS\n", "\x1b]0;t\x07", "x" * 5000, "\u202egnorw", "\0", None, ""]


@pytest.mark.parametrize("value", HOSTILE)
def test_a_rows_own_words_stay_words(value: str | None) -> None:
    """From the dataset: result, reason, kind; and what a run leaves in its result."""
    row = {"model_id": value, "result": value, "runner": value, "exclusion": None, "tp": value, "wall_s": None}
    recipe = Recipe("r", str(value), device="cpu", row=row, revision=value)
    verdict, differences = against_row(recipe, Result("PASS", "x", device="cpu"), 1)
    assert verdict == "NOT COMPARABLE"
    tokens = {"text": value, "reference_text": value, "first_difference": 0}
    found = lines(
        recipe, verdict=verdict, differences=differences, reason=str(value), tokens=tokens, notes=(str(value),)
    )
    for line in (*found, *differences):
        assert line == clean(line)
        assert "\n" not in line
        assert len(line) < 3000
    said = [line for line in found if line.startswith("row  ")]
    assert len(said) == 1
    assert "row        ," not in said[0]


def test_tokens_of_one_look_are_told_in_their_place_and_none_is_lost_to_a_second_call() -> None:
    token = {"event": "token", "pid": 7, "text": "a"}
    events = [{**token, "n": 1}, {"event": "notice", "text": "here"}, {**token, "n": 2}, {**token, "n": 3},
              {"event": "generate", "state": "start", "n": 2}, {"event": "warm", "tokens": 3, "seconds": 0.5, "new_graphs": 0},
              {**token, "n": 1}, {**token, "n": 2}, {**token, "n": 2, "rank": 1}]  # fmt: skip
    update = Update(tuple(map(event_of, events)), b"", 0, 0, None, None, "running", False)
    found = [line.strip().partition("  ")[2] for line in Teller().lines(update, None)]
    assert found == [
        "generating",
        "token 1: a",
        "here",
        "tokens 2-3: aa",
        "warm: 3 tokens in 0.50 s, new graphs: 0",
        "tokens 1-2: aa",
    ]


def test_every_event_has_its_own_time_also_when_all_are_read_at_the_end() -> None:
    events = (
        {"event": "step", "name": "run", "state": "start", "stage": "preparing", "s": 0.5},
        {"event": "notice", "text": "here", "s": 3.0},
        {"event": "generate", "state": "start", "n": 1, "pid": 7, "s": 12.2},
        {"event": "token", "n": 1, "text": "a", "pid": 7, "s": 14.4},
        {"event": "token", "n": 2, "text": "b", "pid": 7, "s": 15.4},
        {"event": "result", "src": "supervisor", "outcome": "PASS", "s": 40.6},
        {"event": "notice", "text": "of no time", "s": "soon"},
    )
    update = Update(tuple(map(event_of, events)), b"", 0, 0, None, None, "PASS", False)
    assert [line.strip() for line in Teller().lines(update, 41.0)] == [
        "0.50 s  preparing",
        "3.0 s  here",
        "12 s  generating",
        "15 s  tokens 1-2: ab",
        "41 s  done",
        "41 s  of no time",
    ]


@pytest.mark.parametrize(
    ("device", "outcome", "word"),
    [
        ("cpu", "PASS", "PASS (CPU)"),
        ("stand-in", "FAIL", "FAIL (stand-in)"),
        ("neuron", "PASS", "PASS"),
        ("cpu", None, "loading …"),
    ],
)
def test_list_of_runs_says_in_the_outcome_where_it_was(device: str, outcome: str | None, word: str) -> None:
    line = RunLine("r", "o/m", outcome, "loading", None, None, device, 1, "bundled", 1.0, 40.6, "", "/p")
    assert line.word == word
    assert word in listing([line], "table")
    assert ("0:41" if outcome else "0:40") in listing([line], "table")  # the verdict of it says 41 s
