"""The wait before a run: an earlier run here says most, then the row, then its kin; nothing is made up."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from trnui_runner.host.neff_cache import Cache
from trnui_runner.preflight.checks import run_checks
from trnui_runner.preflight.expected_wait import ExpectedWait, expected_wait
from trnui_runner.preflight.facts import PreflightFacts
from trnui_runner.run_folder.folder import Result, RunFolder
from trnui_runner.run_folder.recipe import Recipe

RECIPE = Recipe(id="r", model="acme/tiny", device="neuron", cores=2, script="published", script_sha256="a" * 64)
ROW: dict[str, Any] = {"result": "PASS", "runner": "neuron/x", "wall_s": 281}
KIN = ExpectedWait(300.0, "the median of its family on as many cores")


def kept(parent: Path, name: str, recipe: Recipe, outcome: str, wall_s: float | None) -> None:
    run = RunFolder.create(replace(recipe, id=name), b"print(1)\n", parent)
    run.finish(Result(outcome=outcome, reason="", device=recipe.device, wall_s=wall_s))  # type: ignore[arg-type]


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    (tmp_path / "runs").mkdir(mode=0o700)
    return tmp_path / "runs"


def test_an_earlier_run_of_the_same_test_here_says_most(runs: Path) -> None:
    kept(runs, "20260101-000000-tiny-aaaa", RECIPE, "PASS", 70.0)
    kept(runs, "20260102-000000-tiny-bbbb", RECIPE, "FAIL", 50.0)
    kept(runs, "20260103-000000-tiny-cccc", RECIPE, "CANCELLED", 5.0)  # cut short: no measure of it
    kept(runs, "20260104-000000-tiny-dddd", replace(RECIPE, cores=1), "PASS", 400.0)
    kept(runs, "20260105-000000-tiny-eeee", replace(RECIPE, device="cpu"), "PASS", 9.0)
    found = expected_wait(replace(RECIPE, row=ROW), KIN, runs)
    assert found == ExpectedWait(50.0, "run 20260102-000000-tiny-bbbb took that here")


def test_then_the_row_then_its_kin(runs: Path) -> None:
    assert expected_wait(replace(RECIPE, row=ROW), KIN, runs) == ExpectedWait(
        281.0, "the row's own test took that on its host"
    )
    for wall in (None, 0, "281"):
        assert expected_wait(replace(RECIPE, row={**ROW, "wall_s": wall}), KIN, runs) == KIN
    assert expected_wait(RECIPE, KIN, runs) == KIN
    assert expected_wait(RECIPE, None, runs) is None


def test_times_of_a_trainium_say_nothing_of_a_cpu(runs: Path) -> None:
    assert expected_wait(replace(RECIPE, device="cpu", row=ROW), KIN, runs) is None
    assert expected_wait(replace(RECIPE, device="stand-in", row=ROW), KIN, runs) is None


def message(**facts: Any) -> str | None:
    found = run_checks(PreflightFacts("acme/tiny", "neuron", **facts))
    return next((c.message for c in found if c.name == "time"), None)


def test_the_check_names_figure_source_and_graphs_at_hand() -> None:
    assert message() == "–: no time is known of this test on this device"
    assert message(wait=KIN) == "about 5 min 00 s, compilation included: the median of its family on as many cores"
    cache = Cache(Path("/c"), "2.28", files=1)
    assert str(message(wait=KIN, cache=cache)).endswith("; 1 compiled graph in the NEFF cache can make it shorter")
    assert message(refusal=("no", "way")) is None
