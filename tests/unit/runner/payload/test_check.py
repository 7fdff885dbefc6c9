"""The check: equal tokens, near ties and true differences; which generate() counts; a judge that is not at hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from trnui_runner.payload import check, judge
from trnui_runner.payload.check import Unchecked, compare, generate_options, generation, read_events, world_size

FLUENT = " a program for the device, and this first step takes most of the time. A graph that was compiled before can be used again"
NOISE = "ere wordsenouellsrunells\x1a\ufffdellsells\x1aha9ellsIt\x1ael\x1a9ng co"


def logits(*steps: dict[int, float]) -> list[list[float]]:
    return [[step.get(n, -9.0) for n in range(10)] for step in steps]


def test_equal_tokens_pass() -> None:
    found = compare([1, 2, 3], [1, 2, 3], logits({1: 5}, {2: 5}, {3: 5}), "bfloat16")
    assert (found["outcome"], found["reason"]) == ("PASS", "3 of 3 tokens equal to the CPU run")
    assert found["tokens"]["first_difference"] is None


def test_difference_where_the_reference_is_nearly_tied_is_no_verdict() -> None:
    found = compare([1, 7, 3], [1, 2, 3], logits({1: 5}, {2: 8.0, 7: 7.969}, {3: 5}), "bfloat16")
    assert found["outcome"] == "UNCHECKED"
    assert found["reason"].startswith(
        "1 of 3 tokens equal, then a near tie: the CPU run prefers its own token by 0.031 only"
    )
    assert (found["tokens"]["first_difference"], found["tokens"]["margin"]) == (1, 0.031)


def test_the_same_margin_in_float32_is_a_difference() -> None:
    found = compare([1, 7], [1, 2], logits({1: 5}, {2: 8.0, 7: 7.969}), "float32", lambda n: f"t{n}")
    assert found["outcome"] == "FAIL"
    assert (
        found["reason"]
        == "token 1 is 't7', not 't2', which the CPU run prefers by 0.031 (float32): no near tie, which ends at 8e-05"
    )


def test_a_tie_between_two_other_tokens_excuses_nothing() -> None:
    found = compare([9], [2], logits({2: 8.0, 7: 7.999, 9: -3.0}), "bfloat16")
    assert found["outcome"] == "FAIL"
    assert found["tokens"]["gap"] == 11.0


def test_clear_difference_fails_in_bfloat16_too() -> None:
    assert compare([7], [2], logits({2: 3.0, 7: 2.53}), "bfloat16")["outcome"] == "FAIL"


def test_one_token_again_and_again_is_called_what_nan_gives() -> None:
    found = compare([0] * 8, [1, 2, 3, 4, 5, 6, 7, 8], logits(*[{n: 9.0} for n in range(1, 9)]), "float32")
    assert "one token 8 times, as NaN would" in found["reason"]


def test_fewer_tokens_than_the_reference_fail() -> None:
    found = compare([1, 2], [1, 2, 3], logits({1: 5}, {2: 5}, {3: 5}), "float32")
    assert (found["outcome"], found["reason"]) == ("FAIL", "2 tokens instead of the CPU run's 3")


def call(pid: int, n: int, device: str, ids: list[int] | None, rank: int | None = None) -> list[dict[str, Any]]:
    start = {
        "event": "generate",
        "state": "start",
        "pid": pid,
        "n": n,
        "device": device,
        "rank": rank,
        "inputs": f"{pid}.{n}",
    }
    end = {"event": "generate", "state": "end", "pid": pid, "n": n, "device": device, "rank": rank, "new_ids": ids}
    return [start, end]


def test_first_generate_on_the_runs_device_counts() -> None:
    events = [*call(1, 1, "cpu", [9]), *call(1, 2, "neuron:0", [1]), *call(1, 3, "neuron:0", [2])]
    start, end = generation(events, "neuron")
    assert (start["inputs"], end["new_ids"]) == ("1.2", [1])
    assert generation(events, "stand-in")[1]["new_ids"] == [1]
    assert generation(events, "cpu")[1]["new_ids"] == [9]


def test_rank_zero_speaks_for_all() -> None:
    events = [*call(5, 1, "cpu", [2], rank=1), *call(4, 1, "cpu", [1], rank=0)]
    assert generation(events, "cpu")[1]["new_ids"] == [1]


@pytest.mark.parametrize(
    ("events", "words"),
    [
        ([], "never called generate"),
        (call(1, 1, "cpu", [1]), "nothing on the device neuron"),
        (call(1, 1, "neuron", []), "no new tokens"),
    ],
)
def test_nothing_to_check_says_why(events: list[dict[str, Any]], words: str) -> None:
    with pytest.raises(Unchecked, match=words):
        generation(events, "neuron")


def test_broken_lines_of_events_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "2.jsonl").write_bytes(b'{"t":2,"event":"b"}\n\xff{\n[1]\n{"t":"x","event":"c"}\n')
    (tmp_path / "1.jsonl").write_bytes(b'{"t":1,"event":"a"}\n{"t":3,"eve')
    assert [e["event"] for e in read_events(str(tmp_path))] == ["c", "a", "b"]


def test_ranks_are_counted_by_the_group_that_was_formed() -> None:
    assert world_size([{"event": "group", "world_size": 2}, {"event": "group", "state": "failed"}]) == 2
    assert world_size([]) == 1


def test_options_of_a_passed_generation_config_count_and_the_calls_own_win() -> None:
    saved = {
        "kwargs": {
            "generation_config": {"max_new_tokens": 8, "repetition_penalty": 1.1},
            "max_new_tokens": 32,
            "streamer": "<x>",
        },
        "generation_config": {"temperature": 0.6, "do_sample": True},
    }
    assert generate_options(saved) == {"max_new_tokens": 32, "repetition_penalty": 1.1}
    assert generate_options({"kwargs": {}, "generation_config": {"do_sample": True}}) == {"do_sample": True}


class Tokenizer:
    def __init__(self, text: str) -> None:
        self.text = text

    def decode(self, ids: list[int], skip_special_tokens: bool = False) -> str:
        return self.text


def fluency(monkeypatch: pytest.MonkeyPatch, text: str, **recipe: Any) -> dict[str, Any]:
    monkeypatch.setattr(check, "tokenizer_of", lambda recipe: Tokenizer(text))
    end = {"new_ids": [1, 2, 3]}
    return check.fluency(
        {"device": "cpu", "prompt": "The compiler turns every graph into", "options": {}, "judge": None, **recipe}, end
    )


def test_judge_that_is_not_at_hand_leaves_the_run_unchecked(monkeypatch: pytest.MonkeyPatch) -> None:
    absent = "a judge that nobody has"

    def not_at_hand(*_: object) -> None:
        raise judge.NotAtHand("not cached")

    monkeypatch.setattr(judge, "likelihood", not_at_hand)
    monkeypatch.setattr(check, "load_judge", lambda: judge)
    found = fluency(monkeypatch, FLUENT, judge=absent)
    assert (found["outcome"], found["reason"]) == ("UNCHECKED", f"the judge {absent} is not at hand (not cached)")
    assert found["judge"]["surface"]["ok"]
    assert fluency(monkeypatch, NOISE, judge=absent)["outcome"] == "FAIL"  # no judge could pass this


def test_word_order_judges_the_sample_and_no_trainium(monkeypatch: pytest.MonkeyPatch) -> None:
    assert fluency(monkeypatch, FLUENT, judge=judge.WORD_ORDER)["outcome"] == "PASS"
    assert fluency(monkeypatch, NOISE, judge=judge.WORD_ORDER)["outcome"] == "FAIL"
    found = fluency(monkeypatch, FLUENT, judge=judge.WORD_ORDER, device="neuron")
    assert found["outcome"] == "UNCHECKED"
    assert "no judge of a Trainium run" in found["reason"]


def test_likelihood_and_surface_must_both_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check, "load_judge", lambda: judge)
    for nll, text, outcome in ((2.0, FLUENT, "PASS"), (7.0, FLUENT, "FAIL"), (1.5, " the" * 24, "FAIL")):
        monkeypatch.setattr(judge, "likelihood", lambda *_, nll=nll: (nll, "abc"))
        found = fluency(monkeypatch, text, judge="owner/judge")
        assert found["outcome"] == outcome
        assert (found["judge"]["nll"], found["judge"]["commit"]) == (nll, "abc")


def test_check_speaks_by_one_event_also_when_it_cannot_check(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "events").mkdir()
    recipe = {"device": "cpu", "model": "m", "task": "text-generation", "dtype": "auto", "prompt": "x", "options": {}}
    (tmp_path / "recipe.json").write_text(json.dumps(recipe))
    assert check.main(str(tmp_path)) == 0
    [event] = read_events(str(tmp_path / "events"))
    assert (event["event"], event["kind"], event["outcome"]) == ("check", "cpu-match", "UNCHECKED")
    assert event["reason"] == "run.py never called generate()"
    assert event["stack"]["python"]


@pytest.mark.parametrize(
    ("asked", "got", "outcome"), [(4, 4, "UNCHECKED"), (32, 4, "FAIL"), (32, 32, "FAIL"), (15, 15, "UNCHECKED")]
)
def test_few_tokens_that_were_asked_for_are_too_few_to_judge(
    monkeypatch: pytest.MonkeyPatch, asked: int, got: int, outcome: str
) -> None:
    monkeypatch.setattr(check, "tokenizer_of", lambda recipe: Tokenizer(" a program for"))
    recipe = {"device": "cpu", "prompt": "x", "options": {}, "judge": judge.WORD_ORDER, "max_new_tokens": asked}
    found = check.fluency(recipe, {"new_ids": [7] * got})
    assert found["outcome"] == outcome
    assert found["tokens"]["text"] == " a program for"
