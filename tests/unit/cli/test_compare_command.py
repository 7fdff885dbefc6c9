"""trnui compare: stacks, releases and commits, and its exit code for CI."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from tests.called import called
from tests.datasets import NEW, OLD, folder, parquet, row
from trnui.catalog.dataset.snapshot import FetchRecord, endpoint, record_path
from trnui.catalog.hub import commit_history
from trnui_runner.common.files import private_dir, write_json

DATASET = "acme/results"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "data"
    folder(
        path,
        row("o/broken", "PASS", OLD, torch="2.9.0"), row("o/broken", "FAIL", NEW, error="[NCC_EVRF001] no", torch="2.10.0"),
        row("o/mended", "FAIL", OLD, error="old trouble", torch="2.9.0"), row("o/mended", "PASS", NEW, torch="2.10.0"),
        row("o/wider", "PASS", OLD, torch="2.9.0"), row("o/wider", "PASS", NEW, tp=2, torch="2.10.0"),
    )  # fmt: skip
    return path


def test_counts_packages_and_changes_in_this_order(data: Path) -> None:
    done = called("--dataset", data, "compare", "2.28", "2.29")
    assert done.code == 0
    counts, packages, changes = done.out.split("\n\n")
    assert counts.splitlines()[1].split() == ["newly", "failing", "1"]
    assert [line.split()[0] for line in packages.splitlines()] == ["package", "neuronx_cc", "torch"]
    first, second = changes.splitlines()[1:3]
    assert "since neuronx-cc 2.29.5.0 (PASS on 2.28.100.0)" in first
    assert "A: old trouble" in second
    assert "3 changes" in done.err
    found = json.loads(called("--dataset", data, "compare", "2.28", "2.29", "--format", "json").out)
    assert found["packages"][1] == {"package": "torch", "a": "2.9.0", "b": "2.10.0"}
    assert [c["cause"] for c in found["changes"]] == ["NCC_EVRF001", None, None]


def test_kinds_chosen_leave_the_counts_whole(data: Path) -> None:
    done = called("--dataset", data, "compare", "2.28", "2.29", "--change", "newly-failing", "--format", "csv")
    assert [line["model_id"] for line in csv.DictReader(io.StringIO(done.out))] == ["o/broken"]
    assert "1 of 3 changes shown" in done.err


@pytest.mark.parametrize(
    ("args", "code"),
    [
        (("2.28", "2.29"), 0),
        (("2.28", "2.29", "--fail-on", "newly-failing"), 1),
        (("2.28", "2.29", "--fail-on", "newly-failing", "--change", "changed-cores"), 1),  # whatever is listed
        (("2.28", "2.29", "--fail-on", "any"), 1),
        (("2.28", "2.28", "--fail-on", "any"), 0),
        (("2.28",), 2),
        ((), 2),
        (("--summary", "--fail-on", "any"), 2),
        (("2.28", "2.29", "--commits", "a", "b"), 2),
        (("--commits", "previous", "latest"), 2),  # a folder has none
    ],
)
def test_exit_codes_for_ci(data: Path, args: tuple[str, ...], code: int) -> None:
    assert called("--dataset", data, "compare", *args).code == code


def test_a_summary_is_a_line_a_stack(data: Path) -> None:
    done = called("--dataset", data, "--ascii", "compare", "--summary")
    assert done.code == 0
    old, new = (line.split() for line in done.out.splitlines()[1:])
    assert old[:4] == [OLD.short, "66.7", "%", "#" * 13 + "." * 7]
    assert new[0] == NEW.short
    assert "2 stacks, oldest first" in done.err
    only = json.loads(called("--dataset", data, "compare", "2.29", "2.29", "--summary", "--format", "json").out)
    assert [(r["tested"], r["pass"], r["pass_rate"]) for r in only] == [(3, 2, 0.6667)]
    assert called("--dataset", data, "compare", "--summary", "--library", "diffusers").code == 2


def commit(hub: Path, sha: str, when: float, *rows: dict[str, object], known: bool = True) -> FetchRecord:
    """A commit of DATASET in the Hugging Face cache, as a fetch leaves it."""
    place = hub / f"datasets--{DATASET.replace('/', '--')}" / "snapshots" / sha
    place.mkdir(parents=True)
    (place / "a.parquet").write_bytes(parquet(rows))
    size = (place / "a.parquet").stat().st_size
    record = FetchRecord(DATASET, endpoint(), sha, when, when, str(place), (("a.parquet", size),), when)
    if known:
        private_dir(record_path(DATASET).parent)
        write_json(record_path(DATASET), record.to_json())
        commit_history.remember(record)
    return record


def test_two_commits_of_the_dataset(home: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    hub = tmp_path / "hub"
    monkeypatch.setenv("HF_HUB_CACHE", str(hub))
    first, second, third = "a" * 40, "b" * 40, "abcd" + "c" * 36
    commit(hub, first, 1000.0, row("o/m", "PASS"), row("o/n", "PASS"), row("o/same", "FAIL"))
    commit(hub, second, 2000.0, row("o/m", "FAIL", error="zorp"), row("o/n", "PASS"), row("o/same", "FAIL"), row("o/m", "PASS", NEW))  # fmt: skip
    done = called("--dataset", DATASET, "compare", "--commits", "previous", "latest", "--format", "json", "--fail-on", "newly-failing")  # fmt: skip
    assert done.code == 1
    found = json.loads(done.out)
    assert (found["old"], found["new"]) == (first, second)
    assert [(c["change"], c["model_id"], c["cause"]) for c in found["changes"]] == [("newly failing", "o/m", "zorp")]
    assert found["added"] == [
        {"neuronx_cc": NEW.neuronx_cc, "library": "transformers", "library_version": "5.24.0", "models": 1}
    ]
    assert "2 of 3 results unchanged" in done.err
    plain = called("--dataset", DATASET, "compare", "--commits", "aaaa", "bbbb")
    assert "PASS → FAIL" in plain.out
    assert called("--dataset", DATASET, "compare", "--commits", "bbbb", "bbbb", "--fail-on", "any").code == 0
    wrong = called("--dataset", DATASET, "compare", "--commits", "1234", "latest")
    assert (wrong.code, f"On disk of {DATASET}: {'b' * 7}" in wrong.err) == (2, True)
    commit(hub, third, 500.0, row("o/m", "FAIL"), known=False)
    assert [c.whole for c in commit_history.on_disk(DATASET)] == [False, True, True]  # its folder is the newest here
    assert "perhaps not all" in str(commit_history.commit_named(DATASET, "abcd"))
    (hub / f"datasets--{DATASET.replace('/', '--')}" / "snapshots" / first / "a.parquet").unlink()
    assert called("--dataset", DATASET, "compare", "--commits", "aaaa", "latest").code == 2
