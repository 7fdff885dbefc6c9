"""A row of the dataset: its error text, and where there is none its other columns. A model's name is data and decides nothing;
notes are read only where a failed row has no error text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from trnui_runner.common.text import clean, one_line
from trnui_runner.diagnosis.engine import Stream
from trnui_runner.diagnosis.hints import hint
from trnui_runner.diagnosis.log_lines import is_blank
from trnui_runner.diagnosis.model import CLASSES, Diagnosis, Facts
from trnui_runner.diagnosis.summaries import summary

_MATCH = re.compile(r"(\d+)\s*(?:/|of|out of)\s*(\d+)")
_NO = re.compile(
    r"(?i)^\W*(?:(?:no|false|fail(?:ed)?|mismatch|differ\w*|wrong)(?:\W*$|[:;,(]| [-–] | at ).*|0|not\b.*|gibberish.*|n)\W*$"
    r"|\b(?:fluent\w*|english|match\w*|cpu_match)\s*[:=]\s*(?:no|false)\b"
)
# Notes on a run that somebody stopped because it took too long.
_GAVE_UP = re.compile(
    r"(?i)\b(?:killed|stopped|aborted|cancelled|gave up|given up|timed out|time[- ]?out|no (?:output|progress)|hung|stuck)\b[^\n]{0,24}?"
    r"\b(?:after|at|for|\()\s?(?P<seconds>\d+) ?s(?:ec\w*)?\b|\btime[- ]?out\b\W{0,3}(?P<seconds2>\d+) ?s(?:ec\w*)?\b"
    r"|\btime[- ]?out\b(?! (?:error|of|from)\b)|\btimed out\b|\b(?:hung|hangs|hanging|stuck)\b|\b(?:exceeded|hit|over) (?:the )?(?:time|wall)[- ]?(?:clock )?(?:limit|budget)"
    r"|\b(?:killed|stopped|aborted|gave up|given up) after \d[\d.]* ?(?:m(?:in\w*)?|h(?:ours?)?)\b|\bdid not finish\b|\bstill (?:compiling|loading|running) (?:after|when)\b"
)


def _text(value: object) -> str:
    return "" if value is None or (isinstance(value, float) and value != value) else str(value)


def _make(cls: str, facts: dict[str, Any], known: Facts, lines: tuple[str, ...] = (), **words: Any) -> Diagnosis:
    severity = CLASSES[cls][1]
    return Diagnosis(cls, severity, summary(cls, {**facts, **words}), hint(cls, facts, known), lines, facts, "row")


def diagnose_row(row: Mapping[str, Any], facts: Facts | None = None) -> Diagnosis:
    """What a row means. An exclusion is no failure; an error text is read like a log; else the check columns speak, and of a row
    that failed the notes."""
    known = facts or Facts()
    if exclusion := _text(row.get("exclusion")).strip():
        return _excluded(exclusion, known)
    result = _text(row.get("result")).strip().upper()
    passed = result.startswith("PASS") or row.get("result") is True  # some files have a bool where others have a word
    found = _of_error(row, passed, known)
    if found is not None:
        return found
    checked = _checked(row, known)
    if checked is not None and checked.cls != "ok":
        return checked
    if passed:
        return _make("ok", dict(checked.facts) if checked else {}, known, _columns(row))
    if checked is not None:
        return checked
    if result in ("TIMEOUT", "TIMED OUT", "HANG"):
        return _make("timeout_hang", {}, known, (f"result: {result}",))
    return _of_notes(row, known) or _make("empty", {}, known)


def _excluded(exclusion: str, known: Facts) -> Diagnosis:
    text = clean(exclusion)
    short = text.split(":")[0].split(";")[0].strip()
    reason = short if len(short) <= 50 else "see its reason"
    return _make("excluded", {"reason": text[:400]}, known, (text[:600],), reason=reason)


def _ranks(row: Mapping[str, Any]) -> int:
    """How many cores the model was split over; 0 where it was not, or where the row does not say."""
    tp = row.get("tp")
    count = int(tp) if isinstance(tp, int | float) and tp == tp and tp else 0
    return count if count > 1 else 0


def _read(text: bytes | str, ranks: int, known: Facts) -> Diagnosis:
    stream = Stream(known)
    if ranks:
        stream.tell(ranks=ranks, tp=ranks)
    stream.feed((text if isinstance(text, bytes) else text.encode("utf-8", "replace")) + b"\n")
    return stream.answer().diagnosis


def _of_error(row: Mapping[str, Any], passed: bool, known: Facts) -> Diagnosis | None:
    """What the error text says; None if there is none, or nothing in it that a reader would see."""
    error = row.get("error")
    text = error if isinstance(error, bytes) else _text(error)
    ranks = _ranks(row)
    found = _read(text, ranks, known) if text else None
    if found is None or found.cls == "empty":
        return None
    extra: dict[str, Any] = {"tp": ranks} if ranks else {}
    if len(text) > 50_000:
        extra["bytes"] = len(text if isinstance(text, bytes) else text.encode("utf-8", "replace"))
    if passed and found.cls not in ("eager_fallback", "ok") and found.severity != "info":
        return _make("ok", extra, known, found.evidence)
    return replace(found, facts={**found.facts, **extra})


def _of_notes(row: Mapping[str, Any], known: Facts) -> Diagnosis | None:
    """Why a row without an error text failed, if its notes say so. Notes that name no cause are shown and decide nothing."""
    notes = _text(row.get("notes"))
    if is_blank(notes):
        return None
    shown = (f"notes: {one_line(notes)}",)
    if gave_up := _GAVE_UP.search(notes):
        seconds = gave_up["seconds"] or gave_up["seconds2"]
        return _make("timeout_hang", {"seconds": int(seconds)} if seconds else {}, known, shown)
    found = _read(notes, _ranks(row), known)
    if found.severity != "fail" or found.cls in ("unknown", "empty"):
        return _make("empty", {}, known, shown)
    return replace(found, evidence=shown)


def _columns(row: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(
        f"{name}: {one_line(row[name])}" for name in ("result", "cpu_match", "english") if _text(row.get(name)).strip()
    )


def _checked(row: Mapping[str, Any], known: Facts) -> Diagnosis | None:
    """What the columns of the check say: tokens that match, or English."""
    match_text = _text(row.get("cpu_match")).strip()
    found = _MATCH.search(match_text)
    if found and int(found[1]) < int(found[2]):
        return _make("numerical_mismatch", {"matched": int(found[1]), "of": int(found[2])}, known, _columns(row))
    if (match_text and _NO.search(match_text)) or (
        _text(row.get("english")).strip() and _NO.search(_text(row.get("english")).strip())
    ):
        return _make("numerical_mismatch", {}, known, _columns(row))
    if found:
        return _make("ok", {"matched": int(found[1]), "of": int(found[2])}, known, _columns(row))
    return None
