"""The Hub's lists: its own order, kept with their age, joined with results; and names looked up."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.datasets import NEW, OLD, database, folder, row
from tests.fakehub import FakeHub
from trnui.catalog.dataset import rankings, snapshot
from trnui.catalog.dataset.rankings import Ranked, fit, weight_bytes
from trnui.catalog.engine.sql_builder import build, rows_sql
from trnui.catalog.hub.fetch_client import Finished, Refresh
from trnui.catalog.hub.fetch_worker import Order
from trnui.catalog.query import Query, View

TASK = "text-generation"
GIB = 1 << 30


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeHub]:
    with FakeHub() as hub:
        weights = {"parameters": {"BF16": 600_000_000, "F32": 1000}, "total": 600_001_000}
        hub.add_model("o/big", pipeline_tag=TASK, downloads=50, trendingScore=1, safetensors=weights, gated="auto")
        hub.add_model("o/hot", pipeline_tag=TASK, downloads=10, trendingScore=9, library_name="transformers")
        hub.add_model("o/eye", pipeline_tag="image-text-to-text", downloads=99, trendingScore=99)
        hub.add_model("o/new", pipeline_tag=TASK, downloads=30, trendingScore=5)
        hub.add_repo(
            "models",
            "p/alone",
            {},
            pipeline_tag=TASK,
            safetensors={"parameters": {"BF16": 30 * GIB}, "total": 30 * GIB},
        )
        monkeypatch.delenv("HF_HUB_OFFLINE")
        monkeypatch.setenv("HF_ENDPOINT", hub.url)
        yield hub


def fetch(*tasks: str, timeout: float = 5) -> Finished:
    return Refresh(Order(tasks=tasks or (TASK,), timeout=timeout)).start().wait()


def test_the_hubs_own_order_in_one_request_a_list(hub: FakeHub) -> None:
    found = fetch()
    assert found.rankings is not None
    assert found.rankings.words == "text-generation 3 trending, 3 by downloads"
    assert len(hub.requests) == 2
    stored = rankings.load(TASK)
    assert stored is not None
    assert [m.model_id for m in stored.trending] == ["o/hot", "o/new", "o/big"]
    assert [(m.rank, m.model_id, m.downloads) for m in stored.downloads] == [
        (1, "o/big", 50),
        (2, "o/new", 30),
        (3, "o/hot", 10),
    ]
    big = stored.downloads[0]
    assert (big.parameters, big.weight_bytes, big.gated) == (600_001_000, 1_200_004_000, "auto")
    assert stored.downloads[2].parameters is None
    assert "just now" in stored.words


def test_kept_and_usable_offline_and_stale_after_a_while(hub: FakeHub, monkeypatch: pytest.MonkeyPatch) -> None:
    assert rankings.load(TASK) is None
    assert rankings.stale(time.time(), 3600) == (TASK, "image-text-to-text")
    fetch(TASK, "image-text-to-text")
    hub.close()
    failed = fetch().rankings
    assert failed is not None
    assert (failed.state, failed.kind) == ("failed", "refused")
    assert rankings.stale(time.time(), 3600) == ()
    assert rankings.stale(time.time() + 4000, 3600) == (TASK, "image-text-to-text")
    assert [r.task for r in rankings.stored()] == [TASK, "image-text-to-text"]


def test_a_silent_hub_leaves_the_old_lists_within_bounds(hub: FakeHub) -> None:
    fetch()
    hub.fail("api/models", status=0, delay=60)
    started = time.monotonic()
    failed = fetch(timeout=1).rankings
    assert failed is not None
    assert failed.kind == "silent"
    assert time.monotonic() - started < 6
    assert rankings.load(TASK) is not None


def test_lists_do_not_hold_up_the_dataset_nor_the_other_way_round(hub: FakeHub) -> None:
    from tests.datasets import parquet

    hub.add_repo("datasets", "acme/results", {"a.parquet": parquet([row("o/big")])})
    hub.fail("api/models", 500)
    both = Refresh(Order("acme/results", (TASK,), timeout=5)).start().wait()
    assert both.dataset is not None
    assert both.dataset.state == "new"
    assert both.rankings is not None
    assert both.rankings.kind == "server"
    hub.faults.clear()
    hub.fail("api/datasets", 404)
    both = Refresh(Order("acme/results", (TASK,), timeout=5)).start().wait()
    assert both.dataset is not None
    assert both.dataset.kind == "missing"
    assert both.rankings is not None
    assert both.rankings.state == "new"


def test_joined_with_results_tested_or_not(tmp_path: Path) -> None:
    db = database(tmp_path, row("o/big", "PASS", NEW), row("o/hot", "FAIL", OLD), row("o/unranked", "PASS", NEW))
    listed = tuple(Ranked(name, rank) for rank, name in enumerate(("o/hot", "o/big", "o/new"), 1))
    db.set_rankings(rankings.lines([rankings.Ranking(TASK, "http://hub", time.time(), listed, listed[:1])]))
    query = Query(view=View.TRENDING)
    sql = build(query, db.resolve(query)[0])
    found = db.connection.execute(rows_sql(sql, ("rank", "model_id", "status")), sql.all_parameters).fetchall()
    assert [r[1:4] for r in found] == [(1, "o/hot", "UNTESTED"), (2, "o/big", "PASS"), (3, "o/new", "UNTESTED")]


@pytest.mark.parametrize(
    ("size", "cores"),
    [
        (1 * GIB, 1),
        (20 * GIB, 1),
        (21 * GIB, 2),
        (80 * GIB, 4),
        (163 * GIB, 8),
        (164 * GIB, 16),
        (326 * GIB, 16),
        (327 * GIB, None),
    ],
)
def test_where_weights_fit_by_size(size: int, cores: int | None) -> None:
    assert fit(size).cores == cores


def test_size_unknown_is_said() -> None:
    assert "size unknown" in fit(None).words
    assert "not known" in fit(GIB).words  # whether it runs


def test_bytes_follow_the_types() -> None:
    assert weight_bytes({"BF16": 10, "F32": 10, "F8_E4M3": 10, "I64": 1}) == 20 + 40 + 10 + 8


# -- the commands


def trnui(*args: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "trnui", *args]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, env=os.environ, check=False)


def test_list_shows_ranks_and_untested_models(hub: FakeHub, tmp_path: Path) -> None:
    folder(tmp_path / "data", row("o/big", "PASS", NEW))
    data = str(tmp_path / "data")
    assert trnui("list", "--view", "downloads", "--dataset", data).returncode == 3  # never fetched, and says how
    assert trnui("sync", "--dataset", data).stdout.startswith("rankings\tnew")
    done = trnui("list", "--view", "downloads", "--dataset", data, "--format", "jsonl")
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(r["rank"], r["model_id"], r["status"], r["downloads"]) for r in rows] == [
        (1, "o/big", "PASS", 50), (2, "o/new", "UNTESTED", 30), (3, "o/hot", "UNTESTED", 10),
    ]  # fmt: skip


def test_a_name_in_no_list_is_looked_up(hub: FakeHub, tmp_path: Path) -> None:
    folder(tmp_path / "data", row("o/big"))
    data = str(tmp_path / "data")
    assert trnui("show", "p/alone", "--dataset", data).returncode == 2
    done = trnui("show", "p/alone", "--online", "--dataset", data)
    assert done.returncode == 0, done.stderr
    assert "NOT TESTED" in done.stdout
    assert "60.0 GiB of weights: would fit 4 cores by size" in done.stdout
    value = json.loads(trnui("show", "p/alone", "--online", "--dataset", data, "--format", "json").stdout)
    assert (value["status"], value["unknown"]["fits_cores"], value["task"]) == ("UNTESTED", 4, TASK)


def test_a_name_the_hub_does_not_know_and_a_hub_that_is_not_there(hub: FakeHub, tmp_path: Path) -> None:
    folder(tmp_path / "data", row("o/big"))
    args = ("show", "p/none", "--online", "--dataset", str(tmp_path / "data"))
    done = trnui(*args)
    assert (done.returncode, done.stdout) == (2, "")
    assert "knows no model p/none" in done.stderr
    hub.close()
    done = trnui(*args)
    assert (done.returncode, done.stdout) == (3, "")
    assert "refuses the connection" in done.stderr
    assert trnui(*args, "--offline").returncode == 3


def test_check_prints_how_columns_are_read(tmp_path: Path) -> None:
    folder(tmp_path / "data", row("o/a"))
    (tmp_path / "data" / "broken.parquet").write_bytes(b"PAR1")
    done = trnui("sync", "--check", "--dataset", str(tmp_path / "data"), "--format", "jsonl")
    assert done.returncode == 1
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert {line["column"]: line["how"] for line in lines if line["how"] == "name"}["run_py"] == "name"
    assert [line["file"] for line in lines if line["how"] == "not read"] == ["broken.parquet"]
    assert "broken.parquet: " in done.stderr


def test_resolve_never_asks(hub: FakeHub) -> None:
    snapshot.resolve("acme/results")
    assert hub.requests == []
