"""Since which version a model fails."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.datasets import database, row
from trnui.catalog.analysis.comparison.causes import explained
from trnui.catalog.analysis.comparison.compare import compare
from trnui.catalog.analysis.comparison.first_failing import FirstFailing, first_failing
from trnui.catalog.analysis.comparison.tables import table
from trnui.catalog.query import Stack

A, B, C, D = (Stack(f"2.{n}.0.0+x", "5.24.0") for n in (9, 26, 27, 28))
OLDER = Stack("2.28.0.0+x", "5.9.0")


@pytest.mark.parametrize(
    ("tested", "expected"),
    [
        ({A: "PASS", B: "PASS", C: "FAIL", D: "FAIL"}, FirstFailing("neuronx_cc", C.neuronx_cc, B.neuronx_cc)),
        ({A: "PASS", D: "FAIL"}, FirstFailing("neuronx_cc", D.neuronx_cc, A.neuronx_cc)),
        ({A: "PASS", B: "EXCLUDED", C: "FAIL", D: "FAIL"}, FirstFailing("neuronx_cc", C.neuronx_cc, A.neuronx_cc)),
        ({A: "FAIL", B: "PASS", C: "FAIL", D: "FAIL"}, FirstFailing("neuronx_cc", C.neuronx_cc, B.neuronx_cc)),
        ({A: "FAIL", D: "FAIL"}, None),
        ({D: "FAIL"}, None),
        ({D: "FAIL", OLDER: "PASS"}, FirstFailing("transformers", "5.24.0", "5.9.0")),
        ({D: "FAIL", Stack("2.27.0.0+x", "5.9.0"): "PASS"}, None),  # both halves differ: neither is to blame alone
        ({D: "FAIL", Stack("2.27.0.0+x", "5.24.0", "diffusers"): "PASS"}, None),
    ],
)
def test_the_first_version_that_fails(tested: dict[Stack, str], expected: FirstFailing | None) -> None:
    assert first_failing(tested, D) == expected


def test_newer_versions_say_nothing_about_when_it_began() -> None:
    assert first_failing({A: "PASS", B: "FAIL", C: "PASS"}, B) == FirstFailing("neuronx_cc", B.neuronx_cc, A.neuronx_cc)


def test_a_comparison_says_it_of_each_newly_failing_model(tmp_path: Path) -> None:
    db = database(
        tmp_path,
        row("o/early", "PASS", B), row("o/early", "FAIL", C), row("o/early", "FAIL", D),
        row("O/Late", "PASS", B), row("o/late", "PASS", C), row("o/late", "FAIL", D),
        row("o/fine", "FAIL", B), row("o/fine", "PASS", D),
    )  # fmt: skip
    found = {line[1]: line[13] for line in table(explained(compare(db, B, D), db))}
    assert found == {
        "o/early": "since neuronx-cc 2.27.0.0 (PASS on 2.26.0.0)",
        "o/late": "since neuronx-cc 2.28.0.0 (PASS on 2.27.0.0)",
        "o/fine": None,
    }
