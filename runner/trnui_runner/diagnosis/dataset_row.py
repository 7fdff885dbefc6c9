"""A row of the dataset: its error text, and where there is none its other columns. Model names and notes are data and decide nothing."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from trnui_runner.common.text import clean, one_line
from trnui_runner.diagnosis.engine import Stream
from trnui_runner.diagnosis.hints import hint
from trnui_runner.diagnosis.model import CLASSES, Diagnosis, Facts
from trnui_runner.diagnosis.summaries import summary

_MATCH = re.compile(r"(\d+)\s*(?:/|of|out of)\s*(\d+)")
_NO = re.compile(
    r"(?i)^\W*(?:(?:no|false|fail(?:ed)?|mismatch|differ\w*|wrong)(?:\W*$|[:;,(]| [-–] | at ).*|0|not\b.*|gibberish.*|n)\W*$"
    r"|\b(?:fluent\w*|english|match\w*|cpu_match)\s*[:=]\s*(?:no|false)\b"
)


def _text(value: object) -> str:
    return "" if value is None or (isinstance(value, float) and value != value) else str(value)


def _make(cls: str, facts: dict[str, Any], known: Facts, lines: tuple[str, ...] = (), **words: Any) -> Diagnosis:
    severity = CLASSES[cls][1]
    return Diagnosis(cls, severity, summary(cls, {**facts, **words}), hint(cls, facts, known), lines, facts, "row")


def diagnose_row(row: Mapping[str, Any], facts: Facts | None = None) -> Diagnosis:
    """What a row means. An exclusion is no failure; an error text is read like a log; else the check columns speak."""
    known = facts or Facts()
    exclusion = _text(row.get("exclusion")).strip()
    if exclusion:
        exclusion = clean(exclusion)
        short = exclusion.split(":")[0].split(";")[0].strip()
        return _make(
            "excluded",
            {"reason": exclusion[:400]},
            known,
            (exclusion[:600],),
            reason=short if len(short) <= 50 else "see its reason",
        )
    result = _text(row.get("result")).strip().upper()
    passed = result.startswith("PASS") or row.get("result") is True  # some files have a bool where others have a word
    error = row.get("error")
    text = _text(error) if not isinstance(error, bytes) else error
    stream = Stream(known)
    ranks = row.get("tp")
    several = int(ranks) if isinstance(ranks, int | float) and ranks == ranks and ranks else 0
    if several > 1:
        stream.tell(ranks=several, tp=several)
    if text:
        stream.feed((text if isinstance(text, bytes) else text.encode("utf-8", "replace")) + b"\n")
        found = stream.answer().diagnosis
        if found.cls != "empty":
            extra: dict[str, Any] = {"tp": several} if several else {}
            if len(text) > 50_000:
                extra["bytes"] = len(text if isinstance(text, bytes) else text.encode("utf-8", "replace"))
            if passed and found.cls not in ("eager_fallback", "ok") and found.severity != "info":
                return _make("ok", extra, known, found.evidence)
            return replace(found, facts={**found.facts, **extra}, summary=found.summary)
    checked = _checked(row, known)
    if checked is not None and not (passed and checked.cls == "ok"):
        return checked if not passed or checked.cls != "ok" else _make("ok", {}, known)
    if passed:
        return _make("ok", dict(checked.facts) if checked else {}, known, _columns(row))
    if result in ("TIMEOUT", "TIMED OUT", "HANG"):
        return _make("timeout_hang", {}, known, (f"result: {result}",))
    return _make("empty", {}, known)


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
