"""What a PASS needs beyond the right tokens, and what takes a FAIL away."""

from __future__ import annotations

from typing import Any

import pytest

from trnui_runner.payload.conditions import not_compiled, protocol, weighed, weights
from trnui_runner.payload.generation import Generation

ALL = {"missing": [], "unexpected": [], "mismatched": []}


def one(tokens: int = 32, call: dict[str, Any] | None = None, rows: int = 1, **end: Any) -> Generation:
    start = {"pid": 7, "model_class": "M", "t": 5.0}
    return Generation(start, {"pid": 7, "t": 9.0, "rows": rows, **end}, ((1,) * tokens,), None, call or {})


def load(**more: Any) -> dict[str, Any]:
    return {"event": "loaded", "pid": 7, "model_class": "M", "t": 1.0, **more}


def graph(**more: Any) -> dict[str, Any]:
    return {"event": "compile", "state": "end", "pid": 7, "t": 6.0, "devices": ["cpu"], "backend": "aot_eager", **more}


@pytest.mark.parametrize(
    ("events", "words"),
    [
        ([load(**ALL)], ""),
        ([load(**{**ALL, "missing": ["lm_head.weight"], "missing_n": 1})],
         "1 weight not in the checkpoint, drawn at random: lm_head.weight"),
        ([load(**{**ALL, "missing": ["a", "b", "c", "d"], "missing_n": 12})],
         "12 weights not in the checkpoint, drawn at random: a, b, c and 9 more"),
        ([load(**{**ALL, "unexpected": ["layers.1.q"]})], "1 weight of the checkpoint not used: layers.1.q"),
        ([load(**{**ALL, "mismatched": ["x"]})], "1 weight of another shape in the checkpoint, drawn at random: x"),
        ([load()], "was not told"),
        ([], "no from_pretrained was seen"),
        ([load(state="failed", **ALL)], "no from_pretrained was seen"),
        ([load(**{**ALL, "missing": ["x"]}, t=1.0), load(**ALL, t=2.0)], ""),  # loaded again, whole
        ([load(**ALL), load(**{**ALL, "missing": ["x"]}, t=7.0)], ""),  # a second model, after the answer had begun
        ([load(**{**ALL, "missing": ["x"]}, model_class="Judge"), load(**ALL)], ""),
        ([load(**ALL, pid=3)], ""),  # loaded before a fork
    ],
)  # fmt: skip
def test_weights_that_did_not_come_from_the_checkpoint_are_named(events: list[dict[str, Any]], words: str) -> None:
    found = weights(events, one())
    assert words in found if words else found == ""


@pytest.mark.parametrize(
    ("events", "device", "words"),
    [
        ([graph()], "cpu", ""),
        ([], "cpu", "nothing was compiled"),
        ([graph(state="failed")], "cpu", "nothing was compiled"),
        ([graph(t=10.0)], "cpu", "nothing was compiled"),  # after the answer
        ([graph(pid=8)], "cpu", "nothing was compiled"),
        ([graph()], "neuron", "nothing was compiled on the device neuron"),  # a CPU reference was
        ([graph(devices=["cpu", "neuron"], backend="neuron")], "neuron", ""),
        ([graph(devices=["neuron"], backend="eager")], "neuron", "the backend eager compiles nothing"),
        ([graph(devices=[], backend="neuron")], "neuron", ""),  # without inputs: not known where
    ],
)
def test_answer_must_be_compiled_where_it_counts(events: list[dict[str, Any]], device: str, words: str) -> None:
    found = not_compiled(events, one(), device)
    assert words in found if words else found == ""


def test_dynamos_own_count_stands_in_for_graphs_that_were_not_seen() -> None:
    assert not_compiled([], one(graphs=2), "cpu") == ""


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (one(32), ()),
        (one(2), ("only 2 new tokens, and no end token: the protocol has 32",)),
        (one(2, {"kwargs": {"eos_token_id": 1}}), ()),
        (one(32, rows=4), ("only 1 of 4 sequences were kept",)),
    ],
)
def test_answer_must_be_whole(answer: Generation, words: tuple[str, ...]) -> None:
    assert protocol({"device": "cpu"}, [graph()], answer) == words


@pytest.mark.parametrize(
    ("outcome", "lost", "rest", "wanted"),
    [
        ("PASS", "", (), "PASS"),
        ("PASS", "", ("nothing was compiled",), "UNCHECKED"),
        ("PASS", "no lm_head", (), "UNCHECKED"),
        ("FAIL", "no lm_head", (), "UNCHECKED"),
        ("FAIL", "", ("nothing was compiled",), "FAIL"),  # other tokens are other tokens
        ("UNCHECKED", "", ("nothing was compiled",), "UNCHECKED"),
    ],
)
def test_what_is_missing_takes_a_verdict_away(outcome: str, lost: str, rest: tuple[str, ...], wanted: str) -> None:
    found = weighed({"outcome": outcome, "reason": "so it is"}, lost, rest)
    assert found["outcome"] == wanted
    assert "so it is" in found["reason"]
    if wanted == "UNCHECKED" != outcome:
        assert found["reason"].startswith(lost or rest[0])
