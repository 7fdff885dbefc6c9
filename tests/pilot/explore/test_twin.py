"""The plain twin: for every view and filter the screen holds the same rows, in the same order, as `trnui list` prints."""

from __future__ import annotations

import itertools
import json
import shlex
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.recorded import FAIL, PASS, recorded
from tests.visit import Visit, visit
from trnui.catalog.dataset import rankings
from trnui.catalog.query import ALL, Query, View
from trnui.cli.main import cli
from trnui.tui.widgets.result_table import ResultTable
from trnui_runner.common.files import private_dir, write_json

FILTERS: list[dict[str, object]] = [
    {},
    {"text": "elm"},
    {"text": "VL-"},
    {"text": "%"},
    {"anywhere": "ncc_"},
    {"results": ("FAIL",)},
    {"results": ("PASS", "EXCLUDED")},
    {"results": ("UNTESTED",)},
    {"max_cores": 2},
    {"text": "a", "results": ("PASS",), "max_cores": 4},
    {"task": "image-text-to-text"},
]
STACKS: list[dict[str, object]] = [
    {},
    {"neuronx_cc": (ALL,), "library_version": (ALL,)},
    {"neuronx_cc": ("2.26.6360.0",), "library_version": (ALL,)},
    {"neuronx_cc": (ALL,), "library_version": ("5.9.0",), "library": "transformers"},
]
SORTS: list[dict[str, object]] = [{}, {"sort": "wall_s", "descending": True}, {"sort": "library_version"}]


def queries() -> list[Query]:
    """Every filter on every stack; every sort once for a stack; the ranking views with and without filters."""
    found = [Query(**f, **s) for f, s in itertools.product(FILTERS, STACKS)]  # type: ignore[arg-type]
    found += [Query(**s, **o) for s, o in itertools.product(STACKS, SORTS)]  # type: ignore[arg-type]
    found += [
        Query(view=view, task=task, **f)  # type: ignore[arg-type]
        for view, task, f in itertools.product(
            (View.TRENDING, View.DOWNLOADS),
            ("text-generation", "image-text-to-text"),
            [f for f in FILTERS if "task" not in f][:8],
        )
    ]
    return list(dict.fromkeys(found))


def arguments(query: Query) -> list[str]:
    """The command line of a query."""
    found = ["list", "--view", query.view.value, "--format", "json"]
    for option, value in (
        ("--task", query.task),
        ("--search", query.text),
        ("--anywhere", query.anywhere),
        ("--result", ",".join(query.results)),
        ("--neuronx-cc", ",".join(query.neuronx_cc)),
        ("--library", query.library),
        ("--library-version", ",".join(query.library_version)),
        ("--max-cores", query.max_cores),
        ("--sort", f"{query.sort}:{'desc' if query.descending else 'asc'}" if query.sort else None),
    ):
        if value:
            found += [option, str(value)]
    return found


def printed(dataset: Path, query: Query) -> list[tuple[str, str, str]]:
    command = ["--dataset", str(dataset), "--offline", *arguments(query)]
    done = CliRunner().invoke(cli, command, standalone_mode=False)
    assert done.exception is None, (shlex.join(command), done.exception, done.stderr)
    return [(r["model_id"], str(r["neuronx_cc"]), str(r["library_version"])) for r in json.loads(done.stdout or "[]")]


def store_rankings(dataset: Path) -> None:
    """Two lists a task: a few models of the dataset, a few that nobody has tested."""
    names = [
        "example-org-04/Elm4-0.6B-00004",
        "someone/untested-7B",
        "example-org-14/Elm4-70B-00014",
        "other/VL-untested",
    ]
    for task in ("text-generation", "image-text-to-text"):
        ranked = [
            {"model_id": n, "rank": i, "downloads": 1000 * i, "trending_score": 9.0 - i} for i, n in enumerate(names, 1)
        ]
        value = {"v": rankings.VERSION, "task": task, "endpoint": "https://huggingface.co", "fetched": time.time()}
        path = rankings._path(task)
        private_dir(path.parent)
        write_json(path, {**value, "trending": ranked, "downloads": ranked[::-1]})


@pytest.fixture
def ranked(dataset: Path) -> Path:
    store_rankings(dataset)
    return dataset


async def shown(v: Visit, query: Query) -> list[tuple[str, str, str]]:
    """The rows that the list holds for a query, asked as the keys ask."""
    explore = v.app.explore
    if explore.view() != query.view.value:
        await v.press({"selected": "1", "trending": "2", "downloads": "3"}[query.view.value])
    explore.set_query(query)
    await v.until(lambda: explore._listed is not None and explore._listed.query == query)
    await v.pilot.pause()
    table = v.app.screen.query_one(ResultTable)
    await v.until(lambda: len(table.records()) == table.count)
    return v.ids


async def test_screen_and_command_hold_the_same_rows(ranked: Path) -> None:
    async with visit(ranked, size=(100, 30)) as v:
        await v.until(lambda: v.app.controller.settled)
        asked = queries()
        assert len(asked) > 60
        seen = 0
        for query in asked:
            rows = await shown(v, query)
            assert rows == printed(ranked, query), query
            seen += len(rows)
        assert seen > 1000


async def test_own_runs_are_the_same_rows_too(dataset: Path) -> None:
    for name in (PASS, FAIL):
        recorded(name)
    done = CliRunner().invoke(
        cli,
        ["--dataset", str(dataset), "--offline", "list", "--view", "runs", "--format", "json"],
        standalone_mode=False,
    )
    assert done.exception is None
    printed_ids = [r["run"] for r in json.loads(done.stdout)]
    async with visit(dataset, size=(140, 30)) as v:
        await v.press("4")
        await v.until(lambda: v.app.screen.query_one(ResultTable).count == 2)
        assert [r["id"] for r in v.app.screen.query_one(ResultTable).records()] == printed_ids
