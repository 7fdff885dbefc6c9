"""The app's background refresh: one fetch at a time, in a child process, followed by a thread that hands over words. No Textual."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from trnui.settings import Settings

if TYPE_CHECKING:
    from trnui.catalog.dataset.snapshot import DatasetSource
    from trnui.catalog.hub.fetch_client import FetchProgress, Finished, Refresh

EVERY: Final = 0.5  # seconds between two words to the screen: a slow line must bear them
RANKINGS_S: Final = 3600.0  # rankings younger than this are not asked for again


class Refresher:
    """`tell` is called from the thread: with words while it goes on, with what came out at the end."""

    def __init__(self, settings: Settings, tell: Callable[[str | Finished], object]) -> None:
        self._settings = settings
        self._tell = tell
        self._refresh: Refresh | None = None
        self._closed = False

    @property
    def busy(self) -> bool:
        return self._refresh is not None

    def due(self, source: DatasetSource) -> bool:
        """Whether a look at the Hub is due by itself: the dataset is the Hub's, and old or not there yet."""
        from trnui.catalog.dataset import snapshot
        from trnui.catalog.hub.fetch_client import due

        if not snapshot.is_hub_id(source.asked) or source.kind not in ("hub", "sample"):
            return False
        return due(source.provenance.fetched, float(self._settings.refresh_hours), time.time())

    def start(self, source: DatasetSource, *, all_rankings: bool = False) -> None:
        """Does nothing while one is under way."""
        if self._refresh is None and not self._closed:
            threading.Thread(target=self._run, args=(source, all_rankings), daemon=True, name="refresh").start()

    def close(self) -> None:
        self._closed = True
        if self._refresh is not None:
            self._refresh.close()

    def _run(self, source: DatasetSource, all_rankings: bool) -> None:
        from trnui.catalog.dataset import rankings, snapshot
        from trnui.catalog.hub import inference_catalog
        from trnui.catalog.hub.fetch_client import Finished, Refresh
        from trnui.catalog.hub.fetch_worker import Order

        hub = source.asked if snapshot.is_hub_id(source.asked) and source.kind in ("hub", "sample") else None
        tasks = rankings.stale(time.time(), 0.0 if all_rankings else RANKINGS_S)
        recipes = inference_catalog.stale(time.time(), 0.0 if all_rankings else inference_catalog.EVERY_S)
        order = Order(hub, tasks, recipes, timeout=self._settings.hub_timeout_s, token=self._settings.hub_token)
        self._refresh = Refresh(order).start()
        last = ""
        try:
            while not self._closed:
                state = self._refresh.poll()
                if isinstance(state, Finished):
                    self._refresh = None
                    self._tell(state)
                    return
                told = words(state, hub)
                if told != last:
                    self._tell(told)
                    last = told
                time.sleep(EVERY)
        finally:
            self._refresh = None


def words(p: FetchProgress, hub: str | None) -> str:
    """`fetching 5 of 12 files, 1.2 MiB of 3.4 MiB`."""
    from trnui_runner.common.text import size

    if p.files_total is None:
        return f"fetching {hub or 'rankings'}: {p.at}"
    known = f"{size(p.bytes)} of {size(p.bytes_total)}" if p.bytes_total else size(p.bytes)
    return f"fetching {p.files} of {p.files_total} files, {known}"
