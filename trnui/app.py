"""The Textual app, thin: it opens screens, holds the source of the rows and the settings, and ends well. Screens draw, the
store answers, runs live in their folders."""

from __future__ import annotations

import asyncio
import errno
import gc
import importlib
import signal
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final

from textual import events
from textual.app import App
from textual.binding import BindingType
from textual.message import Message
from textual.screen import Screen

from runner.errors import UserError
from trnui import terminal, theme
from trnui.actions import Action, remapped
from trnui.catalog.answers import Answer, Detail, Failed, Loaded, Provenance
from trnui.driver import AsciiDriver, QuickDriver
from trnui.keys import Doer, bindings, keymap
from trnui.refreshing import Refresher
from trnui.screens.explore import ExploreScreen
from trnui.settings import Settings, load
from trnui.state import Memory, recall, remember
from trnui.terminal import Terminal
from trnui.widgets.columns import Record
from trnui.widgets.lines import Line

if TYPE_CHECKING:
    from runner.interpreter import Interpreter
    from trnui.catalog.query import Query
    from trnui.catalog.refresh import Finished
    from trnui.catalog.snapshot import Source
    from trnui.catalog.store import Store

LISTS: Final = ("selected", "trending", "downloads")  # drawn by the explore screen
# Views with a screen of their own, and screens that others push by name: name → (module, class). Imported when first shown.
SCREENS_OF: Final[dict[str, tuple[str, str]]] = {
    "runs": ("trnui.screens.runs", "RunsScreen"),
    "compare": ("trnui.screens.compare", "CompareScreen"),
    "failures": ("trnui.screens.failures", "FailuresScreen"),
    "sql": ("trnui.screens.sql", "SqlScreen"),
}


class Explorer(Doer, App[int]):
    """Made by `trnui` (commands/app.py) and by tests; the defaults are the user's own settings, memory and terminal."""

    TITLE = "trnui"
    PLACE = "app"
    ENABLE_COMMAND_PALETTE = False  # ours is opened by the registry's key; Textual's own binding is not wanted
    AUTO_FOCUS = "ResultTable"
    CSS_PATH = ["screens/house.tcss", "screens/explore.tcss"]
    BINDINGS: ClassVar[list[BindingType]] = bindings("app")

    class Arrived(Message):
        """An answer of the store, from one of its threads."""

        def __init__(self, store: Store, answer: Answer) -> None:
            super().__init__()
            self.store, self.answer = store, answer

    class Resolved(Message):
        """What is on disk, or why nothing can be read."""

        def __init__(self, source: Source | None, error: UserError | None) -> None:
            super().__init__()
            self.source, self.error = source, error

    class Told(Message):
        """Of a refresh: words while it goes on, or how it ended."""

        def __init__(self, told: str | Finished) -> None:
            super().__init__()
            self.told = told

    def __init__(
        self,
        settings: Settings | None = None,
        *,
        offline: bool = False,
        memory: Memory | None = None,
        term: Terminal | None = None,
        background: bool = True,
    ) -> None:
        self.settings = settings or load()
        self.offline = offline
        self.term = term or terminal.here()
        super().__init__(driver_class=AsciiDriver if self.term.ascii else QuickDriver)
        self.animation_level = "none"
        self.memory = memory if memory is not None else recall()
        self.actions: tuple[Action, ...]
        self.actions, problems = remapped(self.settings.keys)
        self.problems: list[str] = [*self.settings.problems, *problems]
        if self.memory.problem:
            self.problems.append(self.memory.problem)
        self.set_keymap(keymap(self.actions))
        self.background = background  # refresh by itself, from time to time
        self.source: Source | None = None
        self._settled = False  # the first rows of this source are out
        self.store: Store | None = None
        self._host: Interpreter | None = None
        self.fetching: str = ""  # words of a fetch under way
        self._refresher = Refresher(self.settings, lambda told: self.post_message(self.Told(told)))
        self._explore = ExploreScreen(id="_default")
        self._screens: dict[str, Screen[Any]] = {}
        for one in theme.THEMES:
            self.register_theme(one)
        self.theme = self._theme_or_default()

    def _theme_or_default(self) -> str:
        chosen = self.memory.theme if self.settings.origins["theme"] == "default" and self.memory.theme else None
        chosen = chosen or str(self.settings["theme"])
        if chosen not in self.available_themes:
            self.problems.append(
                f"theme {chosen!r} is none of {', '.join(sorted(self.available_themes))}; trnui-dark is used"
            )
            return theme.DARK.name
        return chosen

    def get_default_screen(self) -> Screen[Any]:
        return self._explore

    # -- start and end

    def on_mount(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            if threading.current_thread() is threading.main_thread():
                loop.add_signal_handler(number, self._ended_by, number)
        threading.excepthook = self._thread_failed
        self.call_after_refresh(self.load)

    def on_resize(self, event: events.Resize) -> None:
        """Below the smallest size a notice stands over whatever is open, and goes by itself."""
        small = event.size.width < terminal.SMALLEST[0] or event.size.height < terminal.SMALLEST[1]
        shown = self.screen.id == "small"
        if small == shown:
            return
        from trnui.screens.small import SmallScreen

        if small:
            self.push_screen(SmallScreen(id="small"))
        else:
            self.pop_screen()

    def _thread_failed(self, failed: threading.ExceptHookArgs) -> None:
        """A thread of ours has died: said, and its traceback kept for a report, as the screen cannot show it."""
        if isinstance(failed.exc_value, OSError) and failed.exc_value.errno == errno.EIO:
            return  # the terminal is gone; SIGHUP, which comes with it, ends the app
        import traceback

        from runner.files import private_dir, state_dir

        words = "".join(traceback.format_exception(failed.exc_type, failed.exc_value, failed.exc_traceback))
        file = private_dir(state_dir()) / "errors.log"
        with file.open("a", encoding="utf-8") as log:
            log.write(words + "\n")
        name = failed.thread.name if failed.thread else "a thread"
        self.call_from_thread(self.say, f"internal error in {name}: {failed.exc_type.__name__}; see {file}", "bad")

    def _ended_by(self, number: int) -> None:
        self.leave(128 + number)

    def leave(self, code: int = 0) -> None:
        """Remembers, lets go of the data and ends; runs go on."""
        self.keep_memory()
        self._refresher.close()
        if self.store is not None:
            self.store.close()
        self.exit(code, return_code=code)

    def keep_memory(self) -> str | None:
        return remember(self._explore.memory(self.memory))

    # -- the rows' source

    def load(self, dataset: str | None = None) -> None:
        """Finds what is on disk in a thread, then opens it; the first frame is out by now."""
        name = dataset or str(self.settings["dataset"])
        offline = self.offline

        def find() -> None:
            from trnui.catalog.snapshot import resolve

            try:
                self.post_message(self.Resolved(resolve(name, offline), None))
            except UserError as error:
                self.post_message(self.Resolved(None, error))

        threading.Thread(target=find, daemon=True, name="resolve").start()

    def on_explorer_resolved(self, message: Resolved) -> None:
        if message.source is None:
            assert message.error is not None
            self.problems.append(str(message.error))
            self._explore.no_source(message.error)
            return
        self.open_source(message.source)

    def refresh_now(self) -> str | None:
        """Starts a fetch of dataset and rankings; why not, in words, when it cannot."""
        if self.offline:
            return "offline, as asked: nothing is fetched"
        if self._refresher.busy:
            return "a fetch is under way"
        if self.source is None:
            return "no dataset is open yet"
        self._refresher.start(self.source, all_rankings=True)
        return None

    def on_explorer_told(self, message: Told) -> None:
        """Rows of the same dataset are replaced with a word; the sample stays until the user asks for the other."""
        told = message.told
        if isinstance(told, str):
            self.fetching = told
        else:
            self.fetching = ""
            failed = told.dataset is not None and told.dataset.failed
            self.say(told.words or "nothing new", "warn" if failed else "accent")
            if self.source is not None and self.source.provenance.sample and told.changed:
                self.fetching = f"{self.source.asked} is here now: {self.key_of('list.sample')} shows it"
            elif told.changed:
                self.load()
            elif told.rankings is not None and not told.rankings.failed:
                self.load_rankings()
        for screen in self.house_screens():
            screen.show_source()

    def load_rankings(self) -> None:
        """The Hub's lists from disk into the store."""
        store = self.store
        if store is None:
            return

        def read() -> None:
            from trnui.catalog.rankings import lines, stored

            found = lines(stored())
            if found:
                store.set_rankings(found)

        threading.Thread(target=read, daemon=True, name="rankings").start()

    def load_own(self) -> None:
        """This host's runs from their folders into the store; what is left of lost ones is ended and said."""
        store = self.store
        if store is None:
            return

        def read() -> None:
            from runner.launch import sweep_all
            from trnui.catalog.own import own_rows

            for run_id, ended in sweep_all().items():
                found = f"; {len(ended)} processes of it were still alive and were ended" if ended else ""
                self.call_later(self.say, f"run {run_id} was lost: nobody watched it any more{found}", "warn")
            store.set_own(own_rows())

        threading.Thread(target=read, daemon=True, name="own").start()

    def toggle_sample(self) -> None:
        """The bundled sample, and back to the dataset of the settings."""
        from trnui.catalog.snapshot import SAMPLE

        self.fetching = ""
        if self.source is not None and self.source.provenance.sample and self.source.asked != SAMPLE:
            self.load()
        elif self.source is not None and self.source.provenance.sample:
            dataset = str(self.settings["dataset"])
            self.load(None if dataset != SAMPLE else SAMPLE)
        else:
            self.load(SAMPLE)

    def open_source(self, source: Source) -> None:
        """Other rows from here on: the screens ask again, their cursors stay on their models."""
        from trnui.catalog.store import Store

        if self.store is not None:
            self.store.close()
        self.source = source
        store: Store

        def post(answer: Answer) -> None:
            self.post_message(self.Arrived(store, answer))

        store = self.store = Store(source, post, columns=self.settings.columns, python=str(self.settings["python"]))
        for screen in self.house_screens():
            screen.show_source()
        self._explore.new_store(store)
        self._settled = False
        store.start()

    def on_explorer_arrived(self, message: Arrived) -> None:
        if message.store is not self.store:
            return  # of a source that was replaced
        if isinstance(message.answer, Failed):
            self.say(message.answer.words, "bad")
        self._explore.arrived(message.answer)
        if not self._settled and (
            self._explore.has_rows or (isinstance(message.answer, Loaded) and not message.answer.files)
        ):
            self._settled = True
            self.call_after_refresh(self._rows_are_out)

    def _rows_are_out(self) -> None:
        """What waits until the first rows are painted: it would only share the interpreter with them."""
        if not gc.isenabled():
            gc.freeze()
            gc.enable()
        self.load_rankings()
        self.load_own()
        if self.background and not self.offline and self.source is not None and self._refresher.due(self.source):
            self._refresher.start(self.source)

    def house_screens(self) -> list[Any]:
        from trnui.screens.base import HouseScreen

        return [s for s in self.screen_stack if isinstance(s, HouseScreen)]

    @property
    def provenance(self) -> Provenance | None:
        return self.source.provenance if self.source is not None else None

    def source_line(self) -> Line:
        """Where the rows come from, on every screen: SAMPLE first and in colour; source, commit, age."""
        if self.source is None:
            return ((" " + (self.fetching or "looking for data…"), "muted"),)
        found = self.source.provenance
        words = (f"{self.fetching} · " if self.fetching else "") + found.words
        if found.sample:
            return ((" SAMPLE ", "warn"), (words, "muted"))
        return ((" " + words, "warn" if found.stale else "muted"),)

    # -- screens

    def action_view(self, name: str) -> None:
        """Keys 1 to 7: the explore screen with another query, or a screen of its own above it."""
        while len(self.screen_stack) > 1:
            self.pop_screen()
        if name in LISTS:
            self._explore.show_view(name)
        else:
            self.open_screen(name)

    def open_screen(self, name: str) -> None:
        """Pushes a screen of `SCREENS_OF`, made at its first showing and kept."""
        screen = self._screens.get(name)
        if screen is None:
            module, cls = SCREENS_OF[name]
            screen = self._screens[name] = getattr(importlib.import_module(module), cls)()
            self.install_screen(screen, name)
        self.push_screen(screen)

    def action_step_back(self) -> None:
        """Exactly one step: what the screen has open, else the screen."""
        if getattr(self.screen, "step_back", bool)():
            return
        if len(self.screen_stack) > 1:
            self.pop_screen()
        else:
            self.say(f"Nothing to close here; {self.key_of('app.quit')} leaves")

    def action_help(self) -> None:
        from trnui.screens.help import HelpScreen

        self.push_screen(HelpScreen(getattr(self.screen, "places", lambda: ("app",))()))

    def action_card(self) -> None:
        from trnui.screens.card import CardScreen

        self.push_screen(CardScreen())

    def action_quit(self) -> None:  # type: ignore[override]  # nothing to wait for
        self.leave(0)

    def action_help_quit(self) -> None:
        self.leave(130)  # ctrl+c

    def action_palette(self) -> None:
        from trnui.screens.palette import open_palette

        open_palette(self)

    def action_next_theme(self) -> None:
        known = theme.CYCLE
        at = known.index(self.theme) if self.theme in known else -1
        self.theme = known[(at + 1) % len(known)]
        self.keep_theme()

    def keep_theme(self) -> None:
        """For the next start too, unless the settings name a theme."""
        self.memory = replace(self.memory, theme=self.theme)
        named = self.settings.origins["theme"] != "default"
        self.say(
            f"theme {self.theme}" + (f"; the next start takes {self.settings['theme']} again, as set" if named else "")
        )

    def open_model(self, model: str, record: Record | None = None) -> None:
        """The model's page; `record` is the row that it begins with."""
        from trnui.screens.model import ModelScreen

        self.push_screen(ModelScreen(model, record))

    def open_run(self, run_id: str) -> None:
        """The screen of a run, going on or over."""
        from runner.files import runs_dir
        from runner.journal import RunFolder
        from trnui.screens.run import RunScreen

        run = RunFolder(runs_dir() / run_id)
        recipe = run.recipe()
        if recipe is None:
            self.say(f"{run.path}: there is no run (any more)", "bad")
        else:
            self.push_screen(RunScreen(run, recipe))

    def remember_query(self, name: str, query: Query) -> None:
        """What a screen of its own filters by, for the next start."""
        self.memory = replace(self.memory, queries={**self.memory.queries, name: query})

    def remember_extra(self, name: str, value: Any) -> None:
        """Whatever else a screen keeps for the next start (JSON)."""
        self.memory = replace(self.memory, extra={**self.memory.extra, name: value})

    def with_host(self, then: Callable[[Interpreter], None]) -> None:
        """This host's interpreter for runs with its stack: asked once a session, in a thread (up to seconds on a cold disk)."""
        if self._host is not None:
            then(self._host)
            return

        def work() -> Callable[[], None]:
            from runner.interpreter import find

            found = find(str(self.settings["python"]) or None)

            def keep() -> None:
                self._host = found
                then(found)

            return keep

        self.in_thread(work, "host")

    def copy_menu(self, detail: Detail) -> None:
        """What can be copied of a row, by a letter each."""
        from trnui.catalog.packages import install_command, packages_of
        from trnui.screens.copying import copyables

        install = install_command(packages_of(detail.values), self.settings["neuron_index"])
        self.copy_texts([(c.key, c.label, c.text) for c in copyables(detail, self.dataset, install)])

    def export_rows(self, name: str, names: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
        """Rows that a screen has at hand, to a file."""
        from trnui.screens.exporting import export, rows_table

        export(self, name, lambda: rows_table(names, rows))

    def run_row(self, detail: Detail, *, options: bool = False) -> None:
        """Preflight and consent for a row, then its run."""
        from trnui.screens.consent import open_run

        open_run(self, detail, options=options)

    def copy_texts(self, texts: Sequence[tuple[str, str, str]]) -> None:
        """A menu of (letter, label, text); what is empty cannot be taken."""
        from trnui.widgets.picker import Choice, Picker

        offered = [
            Choice(
                label, label, f"{len(text.encode('utf-8', 'replace')):,} bytes", key, "" if text else "there is none"
            )
            for key, label, text in texts
        ]

        def take(chosen: tuple[str, ...] | None) -> None:
            for _, label, text in texts:
                if chosen and label == chosen[0]:
                    self.copy(text, label)

        self.push_screen(Picker("Copy", offered, hint="a letter, or Enter copies  Esc back"), take)

    # -- what screens ask of the app

    @property
    def loaded(self) -> Loaded:
        """How much of the source is in, and which stacks it has."""
        return self._explore.loaded

    @property
    def dataset(self) -> str:
        """As a command line would name the rows on screen."""
        return self.source.dataset if self.source is not None and self.source.dataset else str(self.settings["dataset"])

    def key_of(self, action_id: str) -> str:
        return next((a.shown.split()[0] for a in self.actions if a.id == action_id and a.keys), "–")

    def say(self, words: str, tone: str = "accent") -> None:
        """One line at the foot of the screen on top."""
        from trnui.screens.base import HouseScreen

        for screen in reversed(self.screen_stack):
            if isinstance(screen, HouseScreen):
                screen.say(words, tone)
                return

    def copy(self, text: str, what: str) -> None:
        """Sends `text` to the clipboard and says what was really done with it."""
        size = f"{len(text.encode('utf-8', 'replace')):,} bytes"
        if self.term.clipboard == "off":
            self.say(f"clipboard is off in the settings: {what} was not sent", "warn")
        elif self.term.clipboard == "tmux":
            why = terminal.tmux_buffer(text)
            self.say(
                f"{what} put into the tmux buffer ({size}); prefix ] pastes it"
                if why is None
                else f"tmux took nothing: {why}",
                "accent" if why is None else "bad",
            )
        else:
            sequence = terminal.osc52(text)
            if sequence is None or self._driver is None:
                self.say(f"{what} ({size}) is more than terminals take; write it to a file", "warn")
                return
            self._driver.write(sequence)
            self.say(f"{what} sent to the terminal's clipboard ({size}); not every terminal takes it")

    def write_file(self, path: Path, data: str | bytes) -> None:
        """Writes a file the user asked for and says where."""
        from runner.files import write_atomic

        try:
            write_atomic(path, data, 0o644)
        except OSError as error:
            self.say(f"{path}: {error.strerror}", "bad")
        else:
            self.say(f"written: {path}")

    def in_thread(self, work: Callable[[], Callable[[], None]], name: str) -> None:
        """Runs `work` beside the screen; what it returns is called on the app's thread. A UserError is said, not raised."""

        def run() -> None:
            try:
                then = work()
            except UserError as error:
                words = str(error)
                self.call_later(
                    self.say, words, "bad"
                )  # posts a message: nothing waits, and nothing fails when the app has gone
            else:
                self.call_later(then)

        threading.Thread(target=run, daemon=True, name=name).start()
