"""Which call of generate is the answer, and which of its options are in force."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from trnui_runner.payload.generation import (
    Generation,
    Unchecked,
    end_tokens,
    foreign_options,
    generate_options,
    generation,
    metadata,
    read_events,
    world_size,
)


def call(pid: int, n: int, device: str, ids: list[int] | None, rank: int | None = None) -> list[dict[str, Any]]:
    both = {"event": "generate", "pid": pid, "n": n, "device": device, "rank": rank}
    return [{**both, "state": "start", "inputs": f"{pid}.{n}"}, {**both, "state": "end", "new_ids": ids}]


def chosen(events: list[dict[str, Any]], device: str = "cpu", folder: str = "/nowhere") -> Generation:
    return generation(folder, {"device": device}, events)


def test_the_runs_device_counts() -> None:
    events = [*call(1, 1, "cpu", [9]), *call(1, 2, "neuron:0", [1])]
    assert chosen(events, "neuron").new_ids == (1,)
    assert chosen(events, "stand-in").new_ids == (1,)
    assert chosen(events, "cpu").new_ids == (9,)


def test_warm_up_of_two_tokens_is_not_the_answer() -> None:
    events = [*call(1, 1, "cpu", [5, 5]), *call(1, 2, "cpu", [7] * 32), *call(1, 3, "cpu", [8])]
    assert chosen(events).new_ids == (7,) * 32


def test_last_of_several_whole_answers_counts_and_the_longest_where_none_is_whole() -> None:
    assert chosen([*call(1, 1, "cpu", [7] * 40), *call(1, 2, "cpu", [8] * 32)]).new_ids == (8,) * 32
    assert (
        chosen([*call(1, 1, "cpu", [7] * 5), *call(1, 2, "cpu", [8] * 9), *call(1, 3, "cpu", [9])]).new_ids == (8,) * 9
    )


def test_answer_that_an_end_token_closed_is_whole(tmp_path: Path) -> None:
    (tmp_path / "inputs").mkdir()
    header = json.dumps(
        {"__metadata__": {"generation_config": json.dumps({"eos_token_id": [2, 3]}), "class": "X"}}
    ).encode()
    (tmp_path / "inputs/1.1").write_bytes(len(header).to_bytes(8, "little") + header)
    assert metadata(str(tmp_path / "inputs/1.1")) == {"generation_config": {"eos_token_id": [2, 3]}}
    one = chosen(call(1, 1, "cpu", [7, 8, 3]), folder=str(tmp_path))
    assert one.ended
    assert not chosen(call(1, 1, "cpu", [7, 8, 4]), folder=str(tmp_path)).ended


def test_rank_zero_speaks_for_all() -> None:
    events = [*call(5, 1, "cpu", [2], rank=1), *call(4, 1, "cpu", [1], rank=0)]
    assert chosen(events).new_ids == (1,)


def test_all_sequences_of_a_batch_are_held() -> None:
    start, end = call(1, 1, "cpu", [1, 2])
    one = chosen([start, {**end, "rows": 3, "rows_ids": [[1, 2], [3, 4]]}])
    assert (one.rows, one.sequences) == (((1, 2), (3, 4)), 3)


@pytest.mark.parametrize(
    ("events", "words"),
    [
        ([], "never called generate"),
        (call(1, 1, "cpu", [1]), "nothing on the device neuron"),
        (call(1, 1, "neuron", []), "no new tokens"),
        (call(1, 1, "neuron", [1])[1:], "did not see generate"),
    ],
)
def test_nothing_to_check_says_why(events: list[dict[str, Any]], words: str) -> None:
    with pytest.raises(Unchecked, match=words):
        chosen(events, "neuron")


def test_broken_lines_of_events_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "2.jsonl").write_bytes(b'{"t":2,"event":"b"}\n\xff{\n[1]\n{"t":"x","event":"c"}\n')
    (tmp_path / "1.jsonl").write_bytes(b'{"t":1,"event":"a"}\n{"t":3,"eve')
    assert [e["event"] for e in read_events(str(tmp_path))] == ["c", "a", "b"]


def test_ranks_are_counted_by_the_group_that_was_formed() -> None:
    assert world_size([{"event": "group", "world_size": 2}, {"event": "group", "state": "failed"}]) == 2
    assert world_size([]) == 1


def test_options_of_the_call_win_over_a_passed_config_and_that_over_the_models() -> None:
    saved = {
        "kwargs": {
            "generation_config": {"max_new_tokens": 8, "repetition_penalty": 1.1, "do_sample": None},
            "max_new_tokens": 32,
            "streamer": "<x>",
        },
        "generation_config": {"temperature": 0.6, "do_sample": True, "eos_token_id": 7},
    }
    assert generate_options(saved) == {
        "max_new_tokens": 32,
        "repetition_penalty": 1.1,
        "do_sample": True,
        "eos_token_id": 7,
    }
    assert end_tokens(saved) == {7}


def test_what_a_call_sets_aside_of_the_checkpoints_config_is_set_aside_in_the_reference() -> None:
    saved = {
        "kwargs": {"stop_strings": None, "penalty_alpha": None, "num_return_sequences": 1, "streamer": None},
        "generation_config": {"stop_strings": ["x"], "penalty_alpha": 0.6, "num_return_sequences": 2},
    }
    assert generate_options(saved) == {"stop_strings": None, "penalty_alpha": None, "num_return_sequences": 1}
    assert foreign_options(saved) == ()


@pytest.mark.parametrize(
    ("kwargs", "named"),
    [
        ({"max_new_tokens": 32, "do_sample": False, "cache_implementation": "static", "prefill_chunk_size": 8}, ()),
        ({"logits_processor": "[<Ban object>]", "streamer": "x"}, ("logits_processor",)),
        ({"stopping_criteria": "[…]", "assistant_model": "Model()"}, ("assistant_model", "stopping_criteria")),
        ({"past_key_values": "fresh cache"}, ()),
        ({"past_key_values": "StaticCache(…)"}, ("past_key_values",)),
        ({"generation_config": {"penalty_alpha": 0.6, "top_k": 4, "transformers_version": "5"}}, ("penalty_alpha",)),
        ({"logits_processor": [], "prefix_allowed_tokens_fn": None}, ()),
    ],
)
def test_options_that_a_reference_cannot_take_over_are_named(kwargs: dict[str, Any], named: tuple[str, ...]) -> None:
    assert foreign_options({"kwargs": kwargs}) == named


def test_events_beyond_any_measure_are_not_read(tmp_path: Path) -> None:
    with open(tmp_path / "7.jsonl", "wb") as file:
        file.truncate(20 << 30)
    with pytest.raises(Unchecked, match="MiB of events"):
        read_events(str(tmp_path))


def test_what_is_no_file_of_events_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "1.jsonl").write_text('{"event":"a"}\n')
    (tmp_path / "2.jsonl").mkdir()
    os.mkfifo(tmp_path / "3.jsonl")
    assert [e["event"] for e in read_events(str(tmp_path))] == ["a"]
