"""The engine: a text to a diagnosis, a live stream to an answer at any moment. One path for both: a stream fed once is a text."""

from __future__ import annotations

import re
from typing import Any

from runner.diagnosis.decide import Verdict, decide
from runner.diagnosis.hints import hint
from runner.diagnosis.ledger import Hit, Ledger
from runner.diagnosis.types import CLASSES, Answer, Diagnosis, Facts, Kind
from runner.diagnosis.words import PHASE_WORDS, summary

MAX_PENDING = 1 << 20  # bytes of a line without an end; then it is read as it is
LINES = 12  # of evidence
_GRAPH_COUNTS = {"compiled": "graphs_compiled", "cached": "graphs_cached", "misses": "misses"}


class Stream:
    """Follows a run's output. Constant memory; `feed` costs about 3 µs a line, `answer` under a millisecond."""

    def __init__(self, facts: Facts | None = None) -> None:
        self.facts = facts or Facts()
        self._ledger = Ledger()
        self._pending: dict[str, bytes] = {}
        self._heard: float | None = None

    def feed(self, data: bytes | str, now: float = 0.0, stream: str = "out") -> None:
        """More output. `stream` tells apart what is torn apart: "out" and "err" have lines of their own."""
        block = data if isinstance(data, bytes) else data.encode("utf-8", "replace")
        if not block:
            return
        self._heard = now
        held = self._pending.pop(stream, b"")
        whole, end, rest = block.rpartition(b"\n")
        if end:
            self._ledger.feed(held + whole + end)
            held = rest
        else:
            held += block
        if len(held) > MAX_PENDING:
            self._ledger.feed(held[:-512] + b"\n")
            held = held[-512:]
        if held:
            self._pending[stream] = held

    def tell(self, **facts: Any) -> None:
        """Facts of the run that its output need not name: ranks, python."""
        self._ledger.facts.update(facts)

    def _looked_ahead(self) -> Ledger:
        if not self._pending:
            return self._ledger
        ahead = self._ledger.copy()
        for held in self._pending.values():
            ahead.feed(held + b"\n")
        return ahead

    def answer(self, now: float | None = None) -> Answer:
        """The state at `now` (the clock of `feed`)."""
        ledger = self._looked_ahead()
        diagnosis = worded(ledger, decide(ledger), self.facts)
        silent = max(0.0, now - self._heard) if now is not None and self._heard is not None else 0.0
        alive: bool | None = None
        offer = False
        if diagnosis.cls in ("cache_lock_wait", "hub_lock_wait"):
            alive = None if self.facts.compilers_alive is None else self.facts.compilers_alive > 0
            offer = alive is False
        return Answer(diagnosis, ledger.phase, graphs(ledger, "compiled"), silent, alive, offer)


def diagnose(data: bytes | str | None, facts: Facts | None = None) -> Diagnosis:
    """What a text of a run, a log or an error field means."""
    if data is None:
        data = b""
    stream = Stream(facts)
    stream.feed(data)
    return stream.answer().diagnosis


def graphs(ledger: Ledger, name: str) -> int:
    """Graphs compiled, cached or missed: several rules may count one graph in different words, so the largest counts."""
    from runner.diagnosis.rules import RULES

    return max((ledger.counts.get(rule.id, 0) for rule in RULES if rule.counts == name), default=0)


def collected(ledger: Ledger, verdict: Verdict) -> dict[str, Any]:
    """The facts of the deciding entry, gaps filled from entries of the same class, then the run's."""
    facts: dict[str, Any] = {}
    for hit in (verdict.hit, *verdict.same):
        if hit is not None:
            for key, value in hit.facts.items():
                facts.setdefault(key, value)
    if verdict.hit is not None and verdict.hit.rule.kind in (Kind.FAULT, Kind.AFTER):
        ranks = sorted({r for h in (verdict.hit, *verdict.same) for r in h.ranks if h.cls == verdict.cls})
        if ranks:
            facts.setdefault("rank", min(verdict.hit.ranks) if verdict.hit.ranks else ranks[0])
            facts["ranks_failed"] = ranks
    for name, key in _GRAPH_COUNTS.items():
        number = graphs(ledger, name)
        if number and verdict.cls in ("ok", "in_progress", "interrupted", "cache_miss", "eager_fallback"):
            facts.setdefault(key, number)
    if "ranks" not in facts and (ledger.facts.get("ranks") or len(ledger.ranks) > 1):
        facts["ranks"] = ledger.facts.get("ranks") or len(ledger.ranks)
    if "python" in ledger.facts and verdict.cls == "python_version":
        facts.setdefault("python", ledger.facts["python"])
    if verdict.cls == "disk_full":
        for key in ("need_mb", "free_mb"):
            if key in ledger.facts:
                facts.setdefault(key, float(ledger.facts[key]))
        facts["phase"] = ledger.phase
    return facts


def display(facts: dict[str, Any], ledger: Ledger, verdict: Verdict) -> dict[str, Any]:
    """What templates may use besides the facts: values in words and other units."""
    shown = dict(facts)
    phase = verdict.hit.phase if verdict.hit is not None and verdict.cls != "in_progress" else ledger.phase
    shown["phase_words"] = PHASE_WORDS.get(phase, "")
    failed = facts.get("ranks_failed")
    if failed and facts.get("ranks", 1) > 1:
        shown["ranks_words"] = ("rank " if len(failed) == 1 else "ranks ") + " and ".join(map(str, failed[:4]))
    if "ms" in facts:
        shown["timeout_s"] = facts["ms"] // 1000
    if "seconds" in facts and "minutes" not in facts:
        shown["minutes"] = round(facts["seconds"] / 60)
    if "need_mb" in facts:
        shown["need_gb_disk"] = round(facts["need_mb"] / 1000, 1)
        shown["free_gb_disk"] = round(facts.get("free_mb", 0) / 1000, 1)
    if "need_bytes" in facts and "have_bytes" in facts:
        shown["need_gb"], shown["have_gb"] = round(facts["need_bytes"] / 2**30, 1), round(facts["have_bytes"] / 2**30, 1)
    if verdict.cls in ("ok", "interrupted"):
        shown.setdefault("graphs_compiled", 0)
        shown.setdefault("graphs_cached", 0)
        if verdict.cls == "ok" and not facts.get("graphs_compiled") and not facts.get("graphs_cached"):
            shown["graphs_compiled"] = None
    return shown


def evidence(ledger: Ledger, verdict: Verdict) -> tuple[str, ...]:
    """The lines on which it rests, in the order of their weight; for what no rule knows, the last ones."""
    lines: list[str] = []
    for hit in (verdict.hit, *verdict.same):
        if hit is not None:
            for line in (*hit.lines, hit.latest):
                text = line.strip()
                if text and text not in lines:
                    lines.append(text)
    if verdict.cls == "ok" and "generated_line" in ledger.facts:
        lines.append(str(ledger.facts["generated_line"]).strip())
    if not lines or verdict.cls == "unknown":
        lines = [t for t in ledger.tail if t.strip()][-6:] if verdict.cls != "empty" else []
    return tuple(lines[:LINES])


def worded(ledger: Ledger, verdict: Verdict, known: Facts) -> Diagnosis:
    """A verdict as an answer."""
    facts = collected(ledger, verdict)
    lines = evidence(ledger, verdict)
    line = deciding_line(verdict.hit, lines)
    say = verdict.hit.rule.say if verdict.hit is not None else ""
    words = summary(verdict.cls, display(facts, ledger, verdict), say, line)
    severity = CLASSES[verdict.cls][1]
    if verdict.hit is not None and verdict.hit.rule.kind is Kind.WAITING:
        severity = "wait"
    return Diagnosis(verdict.cls, severity, words, hint(verdict.cls, facts, known), lines, facts, verdict.hit.rule.id if verdict.hit else "")


def deciding_line(hit: Hit | None, lines: tuple[str, ...]) -> str:
    if hit is not None and hit.rule.kind in (Kind.FAULT, Kind.AFTER, Kind.WAITING) and hit.lines and hit.cls != "":
        return hit.lines[0]
    return lines[-1] if lines else ""


_ = re
