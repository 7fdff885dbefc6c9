"""A model over all stacks."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from trnui.catalog.analysis.stack_matrix import matrices
from trnui.catalog.query import Stack

ORDER = ["2.26.0", "2.27.0", "2.28.0"]


def result(cc: str, lib: str, status: str, tp: int | None = 1, day: int = 1, **more: Any) -> dict[str, Any]:
    base = {
        "result": status,
        "kind": None,
        "device": "neuron",
        "library": "transformers",
        "tested_at": datetime(2026, 11, day, tzinfo=UTC),
    }
    return {"neuronx_cc": cc, "library_version": lib, "status": status, "tp": tp, **base, **more}


def test_the_grid_is_newest_first_and_says_cores() -> None:
    (matrix,) = matrices(
        [result("2.26.0", "5.9.0", "PASS"), result("2.27.0", "5.20.0", "FAIL", 4), result("2.27.0", "5.9.0", "EXCLUDED", None),
         result("2.26.0", "5.20.0", "OTHER", result="PASS (CPU)", device="cpu")]
    )  # fmt: skip
    assert matrix.grid() == [
        ["neuronx_cc", "transformers 5.20.0", "transformers 5.9.0"], ["2.27.0", "FAIL 4", "EXCLUDED"], ["2.26.0", "PASS (CPU) 1", "PASS 1"],
    ]  # fmt: skip


def test_the_newest_of_several_rows_stands_and_the_others_are_counted() -> None:
    (matrix,) = matrices(
        [
            result("2.26.0", "5.9.0", "FAIL", day=9),
            result("2.26.0", "5.9.0", "PASS", day=3),
            result("2.26.0", "5.9.0", "PASS", day=2),
        ]
    )
    assert matrix.grid()[1] == ["2.26.0", "FAIL 1 +2"]


def test_works_since_needs_every_newer_tested_stack_to_pass() -> None:
    rows = [result(cc, lib, "PASS") for cc in ORDER for lib in ("5.9.0", "5.20.0")]
    (matrix,) = matrices(rows)
    assert matrix.works_since == Stack("2.26.0", "5.9.0")
    assert matrix.broken_since is None
    rows[2] = result("2.27.0", "5.9.0", "FAIL")
    (matrix,) = matrices(rows)
    assert matrix.works_since == Stack("2.26.0", "5.20.0")


def test_broken_since_needs_an_older_pass() -> None:
    rows = [result("2.26.0", "5.9.0", "PASS"), result("2.27.0", "5.9.0", "FAIL"), result("2.28.0", "5.9.0", "FAIL")]
    (matrix,) = matrices(rows)
    assert (matrix.works_since, matrix.broken_since) == (None, Stack("2.27.0", "5.9.0"))
    (matrix,) = matrices(rows[1:])
    assert (matrix.works_since, matrix.broken_since) == (None, None)


def test_neither_development_versions_nor_untested_stacks_decide() -> None:
    rows = [
        result("2.26.0", "5.9.0", "PASS"),
        result("2.27.0", "5.10.0.dev0", "FAIL"),
        result("2.28.0", "5.9.0", "EXCLUDED", None),
    ]
    (matrix,) = matrices(rows)
    assert matrix.works_since == Stack("2.26.0", "5.9.0")
    assert matrix.to_json()["status"] == [[None, "EXCLUDED"], ["FAIL", None], [None, "PASS"]]


def test_one_grid_a_library_and_rows_without_a_stack() -> None:
    found = matrices(
        [
            result("2.26.0", "0.9", "PASS", library="diffusers"),
            result("2.26.0", "5.9.0", "PASS"),
            result(None, None, "FAIL", library=None),
        ]
    )  # type: ignore[arg-type]
    assert [m.library for m in found] == ["", "diffusers", "transformers"]
    assert matrices([]) == ()
