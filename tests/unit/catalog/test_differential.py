"""Random files and random questions, answered by the catalog and by plain Python that shares no line with it.

Every dataset is asked twice: as its files were loaded, and from its kept rows. A few dozen questions run always, more than
500 datasets and thousands of questions with --slow.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import pytest

from tests.datasets import folder, row
from trnui.catalog.analysis.comparison.compare import sides
from trnui.catalog.analysis.failures import group
from trnui.catalog.dataset.snapshot import DatasetSource
from trnui.catalog.engine.catalog import Catalog
from trnui.catalog.query import ALL, Query, Stack, View

FEW, MANY, QUESTIONS = 8, 520, 12
EVERY: Final = Query(neuronx_cc=(ALL,), library_version=(ALL,))
COLUMNS: Final = ("model_id", "status", "tp", "wall_s", "hbm_peak_gb", "reason", "tested_at", "neuronx_cc")
STACKS: Final = (
    Stack("2.9.0.0+00", "5.24.0"), Stack("2.28.100.0+aa", "5.24.0"), Stack("2.28.100.0+aa", "5.9.0"), Stack("2.29.5.0+bb", "5.25.0.dev0"),
)  # fmt: skip
RESULTS: Final[dict[str | None, str]] = {
    "PASS": "PASS", "pass": "PASS", "✅ Passed": "PASS", "PASS\u00a0": "PASS", "PASS\n": "PASS", "FAIL": "FAIL", "Fail\r\n": "FAIL", "Error": "FAIL",
    "PASS (CPU)": "OTHER", "perhaps": "OTHER", "": "UNTESTED", " ": "UNTESTED", "None": "UNTESTED", "nan": "UNTESTED", None: "UNTESTED", "skipped": "EXCLUDED",
}  # fmt: skip
NOT_EXCLUDED: Final = (None, None, None, None, "", " ", "None", "nan", "-", "n/a", "no", "<NA>", "false", "False")
ERRORS: Final[dict[str | None, str | None]] = {  # error: its reason
    None: None, "": None, "-": None, "[NCC_EVRF001] no such operator": "[NCC_EVRF001] no such operator", "\n\n  first\r\nsecond": "first",
    'Traceback (most recent call last):\n  File "run.py", line 3\nValueError: a shape\n': "ValueError: a shape",
    'log line\nTraceback (most recent call last):\r\n  File "x"\r\nKeyError: 7\r\n\u00a0\n': "KeyError: 7", "e" * 400: "e" * 299 + "…",
}  # fmt: skip
LEFT_OUT: Final = "needs more than 16 cores"
START: Final = datetime(2026, 11, 1, tzinfo=UTC)
Rows = list[dict[str, Any]]


def invented(rng: random.Random) -> Rows:
    names = [rng.choice(["org", "Org", "x"]) + "/" + rng.choice(["Aster", "ASTER", "İris", "b_%", "c'd"]) + str(n % 7) for n in range(40)]  # fmt: skip
    return [
        row(
            rng.choice(names), rng.choice(list(RESULTS)), rng.choice(STACKS), tp=rng.choice([None, 1, 2, 4, 16]),
            exclusion=rng.choice([*NOT_EXCLUDED, LEFT_OUT]), error=rng.choice(list(ERRORS)), wall_s=rng.choice([None, 0, 5, 5, 61, 3600]),
            hbm_peak_gb=rng.choice([None, 0.0, 1.5, 1.5, 23.9, math.nan, math.inf, -math.inf]), notes=None,
            tested_at=rng.choice([None, START, START, START + timedelta(days=rng.randrange(9), milliseconds=1)]),
        )
        for _ in range(rng.choice([1, 3, 30, 90]))
    ]  # fmt: skip


def expected(one: dict[str, Any]) -> tuple[Any, ...]:
    """A row as COLUMNS should show it."""
    excluded = one["exclusion"] == LEFT_OUT
    peak = one["hbm_peak_gb"]
    status = "EXCLUDED" if excluded else RESULTS[one["result"]]
    return (
        one["model_id"], status, one["tp"], one["wall_s"], peak if peak is not None and math.isfinite(peak) else None,
        LEFT_OUT if excluded else ERRORS[one["error"]], one["tested_at"], one["neuronx_cc"],
    )  # fmt: skip


def question(rng: random.Random) -> Query:
    compiler = rng.choice([ALL, ALL, "2.28.100.0+aa", "2.28.100.0", "2.28", "2.9"])
    return Query(
        neuronx_cc=(compiler,),
        library_version=(rng.choice([ALL, ALL, "5.24.0"]),),
        text=rng.choice(["", "", "ASTER", "b_%", "c'D", "İ", "i̇r", "org/", "nothing"]),
        results=tuple(rng.sample(["PASS", "FAIL", "OTHER", "UNTESTED", "EXCLUDED"], rng.choice([0, 0, 1, 2]))),
        max_cores=rng.choice([None, None, 1, 4]),
        view=rng.choice([View.SELECTED, View.SELECTED, View.FAILURES]),
        sort=rng.choice([None, "wall_s", "hbm_peak_gb", "tp", "tested_at", "model_id"]),
        descending=rng.random() < 0.5,
    )


def passing(rows: Rows, query: Query) -> Rows:
    """The rows that a query means, one condition a line."""
    compiler, version = query.neuronx_cc[0], query.library_version[0]
    found = [r for r in rows if compiler == ALL or f"{r['neuronx_cc']}.".replace("+", ".").startswith(f"{compiler}.".replace("+", "."))]  # fmt: skip
    found = [r for r in found if version in (ALL, r["library_version"])]
    found = [r for r in found if query.text.lower() in r["model_id"].lower()]
    found = [r for r in found if not query.results or expected(r)[1] in query.results]
    found = [r for r in found if query.max_cores is None or (r["tp"] is not None and r["tp"] <= query.max_cores)]
    return [r for r in found if query.view is not View.FAILURES or expected(r)[1] == "FAIL"]


def in_order(values: Sequence[Any], query: Query) -> list[Any]:
    there = sorted((v.lower() if isinstance(v, str) else v for v in values if v is not None), reverse=query.descending)
    return there + [None] * (len(values) - len(there))


def newest(rows: Rows, stack: Stack) -> dict[str, tuple[str, str]]:
    """Model in lower case → spelling and status of the row that speaks for it: the newest, of equally new ones the last."""
    best: dict[str, dict[str, Any]] = {}
    for one in rows:
        if Stack(one["neuronx_cc"], one["library_version"], one["library"]) != stack:
            continue
        known = best.get(one["model_id"].lower())
        never = datetime.min.replace(tzinfo=UTC)
        if known is None or (one["tested_at"] or never) >= (known["tested_at"] or never):
            best[one["model_id"].lower()] = one
    return {name: (one["model_id"], str(expected(one)[1])) for name, one in best.items()}


def agree(catalog: Catalog, rows: Rows, rng: random.Random) -> int:
    """Asks and compares; how many questions were asked."""
    for _ in range(QUESTIONS):
        query = question(rng)
        table = catalog.rows(query, COLUMNS)
        wanted = [expected(r) for r in passing(rows, query)]
        assert Counter(table.rows) == Counter(wanted), query
        assert table.count == len(wanted), query
        if query.sort is not None:
            at = COLUMNS.index(query.sort)
            have = [v.lower() if isinstance(v, str) else v for v in (r[at] for r in table.rows)]
            assert have == in_order([w[at] for w in wanted], query), query
    for stack in STACKS:
        found = sides(catalog.database, stack)
        assert {name: (spelled, side.status) for name, (spelled, side) in found.items()} == newest(rows, stack), stack
    causes = group(catalog.database, EVERY)
    failing = [r for r in rows if expected(r)[1] == "FAIL"]
    assert sum(c.rows for c in causes) == len(failing) == len({i for c in causes for i in c.identities})
    assert {m for c in causes for m in c.models} == {r["model_id"] for r in failing}
    return QUESTIONS + len(STACKS) + 1


def ask(path: Path, seed: int) -> int:
    rng = random.Random(seed)
    rows = invented(rng)
    source: DatasetSource = folder(path, *rows)
    asked = 0
    for kept in (False, True):
        catalog = Catalog(source)
        assert catalog.database.kept is kept
        asked += agree(catalog, rows, rng)
        catalog.database.keep()
        catalog.connection.close()
    return asked


@pytest.fixture(autouse=True)
def small_is_worth_keeping(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trnui.catalog.engine.database.WORTH_ROWS", 1)


@pytest.mark.parametrize("seed", range(FEW))
def test_the_catalog_and_plain_python_agree(seed: int, tmp_path: Path) -> None:
    assert ask(tmp_path, seed) >= 2 * QUESTIONS


@pytest.mark.slow
def test_the_catalog_and_plain_python_agree_about_hundreds_of_datasets(tmp_path: Path) -> None:
    assert sum(ask(tmp_path / str(seed), seed) for seed in range(FEW, FEW + MANY)) > 10_000
