"""Everything that can go wrong with a Hub, with and without a snapshot on disk: a clear line, the data at hand, at most ten seconds.

`python -m tests.unit.catalog.hub.test_hub_errors` prints the whole matrix, with the time limits as shipped, as a Markdown table.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.fakehub import TLS, FakeHub
from trnui.catalog.dataset import snapshot
from trnui.catalog.hub import hub_errors
from trnui.catalog.hub.fetch_client import Finished, Part, Refresh
from trnui.catalog.hub.fetch_worker import Order

DATASET = "acme/results"
FILES = {"README.md": b"# Results\n", "data/a.parquet": b"A" * 60_000, "data/b.parquet": b"B" * 60_000}
NEWER = {**FILES, "data/c.parquet": b"C" * 60_000}
LIMIT = 10.0  # seconds that any trouble may take
BRIEF = 1.0  # hub_timeout_s of most tests here; one of them, and the table, measure the default


@dataclass(frozen=True)
class Trouble:
    """What is done to the Hub or the environment, and what the user must be told."""

    name: str
    kind: str
    words: str
    strike: Callable[[FakeHub, pytest.MonkeyPatch], object]
    tls: bool = False


TROUBLES = (
    Trouble("HF_HUB_OFFLINE=1", "offline", "HF_HUB_OFFLINE", lambda hub, env: env.setenv("HF_HUB_OFFLINE", "1")),
    Trouble("connection refused", "refused", "refuses the connection", lambda hub, env: hub.close()),
    Trouble("no such host", "unknown-host", "cannot be found", lambda hub, env: env.delenv("HTTP_PROXY")),
    Trouble("401, bad token", "token", "401", lambda hub, env: hub.fail("api/datasets", 401)),
    Trouble("403, gated", "gated", "is gated", lambda hub, env: hub.gate("api/datasets")),
    Trouble("403, gated files", "gated", "is gated", lambda hub, env: hub.gate("/resolve/")),
    Trouble("401, no such dataset", "missing", "knows no dataset acme/results", lambda hub, env: hub.repos.clear()),
    Trouble("404", "missing", "(404)", lambda hub, env: hub.fail("api/datasets", 404)),
    Trouble(
        "429", "limited", "wait 300 s", lambda hub, env: hub.fail("api/datasets", 429, headers={"Retry-After": "300"})
    ),
    Trouble("503", "server", "503", lambda hub, env: hub.fail("api/datasets", 503)),
    Trouble("500 for the files", "server", "500", lambda hub, env: hub.fail("resolve", 500)),
    Trouble("silent server", "silent", "does not answer", lambda hub, env: hub.fail("api/", status=0, delay=60)),
    Trouble("silent for the files", "silent", "does not answer", lambda hub, env: hub.fail("resolve", 0, delay=60)),
    Trouble(
        "silent in a body", "silent", "does not answer", lambda hub, env: hub.fail("GET .*resolve", cut=9, stall=60)
    ),
    Trouble("torn body", "torn", "broke off", lambda hub, env: hub.fail("GET .*resolve.*parquet", cut=9)),
    Trouble("torn answer", "torn", "broke off", lambda hub, env: hub.fail("api/datasets", cut=20)),
    Trouble("bad TLS", "tls", "no trusted TLS", lambda hub, env: env.delenv("SSL_CERT_FILE"), tls=True),
    Trouble("proxy says no", "proxy", "proxy", lambda hub, env: env.setenv("HTTPS_PROXY", hub.other.url), tls=True),
    Trouble("not a Hub", "odd", "no Hub", lambda hub, env: hub.fail("api/datasets", 200)),
    Trouble("no room for files", "disk", "cannot write", lambda hub, env: env.setenv("HF_HUB_CACHE", "/dev/null/hub")),
)


def fetch(timeout: float = BRIEF, *, token: bool = False) -> Finished:
    return Refresh(Order(DATASET, timeout=timeout, token=token)).start().wait()


@contextlib.contextmanager
def a_hub(env: pytest.MonkeyPatch, trouble: Trouble) -> Iterator[FakeHub]:
    with FakeHub(tls=trouble.tls) as hub, FakeHub() as other:
        hub.other = other
        hub.add_repo("datasets", DATASET, FILES)
        env.delenv("HF_HUB_OFFLINE", raising=False)
        env.setenv("HF_ENDPOINT", hub.url)
        env.setenv("SSL_CERT_FILE", str(TLS / "cert.pem"))
        if trouble.kind == "unknown-host":  # only the proxy knows this one
            env.setenv("HF_ENDPOINT", "http://hub.invalid")
            env.setenv("HTTP_PROXY", hub.url)
        yield hub


def meet(trouble: Trouble, at_hand: bool, env: pytest.MonkeyPatch, timeout: float) -> tuple[Part, float]:
    """Lets the trouble strike, with a snapshot on disk and a newer one on the Hub or with nothing; how it ended, in which time."""
    with a_hub(env, trouble) as hub:
        if at_hand:
            first = fetch().dataset
            assert first is not None
            assert first.state == "new", first
            hub.repos["datasets", DATASET].commit(NEWER)
        trouble.strike(hub, env)
        started = time.monotonic()
        found = fetch(timeout).dataset
        seconds = time.monotonic() - started
        assert found is not None
        return found, seconds


@pytest.mark.parametrize("at_hand", [True, False], ids=["snapshot", "nothing"])
@pytest.mark.parametrize("trouble", TROUBLES, ids=lambda t: t.name)
def test_trouble(trouble: Trouble, at_hand: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    found, seconds = meet(trouble, at_hand, monkeypatch, BRIEF)
    assert (found.state, found.kind) == ("failed", trouble.kind), found
    assert trouble.words in found.words
    assert "\n" not in found.words
    assert found.remedy
    assert seconds < LIMIT
    source = snapshot.resolve(DATASET)
    if at_hand:
        assert source.names == ("data/a.parquet", "data/b.parquet")
        assert [f.read_bytes() for f in source.files] == [FILES[n] for n in source.names]
        assert "not refreshed: " in source.provenance.words
    else:
        assert source.provenance.sample
        assert source.asked == DATASET
    assert source.provenance.stale


def test_a_silent_hub_is_given_up_in_time_as_shipped(monkeypatch: pytest.MonkeyPatch) -> None:
    trouble = next(t for t in TROUBLES if t.name == "silent in a body")
    found, seconds = meet(trouble, True, monkeypatch, Order().timeout)
    assert found.kind == "silent"
    assert seconds < LIMIT


def test_a_success_takes_the_reason_away(monkeypatch: pytest.MonkeyPatch) -> None:
    trouble = next(t for t in TROUBLES if t.name == "503")
    with a_hub(monkeypatch, trouble) as hub:
        hub.fail("api/datasets", 503, times=1)
        fetch()
        assert "503" in (snapshot.resolve(DATASET).provenance.stale or "")
        fetch()
        assert snapshot.resolve(DATASET).provenance.stale is None


def main() -> None:
    print("| trouble | with a snapshot | nothing on disk | what is said |")
    print("| --- | ---: | ---: | --- |")
    for trouble in TROUBLES:
        took = []
        for at_hand in (True, False):
            with tempfile.TemporaryDirectory() as home, pytest.MonkeyPatch.context() as env:
                for name in [n for n in os.environ if n.startswith(("HF_", "TRNUI_"))]:
                    env.delenv(name)
                env.setenv("TRNUI_CACHE_DIR", str(Path(home) / "cache"))
                env.setenv("HF_HOME", str(Path(home) / "hf"))
                found, seconds = meet(trouble, at_hand, env, Order().timeout)
                took.append(f"{seconds:.1f} s")
        print(f"| {trouble.name} | {' | '.join(took)} | {found.words} |", flush=True)


if __name__ == "__main__":
    main()


def test_a_name_that_no_hub_takes_is_said_to_be_one() -> None:
    error = type("HFValidationError", (ValueError,), {})("Repo id must be in the form …")
    assert (
        hub_errors.from_exception(error, "https://huggingface.co", "model a//b").message
        == "model a//b: not a valid Hub id"
    )
