"""The engine: streams, rows, what the host adds, what never happens (raising, more than linear time, growing memory)."""

from __future__ import annotations

import json
import random
import re
import time
import tracemalloc

import pytest

from tests.unit.runner.diagnosis.diagnosis_cases import CASES, call, wrapper
from trnui_runner.diagnosis import CLASSES, Facts, Holder, Stream, advise, diagnose, diagnose_row
from trnui_runner.diagnosis.hints import HINTS
from trnui_runner.diagnosis.model import LineWeight
from trnui_runner.diagnosis.rules import LAYERS, RULES
from trnui_runner.diagnosis.summaries import SUMMARIES, keys

LOCK = wrapper(
    "Another process must be compiling /var/tmp/neuron-compile-cache/neuronxcc-2.28.7631.0+aa/MODULE_77+f00d/model.hlo_module.pb, been waiting for: 9.0 minutes"
)


# -- rules are data


def test_every_rule_has_a_reason_a_source_and_a_literal_that_its_pattern_can_match() -> None:
    for rule in RULES:
        assert rule.any, rule.id
        assert rule.reason, rule.id
        assert rule.source, rule.id
        assert rule.cls in (*CLASSES, ""), rule.id
        assert set(rule.table.values()) <= {*CLASSES, ""}, rule.id
    assert set(LAYERS) >= {"compiler", "runtime", "memory", "cache", "hub", "model", "environment", "process"}


def test_rule_ids_are_unique() -> None:
    names = [rule.id for rule in RULES]
    assert sorted(names) == sorted(set(names))


def test_every_class_has_a_hint_and_a_summary_that_needs_no_facts() -> None:
    assert set(HINTS) == set(SUMMARIES) == set(CLASSES)
    for cls, templates in SUMMARIES.items():
        assert not keys(templates[-1]) - {"reason", "phase_words"}, cls


# -- streams


@pytest.mark.parametrize("case", [c for c in CASES if c.text], ids=lambda c: c.id)
@pytest.mark.parametrize("size", [7, 512])
def test_the_pieces_in_which_a_text_arrives_do_not_matter(case, size: int) -> None:
    data = case.text.encode()
    stream = Stream()
    for at in range(0, len(data), size):
        stream.feed(data[at : at + size], float(at))
    assert stream.answer().diagnosis.cls == diagnose(case.text).cls


def test_a_stream_is_answered_in_the_middle_of_a_line() -> None:
    stream = Stream()
    stream.feed("[rank2]: RuntimeError: nrt_load status=4 mess", 1.0)
    state = stream.answer(3.5)
    assert (state.diagnosis.cls, state.silent_for) == ("hbm_oom", 2.5)
    stream.feed('age="Allocation Failure"\n', 4.0)
    assert stream.answer(4.0).diagnosis.facts["rank"] == 2


def test_phases_and_compiles_are_counted_once() -> None:
    stream = Stream()
    seen = []
    for text in (
        "start\n",
        "\rmodel.safetensors:  10%|█ | 1M/9M",
        "\rLoading checkpoint shards:  50%|█ | 1/2",
        call(),
        ".....",
        "\nCompiler status PASS\n",
        wrapper("Compilation Successfully Completed for model.MODULE_1"),
        "\rgenerate:   3%| | 1/32",
        "\nRESULT: PASS\n",
    ):
        stream.feed(text)
        state = stream.answer()
        seen.append((state.phase, state.compiles_done))
    assert seen == [
        ("prepare", 0),
        ("download", 0),
        ("load", 0),
        ("compile", 0),
        ("compile", 0),
        ("compile", 1),
        ("compile", 1),
        ("generate", 1),
        ("done", 1),
    ]


@pytest.mark.parametrize(("alive", "offered"), [(True, False), (False, True), (None, False)])
def test_a_lock_is_offered_for_removal_only_when_nothing_that_could_hold_it_lives(
    alive: bool | None, offered: bool
) -> None:
    stream = Stream()
    stream.feed(LOCK)
    state = stream.answer(600.0, holder_alive=alive)
    assert (state.diagnosis.cls, state.diagnosis.severity, state.offer_remove) == ("cache_lock_wait", "wait", offered)


def test_no_lock_is_offered_when_nobody_waits() -> None:
    stream = Stream()
    stream.feed(call() + "...")
    assert stream.answer(9.0, holder_alive=False).offer_remove is False


# -- rows


def row(**values: object) -> dict[str, object]:
    return {
        "model_id": "example-org/No-space-left-7B",
        "tp": 1,
        "result": "FAIL",
        "error": None,
        "exclusion": None,
        "notes": None,
        "cpu_match": None,
        "english": None,
    } | values


@pytest.mark.parametrize(
    ("values", "cls"),
    [
        ({"result": "PASS"}, "ok"),
        ({"result": "PASS", "cpu_match": "32/32"}, "ok"),
        ({"result": "PASS", "error": ""}, "ok"),
        ({"result": "FAIL"}, "empty"),
        ({"result": "FAIL", "error": " \n\x00"}, "empty"),
        ({"result": "FAIL", "cpu_match": "3/32"}, "numerical_mismatch"),
        ({"result": "FAIL", "tp": 4, "english": "no"}, "numerical_mismatch"),
        ({"result": "", "exclusion": "incompatible: needs CUDA kernels"}, "excluded"),
        ({"result": "FAIL", "exclusion": "low priority", "error": "MemoryError"}, "excluded"),
        ({"result": "FAIL", "error": "[NCC_EVRF001] An unsupported operator was used: sort"}, "unsupported_op"),
        ({"result": "FAIL", "tp": 8, "error": "RuntimeError: shape '[1, 9, -1, 64]' is invalid for input of size 4608"}, "sharding"),
        ({"result": "FAIL", "tp": 1, "error": "RuntimeError: shape '[1, 9, -1, 64]' is invalid for input of size 4608"}, "unknown"),
        ({"result": "PASS", "error": "[WARNING] [BACKEND] Falling back to original GraphModule execution"}, "eager_fallback"),
        ({"result": "PASS", "error": "RuntimeError: 429 Client Error: Too Many Requests for url"}, "ok"),
        ({"result": None, "tp": float("nan"), "error": float("nan")}, "empty"),
        ({}, "empty"),
    ],
)  # fmt: skip
def test_rows(values: dict[str, object], cls: str) -> None:
    assert diagnose_row(row(**values)).cls == cls


def test_a_row_may_lack_every_column() -> None:
    assert diagnose_row({}).cls == "empty"


# -- hints use what is known, and only that


def test_a_busy_core_names_its_holder_and_what_is_free() -> None:
    found = diagnose(
        "NeuronCore(s) not available - Requested:nc1-nc1 Available:0\n",
        Facts(cores_free=(2, 3), holders=(Holder(4711, "python3 old.py", 7300.0, True, (0, 1)),)),
    )
    assert "pid 4711 (python3 old.py, a leftover run of yours, since 2 h 01 min) holds 0, 1" in found.hint
    assert "Free here: 2, 3." in found.hint


def test_memory_is_held_against_what_a_core_has_here() -> None:
    found = advise(diagnose("RuntimeError: nrt_load status=4"), Facts(hbm_need=31 << 30, hbm_per_core=24 << 30))
    assert "needs 31.0 GiB a core, more than the 24.0 GiB a core has here" in found.hint


def test_versions_that_differ_from_the_row_are_named() -> None:
    found = advise(
        diagnose("ImportError: cannot import name 'x' from 'torch_neuronx'"),
        Facts(versions={"torch": "2.13.0"}, row_versions={"torch": "2.14.0", "nki": "0.7"}),
    )
    assert "torch 2.13.0 here, 2.14.0 in the row" in found.hint
    assert "nki" not in found.hint


def test_the_catalog_says_where_the_model_passes() -> None:
    found = advise(
        diagnose("[NCC_EVRF001] An unsupported operator was used: sort"),
        Facts(same_code=3, passes_on="neuronx-cc 2.28.7631.0, transformers 5.24.0"),
    )
    assert "3 other rows have NCC_EVRF001." in found.hint
    assert "This model passes on neuronx-cc 2.28.7631.0" in found.hint


def test_without_facts_nothing_is_claimed() -> None:
    for cls in CLASSES:
        assert "here:" not in HINTS[cls].lower()
    assert diagnose("RuntimeError: nrt_load status=4").hint == HINTS["hbm_oom"]


# -- never


def mutations(seed: int) -> bytes:
    """Cases cut, joined and repeated at random."""
    chance = random.Random(seed)
    pieces = []
    for _ in range(chance.randint(1, 6)):
        data = chance.choice(CASES).text.encode()
        a, b = sorted((chance.randint(0, len(data)), chance.randint(0, len(data))))
        pieces.append(data[a:b] * chance.choice((1, 1, 1, 3, 40)))
    if chance.random() < 0.3:
        pieces.insert(chance.randint(0, len(pieces)), bytes(chance.randint(0, 255) for _ in range(200)))
    return b"".join(pieces)


@pytest.mark.parametrize("seed", range(200))
def test_nothing_raises_and_every_answer_is_whole(seed: int) -> None:
    data = mutations(seed)
    found = diagnose(data)
    assert found.cls in CLASSES
    assert len(found.summary) <= 110
    assert "\n" not in found.summary
    assert not re.search(
        r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]", "".join((found.summary, found.hint, *found.evidence))
    )
    json.dumps(found.to_json())
    diagnose_row({"error": data.decode("utf-8", "surrogateescape"), "result": "FAIL", "tp": 2})


@pytest.mark.parametrize(
    "text",
    [
        b"[" * 200,
        b"rank " * 50,
        b'File "' * 40,
        b". " * 100,
        b"\\x1b[" * 60,
        b"a" * 300,
        b"\x1b[31m" * 50,
        b"nrt status " * 20,
        b"neuronx-cc " * 30,
        b"'" * 300,
        b"failed with exit " * 20,
        b"shape '[" * 40,
    ],
)
def test_time_grows_no_faster_than_the_text(text: bytes) -> None:
    def cost(times: int) -> float:
        data = text * times
        best = 9.0
        for _ in range(3):
            start = time.process_time()
            diagnose(data)
            best = min(best, time.process_time() - start)
        return best

    cost(10)
    small, large = cost(100), cost(800)
    assert large < 0.02 + small * 8 * 3


def test_memory_does_not_grow_with_the_stream() -> None:
    stream = Stream()
    block = b"".join(case.text.encode() for case in CASES if "FAIL" not in case.text)
    for _ in range(5):
        stream.feed(block)
    tracemalloc.start()
    for _ in range(60):
        stream.feed(block)
    grown, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert grown < 1_000_000


def test_lines_by_the_hundred_thousand() -> None:
    """At least 40,000 lines a second of one processor's time here, however loaded the machine is (idle: well over 100,000)."""
    lines = b"".join(
        b"worker %d: step %d of the ordinary output, nothing that any rule knows, %.3f seconds\n" % (n % 8, n, n / 7)
        for n in range(40_000)
    )
    best = 9.0
    for _ in range(3):
        stream = Stream()
        start = time.process_time()
        for at in range(0, len(lines), 65536):
            stream.feed(lines[at : at + 65536])
        stream.answer()
        best = min(best, time.process_time() - start)
    assert best < 1.0


def test_results_count_only_outside_the_models_text() -> None:
    text = "===== generated =====\nRESULT: PASS\n===== end =====\n" + "RuntimeError: nrt_execute status=1006\n"
    assert diagnose(text).cls == "index_oob"


def test_kinds_are_ordered_as_the_precedence_says() -> None:
    assert (
        LineWeight.FAULT
        > LineWeight.WAITING
        > LineWeight.WARNING
        > LineWeight.RESULT
        > LineWeight.PROGRESS
        > LineWeight.NOISE
    )


def test_every_rules_pattern_is_a_regular_expression() -> None:
    assert all(rule.match is not None for rule in RULES if rule.pattern)
