"""Where the app's rows come from: what is on disk, opened in a thread after the first frame; refreshed in the background; the
sample. DatasetController never become others without a word, and the cursor stays on its model."""

from __future__ import annotations

import gc
import threading
from typing import TYPE_CHECKING

from textual.message import Message

from trnui.catalog.messages import Answer, Failed
from trnui.tui.widgets.styled_lines import Line
from trnui_runner.common.errors import UserError

if TYPE_CHECKING:
    from trnui.catalog.dataset.snapshot import DatasetSource
    from trnui.catalog.engine.query_service import Store
    from trnui.catalog.hub.background_refresh import Refresher
    from trnui.catalog.hub.fetch_client import Finished
    from trnui.catalog.query import Stack
    from trnui.tui.context import AppContext


class Arrived(Message):
    """An answer of the store, from one of its threads."""

    def __init__(self, store: Store, answer: Answer) -> None:
        super().__init__()
        self.store, self.answer = store, answer


class Resolved(Message):
    """What is on disk, or why nothing can be read."""

    def __init__(self, source: DatasetSource | None, error: UserError | None, host: Stack | None = None) -> None:
        super().__init__()
        self.source, self.error, self.host = source, error, host


class Told(Message):
    """Of a refresh: words while it goes on, or how it ended."""

    def __init__(self, told: str | Finished) -> None:
        super().__init__()
        self.told = told


class DatasetController:
    """One for the app. Its threads only post messages to it; everything else happens on the app's own thread."""

    def __init__(self, context: AppContext) -> None:
        self._context = context
        self.source: DatasetSource | None = None
        self.store: Store | None = None
        self.fetching = ""  # words of a fetch under way, or of data that wait to be shown
        self.settled = False  # all rows of this source are in, and the first of them are drawn
        self._refresher: Refresher | None = None

    @property
    def refresher(self) -> Refresher:
        """Made when it is first needed, after the first rows."""
        if self._refresher is None:
            from trnui.catalog.hub.background_refresh import Refresher

            self._refresher = Refresher(self._context.settings, lambda told: self._context.post_message(Told(told)))
        return self._refresher

    def close(self) -> None:
        if self._refresher is not None:
            self._refresher.close()
        if self.store is not None:
            self.store.close()

    # -- what is on disk

    def load(self, dataset: str | None = None) -> None:
        """Finds what is on disk in a thread, then opens it; the first frame is out by now."""
        context = self._context
        name, offline = dataset or str(context.settings.dataset), context.offline

        def find() -> None:
            from trnui.catalog.dataset.host_stack import host_stack
            from trnui.catalog.dataset.snapshot import resolve

            try:
                source = resolve(name, offline)
                context.post_message(Resolved(source, None, host_stack(context.settings.python)))
            except UserError as error:
                context.post_message(Resolved(None, error))

        threading.Thread(target=find, daemon=True, name="resolve").start()

    def resolved(self, message: Resolved) -> None:
        if message.source is not None:
            self.open(message.source, message.host)
            return
        assert message.error is not None
        self._context.problems.append(str(message.error))
        self.fetching = f"no data: {message.error.message}"
        self._context.rows_view.no_source(message.error)
        self._show_source()

    def open(self, source: DatasetSource, host: Stack | None = None) -> None:
        """Other rows from here on: the screens ask again. `host`: this host's stack, which is the default where it has rows."""
        from trnui.catalog.engine.query_service import Store

        if self.store is not None:
            self.store.close()
        self.source, self.settled = source, False
        context = self._context
        store: Store

        def post(answer: Answer) -> None:
            context.post_message(Arrived(store, answer))

        store = self.store = Store(source, post, columns=context.settings.columns, host=host)
        self._show_source()
        context.rows_view.new_store(store)
        store.start()

    def arrived(self, message: Arrived) -> None:
        if message.store is not self.store:
            return  # of a source that was replaced
        answer, explore = message.answer, self._context.rows_view
        if isinstance(answer, Failed):
            self._context.say(answer.words, "bad")
        explore.arrived(answer)
        if (
            not self.settled
            and explore.loaded.done >= explore.loaded.files
            and (explore.has_rows or not explore.loaded.files)
        ):
            self.settled = True
            self._context.call_after_refresh(self._rows_are_out)

    def _rows_are_out(self) -> None:
        """What waits until the rows are painted: it would only share the interpreter with them."""
        if not gc.isenabled():
            gc.freeze()
            gc.enable()
        self.load_rankings()
        self.load_own()
        context = self._context
        if context.background:
            context.watch_runs()
            context.rows_are_in()
        if context.background and not context.offline and self.source is not None and self.refresher.due(self.source):
            self.refresher.start(self.source)

    def load_rankings(self) -> None:
        """The Hub's lists from disk into the store."""
        store = self.store
        if store is None:
            return

        def read() -> None:
            from trnui.catalog.dataset.rankings import lines, stored

            found = lines(stored())
            if found:
                store.set_rankings(found)

        threading.Thread(target=read, daemon=True, name="rankings").start()

    def load_own(self) -> None:
        """This host's runs from their folders into the store; what is left of lost ones is ended and said."""
        context, store = self._context, self.store
        if store is None:
            return

        def read() -> None:
            from trnui.catalog.dataset.own_results import own_rows
            from trnui_runner.supervise.launcher import sweep_all

            for run_id, ended in sweep_all().items():
                found = (
                    f"; its remaining processes were stopped ({len(ended)} process{'es' * (len(ended) != 1)})"
                    if ended
                    else ""
                )
                context.call_later(context.say, f"run {run_id} was lost: its supervisor is gone{found}", "warn")
            store.set_own(own_rows())

        threading.Thread(target=read, daemon=True, name="own").start()

    # -- refresh and sample

    def refresh_now(self) -> str | None:
        """Starts a fetch of dataset and rankings; why not, in words, when it cannot."""
        if self._context.offline:
            return "offline, as asked: nothing is fetched"
        if self.refresher.busy:
            return "a fetch is under way"
        if self.source is None:
            return "no dataset is open yet"
        self.refresher.start(self.source, all_rankings=True)
        return None

    def told(self, message: Told) -> None:
        """DatasetController of the same dataset are replaced with a word; the sample stays until the user asks for the other."""
        told, context = message.told, self._context
        if isinstance(told, str):
            self.fetching = told
        else:
            self.fetching = ""
            failed = told.dataset is not None and told.dataset.failed
            context.say(told.words or "nothing new", "warn" if failed else "accent")
            if failed and told.dataset is not None:
                self.fetching = f"not refreshed: {told.dataset.words}"
            if self.source is not None and self.source.provenance.sample and told.changed:
                self.fetching = f"{self.source.asked} is here now: {context.key_of('list.sample')} shows it"
            elif told.changed:
                self.load()
            elif told.rankings is not None and not told.rankings.failed:
                self.load_rankings()
        self._show_source()

    def toggle_sample(self) -> None:
        """The bundled sample, and back to the dataset of the settings."""
        from trnui.catalog.dataset.snapshot import SAMPLE

        self.fetching = ""
        in_sample = self.source is not None and self.source.provenance.sample
        self.load(None if in_sample else SAMPLE)

    # -- words

    def line(self) -> Line:
        """Where the rows come from, on every screen: SAMPLE first and in colour; source, commit, age."""
        if self.source is None:
            return ((" " + (self.fetching or "looking for data…"), "warn" if self.fetching else "muted"),)
        found = self.source.provenance
        words = (f"{self.fetching} · " if self.fetching else "") + found.words
        if found.sample:
            return ((" SAMPLE ", "warn"), (words, "muted"))
        return ((" " + words, "warn" if found.stale else "muted"),)

    def _show_source(self) -> None:
        for screen in self._context.app_screens():
            screen.show_source()
