"""From what was seen to the class: root cause before consequence, specific before generic, first before later, a fault before a
wait before a warning before a result; and nothing that the run got over. Each step of `STEPS` answers or leaves it to the next."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from trnui_runner.diagnosis.model import LineWeight
from trnui_runner.diagnosis.observations import Hit, Observations

# Ends that come from outside: they explain nothing that went wrong before them.
OUTSIDE: Final = frozenset({"interrupted", "disk_full", "file_lock"})
DOTS: Final = 300  # in a row, with nothing else said: about an hour
COMPILE: Final = frozenset(
    {"compiler_failure", "unsupported_op", "unsupported_dtype", "graph_capture", "graph_too_large", "hbm_oom_compile"}
)
# What ends a process: none of it is true of one that ended with exit code 0.
DEATHS: Final = frozenset({"host_oom", "interrupted", "timeout_hang", "distributed_comm", "unknown", ""})


@dataclass(frozen=True)
class Verdict:
    """The class, the entry that decided, and those that say the same (evidence and facts)."""

    cls: str
    hit: Hit | None
    same: tuple[Hit, ...] = ()


@dataclass(frozen=True)
class Findings:
    """Everything seen, with what several steps ask of it."""

    seen: Observations
    hits: tuple[Hit, ...]
    passed: int  # the line of the last PASS, -1: none
    exit_zero: int  # the line that says last that the command ended with exit code 0, -1: none
    several: bool  # more than one rank
    fallbacks: tuple[Hit, ...]  # graphs or operators that ran uncompiled or on the CPU

    def of(self, kind: LineWeight) -> list[Hit]:
        """Entries of a kind that stood outside the model's text."""
        return [hit for hit in self.hits if hit.rule.kind is kind and not hit.suspect]

    def by(self, *rules: str) -> list[Hit]:
        """Entries of these rules that stood outside the model's text."""
        return [hit for hit in self.hits if hit.rule.id in rules and not hit.suspect]

    def moved_on(self, hit: Hit) -> bool:
        """Whether the entry's ranks (all, if it names none) got on with their work after it."""
        mine = (at for rank, at in self.seen.onward.items() if rank is None or not hit.ranks or rank in hit.ranks)
        return max(mine, default=-1) > hit.last


def scene_of(seen: Observations) -> Findings:
    hits = tuple(seen.hits.values())
    spoken = [hit for hit in hits if not hit.suspect]
    passed = max((hit.last for hit in spoken if hit.rule.id == "pass"), default=-1)
    return Findings(
        seen,
        hits,
        passed,
        max((hit.last for hit in spoken if hit.rule.id in ("exit-zero", "exit-zero-asked")), default=-1),
        len(seen.ranks) > 1 or max(seen.ranks, default=0) > 0 or int(seen.facts.get("ranks", 1)) > 1,
        tuple(
            hit for hit in spoken if hit.cls == "eager_fallback" or (hit.rule.id == "recompiles" and passed > hit.first)
        ),
    )


def decide(seen: Observations) -> Verdict:
    """The verdict on everything seen. Pure: the observations are only read."""
    scene = scene_of(seen)
    return next(verdict for step in STEPS if (verdict := step(scene)) is not None)


# -- steps, the weightiest first


def broken(scene: Findings) -> Verdict | None:
    """A fault that the run did not get over."""
    faults = [h for h in scene.hits if h.rule.kind is LineWeight.FAULT and counts(h, scene) and not got_over(h, scene)]
    if not faults:
        return None
    best = worst(faults)
    offline = best.rule.id == "not-cached" and any(hit.rule.id == "offline-set" for hit in scene.hits)
    return Verdict("hub_offline" if offline else best.cls, best, same(best, scene))


def left_behind(scene: Findings) -> Verdict | None:
    """What another failure leaves behind, if no crash of its own explains it."""
    behind = [hit for hit in aftermath(scene) if hit.cls not in ("", "unknown")]
    if not behind:
        return None
    best = min(behind, key=lambda hit: (-hit.rule.tier, hit.first))
    crash = crashed(scene)
    if crash is not None and explains(crash, best):
        return None
    return Verdict(best.cls, best, same(best, scene))


def ended_badly(scene: Findings) -> Verdict | None:
    """An exception, a signal or a status that no rule knows the reason of; a failed check that raised is the check's."""
    crash = crashed(scene)
    if crash is None or (failed_checks(scene) and checked(scene) and "AssertionError" in crash.lines[0]):
        return None
    return Verdict("unknown", crash, (crash,))


def said_fail(scene: Findings) -> Verdict | None:
    failed = failed_checks(scene)
    if not failed:
        return None
    return Verdict("numerical_mismatch" if checked(scene) else "unknown", failed[0], tuple(failed))


def launcher_says(scene: Findings) -> Verdict | None:
    """A launcher or a shell reports that somebody failed, and nobody says why."""
    if scene.fallbacks:
        return None
    reports = [h for h in aftermath(scene) if h.cls in ("", "unknown") and not h.rule.alone and not h.suspect]
    reports = [h for h in reports if not h.rule.passing or not scene.moved_on(h)]
    best = min(reports, key=lambda hit: ("exit" not in hit.facts, hit.first), default=None)
    return Verdict("unknown", best, tuple(reports)) if best is not None else None


def waits(scene: Findings) -> Verdict | None:
    waiting = [hit for hit in scene.of(LineWeight.WAITING) if not got_over(hit, scene)]
    if not waiting:
        return None
    best = max(waiting, key=lambda hit: (min(hit.rule.tier, 1), hit.last))
    return Verdict(best.cls, best, same(best, scene))


def only_dots(scene: Findings) -> Verdict | None:
    """A compiler that printed nothing but signs of life for about an hour."""
    if scene.seen.dots < DOTS or scene.passed >= 0:
        return None
    dots = [hit for hit in scene.hits if hit.rule.id in ("dots", "compile-call")]
    return Verdict("timeout_hang", dots[0], tuple(dots))


def fell_back(scene: Findings) -> Verdict | None:
    if not scene.fallbacks:
        return None
    passes = tuple(hit for hit in scene.hits if hit.rule.id == "pass")
    return Verdict("eager_fallback", scene.fallbacks[0], scene.fallbacks + passes)


def missed_cache(scene: Findings) -> Verdict | None:
    """Graphs that were expected in the cache and were not there: said so, or fetched beforehand and never hit."""
    missed = scene.by("miss-said")
    every = [hit for hit in scene.hits if hit.rule.id == "miss"]
    if not missed and every and not scene.seen.counts.get("hit") and expected(scene):
        missed = every
    if not missed:
        return None
    return Verdict("cache_miss", missed[0], (*missed, *(hit for hit in every if hit not in missed)))


def said_pass(scene: Findings) -> Verdict | None:
    good = scene.by("pass")
    if not good:
        return None
    counted = (hit for hit in scene.of(LineWeight.PROGRESS) if hit.rule.counts)
    return Verdict("ok", good[-1], (good[-1], *counted))


def ended_well(scene: Findings) -> Verdict | None:
    """The command ended with exit code 0 and said nothing of a result, and nothing moved afterwards."""
    ends = scene.by("exit-zero", "exit-zero-asked")
    if not ends or any(hit.last > scene.exit_zero for hit in moving(scene)):
        return None
    return Verdict("in_progress", max(ends, key=lambda hit: hit.last), tuple(ends))


def moves(scene: Findings) -> Verdict | None:
    latest = sorted(moving(scene), key=lambda hit: hit.last)
    return Verdict("in_progress", latest[-1], tuple(reversed(latest[-4:]))) if latest else None


def nothing_known(scene: Findings) -> Verdict | None:
    return Verdict("unknown" if scene.seen.printable else "empty", None)


STEPS: Final[tuple[Callable[[Findings], Verdict | None], ...]] = (
    broken,
    left_behind,
    ended_badly,
    said_fail,
    launcher_says,
    waits,
    only_dots,
    fell_back,
    missed_cache,
    said_pass,
    ended_well,
    moves,
    nothing_known,
)


# -- what the steps ask


def aftermath(scene: Findings) -> list[Hit]:
    """Entries that follow from another failure and were not ended well after."""
    last_good = max(scene.passed, scene.exit_zero)
    return [h for h in scene.hits if h.rule.kind is LineWeight.AFTER and counts(h, scene) and h.last > last_good]


def crashed(scene: Findings) -> Hit | None:
    """An exception or a signal after which its rank did nothing more: the run is over, whatever the reason. Of several, what says
    most, then the first."""
    if scene.passed >= 0 or scene.fallbacks:
        return None
    ends = [hit for hit in aftermath(scene) if hit.rule.alone and not scene.moved_on(hit)]
    return min(ends, key=lambda hit: (-hit.rule.tier, hit.first), default=None)


def failed_checks(scene: Findings) -> list[Hit]:
    return [hit for hit in scene.by("fail") if hit.last > scene.passed]


def checked(scene: Findings) -> bool:
    """Whether the run came as far as its check, so that FAIL is the check's word."""
    return any(hit.rule.phase in ("generate", "check") and not hit.suspect for hit in scene.hits)


def moving(scene: Findings) -> list[Hit]:
    return [hit for hit in scene.of(LineWeight.PROGRESS) if hit.rule.phase]


def explains(crash: Hit, peer: Hit) -> bool:
    """Whether a rank's own crash stands before the words of those that lost it, or is another rank's."""
    if peer.cls != "distributed_comm" or crash.rule.id in ("traceback", "uncaught-behind"):
        return False  # a traceback's own last line may be the lost peer
    return crash.first < peer.first or bool(crash.ranks and peer.ranks and not crash.ranks & peer.ranks)


def near(mark: str, hit: Hit, scene: Findings, lines: int = 40) -> bool:
    """Whether an entry of the rule `mark` stands just before this one."""
    return any(h.rule.id == mark and h.first <= hit.first and hit.first - h.last <= lines for h in scene.hits)


def expected(scene: Findings) -> bool:
    """Graphs were fetched beforehand, or the cache was seen to hold those of another compiler."""
    return any(hit.rule.id in ("synced", "cache-listed") for hit in scene.hits)


def counts(hit: Hit, scene: Findings) -> bool:
    """Whether a fault's line stood where it means something: not in the model's text, and in the phase that the rule asks for."""
    if hit.suspect and not hit.raised:
        return False
    if hit.rule.near and not near(hit.rule.near, hit, scene):
        return False
    phases = hit.rule.phases
    if "sharded" in phases:
        return scene.several
    return not phases or hit.phase in phases


def got_over(hit: Hit, scene: Findings) -> bool:
    """Whether the run got over it: it passed afterwards, went on without the graph, moved on after a retry or a wait, or ended
    with exit code 0, which nothing that was killed does."""
    if scene.passed > hit.first:
        return True
    if scene.exit_zero > hit.last and (hit.rule.passing or hit.cls in DEATHS):
        return True
    if scene.fallbacks and hit.cls in COMPILE:
        last = max(fallback.last for fallback in scene.fallbacks)
        if hit.first <= last and hit.last <= last + 2:
            return True
    return hit.rule.passing and not hit.raised and scene.moved_on(hit)


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


def same(best: Hit, scene: Findings) -> tuple[Hit, ...]:
    """Entries of the same class, the nearest first: their lines are evidence, their facts fill gaps."""
    alike = [h for h in scene.hits if h is not best and h.cls == best.cls and h.suspect == best.suspect]
    return (best, *sorted(alike, key=lambda h: (-h.rule.tier, abs(h.first - best.first))))
