"""What `trnui show` says of models that the dataset has no row for, and of rows that are odd."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.datasets import NEW, folder, row
from trnui.catalog.analysis.export import dumps
from trnui.catalog.analysis.model_report import ROW_COLUMNS, Sheet
from trnui.catalog.engine.catalog import Catalog
from trnui.catalog.query import Query, View


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    rows = [
        row("o/a", "FAIL", NEW, error="\x1b[31m" + "boom\n" * 50, tp=4, parallelism=None),
        row("o/b", "weird word"),
        row("o/c", tp=None, hbm_peak_gb=None),
    ]
    found = Catalog(folder(tmp_path, *rows))
    found.database.set_own([row("o/mine", "PASS (CPU)", runner="trnui/cpu", run="20261130-x", cpu_match="32/32")])
    found.database.set_rankings([("trending", "text-generation", 1, "hub/New-8B", 70, 1.5, 8_000_000_000, "auto")])
    return found


def sheet(catalog: Catalog, name: str) -> Sheet:
    model = catalog.find(name)
    detail = catalog.detail(catalog.identity_of(model, Query()))
    runs = catalog.rows_of(model, ("run", "status", "device"), View.RUNS)
    return Sheet(detail, catalog.rows_of(model, ROW_COLUMNS), runs, catalog.provenance, "https://index")


def text(catalog: Catalog, name: str, **more: Any) -> str:
    return "\n".join(sheet(catalog, name).lines(**more))


def test_a_model_of_the_hub_is_not_tested_and_no_failure(catalog: Catalog) -> None:
    shown = text(catalog, "hub/New-8B")
    assert "NOT TESTED" in shown
    assert "not a failure" in shown
    assert "downloads" in shown
    assert "trnui run" not in shown  # nothing to reproduce
    assert json.loads(dumps(sheet(catalog, "hub/New-8B").to_json()))["status"] == "UNTESTED"


def test_an_own_run_says_its_device(catalog: Catalog) -> None:
    shown = text(catalog, "o/mine")
    assert "PASS · tokens as on a CPU · on the CPU" in shown
    assert "Not on Trainium." in shown
    assert "20261130-x" in shown


def test_long_errors_are_cut_with_a_word_and_cleaned(catalog: Catalog) -> None:
    shown = text(catalog, "o/a")
    assert shown.count("boom") < 20
    assert "--full prints them" in shown
    assert text(catalog, "o/a", full=True).count("boom") == 50
    assert "\x1b" not in shown


def test_words_of_its_own_count_as_neither(catalog: Catalog) -> None:
    shown = text(catalog, "o/b")
    assert "weird word" in shown
    assert "neither as PASS nor as FAIL" in shown


def test_what_is_absent_is_a_dash(catalog: Catalog) -> None:
    lines = text(catalog, "o/c").splitlines()
    assert [line.split()[-1] for line in lines if line.startswith(("  cores", "  peak device memory"))] == ["–", "–"]


def test_it_fits_a_narrow_terminal_where_it_can(catalog: Catalog) -> None:
    assert all(len(line) <= 80 for line in text(catalog, "o/a", width=80).splitlines() if line.startswith("  2."))
