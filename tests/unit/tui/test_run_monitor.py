"""What is said of runs that began or ended while the user looked elsewhere."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.recorded import FAIL, PASS, recorded
from trnui.tui.runs.run_monitor import RunMonitor, RunsNow, ended_since, ended_words, signal_for
from trnui_runner.run_folder.run_index import RunEntry, RunIndex


@pytest.fixture
def ended() -> tuple[RunEntry, ...]:
    for name in (PASS, FAIL):
        recorded(name)
    return RunIndex().look()


def test_a_run_that_ends_is_told_once_with_how_many_still_go_on(ended: tuple[RunEntry, ...]) -> None:
    told: list[RunsNow] = []
    monitor = RunMonitor(told.append, None)
    going = tuple(replace(e, outcome="running") for e in ended)
    monitor._seen(going)
    assert told == [RunsNow(2, (), True)]
    monitor._seen((ended[0], going[1]))
    monitor._seen((ended[0], going[1]))
    assert told[1:] == [RunsNow(1, (ended[0],), False)]


def test_nothing_is_told_where_nothing_goes_on(ended: tuple[RunEntry, ...]) -> None:
    told: list[RunsNow] = []
    RunMonitor(told.append, None)._seen(ended)
    assert told == []


def test_what_ended_since_the_last_visit_is_told_on_return(ended: tuple[RunEntry, ...]) -> None:
    assert ended_since(ended, None) == ()
    assert ended_since(ended, 0.0) == ended
    newest = max(e.state.updated for e in ended if e.state is not None)
    assert ended_since(ended, newest) == ()


def test_the_words_name_model_outcome_device_and_time_and_count_many(ended: tuple[RunEntry, ...]) -> None:
    passed = next(e for e in ended if e.outcome == "PASS")
    words = ended_words(RunsNow(0, (passed,), False), "4")
    assert words.startswith(f"{passed.recipe.model}: PASS on ")
    assert words.endswith("· 4 shows it")
    assert (
        ended_words(RunsNow(0, ended * 3, True), "4")
        == "while you were away: 6 runs ended: " + ", ".join(f"3 {e.outcome}" for e in ended) + " · 4 shows them"
    )


@pytest.mark.parametrize(
    ("how", "sent"),
    [("off", ""), ("bell", "\a"), ("osc9", "\x1b]9;a, b\a"), ("osc777", "\x1b]777;notify;trnui;a, b\a")],
)
def test_the_terminal_gets_what_the_setting_says_and_no_control_character_of_a_models_name(how: str, sent: str) -> None:
    assert signal_for(how, "a; b") == sent
    assert signal_for(how, "\x1b]0;x\x07a").count("\x1b") <= 1
