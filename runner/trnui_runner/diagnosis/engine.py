"""The engine: a text to a diagnosis, a live stream to an answer at any moment. One path for both: a stream fed once is a text."""

from __future__ import annotations

from typing import Any

from trnui_runner.diagnosis.classify import Verdict, decide
from trnui_runner.diagnosis.evidence import collected, display, evidence, graphs, is_telling
from trnui_runner.diagnosis.hints import hint
from trnui_runner.diagnosis.model import CLASSES, Diagnosis, Facts, LineWeight, LiveStatus
from trnui_runner.diagnosis.observations import Observations
from trnui_runner.diagnosis.summaries import summary

MAX_PENDING = 1 << 20  # bytes of a line without an end; then it is read as it is
ASKS = (b"echo $?", b"pgrep", b"pidof")


class Stream:
    """Follows a run's output. Constant memory; `feed` costs about 3 µs a line, `answer` under a millisecond."""

    def __init__(self, facts: Facts | None = None) -> None:
        self.facts = facts or Facts()
        self._seen = Observations()
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
            lines = held + whole
            last = lines.rpartition(b"\n")[2]
            if len(last) < 400 and any(word in last for word in ASKS):  # a command whose answer is the next line
                lines, rest = lines[: len(lines) - len(last)], last + b"\n" + rest
                self._seen.feed(lines)
            else:
                self._seen.feed(lines + end)
            held = rest
        else:
            held += block
        if len(held) > MAX_PENDING:
            self._seen.feed(held[:-512] + b"\n")
            held = held[-512:]
        if held:
            self._pending[stream] = held

    def tell(self, **facts: Any) -> None:
        """Facts of the run that its output need not name: ranks, python."""
        self._seen.facts.update(facts)

    def _looked_ahead(self) -> Observations:
        if not self._pending:
            return self._seen
        ahead = self._seen.copy()
        for held in self._pending.values():
            ahead.feed(held + b"\n")
        return ahead

    def answer(self, now: float | None = None, holder_alive: bool | None = None) -> LiveStatus:
        """The state at `now` (the clock of `feed`); `holder_alive`: whether anything that could hold the lock lives, if it was asked."""
        seen = self._looked_ahead()
        diagnosis = worded(seen, decide(seen), self.facts)
        silent = max(0.0, now - self._heard) if now is not None and self._heard is not None else 0.0
        alive = holder_alive
        offer = False
        if diagnosis.cls in ("cache_lock_wait", "hub_lock_wait"):
            if alive is None and diagnosis.cls == "cache_lock_wait" and self.facts.compilers_alive is not None:
                alive = self.facts.compilers_alive > 0
            offer = alive is False
        return LiveStatus(diagnosis, seen.phase, graphs(seen, "compiled"), silent, alive, offer)


def diagnose(data: bytes | str | None, facts: Facts | None = None) -> Diagnosis:
    """What a text of a run, a log or an error field means."""
    stream = Stream(facts)
    stream.feed((data if isinstance(data, bytes) else (data or "").encode("utf-8", "replace")) + b"\n")
    return stream.answer().diagnosis


def advise(diagnosis: Diagnosis, facts: Facts) -> Diagnosis:
    """The same diagnosis with a hint that uses these facts: for callers that ask the host only for what a class needs."""
    return diagnosis.with_hint(hint(diagnosis.cls, diagnosis.facts, facts, diagnosis.rule))


def worded(seen: Observations, verdict: Verdict, known: Facts) -> Diagnosis:
    """A verdict as an answer."""
    facts = collected(seen, verdict)
    lines = evidence(seen, verdict)
    line = deciding_line(verdict, lines)
    say = verdict.hit.rule.say if verdict.hit is not None else ""
    words = summary(verdict.cls, display(facts, seen, verdict), say, line)
    severity = CLASSES[verdict.cls][1]
    if (
        verdict.cls == "timeout_hang"
        and verdict.hit is not None
        and verdict.hit.rule.kind not in (LineWeight.FAULT, LineWeight.AFTER)
    ):
        severity = "wait"
    return Diagnosis(
        verdict.cls,
        severity,
        words,
        hint(verdict.cls, facts, known, verdict.hit.rule.id if verdict.hit else ""),
        lines,
        facts,
        verdict.hit.rule.id if verdict.hit else "",
    )


def deciding_line(verdict: Verdict, lines: tuple[str, ...]) -> str:
    """The line whose words the summary quotes. The evidence of an unknown begins with the one that says most, if one does."""
    hit = verdict.hit
    if not lines:
        return ""
    if verdict.cls == "unknown":
        return lines[0] if is_telling(lines[0]) or (hit is not None and hit.rule.alone) else lines[-1]
    if hit is not None and hit.rule.kind in (LineWeight.FAULT, LineWeight.AFTER, LineWeight.WAITING):
        return hit.lines[0]
    return lines[-1]
