"""A Hub that lies: about names, digests, lengths and pages. Nothing of it reaches a path, a record or the memory."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fakehub import FakeHub, Repo
from tests.unit.catalog.hub.test_sync import DATASET, FILES, NEWER, at_hand, commit, data
from trnui.catalog.dataset import rankings, snapshot
from trnui.catalog.hub import http_client, inference_catalog
from trnui.catalog.hub.commit_history import commit_named, remembered
from trnui.catalog.hub.digests import digest_of, is_digest
from trnui.catalog.hub.fetch_client import Finished, Part, Refresh
from trnui.catalog.hub.fetch_worker import Order
from trnui.catalog.hub.http_client import trust_names
from trnui.catalog.hub.hub_errors import HubError


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeHub]:
    with FakeHub() as hub:
        hub.add_repo("datasets", DATASET, FILES)
        monkeypatch.delenv("HF_HUB_OFFLINE")
        monkeypatch.setenv("HF_ENDPOINT", hub.url)
        yield hub


def fetch(**order: Any) -> Finished:
    return Refresh(Order(DATASET, **order)).start().wait()


def dataset_of(finished: Finished) -> Part:
    assert finished.dataset is not None
    return finished.dataset


def everything(folder: Path) -> set[str]:
    return {str(p) for p in folder.rglob("*")}


@pytest.mark.parametrize(
    "headers",
    [
        {"ETag": '"../../../../evil"'}, {"ETag": 'W/"../../evil"'}, {"ETag": '"' + "z" * 40 + '"'}, {"ETag": '""'},
        {"X-Linked-ETag": '"/tmp/evil"', "ETag": '"' + "a" * 40 + '"'}, {"ETag": '"' + "a" * 40 + '"', "X-Repo-Commit": "../../evil"},
        {"ETag": '"' + "A" * 39 + '"'},
    ],
    ids=str,
)  # fmt: skip
def test_a_name_that_would_become_a_path_is_refused_before_anything_is_written(
    hub: FakeHub, headers: dict[str, str], home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lie = hub.fail(r"HEAD .*\.parquet", status=200, headers=headers)
    before = everything(home.parent)
    part = dataset_of(fetch())
    assert (part.failed, "refused" in part.words) == (True, True), part.words
    new = {p for p in everything(home.parent) - before if not os.path.isdir(p)}
    assert not [p for p in new if "evil" in p]
    assert not [r for r in hub.requests if r.startswith("GET") and r.endswith(".parquet")]
    hub.faults.remove(lie)
    assert fetch().changed


def test_what_may_be_a_name() -> None:
    good = {"etag": 'W/"' + "a" * 40 + '"', "x-repo-commit": "b" * 40}
    trust_names(good, "http://h", "file x")
    trust_names({"x-linked-etag": '"' + "c" * 64 + '"', "etag": '"store-own-kind-3"'}, "http://h", "file x")
    trust_names({"location": "/api/resolve-cache/x", "etag": '"odd"'}, "http://h", "file x")
    with pytest.raises(HubError, match="refused"):
        trust_names({"location": "http://cdn/x", "etag": '"odd"'}, "http://h", "file x")
    assert [is_digest(t) for t in ("a" * 40, "a" * 64, "a" * 41, "A" * 40, "g" * 40, "")] == [True, True] + [False] * 4


def test_a_commit_that_is_called_like_a_path_is_refused(hub: FakeHub) -> None:
    hub.repos["datasets", DATASET].info["sha"] = "../../evil"
    assert "its commit is called" in dataset_of(fetch()).words


def lying(hub: FakeHub, **bodies: bytes) -> Repo:
    """The repository, whose files are other bytes of the same length than it says."""
    repo = hub.repos["datasets", DATASET]
    real = repo.entry

    def entry(path: str, body: bytes) -> dict[str, Any]:
        return real(path, bodies.get(path.rpartition("/")[2].partition(".")[0], body))

    repo.entry = entry  # type: ignore[method-assign]
    return repo


def test_a_damaged_download_of_the_right_length_is_thrown_away_and_the_good_commit_kept(hub: FakeHub) -> None:
    fetch()
    good = snapshot.read_record(DATASET)
    commit(hub, NEWER)
    repo = lying(hub, a=bytes(len(NEWER["data/a.parquet"])))
    part = dataset_of(fetch())
    assert part.failed
    assert "data/a.parquet came damaged, of other bytes than the Hub says" in part.words
    assert snapshot.read_record(DATASET) == good
    assert at_hand() == data(FILES)
    del repo.entry  # type: ignore[attr-defined]  # mended: the advice, to try again, works
    assert fetch().changed
    assert at_hand() == data(NEWER)


def test_a_file_damaged_on_disk_is_fetched_again_though_the_hub_has_nothing_new(hub: FakeHub) -> None:
    fetch()
    blob = snapshot.resolve(DATASET).files[0].resolve()
    blob.chmod(0o600)
    blob.write_bytes(bytes(blob.stat().st_size))
    part = dataset_of(fetch())
    assert (part.state, part.words) == ("new", "repaired: 1 damaged file fetched again")
    assert at_hand() == data(FILES)
    assert dataset_of(fetch()).state == "unchanged"


def test_a_plain_file_in_place_of_the_link_is_noticed(hub: FakeHub) -> None:
    fetch()
    link = snapshot.resolve(DATASET).files[0]
    body = link.read_bytes()
    link.unlink()
    link.write_bytes(body[::-1])
    assert dataset_of(fetch()).words.startswith("repaired")
    assert at_hand() == data(FILES)


def test_two_hubs_with_one_commit_id_share_no_content(hub: FakeHub, monkeypatch: pytest.MonkeyPatch) -> None:
    fetch()
    other = {**FILES, "data/a.parquet": NEWER["data/a.parquet"]}
    with FakeHub() as second:
        second.add_repo("datasets", DATASET, other)  # the fake Hub's commit ids follow from the names alone
        assert second.repos["datasets", DATASET].refs == hub.repos["datasets", DATASET].refs
        monkeypatch.setenv("HF_ENDPOINT", second.url)
        assert fetch().changed
        assert at_hand() == data(other)
        monkeypatch.setenv("HF_ENDPOINT", hub.url)
        fetch()
        assert at_hand() == data(FILES)


def test_an_answer_without_end_is_not_read_to_its_end(hub: FakeHub) -> None:
    hub.repos["datasets", DATASET].info["tags"] = ["x" * (http_client.ANSWER + 1)]
    assert "not read any further" in dataset_of(fetch()).words


def test_a_page_that_links_to_itself_lists_each_model_once(hub: FakeHub, monkeypatch: pytest.MonkeyPatch) -> None:
    for n in range(3):
        hub.add_model(f"o/m{n}", pipeline_tag="text-generation", downloads=n, trendingScore=n)

    def to_itself(self: Any, items: list[dict[str, Any]], size: int | None = None) -> None:
        self.send(items, headers={"Link": f'<{self.hub.url}{self.path}>; rel="next"'})

    monkeypatch.setattr("tests.fakehub._Handler.send_page", to_itself)
    fetch(tasks=("text-generation",))
    found = rankings.load("text-generation")
    assert found is not None
    assert [(m.model_id, m.rank) for m in found.downloads] == [("o/m2", 1), ("o/m1", 2), ("o/m0", 3)]


def test_names_of_a_ranking_are_bounded() -> None:
    info = type("Info", (), {"id": "o/" + "m" * 5000, "pipeline_tag": ["x"], "gated": "a" * 5000})()
    (model,) = rankings.distinct([info])
    assert (len(model.model_id), model.pipeline_tag, len(model.gated or "")) == (200, None, 200)


def test_the_commits_that_were_fetched_are_remembered(hub: FakeHub) -> None:
    fetch()
    first = snapshot.read_record(DATASET)
    commit(hub, NEWER)
    fetch()
    second = snapshot.read_record(DATASET)
    assert first is not None
    assert second is not None
    assert [r.commit for r in remembered(DATASET)] == [second.commit, first.commit]
    assert commit_named(DATASET, "previous").sha == first.commit
    assert second.digests
    name, digest = second.digests[-1]
    assert digest_of(Path(second.folder) / name, digest) == digest


# -- the inference catalog


def test_tested_recipes_are_kept_for_offline(hub: FakeHub, monkeypatch: pytest.MonkeyPatch) -> None:
    hub.add_recipe("meta-llama/Llama-3.1-8B-Instruct", "gpu", "neuron")
    hub.add_recipe("o/only-gpu", "gpu")
    hub.add_recipe("../evil", "neuron")
    found = fetch(recipes=True).recipes
    assert found is not None
    assert found.words == "1 model with a tested Neuron recipe"
    kept = inference_catalog.load()
    assert kept is not None
    assert [r.id for r in kept.of("meta-llama/llama-3.1-8b-instruct")] == ["dish-1"]
    assert kept.of("o/only-gpu") == ()
    assert not inference_catalog.stale(kept.fetched + 10)
    assert inference_catalog.stale(kept.fetched + 100_000)
    assert all("accelerator=neuron" in r for r in hub.requests if "catalog" in r)


def test_a_hub_without_a_catalog_is_asked_once_a_day(hub: FakeHub) -> None:
    found = fetch(recipes=True).recipes
    assert found is not None
    assert (found.failed, found.words) == (False, "this Hub has no inference catalog")
    kept = inference_catalog.load()
    assert kept is not None
    assert kept.models == {}


def test_a_catalog_in_trouble_leaves_the_dataset_alone(hub: FakeHub) -> None:
    hub.fail("catalog", 503)
    found = fetch(recipes=True)
    assert found.recipes is not None
    assert (found.changed, found.recipes.failed) == (True, True)
    assert inference_catalog.load() is None


def test_a_damaged_catalog_on_disk_counts_as_none(hub: FakeHub, home: Path) -> None:
    fetch(recipes=True)
    (path,) = (home / "cache" / "hub").glob("inference-catalog*")
    for text in ("", "[]", '{"v": 1}', json.dumps({"v": 1, "endpoint": "", "fetched": 0, "models": {"a": [{"x": 1}]}})):
        path.write_text(text)
        assert inference_catalog.load() is None
