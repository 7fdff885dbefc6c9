"""What decides over what, on entries built by hand: one test a rule of precedence, without a text to read."""

from __future__ import annotations

from typing import Any

import pytest

from trnui_runner.diagnosis.classify import COMPILE, DEATHS, OUTSIDE, decide, scene_of, worst
from trnui_runner.diagnosis.model import LineWeight, Rule
from trnui_runner.diagnosis.observations import Hit, Observations

ODD = "RuntimeError: odd"


def entry(
    id: str, cls: str, kind: LineWeight, first: int, last: int | None = None, *, line: str = ODD, ranks: tuple[int, ...] = (),
    raised: bool = False, suspect: bool = False, phase: str = "load", facts: dict[str, Any] | None = None, **rule: Any,
) -> Hit:  # fmt: skip
    made = Rule(id, cls, kind, ("x",), "a reason", "a source", **rule)
    last = first if last is None else last
    return Hit(made, cls, first, last, facts or {}, [line], line, phase, raised, ranks=set(ranks), suspect=suspect)


def fault(cls: str, first: int, last: int | None = None, *, id: str = "", **more: Any) -> Hit:
    return entry(id or f"fault-{cls}", cls, LineWeight.FAULT, first, last, **more)


def after(id: str, cls: str, first: int, **more: Any) -> Hit:
    return entry(id, cls, LineWeight.AFTER, first, **more)


def crash(first: int, **more: Any) -> Hit:
    return after("uncaught", "unknown", first, **({"alone": True, "tier": -1, "passing": True} | more))


def passed(at: int, **more: Any) -> Hit:
    return entry("pass", "ok", LineWeight.RESULT, at, phase="done", **more)


def failed(at: int, **more: Any) -> Hit:
    return entry("fail", "", LineWeight.RESULT, at, **more)


def exit_zero(at: int, id: str = "exit-zero-asked") -> Hit:
    return entry(id, "in_progress", LineWeight.RESULT, at)


def moves(id: str, at: int, **more: Any) -> Hit:
    return entry(id, "in_progress", LineWeight.PROGRESS, at, **({"phase": "load"} | more))


def progress(id: str, at: int, phase: str = "load", **more: Any) -> Hit:
    made = Rule(
        id,
        "in_progress",
        LineWeight.PROGRESS,
        ("x",),
        "a reason",
        "a source",
        phase=phase,
        counts=more.pop("counts", ""),
    )
    return Hit(made, "in_progress", at, at, {}, [f"{id} at {at}"], f"{id} at {at}", phase, False, **more)


def waiting(cls: str, at: int, **more: Any) -> Hit:
    return entry(f"wait-{cls}", cls, LineWeight.WAITING, at, passing=True, **more)


def fallback(at: int, last: int | None = None, **more: Any) -> Hit:
    return entry("fallback-graph", "eager_fallback", LineWeight.WARNING, at, last, **more)


def observed(*hits: Hit, **more: Any) -> Observations:
    return Observations(hits={(h.rule.id, h.cls, bool(n)): h for n, h in enumerate(hits)}, **more)


def verdict(*hits: Hit, **more: Any) -> tuple[str, str]:
    """(class, rule that decided)"""
    found = decide(observed(*hits, **({"printable": True} | more)))
    return found.cls, found.hit.rule.id if found.hit else ""


# -- faults


def test_a_fault_decides_over_all_else() -> None:
    weaker = (
        after("peer", "distributed_comm", 1),
        crash(2),
        failed(3),
        waiting("cache_lock_wait", 4),
        progress("load", 5),
    )
    assert verdict(*weaker, fault("hbm_oom", 9))[0] == "hbm_oom"


def test_what_says_most_decides_then_what_came_first() -> None:
    assert worst([fault("a", 1, tier=2), fault("b", 5, tier=3)]).cls == "b"
    assert worst([fault("a", 5), fault("b", 1)]).cls == "b"
    assert worst([fault("a", 1), fault("cache_failed_entry", 1)]).cls == "cache_failed_entry"
    assert worst([fault("a", 1, tier=1)]).cls == "a"
    assert worst([fault("a", 2, tier=1), fault("b", 1, tier=1)]).cls == "b"


@pytest.mark.parametrize("cls", ["interrupted", "disk_full", "file_lock"])
def test_an_end_from_outside_explains_nothing_that_failed_before_it(cls: str) -> None:
    assert cls in OUTSIDE
    assert worst([fault("sharding", 3, tier=2), fault(cls, 5)]).cls == "sharding"
    assert worst([fault("sharding", 5), fault(cls, 3, tier=2)]).cls == cls
    assert worst([fault("sharding", 4), fault(cls, 4, tier=2)]).cls == cls
    assert worst([fault("sharding", 5, tier=1), fault(cls, 9, tier=2)]).cls == cls
    assert worst([fault("sharding", 5, tier=2), fault(cls, 3, tier=1)]).cls == "sharding"


def test_a_file_that_is_not_cached_in_offline_mode_is_offline() -> None:
    missing = fault("hub_network", 5, id="not-cached", tier=1)
    assert verdict(missing)[0] == "hub_network"
    assert verdict(missing, moves("offline-set", 1))[0] == "hub_offline"
    assert verdict(fault("hub_network", 5), moves("offline-set", 1))[0] == "hub_network"


def test_entries_of_the_class_come_along_the_nearest_first() -> None:
    best, near, far = fault("hbm_oom", 9), fault("hbm_oom", 12, id="b"), fault("hbm_oom", 30, id="c")
    weaker, other = fault("hbm_oom", 10, id="d", tier=1), fault("sharding", 40)
    found = decide(observed(far, best, weaker, near, other))
    assert [h.rule.id for h in found.same] == ["fault-hbm_oom", "b", "c", "d"]


def test_words_of_the_model_are_no_fault_unless_an_exception_was_raised() -> None:
    assert verdict(fault("host_oom", 5, suspect=True), progress("load", 1))[0] == "in_progress"
    assert verdict(fault("host_oom", 5, suspect=True, raised=True))[0] == "host_oom"


def test_a_rule_near_a_mark_counts_only_there() -> None:
    remote = fault("remote_code", 50, near="frame")
    assert verdict(remote)[0] == "unknown"
    assert verdict(remote, moves("frame", 10, last=10))[0] == "remote_code"
    assert verdict(fault("remote_code", 51, near="frame"), moves("frame", 10))[0] == "unknown"
    assert verdict(remote, moves("frame", 5, last=30))[0] == "remote_code"
    assert verdict(remote, moves("frame", 50))[0] == "remote_code"
    assert verdict(remote, moves("frame", 51))[0] == "unknown"


def test_a_rule_of_a_phase_counts_only_in_it() -> None:
    assert (
        verdict(fault("compiler_failure", 5, phase="compile", phases=frozenset({"compile"})))[0] == "compiler_failure"
    )
    assert verdict(fault("compiler_failure", 5, phase="load", phases=frozenset({"compile"})))[0] == "unknown"


@pytest.mark.parametrize(
    ("ranks", "facts", "cls"),
    [(set(), {}, "unknown"), ({0}, {}, "unknown"), ({1}, {}, "sharding"), ({0, 1}, {}, "sharding"),
     (set(), {"ranks": 2}, "sharding"), (set(), {"ranks": 1}, "unknown")],
)  # fmt: skip
def test_a_shape_is_sharding_only_with_several_ranks(ranks: set[int], facts: dict[str, int], cls: str) -> None:
    split = fault("sharding", 5, phases=frozenset({"sharded"}))
    assert decide(observed(split, ranks=ranks, facts=facts, printable=True)).cls == cls


# -- what a run gets over


def test_a_pass_is_over_all_that_began_before_it() -> None:
    assert verdict(fault("hub_network", 5), passed(6))[0] == "ok"
    assert verdict(fault("hub_network", 5, 9), passed(6))[0] == "ok"
    assert verdict(fault("hub_network", 6), passed(6))[0] == "hub_network"
    assert verdict(fault("hub_network", 7), passed(6))[0] == "hub_network"
    assert verdict(fault("hub_network", 5), passed(6, suspect=True))[0] == "hub_network"


def test_a_retry_is_over_when_its_rank_moves_on() -> None:
    retry = fault("hub_network", 5, passing=True)
    assert verdict(retry, progress("load", 1), onward={None: 6})[0] == "in_progress"
    assert verdict(retry, progress("load", 1), onward={None: 5})[0] == "hub_network"
    assert verdict(fault("hub_network", 5), progress("load", 1), onward={None: 6})[0] == "hub_network"
    assert verdict(fault("hub_network", 5, passing=True, raised=True), onward={None: 6})[0] == "hub_network"
    of_rank = fault("hub_network", 5, passing=True, ranks=(1,))
    assert verdict(of_rank, onward={0: 9})[0] == "hub_network"
    assert verdict(of_rank, progress("load", 1), onward={1: 9})[0] == "in_progress"
    assert verdict(of_rank, progress("load", 1), onward={None: 9})[0] == "in_progress"


@pytest.mark.parametrize("cls", sorted(DEATHS - {""}))
@pytest.mark.parametrize("id", ["exit-zero", "exit-zero-asked"])
def test_nothing_that_was_killed_ends_with_exit_code_0(cls: str, id: str) -> None:
    found = verdict(fault(cls, 5), progress("load", 1), exit_zero(6, id))
    assert found == ("in_progress", id)
    assert verdict(fault(cls, 6), exit_zero(6, id))[0] == cls


def test_exit_code_0_hides_no_cause() -> None:
    assert verdict(fault("unsupported_op", 5), exit_zero(6))[0] == "unsupported_op"
    assert verdict(fault("hub_rate_limit", 5, passing=True, raised=True), exit_zero(6))[0] == "in_progress"
    assert verdict(crash(5), exit_zero(6))[0] == "in_progress"
    assert verdict(crash(7), exit_zero(6))[0] == "unknown"


def test_work_after_exit_code_0_is_another_run() -> None:
    assert verdict(exit_zero(5), progress("load", 6)) == ("in_progress", "load")
    assert verdict(exit_zero(6), progress("load", 6)) == ("in_progress", "exit-zero-asked")
    assert verdict(exit_zero(6), passed(3)) == ("ok", "pass")


@pytest.mark.parametrize("cls", sorted(COMPILE))
def test_a_graph_that_ran_uncompiled_explains_its_compile_error(cls: str) -> None:
    assert verdict(fault(cls, 5), fallback(5))[0] == "eager_fallback"
    assert verdict(fault(cls, 5, 8), fallback(6))[0] == "eager_fallback"
    assert verdict(fault(cls, 5, 9), fallback(6))[0] == cls
    assert verdict(fault(cls, 7, 7), fallback(6))[0] == cls
    assert verdict(fault(cls, 7, 7), fallback(2, 8))[0] == "eager_fallback"


def test_a_fallback_explains_no_other_fault() -> None:
    assert verdict(fault("hbm_oom", 5), fallback(6))[0] == "hbm_oom"


def test_recompiles_that_a_pass_follows_are_a_fallback() -> None:
    assert verdict(fault("graph_capture", 5, id="recompiles"), passed(6))[0] == "eager_fallback"
    assert verdict(fault("graph_capture", 5, id="recompiles"))[0] == "graph_capture"
    assert scene_of(observed(fallback(3, suspect=True))).fallbacks == ()


# -- ends


def test_a_lost_peer_counts_where_nothing_else_explains_the_end() -> None:
    peer = after("peer", "distributed_comm", 5, ranks=(0,))
    assert verdict(peer)[0] == "distributed_comm"
    assert verdict(peer, crash(3, ranks=(0,))) == ("unknown", "uncaught")
    assert verdict(peer, crash(7, ranks=(1,))) == ("unknown", "uncaught")
    assert verdict(peer, crash(7, ranks=(0,)))[0] == "distributed_comm"
    assert verdict(peer, crash(7))[0] == "distributed_comm"
    assert verdict(peer, crash(5, ranks=(0,)))[0] == "distributed_comm"
    assert verdict(peer, passed(6))[0] == "ok"
    assert verdict(after("import-generic", "version_mismatch", 5), crash(3))[0] == "version_mismatch"


@pytest.mark.parametrize("id", ["traceback", "uncaught-behind"])
def test_a_tracebacks_head_explains_no_lost_peer(id: str) -> None:
    head = after(id, "unknown", 3, alone=True, tier=-3)
    assert verdict(after("peer", "distributed_comm", 5), head)[0] == "distributed_comm"


def test_of_what_is_left_behind_the_strongest_then_the_first() -> None:
    weak, strong = after("a", "host_oom", 1, tier=0), after("b", "distributed_comm", 2, tier=2)
    assert verdict(weak, strong)[1] == "b"
    assert verdict(after("a", "host_oom", 4, tier=2), strong)[1] == "b"


def test_a_crash_is_unknown_unless_its_rank_moved_on() -> None:
    assert verdict(crash(5), progress("load", 1), onward={None: 1}) == ("unknown", "uncaught")
    assert verdict(crash(5), progress("load", 1), onward={None: 6})[0] == "in_progress"
    assert verdict(crash(5), passed(3))[0] == "ok"
    assert verdict(crash(5), fallback(3))[0] == "eager_fallback"


def test_the_crash_that_says_most_is_quoted() -> None:
    head = after("traceback", "unknown", 3, alone=True, tier=-3)
    assert verdict(head, crash(5))[1] == "uncaught"
    assert verdict(after("second", "unknown", 6, alone=True, tier=-1), crash(5))[1] == "uncaught"


def test_a_check_that_failed_and_raised_is_a_wrong_result() -> None:
    raised = crash(9, line="AssertionError")
    checked = progress("tokens", 5, "generate")
    assert verdict(failed(8), checked, raised)[0] == "numerical_mismatch"
    assert verdict(failed(8), progress("check", 5, "check"), raised)[0] == "numerical_mismatch"
    assert verdict(failed(8), raised) == ("unknown", "uncaught")
    assert verdict(failed(8), checked, crash(9)) == ("unknown", "uncaught")
    assert verdict(failed(8)) == ("unknown", "fail")
    assert verdict(failed(8), progress("tokens", 5, "generate", suspect=True)) == ("unknown", "fail")
    assert verdict(failed(8), passed(9))[0] == "ok"
    assert verdict(failed(9), passed(9))[0] == "ok"


def test_a_launchers_word_is_the_last_that_is_asked() -> None:
    report = after("launcher", "", 5, tier=0, passing=True)
    assert verdict(report, progress("load", 1)) == ("unknown", "launcher")
    assert verdict(report, progress("load", 1), onward={None: 6})[0] == "in_progress"
    assert verdict(report, fallback(2))[0] == "eager_fallback"
    assert verdict(report, passed(6))[0] == "ok"
    assert verdict(report, passed(4)) == ("unknown", "launcher")
    assert verdict(after("launcher", "", 5, suspect=True, raised=True), progress("load", 1))[0] == "in_progress"
    assert verdict(after("firm", "", 5), onward={None: 6}) == ("unknown", "firm")


def test_of_reports_the_one_with_an_exit_code_decides() -> None:
    coded = after("exit-code", "unknown", 9, facts={"exit": 1})
    assert verdict(after("launcher", "", 5), coded) == ("unknown", "exit-code")
    assert verdict(after("launcher", "", 5), after("other", "", 4)) == ("unknown", "other")


# -- waits, warnings, results, progress


def test_a_wait_decides_over_progress_and_is_over_when_work_moves() -> None:
    assert verdict(waiting("cache_lock_wait", 5), progress("load", 1))[0] == "cache_lock_wait"
    assert verdict(waiting("cache_lock_wait", 5), progress("load", 1), onward={None: 6})[0] == "in_progress"
    assert verdict(waiting("cache_lock_wait", 5, suspect=True), progress("load", 1))[0] == "in_progress"
    assert verdict(waiting("cache_lock_wait", 5), waiting("timeout_hang", 6))[0] == "timeout_hang"
    assert verdict(waiting("cache_lock_wait", 5), waiting("timeout_hang", 6, tier=0))[0] == "cache_lock_wait"
    assert verdict(waiting("cache_lock_wait", 5, tier=1), waiting("timeout_hang", 4))[0] == "cache_lock_wait"


def test_an_hour_of_dots_is_a_hang() -> None:
    dots, call = progress("dots", 5, "compile"), progress("compile-call", 4, "compile")
    assert verdict(dots, dots=299)[0] == "in_progress"
    assert verdict(dots, dots=300) == ("timeout_hang", "dots")
    assert decide(observed(call, dots, dots=300)).same == (call, dots)
    assert verdict(dots, passed(6), dots=300)[0] == "ok"
    assert verdict(dots, passed(0), dots=300)[0] == "ok"


def test_a_fallback_brings_the_pass_along() -> None:
    found = decide(observed(fallback(3), passed(6)))
    assert (found.cls, [h.rule.id for h in found.same]) == ("eager_fallback", ["fallback-graph", "pass"])


def test_misses_count_where_hits_were_expected() -> None:
    miss, synced = progress("miss", 5, "compile"), progress("synced", 1, "")
    said = entry("miss-said", "cache_miss", LineWeight.WARNING, 4)
    assert verdict(miss)[0] == "in_progress"
    assert verdict(miss, synced) == ("cache_miss", "miss")
    assert verdict(miss, progress("cache-listed", 1, "")) == ("cache_miss", "miss")
    assert verdict(miss, synced, counts={"hit": 1})[0] == "in_progress"
    assert decide(observed(miss, said)).same == (said, miss)
    assert verdict(said, passed(9))[0] == "cache_miss"
    assert verdict(entry("miss-said", "cache_miss", LineWeight.WARNING, 4, suspect=True), passed(9))[0] == "ok"


def test_a_pass_brings_what_was_counted() -> None:
    counted, other = progress("compile-pass", 2, "compile", counts="compiled"), progress("load", 1)
    found = decide(observed(counted, other, passed(6)))
    assert (found.cls, [h.rule.id for h in found.same]) == ("ok", ["pass", "compile-pass"])
    assert verdict(passed(6, suspect=True), progress("load", 1))[0] == "in_progress"


def test_progress_is_the_latest_with_those_before_it() -> None:
    steps = [progress(f"step-{n}", n) for n in (3, 1, 5, 2, 4)]
    found = decide(observed(*steps))
    assert found.hit is not None
    assert (found.cls, found.hit.rule.id) == ("in_progress", "step-5")
    assert [h.rule.id for h in found.same] == ["step-5", "step-4", "step-3", "step-2"]
    assert verdict(progress("world", 9, ""), progress("load", 1)) == ("in_progress", "load")


def test_without_anything_known_text_is_unknown_and_none_is_empty() -> None:
    assert verdict(printable=False) == ("empty", "")
    assert verdict() == ("unknown", "")
