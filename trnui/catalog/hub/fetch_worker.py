"""The child process that talks to the Hub: `python -m trnui.catalog.hub.fetch_worker`, an order on its first line of stdin, events as JSON
lines on stdout. It may be killed at any moment: files come into the Hugging Face cache each in one rename, and the record
that makes them a snapshot is written last. It ends by itself when its parent does, or when nothing moves any more.

    {"event": "waiting"}                                    another fetch of this dataset is under way
    {"event": "plan", "files", "bytes", "commit"}           {"event": "progress", "files", "bytes", "at"}
    {"event": "dataset", "state": "new" / "unchanged" / "failed", "words", "remedy", "kind", "commit"}
    {"event": "rankings", "state", "words", "remedy"}       {"event": "recipes"} and {"event": "listing"}, as rankings
    {"event": "model", "info"} or {"event": "model", "state": "failed", …}
    {"event": "gave-up", "words", "remedy", "kind"}         nothing moved for too long; the process ends here
    {"event": "end"}
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from trnui.catalog.dataset import snapshot
from trnui.catalog.hub import commit_history, digests, fetch_lists, hub_errors
from trnui.catalog.hub.fetch_pulse import Pulse, failed, remember_failure
from trnui.catalog.hub.hub_errors import HubError
from trnui_runner.common.files import locked, private_dir, write_json
from trnui_runner.common.hub_env import hub_cache, is_offline
from trnui_runner.common.text import one_line

if TYPE_CHECKING:
    from huggingface_hub import HfApi

CARD: Final = "README.md"
_THREADS = 4
_EVERY = 0.1  # seconds between two progress lines
_SLACK = 2.0  # seconds beyond a request's own limit after which the whole is given up
_WORTH = 4096  # bytes that count as a sign of life
_STALE = 3600.0  # seconds after which no download is still writing a half-downloaded blob


@dataclass(frozen=True)
class Order:
    """What to fetch. `dataset` a Hub id or None; `tasks` whose rankings are wanted; `recipes`: the inference catalog;
    `listing`: (org or collection, its name), whose models are wanted; `model` to look up by name."""

    dataset: str | None = None
    tasks: tuple[str, ...] = ()
    recipes: bool = False
    listing: tuple[str, str] | None = None
    model: str | None = None
    timeout: float = 5.0
    token: bool = False

    def to_line(self) -> str:
        return json.dumps(asdict(self)) + "\n"

    @classmethod
    def from_line(cls, line: str) -> Order:
        value = json.loads(line)
        listing = value.get("listing")
        return replace(
            cls(**value), tasks=tuple(value.get("tasks", ())), listing=(listing[0], listing[1]) if listing else None
        )


def main() -> None:
    order = Order.from_line(sys.stdin.readline())
    threading.Thread(target=_end_with_parent, daemon=True, name="parent").start()
    pulse = Pulse(order.timeout + _SLACK)
    with pulse.pause():
        api, error = _api(order, pulse)
    pulse.start()
    if order.dataset is not None:
        error = _dataset(order.dataset, api, pulse, error)
    if order.tasks:
        fetch_lists.rankings_of(order.tasks, api, pulse, error)
    if order.recipes:
        fetch_lists.recipes(api, pulse, error)
    if order.listing:
        fetch_lists.listing(*order.listing, api, pulse)
    if order.model:
        fetch_lists.lookup(order.model, api, pulse, error)
    pulse.say("end")
    sys.stdout.flush()
    os._exit(0)  # threads of the client library hold up nothing


def _api(order: Order, pulse: Pulse) -> tuple[HfApi | None, HubError | None]:
    if is_offline():
        return None, hub_errors.offline()
    from trnui.catalog.hub import http_client

    try:
        return http_client.connect(
            order.timeout, token=order.token, beat=pulse.beat, got=pulse.moved, met=pulse.broke
        ), None
    except HubError as error:
        return None, error


def _end_with_parent() -> None:
    sys.stdin.read()
    os._exit(1)


# -- the dataset


def _dataset(dataset: str, api: HfApi | None, pulse: Pulse, error: HubError | None) -> HubError | None:
    """Fetches and tells; a failure is remembered beside the record, so that later commands can say why data is old."""
    path = snapshot.record_path(dataset)
    pulse.dataset = dataset
    try:
        private_dir(path.parent)
        with _alone(path.with_suffix(".lock"), pulse):
            if api is None:
                raise error or hub_errors.offline()
            before, after, repaired = _fetch(dataset, api, pulse)
            snapshot.attempt_path(dataset).unlink(missing_ok=True)
    except Exception as failure:  # noqa: BLE001  # the library's own kinds are many; each is put into words, none is lost
        found = hub_errors.from_exception(failure, snapshot.endpoint(), f"dataset {dataset}")
        remember_failure(dataset, found.message)
        pulse.say("dataset", **failed(found))
        return found
    finally:
        pulse.dataset = None
    state, words = "unchanged", f"unchanged: commit {after.commit[:7]}"
    if repaired and before is not None and before.commit == after.commit:
        state, words = "new", f"repaired: {len(repaired)} damaged file{'s' * (len(repaired) != 1)} fetched again"
    elif after is not before:
        with pulse.pause():
            state, words = "new", _changes(before, after)
    pulse.say("dataset", state=state, commit=after.commit, words=words)
    return None


@contextlib.contextmanager
def _alone(path: Path, pulse: Pulse) -> Iterator[None]:
    """One fetch of a dataset at a time; the second waits and then mostly finds nothing to do."""
    told = False
    while True:
        with locked(path, wait=False) as held:
            if held:
                yield
                return
        if not told:
            pulse.say("waiting")
            told = True
        pulse.beat()
        time.sleep(0.1)


def _fetch(
    dataset: str, api: HfApi, pulse: Pulse
) -> tuple[snapshot.FetchRecord | None, snapshot.FetchRecord, tuple[str, ...]]:
    """The record before, the one now, and which files were damaged on disk; the same record twice when the Hub has nothing
    newer. The record before stays until every file of the new one is here and is what the Hub says it is."""
    pulse.at = f"asking for {dataset}"
    info = api.dataset_info(dataset, files_metadata=True)
    commit = str(info.sha)
    if not digests.is_digest(commit):
        raise HubError(
            "odd", f"{dataset}: its commit is called {one_line(commit, 60)}, as on no Hub", "Check HF_ENDPOINT."
        )
    listed = [s for s in info.siblings or () if snapshot.is_parquet(s.rfilename) or s.rfilename == CARD]
    wanted = {s.rfilename: Wanted(s.size, digests.expected(s)) for s in listed}
    known = digests.known((name, file.digest) for name, file in wanted.items())
    before = snapshot.read_record(dataset)
    now = time.time()
    bad: tuple[str, ...] = ()
    if before is not None and before.commit == commit and not before.missing():
        pulse.at = "checking the files on disk"
        checked = replace(before, checked=now, digests=known)
        bad = digests.damaged(checked, pulse.beat)
        if not bad:
            write_json(snapshot.record_path(dataset), checked.to_json())
            return before, before, ()
    pulse.say("plan", files=len(wanted), bytes=sum(file.size or 0 for file in wanted.values()), commit=commit)
    folder = _download(dataset, commit, wanted, api, pulse)
    modified = info.last_modified.timestamp() if info.last_modified else None
    files = tuple((name, (folder / name).stat().st_size) for name in sorted(wanted))
    after = snapshot.FetchRecord(dataset, snapshot.endpoint(), commit, now, now, str(folder), files, modified, known)
    write_json(snapshot.record_path(dataset), after.to_json())
    for record in (*([before] if before else []), after):
        commit_history.remember(record)
    return before, after, bad


@dataclass(frozen=True)
class Wanted:
    """What the Hub says about a file: bytes and digest, None where it does not."""

    size: int | None
    digest: str | None


def _download(dataset: str, commit: str, wanted: dict[str, Wanted], api: HfApi, pulse: Pulse) -> Path:
    """Brings the files of one commit into the Hugging Face cache and returns the commit's folder there. A file that is there
    already but is not what the Hub says (damaged, or another Hub's) is fetched again; what comes and is not, is thrown away."""
    cache = hub_cache()
    folder = cache / f"datasets--{dataset.replace('/', '--')}" / "snapshots" / commit
    blobs = folder.parent.parent / "blobs"
    _sweep(blobs)

    def one(name: str) -> None:
        pulse.at = f"fetching {name}"
        if os.path.lexists(folder / name) and not _right(folder / name, wanted[name], pulse):
            digests.discard(folder / name, blobs)
        found = Path(api.hf_hub_download(dataset, name, repo_type="dataset", revision=commit, cache_dir=cache))
        if not _right(found, wanted[name], pulse):
            size = found.stat().st_size
            digests.discard(found, blobs)
            right = wanted[name].size
            told = "of other bytes than the Hub says" if right in (None, size) else f"{size} bytes instead of {right}"
            raise HubError(
                "torn",
                f"{name} came damaged, {told}; it was thrown away",
                "Try again: what was here before is still used. If it stays so, a proxy or the Hub in HF_ENDPOINT is to blame.",
            )
        pulse.moved(file=name)

    with ThreadPoolExecutor(_THREADS) as pool:
        tasks = [pool.submit(one, name) for name in sorted(wanted)]
        try:
            for task in as_completed(tasks):
                task.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return folder


def _right(path: Path, wanted: Wanted, pulse: Pulse) -> bool:
    try:
        if wanted.size not in (None, path.stat().st_size):
            return False
        return wanted.digest is None or digests.digest_of(path, wanted.digest, pulse.beat) == wanted.digest
    except OSError:
        return False


def _sweep(blobs: Path) -> None:
    """Takes away what killed downloads have left behind, once nothing can still be writing it."""
    for part in blobs.glob("*.incomplete"):
        with contextlib.suppress(OSError):
            if time.time() - part.stat().st_mtime > _STALE:
                part.unlink()


def _changes(before: snapshot.FetchRecord | None, after: snapshot.FetchRecord) -> str:
    import duckdb

    from trnui import settings
    from trnui.catalog.hub.snapshot_diff import changes

    try:
        return changes(before, after, settings.load().columns).words()
    except (duckdb.Error, OSError, ValueError) as error:  # what is fetched is fetched, whatever its rows are like
        return f"fetched; what changed could not be worked out: {one_line(error, 120)}"


if __name__ == "__main__":
    main()
