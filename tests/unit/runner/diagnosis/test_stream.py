"""A stream at any moment: lines that are not complete yet, two streams of one run, commands whose answer is the next line, and what
an answer is made of."""

from __future__ import annotations

import pytest

from tests.unit.runner.diagnosis.diagnosis_cases import LOAD, call, ranked, trace
from trnui_runner.diagnosis import Facts, Stream, advise, diagnose
from trnui_runner.diagnosis import engine as engine_module
from trnui_runner.diagnosis.hints import HINTS

LOCK = "Another process must be compiling /c/MODULE_77+f00d/model.hlo_module.pb, been waiting for: 9.0 minutes\n"


def of(*pieces: str | bytes, facts: Facts | None = None) -> Stream:
    stream = Stream(facts)
    for n, piece in enumerate(pieces):
        stream.feed(piece, float(n))
    return stream


def test_nothing_fed_is_empty_and_silent_for_no_time() -> None:
    state = of("").answer(9.0)
    assert (state.diagnosis.cls, state.silent_for, state.phase) == ("empty", 0.0, "prepare")


def test_silence_is_counted_from_the_last_output_and_is_never_negative() -> None:
    stream = of("tokens 1/32\n", "tokens 2/32\n")
    assert stream.answer(4.0).silent_for == 3.0
    assert stream.answer(0.5).silent_for == 0.0
    assert stream.answer().silent_for == 0.0
    stream.feed("", 8.0)
    assert stream.answer(9.0).silent_for == 8.0


def test_a_line_in_the_making_is_read_without_being_kept() -> None:
    stream = of("tokens 1/32\nMemory")
    assert stream.answer().diagnosis.cls == "in_progress"
    stream.feed("Error")
    assert stream.answer().diagnosis.cls == "host_oom"
    stream.feed("s are fine in this name\n")
    assert stream.answer().diagnosis.cls == "in_progress"


def test_each_stream_has_a_line_of_its_own() -> None:
    stream = Stream()
    stream.feed("Memory", stream="out")
    stream.feed("tokens 1/32\n", stream="err")
    stream.feed("Error\n", stream="out")
    assert stream.answer().diagnosis.cls == "host_oom"


def test_bytes_that_are_no_utf_8_break_nothing() -> None:
    assert of(b"\xff\xfe MemoryError\n").answer().diagnosis.cls == "host_oom"
    assert of("\udcff MemoryError\n").answer().diagnosis.cls == "host_oom"


def test_a_line_without_an_end_is_read_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_module, "MAX_PENDING", 2000)
    stream = of("x" * 1600 + " MemoryError" + "y" * 512)
    assert len(b"".join(stream._pending.values())) == 512
    stream.feed("z\ntokens 1/32\n")
    assert stream.answer().diagnosis.cls == "host_oom"
    short = of("x" * 2000)
    assert len(b"".join(short._pending.values())) == 2000
    monkeypatch.undo()
    assert engine_module.MAX_PENDING == 1 << 20


@pytest.mark.parametrize("cut", range(1, 40))
def test_a_question_waits_for_its_answer_wherever_the_pieces_are_cut(cut: int) -> None:
    text = "tokens 1/32\nuser@h:~$ echo $?\n137\nuser@h:~$ "
    found = of(text[:cut], text[cut:]).answer().diagnosis
    assert (found.cls, found.facts.get("exit")) == ("host_oom", 137)


def test_a_question_without_an_answer_says_nothing() -> None:
    stream = of("tokens 1/32\nuser@h:~$ echo $?\n")
    assert stream.answer().diagnosis.cls == "in_progress"
    stream.feed("137\n")
    assert stream.answer().diagnosis.cls == "host_oom"
    assert of("tokens 1/32\n" + "x" * 400 + "echo $?\n", "137\n").answer().diagnosis.cls == "in_progress"


def test_what_is_told_of_the_run_counts_like_its_output() -> None:
    stream = Stream()
    stream.tell(ranks=4, tp=4)
    stream.feed("RuntimeError: shape '[1, 9, -1, 64]' is invalid for input of size 4608\n")
    found = stream.answer().diagnosis
    assert (found.cls, found.facts["tp"], found.facts["ranks"]) == ("sharding", 4, 4)


@pytest.mark.parametrize(
    ("alive", "compilers", "holder", "offer"),
    [(None, None, None, False), (None, 0, False, True), (None, 1, True, False), (True, 0, True, False), (False, 3, False, True)],
)  # fmt: skip
def test_a_lock_is_offered_by_who_could_hold_it(
    alive: bool | None, compilers: int | None, holder: bool | None, offer: bool
) -> None:
    state = of(LOCK, facts=Facts(compilers_alive=compilers)).answer(holder_alive=alive)
    assert (state.diagnosis.cls, state.holder_alive, state.offer_remove) == ("cache_lock_wait", holder, offer)


def test_a_download_lock_is_nobodys_compilers() -> None:
    waits = "Still waiting to acquire lock on /h/.locks/x (elapsed: 60.0 seconds)\n"
    assert of(waits, facts=Facts(compilers_alive=0)).answer().offer_remove is False
    assert of(waits).answer(holder_alive=False).offer_remove is True


def test_a_wait_in_a_collective_is_no_failure_and_a_time_out_is() -> None:
    assert diagnose("Timeout waiting for RX (waited 120 sec)").severity == "wait"
    assert diagnose(call() + "." * 400).severity == "wait"
    assert diagnose("RuntimeError: run timed out after 3600 s").severity == "fail"


def test_the_deciding_line_is_in_the_summary() -> None:
    text = LOAD + ranked(1, trace("RuntimeError: [NCC_INLA001] Unhandled exception with message: odd shape"))
    found = diagnose(text + "the end\n")
    assert "odd shape" in found.summary
    assert found.rule == "ncc-code"
    assert found.evidence[0].endswith("odd shape")
    assert "last words" in diagnose("first\nlast words\n").summary
    assert diagnose("first\nlast words\n").rule == ""
    assert "SystemExit: 3" in diagnose("SystemExit: 3\nbye\n").summary
    assert "permission denied" in diagnose("permission denied here\nbye\n").summary


def test_advice_keeps_the_hint_of_a_rule_and_adds_to_that_of_a_class() -> None:
    quota = diagnose("OSError: [Errno 122] Disk quota exceeded")
    assert quota.summary == "Your disk quota is used up"
    assert advise(quota, Facts(disk_free=72 << 30)).hint == quota.hint
    full = diagnose("OSError: [Errno 28] No space left on device")
    assert advise(full, Facts(disk_free=72 << 30)).hint == HINTS["disk_full"] + " 72.0 GiB are free here."


def test_text_none_and_bytes_are_the_same_input() -> None:
    assert diagnose(None).cls == diagnose("").cls == diagnose(b"").cls == "empty"
    assert diagnose(b"MemoryError") == diagnose("MemoryError")
    assert diagnose(b"MemoryError", Facts(ram_total=64 << 30)).hint.endswith("This host has 64.0 GiB of RAM.")


def test_graphs_compiled_are_counted_in_the_answer() -> None:
    assert of(call() + "...\nCompiler status PASS\n" + call(2)).answer().compiles_done == 1
