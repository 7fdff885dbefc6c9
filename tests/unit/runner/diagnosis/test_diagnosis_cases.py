"""Each text gets its class, never one that would mislead, and what it rests on."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.unit.runner.diagnosis.diagnosis_cases import CASES, Case
from trnui_runner.diagnosis import CLASSES, diagnose


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.id)
def test_own_case(case: Case) -> None:
    found = diagnose(case.text)
    assert found.cls == case.cls, (found.cls, found.rule, found.summary)
    assert found.cls not in case.must_not
    assert found.severity == (case.severity or CLASSES[case.cls][1])
    for key, value in case.facts.items():
        assert found.facts.get(key) == value, (key, dict(found.facts))
    assert 0 < len(found.summary) <= 110
    assert found.hint
    assert found.evidence or case.cls == "empty"


def test_the_cases_cover_every_class_that_a_text_can_have() -> None:
    spread = Counter(case.cls for case in CASES)
    assert set(CLASSES) - set(spread) == {"excluded"}  # a row's column says so, no text does
    assert len(CASES) >= 80
    assert min(spread.values()) >= 2
