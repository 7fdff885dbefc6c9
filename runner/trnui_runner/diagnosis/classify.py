"""From what was seen to the class: root cause before consequence, specific before generic, first before later, a fault before a
wait before a warning before a result; and nothing that the run got over."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from trnui_runner.diagnosis.model import Kind
from trnui_runner.diagnosis.observations import Hit, Observations

# Ends that come from outside: they explain nothing that went wrong before them.
OUTSIDE = frozenset({"interrupted", "disk_full", "file_lock"})
DOTS = 300  # in a row, with nothing else said: about an hour
COMPILE = frozenset(
    {"compiler_failure", "unsupported_op", "unsupported_dtype", "graph_capture", "graph_too_large", "hbm_oom_compile"}
)


@dataclass(frozen=True)
class Verdict:
    """The class, the entry that decided, and those that say the same (evidence and facts)."""

    cls: str
    hit: Hit | None
    same: tuple[Hit, ...] = ()
    extra: dict[str, Any] | None = None


def decide(seen: Observations) -> Verdict:
    """The verdict on everything seen. Pure: the seen is only read."""
    hits = list(seen.hits.values())
    passed = max((h.last for h in hits if h.rule.id == "pass" and not h.suspect), default=-1)
    several = len(seen.ranks) > 1 or max(seen.ranks, default=0) > 0 or int(seen.facts.get("ranks", 1)) > 1
    fallbacks = [
        h
        for h in hits
        if not h.suspect and (h.cls == "eager_fallback" or (h.rule.id == "recompiles" and passed > h.first))
    ]

    faults = [
        h
        for h in hits
        if h.rule.kind is Kind.FAULT and counts(h, several, hits) and not over(h, seen, passed, fallbacks)
    ]
    if faults:
        best = worst(faults)
        cls = best.cls
        if best.rule.id == "not-cached" and any(h.rule.id == "offline-set" for h in hits):
            cls = "hub_offline"
        return Verdict(cls, best, same(best, hits))
    behind = [h for h in hits if h.rule.kind is Kind.AFTER and h.cls and counts(h, several, hits) and h.last > passed]
    ends = [h for h in behind if h.rule.alone]
    behind = [h for h in behind if not h.rule.alone]
    crash = None if passed >= 0 or fallbacks else crashed(ends, seen)
    if behind:
        best = min(behind, key=lambda h: (-h.rule.tier, h.first))
        if crash is None or not explains(crash, best):
            return Verdict(best.cls, best, same(best, hits))
    failed = [h for h in hits if h.rule.id == "fail" and h.last > passed and not h.suspect]
    checked = any(h.rule.phase in ("generate", "check") and not h.suspect for h in hits)
    if crash is not None and not (failed and checked and "AssertionError" in crash.lines[0]):
        return Verdict("unknown", crash, (crash,))
    if failed:
        return Verdict("numerical_mismatch" if checked else "unknown", failed[0], tuple(failed))
    launched = [h for h in hits if h.rule.kind is Kind.AFTER and not h.cls and h.last > passed and not h.suspect]
    if launched and not fallbacks:
        return Verdict("unknown", launched[0], tuple(launched))
    idle = seen.dots >= DOTS and passed < 0
    waiting = [
        h for h in hits if h.rule.kind is Kind.WAITING and not h.suspect and not over(h, seen, passed, fallbacks)
    ]
    if waiting:
        best = max(waiting, key=lambda h: (min(h.rule.tier, 1), h.last))
        return Verdict(best.cls, best, same(best, hits))
    if idle:
        dots = [h for h in hits if h.rule.id in ("dots", "compile-call")]
        return Verdict("timeout_hang", dots[0], tuple(dots))
    if fallbacks:
        return Verdict("eager_fallback", fallbacks[0], tuple(fallbacks) + tuple(h for h in hits if h.rule.id == "pass"))
    missed = [h for h in hits if h.rule.id == "miss-said" and not h.suspect]
    if not missed and seen.counts.get("miss") and not seen.counts.get("hit") and expected(hits):
        missed = [h for h in hits if h.rule.id == "miss"]
    if missed:
        return Verdict(
            "cache_miss", missed[0], tuple(missed) + tuple(h for h in hits if h.rule.id == "miss" and h not in missed)
        )
    good = [h for h in hits if h.rule.id == "pass" and not h.suspect]
    if good:
        more = tuple(h for h in hits if h.rule.kind is Kind.PROGRESS and h.rule.counts and not h.suspect)
        return Verdict("ok", good[-1], (good[-1], *more))
    moving = [h for h in hits if h.rule.kind is Kind.PROGRESS and h.rule.phase and not h.suspect]
    if moving:
        latest = sorted(moving, key=lambda h: h.last)
        return Verdict("in_progress", latest[-1], tuple(reversed(latest[-4:])))
    if not seen.printable:
        return Verdict("empty", None)
    return Verdict("unknown", None)


def crashed(ends: list[Hit], seen: Observations) -> Hit | None:
    """An exception or a signal after which its rank did nothing more: the run is over, whatever the reason."""
    for hit in sorted(ends, key=lambda h: h.first):
        on = [at for rank, at in seen.onward.items() if rank is None or not hit.ranks or rank in hit.ranks]
        if max(on, default=-1) < hit.last:
            return hit
    return None


def explains(crash: Hit, peer: Hit) -> bool:
    """Whether a rank's own crash stands before the words of those that lost it, or is another rank's."""
    if peer.cls != "distributed_comm":
        return False
    return crash.first < peer.first or bool(crash.ranks and peer.ranks and not crash.ranks & peer.ranks)


def near(hits: list[Hit], mark: str, best: Hit, lines: int = 40) -> bool:
    """A mark of this rule stands just before the entry."""
    return any(h.rule.id == mark and h.first <= best.first and best.first - h.last <= lines for h in hits)


def expected(hits: list[Hit]) -> bool:
    """Graphs were fetched beforehand, or the cache was seen to hold those of another compiler."""
    return any(h.rule.id in ("synced", "cache-listed") for h in hits)


def counts(hit: Hit, several: bool, hits: list[Hit]) -> bool:
    """Whether a fault's line stood where it means something: not in the model's text, and in the phase that the rule asks for."""
    if hit.suspect and not hit.raised:
        return False
    if hit.rule.near and not near(hits, hit.rule.near, hit):
        return False
    phases = hit.rule.phases
    if "sharded" in phases:
        return several
    return not phases or hit.phase in phases


def over(hit: Hit, seen: Observations, passed: int, fallbacks: list[Hit]) -> bool:
    """Whether the run got over it: it passed afterwards, went on without the graph, or moved on after a retry or a wait."""
    if passed > hit.last or (passed >= 0 and passed > hit.first):
        return True
    if (
        fallbacks
        and hit.cls in COMPILE
        and max(f.last for f in fallbacks) >= hit.first
        and hit.last <= max(f.last for f in fallbacks) + 2
    ):
        return True
    if not hit.rule.passing or hit.raised:
        return False
    mine = [at for rank, at in seen.onward.items() if rank is None or not hit.ranks or rank in hit.ranks]
    return max(mine, default=-1) > hit.last


def worst(faults: list[Hit]) -> Hit:
    """Of several faults: what says most, then what came first; an end from outside only if nothing had failed before it."""
    inside = [h for h in faults if h.cls not in OUTSIDE and h.rule.tier >= 2]
    outside = [h for h in faults if h.cls in OUTSIDE and h.rule.tier >= 2]
    if outside:
        first = min(outside, key=lambda h: h.first)
        if not inside or first.first <= min(h.first for h in inside):
            return first
    pool = inside or faults
    # a line that repeats a remembered failure quotes that failure's code
    return min(pool, key=lambda h: (-h.rule.tier, h.first, h.cls != "cache_failed_entry"))


def same(best: Hit, hits: list[Hit]) -> tuple[Hit, ...]:
    """Entries of the same class, the nearest first: their lines are evidence, their facts fill gaps."""
    alike = [h for h in hits if h is not best and h.cls == best.cls and h.suspect == best.suspect]
    return (best, *sorted(alike, key=lambda h: (-h.rule.tier, abs(h.first - best.first))))
