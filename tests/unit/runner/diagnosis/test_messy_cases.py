"""What people paste keeps its class when it is glued, cut, mixed or full of traps; and what no rule knows is said to be unknown."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.runner.diagnosis.diagnosis_cases import CASES, LOAD, Case, call, ranked, trace
from tests.unit.runner.diagnosis.messy_cases import MESSY, ROWS
from trnui_runner.diagnosis import CLASSES, Stream, diagnose, diagnose_row

FAILED: dict[str, Any] = {
    "model_id": "example-org/M-1B", "library": "transformers", "tp": 1, "runner": "generate", "result": "FAIL", "notes": "", "error": None,
    "exclusion": None, "wall_s": 4, "hbm_peak_gb": None, "hbm_capacity_gb": 24.0, "cpu_match": None, "english": None,
}  # fmt: skip


@pytest.mark.parametrize("case", MESSY, ids=lambda c: c.id)
def test_messy_text(case: Case) -> None:
    found = diagnose(case.text)
    assert found.cls == case.cls, (found.cls, found.rule, found.summary)
    assert found.cls not in case.must_not
    assert 0 < len(found.summary) <= 110
    assert found.evidence or case.cls == "empty"


@pytest.mark.parametrize(("name", "cls", "values"), ROWS, ids=[name for name, _, _ in ROWS])
def test_row(name: str, cls: str, values: dict[str, Any]) -> None:
    assert diagnose_row({**FAILED, **values}).cls == cls


def test_all_cases_together_are_many_and_wide() -> None:
    assert len(MESSY) > 200
    assert set(CLASSES) - {case.cls for case in MESSY} == {"excluded"}


ENDS = (
    trace("ZeroDivisionError: division by zero"),
    trace("torch._inductor.exc.InductorError: no such backend"),
    "[rank1]: ZeroDivisionError: division by zero\n",
    "terminate called after throwing an instance of 'std::runtime_error'\n  what():  odd\n",
    "bash: python4: command not found\n",
    "python3: can't open file '/srv/run.py': [Errno 2] No such file or directory\n",
    "Bus error (core dumped)\n",
    "Fatal Python error: Segmentation fault\n\nThread 0x1 (most recent call first):\n",
    "run.py: error: unrecognized arguments: --tp\n",
)


@pytest.mark.parametrize("end", ENDS)
def test_an_end_that_no_rule_knows_is_no_work_that_goes_on(end: str) -> None:
    for before in ("", LOAD, LOAD + call() + "......\nCompiler status PASS\ntokens 3/32\n"):
        found = diagnose(before + end)
        assert found.cls == "unknown", before
        shown = "\n".join(found.evidence)
        assert end.rstrip("\n").split("\n")[0].removeprefix("Traceback (most recent call last):") in shown


def test_an_exception_that_the_run_gets_over_decides_nothing() -> None:
    stream = Stream()
    stream.feed(LOAD + trace("ValueError: optional part missing"))
    assert stream.answer().diagnosis.cls == "unknown"
    stream.feed(call() + "...\n" + "Compiler status PASS\n")
    assert stream.answer().diagnosis.cls == "in_progress"
    stream.feed("tokens 32/32\nRESULT: PASS\n")
    assert stream.answer().diagnosis.cls == "ok"


def test_an_unknown_crash_of_one_rank_explains_what_the_others_lost() -> None:
    crash = ranked(1, trace("ZeroDivisionError: division by zero"))
    lost = ranked(0, trace("RuntimeError: Connection closed by peer [192.0.2.4]:99"))
    for text in (crash + lost, lost + crash):
        assert diagnose(LOAD + text).cls == "unknown"
    assert diagnose(LOAD + lost).cls == "distributed_comm"


@pytest.mark.parametrize("pieces", [("err", "out", "err", "err"), ("out", "out", "out", "out")])
def test_two_streams_of_ranks_captured_as_one_keep_the_code(pieces: tuple[str, ...]) -> None:
    texts = (
        "......",
        "[rank1]: RuntimeError: [NCC_INLA0",
        "[rank0]: waiting at barrier\n",
        "01] Unhandled exception with message: odd\n",
    )
    stream = Stream()
    for text in texts:
        stream.feed(text, stream="out")
    stream.feed("[rank0]: RuntimeError: Connection closed by peer [192.0.2.9]:31999\n", stream=pieces[0])
    found = stream.answer().diagnosis
    assert (found.cls, found.facts["code"], found.facts["rank"]) == ("compiler_failure", "NCC_INLA001", 1)


@pytest.mark.parametrize("case", [*CASES, *MESSY], ids=lambda c: c.id)
def test_pieces_say_what_the_whole_says(case: Case) -> None:
    data, whole, stream = case.text.encode("utf-8", "replace"), diagnose(case.text), Stream()
    for n, start in enumerate(range(0, len(data), 29)):
        stream.feed(data[start : start + 29], n)
    found = stream.answer().diagnosis
    assert (found.cls, dict(found.facts), found.summary) == (whole.cls, dict(whole.facts), whole.summary)


@pytest.mark.parametrize("case", [*CASES, *MESSY], ids=lambda c: c.id)
def test_colours_and_other_line_ends_change_no_class(case: Case) -> None:
    lines = case.text.replace("\r\n", "\n").split("\n")
    assert diagnose("\r\n".join(lines)).cls == case.cls
    assert diagnose("\n".join(f"\x1b[31m{line}\x1b[0m" for line in lines)).cls == case.cls
