"""Fetching: what comes over the wire, what is left on disk, and what may be killed when."""

from __future__ import annotations

import io
import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.fakehub import TLS, FakeHub
from trnui.catalog.dataset import snapshot
from trnui.catalog.hub.fetch_client import FetchProgress, Finished, Refresh
from trnui.catalog.hub.fetch_worker import Order
from trnui_runner.common.hub_env import hub_cache

DATASET = "acme/results"
CARD = b"# Results\n\nWhat each word means.\n"
OLD, NEW = "2.28.100.0", "2.29.5.0"


def parquet(compiler: str = OLD, library: str = "5.24.0", padding: int = 0, **results: str) -> bytes:
    """One file of the dataset: a row for each `model=RESULT` (`__` stands for `/`)."""
    rows = [
        {
            "model_id": model.replace("__", "/"), "library": "transformers", "tp": 1, "result": result,
            "neuronx_cc": compiler, "library_version": library, "run_py": random.Random(model).randbytes(padding).hex(),
        }
        for model, result in results.items()
    ]  # fmt: skip
    sink = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows), sink)
    return sink.getvalue()


FILES = {"README.md": CARD, "data/a.parquet": parquet(o__m0="PASS", o__m1="FAIL", o__m2="PASS")}
NEWER = {
    "README.md": CARD,
    "data/a.parquet": parquet(o__m0="PASS", o__m1="PASS", o__m2="PASS", o__m3="FAIL"),
    "data/b.parquet": parquet(NEW, o__m0="PASS"),
}


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeHub]:
    with FakeHub() as hub:
        hub.add_repo("datasets", DATASET, FILES)
        monkeypatch.delenv("HF_HUB_OFFLINE")
        monkeypatch.setenv("HF_ENDPOINT", hub.url)
        yield hub


def fetch(**order: Any) -> Finished:
    return Refresh(Order(DATASET, **order)).start().wait()


def commit(hub: FakeHub, files: dict[str, bytes]) -> str:
    return hub.repos["datasets", DATASET].commit(files)


def at_hand() -> dict[str, bytes]:
    """What `resolve` hands out, by name; empty when the sample stands in."""
    source = snapshot.resolve(DATASET)
    return (
        {} if source.provenance.sample else {n: f.read_bytes() for n, f in zip(source.names, source.files, strict=True)}
    )


def data(files: dict[str, bytes]) -> dict[str, bytes]:
    return {name: body for name, body in files.items() if name.endswith(".parquet")}


def trnui(*args: str, **env: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "trnui", *args]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, env=os.environ | env, check=False)


def test_first_fetch_brings_data_and_card(hub: FakeHub) -> None:
    found = fetch()
    assert found.changed
    assert found.words == "3 rows, 1 stack"
    assert at_hand() == data(FILES)
    card = snapshot.resolve(DATASET).card
    assert card is not None
    assert card.read_bytes() == CARD


def test_unchanged_costs_exactly_one_request(hub: FakeHub) -> None:
    fetch()
    hub.requests.clear()
    found = fetch()
    assert found.dataset is not None
    assert found.dataset.state == "unchanged"
    assert len(hub.requests) == 1


def test_a_new_commit_fetches_only_new_files_and_says_what_changed(hub: FakeHub) -> None:
    fetch()
    commit(hub, NEWER)
    hub.requests.clear()
    found = fetch()
    assert found.words == "2 new rows, 1 changed result, new stack 2.29.5.0/5.24.0"
    assert sorted(r.rpartition("/")[2] for r in hub.requests if r.startswith("GET /datasets")) == [
        "a.parquet",
        "b.parquet",
    ]
    assert at_hand() == data(NEWER)


def test_a_file_that_a_later_commit_removed_is_gone(hub: FakeHub) -> None:
    commit(hub, NEWER)
    fetch()
    commit(hub, FILES)
    fetch()
    assert list(at_hand()) == ["data/a.parquet"]


def test_progress_counts_files_and_bytes(hub: FakeHub) -> None:
    big = {"README.md": CARD, **{f"data/{n}.parquet": os.urandom(400_000) for n in range(3)}}
    commit(hub, big)
    hub.rate = 800_000
    refresh = Refresh(Order(DATASET)).start()
    seen = []
    while isinstance(state := refresh.poll(), FetchProgress):
        seen.append(state)
        time.sleep(0.02)
    total = sum(map(len, big.values()))
    assert {p.bytes_total for p in seen[-5:]} == {total}
    assert len({p.bytes for p in seen}) > 5
    assert all(p.bytes <= total and p.files <= 4 for p in seen)


# -- killed at any moment


def test_killed_at_random_moments_never_leaves_half_a_state(hub: FakeHub) -> None:
    states = [FILES, NEWER]
    dice = random.Random(7)
    fetch()
    killed = 0
    for n in range(20):
        wanted = {
            "README.md": f"card {n}".encode(),
            **{f"data/{i}.parquet": parquet(padding=20_000, **{f"o__m{n}": "PASS"}) + bytes([n, i]) for i in range(4)},
        }
        before = at_hand()
        commit(hub, wanted)
        hub.rate = 200_000
        refresh = Refresh(Order(DATASET)).start()
        time.sleep(dice.uniform(0.15, 0.9))
        killed += not isinstance(refresh.poll(), Finished)
        refresh.close()
        assert at_hand() in (before, data(wanted)), f"round {n}"
        states.append(wanted)
    assert killed > 5
    hub.rate = 0
    assert fetch().changed or at_hand() == data(states[-1])
    assert at_hand() == data(states[-1])


def test_killed_at_the_first_fetch_leaves_nothing_that_is_taken_for_a_snapshot(hub: FakeHub) -> None:
    commit(hub, {f"data/{i}.parquet": os.urandom(200_000) for i in range(3)})
    hub.fail("GET .*2.parquet", status=0, delay=30)
    refresh = Refresh(Order(DATASET)).start()
    while isinstance(state := refresh.poll(), FetchProgress) and state.files < 2:
        time.sleep(0.01)
    refresh.close()
    assert at_hand() == {}
    hub.faults.clear()
    fetch()
    assert len(at_hand()) == 3


def test_the_child_ends_with_its_parent(hub: FakeHub) -> None:
    hub.fail("api/datasets", status=0, delay=30)
    refresh = Refresh(Order(DATASET, timeout=30)).start()
    child = refresh._child
    assert child is not None
    assert child.stdin is not None
    time.sleep(0.3)
    child.stdin.close()  # what the end of the parent does
    assert child.wait(5) == 1
    refresh.close()


def test_a_deadline_ends_it_whatever_it_does(hub: FakeHub) -> None:
    commit(hub, {"data/a.parquet": os.urandom(2_000_000)})
    hub.rate = 100_000
    started = time.monotonic()
    found = Refresh(Order(DATASET), deadline=1.5).start().wait().dataset
    assert found is not None
    assert found.failed
    assert "1.5 s" in found.words
    assert time.monotonic() - started < 3


def test_two_at_once_wait_for_each_other(hub: FakeHub) -> None:
    hub.rate = 20_000
    both = [Refresh(Order(DATASET)).start() for _ in range(2)]
    states = sorted(found.dataset.state for r in both if (found := r.wait()).dataset)
    assert states == ["new", "unchanged"]


def test_a_crash_of_the_child_is_told(hub: FakeHub, monkeypatch: pytest.MonkeyPatch) -> None:
    found = Refresh(Order(DATASET, timeout="soon")).start().wait().dataset  # type: ignore[arg-type]
    assert found is not None
    assert found.failed
    assert "ended early" in found.words
    assert "TypeError" in found.words


# -- what is sent, and by which way


def test_no_token_is_sent_unless_allowed(hub: FakeHub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    stored = Path(os.environ["HF_HOME"]) / "token"
    stored.parent.mkdir(parents=True)
    stored.write_text("hf_stored")
    fetch(tasks=("text-generation",))
    assert len(hub.headers) > 4
    assert not any("authorization" in h or "hf_" in json.dumps(h).replace("hf_hub/", "") for h in hub.headers)
    hub.headers.clear()
    fetch(token=True)
    assert [h.get("authorization") for h in hub.headers] == ["Bearer hf_secret"]


def test_nothing_is_asked_that_was_not_wanted(hub: FakeHub) -> None:
    fetch()
    assert not [r for r in hub.requests if "agent-harnesses" in r or DATASET not in r]


def test_a_proxy_is_used(hub: FakeHub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", hub.url)
    monkeypatch.setenv("HF_ENDPOINT", "http://hub.invalid")
    assert fetch().changed
    assert all(r.partition(" ")[2].startswith("http://hub.invalid/") for r in hub.requests)


@pytest.mark.parametrize("name", ["SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"])
def test_own_certificate_authorities_are_trusted(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HF_HUB_OFFLINE")
    with FakeHub(tls=True) as hub:
        hub.add_repo("datasets", DATASET, FILES)
        monkeypatch.setenv("HF_ENDPOINT", hub.url)
        monkeypatch.setenv(name, str(TLS / "cert.pem"))
        assert fetch().changed


def test_hf_home_is_where_files_go(hub: FakeHub, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HF_HOME", str(tmp_path / "elsewhere"))
    fetch()
    assert all(f.is_relative_to(tmp_path / "elsewhere" / "hub") for f in snapshot.resolve(DATASET).files)


def test_each_hub_has_its_own_record(hub: FakeHub, monkeypatch: pytest.MonkeyPatch) -> None:
    fetch()
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    assert at_hand() == {}


def test_names_that_lead_out_of_the_dataset_are_left_out(hub: FakeHub) -> None:
    fetch()
    repo = hub.repos["datasets", DATASET]
    repo.commit({**FILES, "../../evil.parquet": b"x", "/tmp/evil.parquet": b"x", ".hidden/e.parquet": b"x"})
    fetch()
    assert list(at_hand()) == ["data/a.parquet"]


# -- what is on disk


def test_a_snapshot_whose_files_were_deleted_is_fetched_again(hub: FakeHub) -> None:
    fetch()
    fetched = snapshot.resolve(DATASET)
    assert not fetched.provenance.sample  # else the next line would delete a file of the bundled sample
    fetched.files[0].resolve().unlink()
    source = snapshot.resolve(DATASET)
    assert source.provenance.sample
    assert "gone from the Hugging Face cache" in source.provenance.words
    assert fetch().changed
    assert at_hand() == data(FILES)


def test_what_hf_download_left_is_used(hub: FakeHub) -> None:
    from_hf = f"import huggingface_hub as h; h.snapshot_download({DATASET!r}, repo_type='dataset')"
    subprocess.run([sys.executable, "-c", from_hf], check=True, capture_output=True, timeout=60)
    assert at_hand() == data(FILES)
    assert "Hugging Face cache" in snapshot.resolve(DATASET).provenance.words


def test_half_of_what_hf_download_brings_is_not(hub: FakeHub) -> None:
    commit(hub, NEWER)
    hub.fail("b.parquet", 500)
    from_hf = f"import huggingface_hub as h; h.snapshot_download({DATASET!r}, repo_type='dataset', max_workers=1)"
    child = subprocess.Popen([sys.executable, "-c", from_hf], stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline and not any("b.parquet" in r for r in hub.requests):
        time.sleep(0.05)
    child.kill()
    child.wait()
    assert list(hub_cache().rglob("a.parquet"))
    assert at_hand() == {}


# -- the command


def test_the_command_says_what_came(hub: FakeHub) -> None:
    done = trnui("sync", "--dataset", DATASET)
    assert done.returncode == 0
    assert done.stdout.splitlines()[0] == "dataset\tnew\t3 rows, 1 stack"
    assert "commit" in done.stderr
    hub.requests.clear()
    assert trnui("sync", "--dataset", DATASET).stdout.startswith("dataset\tunchanged")
    assert len(hub.requests) == 1, hub.requests  # the rankings are young


def test_the_command_fails_in_words_and_names_the_data_at_hand(hub: FakeHub) -> None:
    trnui("sync", "--dataset", DATASET)
    hub.fail("api/", 503)
    done = trnui("sync", "--dataset", DATASET)
    assert (done.returncode, done.stdout) == (3, "")
    assert "503" in done.stderr
    assert "at hand: acme/results · commit" in done.stderr
    assert "Traceback" not in done.stderr


def test_offline_asks_nothing(hub: FakeHub) -> None:
    done = trnui("sync", "--offline", "--dataset", DATASET)
    assert done.returncode == 0
    assert hub.requests == []


def test_a_script_of_a_damaged_file_is_not_run_and_sync_fetches_the_file_again(hub: FakeHub, tmp_path: Path) -> None:
    sink = io.BytesIO()
    row = {"model_id": "o/m", "library": "transformers", "tp": 1, "result": "PASS", "neuronx_cc": OLD, "library_version": "5.24.0",
           "run_py": "print('as published')\n"}  # fmt: skip
    pq.write_table(pa.Table.from_pylist([row]), sink, compression="none", use_dictionary=False)
    commit(hub, {"README.md": CARD, "data/a.parquet": sink.getvalue()})
    fetch()
    run = ("--dataset", DATASET, "--offline", "run", "o/m", "--device", "cpu", "--dry-run")
    fine = trnui(*run)
    assert "damaged" not in fine.stderr
    record = snapshot.read_record(DATASET)
    assert record is not None
    file = Path(record.folder) / "data/a.parquet"
    other = file.read_bytes().replace(b"as published", b"as a stranger"[:12])
    assert len(other) == len(sink.getvalue())
    file.unlink()  # a plain file in the place of the link into the Hub's cache
    file.write_bytes(other)
    refused = trnui(*run)
    assert refused.returncode == 3, refused.stderr
    assert "data/a.parquet of acme/results is damaged" in refused.stderr
    assert "trnui sync" in refused.stderr
    assert "Traceback" not in refused.stderr
    fetch()
    assert file.read_bytes() == sink.getvalue()
    assert "damaged" not in trnui(*run).stderr
