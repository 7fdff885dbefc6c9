"""The Textual app, thin: it opens screens, holds the source of the rows and the settings, and ends well. Screens draw, the
store answers, runs live in their folders.

Over 400 lines, as everything that screens may ask of the app (tui/context.py) is answered here, each in a few lines.
"""

from __future__ import annotations

import asyncio
import errno
import importlib
import signal
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final

from rich.text import Text
from textual import events
from textual.app import App
from textual.binding import BindingType
from textual.screen import Screen

from trnui.actions import Action, remapped
from trnui.catalog.messages import Detail, Loaded, Provenance, Record
from trnui.settings import Settings, load
from trnui.tui import terminal, theme
from trnui.tui.beside import beside
from trnui.tui.bindings import ActionHost, bindings, keymap
from trnui.tui.data_source import Arrived, DatasetController, Resolved, Told
from trnui.tui.driver import AsciiDriver, QuickDriver
from trnui.tui.explore.explore_screen import ExploreScreen
from trnui.tui.key_queue import KeyQueue
from trnui.tui.screen import AppScreen
from trnui.tui.session_state import SessionState, recall, remember
from trnui.tui.terminal import Terminal
from trnui.tui.widgets.styled_lines import Line

if TYPE_CHECKING:
    from trnui.catalog.dataset.snapshot import DatasetSource
    from trnui.catalog.engine.query_service import Store
    from trnui.catalog.query import Query
    from trnui.tui.context import AppContext, Refreshing, RowsView
    from trnui.tui.runs.runs_controller import RunsController
    from trnui_runner.host.interpreter import Interpreter

LISTS: Final = ("selected", "trending", "downloads")  # drawn by the explore screen
# Views with a screen of their own, and screens that others push by name: name → (module, class). Imported when first shown.
SCREENS_OF: Final[dict[str, tuple[str, str]]] = {
    "runs": ("trnui.tui.runs.runs_screen", "RunsScreen"),
    "compare": ("trnui.tui.tables.compare_screen", "CompareScreen"),
    "failures": ("trnui.tui.tables.failures_screen", "FailuresScreen"),
    "mine": ("trnui.tui.tables.mine_screen", "MineScreen"),
    "sql": ("trnui.tui.tables.sql_screen", "SqlScreen"),
}


class Explorer(ActionHost, App[int]):
    """Made by `trnui` (commands/app.py) and by tests; the defaults are the user's own settings, session and terminal."""

    TITLE = "trnui"
    PLACE = "app"
    ENABLE_COMMAND_PALETTE = False  # ours is opened by the registry's key; Textual's own binding is not wanted
    AUTO_FOCUS = "ResultTable"
    CSS_PATH = ["app.tcss", "explore/explore.tcss"]
    BINDINGS: ClassVar[list[BindingType]] = bindings("app")

    def __init__(
        self,
        settings: Settings | None = None,
        *,
        offline: bool = False,
        session: SessionState | None = None,
        term: Terminal | None = None,
        background: bool = True,
    ) -> None:
        self.settings = settings or load()
        self.offline = offline
        self.term = term or terminal.here()
        super().__init__(driver_class=AsciiDriver if self.term.ascii else QuickDriver)
        self.animation_level = "none"
        self.session = session if session is not None else recall()
        self.actions: tuple[Action, ...]
        self.actions, problems = remapped(self.settings.keys, lines=self.settings.key_lines)
        self.problems: list[str] = [*self.settings.problems, *problems]
        if self.session.problem:
            self.problems.append(self.session.problem)
        self.set_keymap(keymap(self.actions))
        self.background = background  # watches the runs, and refreshes by itself
        self._host: Interpreter | None = None
        self._runs: RunsController | None = None
        self.controller = DatasetController(self)
        self.key_queue = KeyQueue(self, super().on_event, self._ready_for_keys)
        self.explore = ExploreScreen(id="_default")
        self._screens: dict[str, Screen[Any]] = {}
        for one in theme.THEMES:
            self.register_theme(one)
        self.theme = self._theme_or_default()

    def _theme_or_default(self) -> str:
        chosen = self.session.theme if self.settings.origins["theme"] == "default" and self.session.theme else None
        chosen = chosen or str(self.settings.theme)
        if chosen not in self.available_themes:
            self.problems.append(
                f"theme {chosen!r} is none of {', '.join(sorted(self.available_themes))}; trnui-dark is used"
            )
            return theme.DARK.name
        return chosen

    def get_default_screen(self) -> Screen[Any]:
        return self.explore

    # -- start and end

    def on_mount(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            if threading.current_thread() is threading.main_thread():
                loop.add_signal_handler(number, self._ended_by, number)
        threading.excepthook = self._thread_failed
        self.call_after_refresh(self.controller.load)
        if self.problems:
            self.call_after_refresh(self._say_problems)

    def _say_problems(self) -> None:
        """What was wrong with settings or session: the first now, all of them in the help."""
        more = f" (and {len(self.problems) - 1} more: {self.key_of('app.help')})" if len(self.problems) > 1 else ""
        self.say(self.problems[0] + more, "warn")

    async def on_event(self, event: events.Event) -> None:
        if isinstance(event, events.Key) and not event.is_forwarded:
            await self.key_queue.take(event)
        else:
            await super().on_event(event)

    def _ready_for_keys(self) -> bool:
        return self.screen.is_mounted and getattr(self.screen, "settled", True)

    def on_resize(self, event: events.Resize) -> None:
        """Below the smallest size a notice stands over whatever is open, and goes by itself."""
        small = event.size.width < terminal.SMALLEST[0] or event.size.height < terminal.SMALLEST[1]
        shown = self.screen.id == "small"
        if small == shown:
            return
        from trnui.tui.dialogs.too_small import SmallScreen

        if small:
            self.push_screen(SmallScreen(id="small"))
        else:
            self.pop_screen()

    def _thread_failed(self, failed: threading.ExceptHookArgs) -> None:
        """A thread of ours has died: said, and its traceback kept for a report, as the screen cannot show it."""
        if isinstance(failed.exc_value, OSError) and failed.exc_value.errno == errno.EIO:
            return  # the terminal is gone; SIGHUP, which comes with it, ends the app
        from trnui_runner.common.crash_log import kept

        name = failed.thread.name if failed.thread else "a thread"
        where = kept(failed.exc_value) if failed.exc_value is not None else ""
        self.call_later(self.say, f"internal error in {name}, {failed.exc_type.__name__}. {where}", "bad")

    def _fatal_error(self) -> None:
        """Textual's, which would print the traceback: it is kept in a file, and two lines say so once the screen is given back."""
        from trnui_runner.common.crash_log import kept
        from trnui_runner.common.errors import host_error
        from trnui_runner.common.text import clean

        error = sys.exc_info()[1]
        if error is None:
            return super()._fatal_error()
        told = host_error(error)
        words = str(told) if told else f"internal error, {type(error).__name__}: {error}\n{kept(error)}"
        return self.panic(Text(clean(f"trnui: {words}")))

    def _ended_by(self, number: int) -> None:
        self.leave(128 + number)

    def leave(self, code: int = 0) -> None:
        """Remembers, lets go of the data and ends; runs go on."""
        if self._runs is not None:
            self._runs.close()
        self.keep_session()
        self.controller.close()
        self.exit(code, return_code=code)

    def keep_session(self) -> str | None:
        return remember(self.explore.session(self.session))

    # -- the runs

    @property
    def runs_going(self) -> int:
        return self._runs.going if self._runs is not None else 0

    def rows_are_in(self) -> None:
        """All rows of a source are read: what is new for the watched models."""
        from trnui.tui.explore.watching import say_news

        say_news(self)

    def watch_runs(self) -> None:
        if self._runs is None:
            from trnui.tui.runs.runs_controller import RunsController

            self._runs = RunsController(self, self._send)

    def _send(self, sequence: str) -> None:
        if sequence and self._driver is not None:
            self._driver.write(sequence)

    # -- the rows

    def on_resolved(self, message: Resolved) -> None:
        self.controller.resolved(message)

    def on_arrived(self, message: Arrived) -> None:
        self.controller.arrived(message)

    def on_told(self, message: Told) -> None:
        self.controller.told(message)

    @property
    def source(self) -> DatasetSource | None:
        return self.controller.source

    @property
    def store(self) -> Store | None:
        return self.controller.store

    @property
    def provenance(self) -> Provenance | None:
        return self.source.provenance if self.source is not None else None

    @property
    def loaded(self) -> Loaded:
        """How much of the source is in, and which stacks it has."""
        return self.explore.loaded

    @property
    def dataset(self) -> str:
        """As a command line would name the rows on screen."""
        return self.source.dataset if self.source is not None and self.source.dataset else str(self.settings.dataset)

    @property
    def rows_view(self) -> RowsView:
        return self.explore

    @property
    def refreshing(self) -> Refreshing:
        return self.controller

    def load_own(self) -> None:
        """This host's runs have changed: read them again."""
        self.controller.load_own()

    def source_line(self) -> Line:
        return self.controller.line()

    def app_screens(self) -> list[AppScreen[Any]]:
        return [s for s in self.screen_stack if isinstance(s, AppScreen)]

    # -- screens

    def action_view(self, name: str) -> None:
        """Keys 1 to 7: the explore screen with another query, or a screen of its own above it."""
        while len(self.screen_stack) > 1:
            self.pop_screen()
        if name in LISTS:
            self.explore.show_view(name)
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
        from trnui.tui.dialogs.help import HelpScreen

        self.push_screen(HelpScreen(getattr(self.screen, "places", lambda: ("app",))()))

    def action_card(self) -> None:
        from trnui.tui.dialogs.dataset_card import CardScreen

        self.push_screen(CardScreen())

    def action_quit(self) -> None:  # type: ignore[override]  # nothing to wait for
        self.leave(0)

    def action_help_quit(self) -> None:
        self.leave(130)  # ctrl+c

    def action_palette(self) -> None:
        from trnui.tui.dialogs.command_palette import open_palette

        open_palette(self)

    def action_redraw(self) -> None:
        from trnui.tui.redraw import redraw

        redraw(self)

    def watch_theme(self) -> None:
        """Textual's own watcher renews the style sheets; our widgets draw by themselves and are told after it."""
        if self.is_running:
            from trnui.tui.redraw import recolour

            self.call_after_refresh(recolour, self)

    def action_next_theme(self) -> None:
        known = theme.CYCLE
        at = known.index(self.theme) if self.theme in known else -1
        self.theme = known[(at + 1) % len(known)]
        self.keep_theme()

    def keep_theme(self) -> None:
        """For the next start too, unless the settings name a theme."""
        self.session = replace(self.session, theme=self.theme)
        named = self.settings.origins["theme"] != "default"
        self.say(
            f"theme {self.theme}" + (f"; the next start takes {self.settings.theme} again, as set" if named else "")
        )

    def open_saved(self, query: Query) -> None:
        while len(self.screen_stack) > 1:
            self.pop_screen()
        self.explore.open_saved(query)

    def open_model(self, model: str, record: Record | None = None) -> None:
        """The model's page; `record` is the row that it begins with."""
        from trnui.tui.model.model_screen import ModelScreen

        self.push_screen(ModelScreen(model, record))

    def open_run(self, run_id: str, *, in_place: bool = False) -> None:
        """The screen of a run, going on or over; `in_place` of the screen on top."""
        from trnui.tui.run.run_screen import RunScreen
        from trnui_runner.common.files import runs_dir
        from trnui_runner.run_folder.folder import RunFolder

        run = RunFolder(runs_dir() / run_id)
        recipe = run.recipe()
        if recipe is None:
            self.say(f"{run.path}: no such run", "bad")
        else:
            (self.switch_screen if in_place else self.push_screen)(RunScreen(run, recipe))

    def remember_query(self, name: str, query: Query) -> None:
        """What a screen of its own filters by, for the next start."""
        self.session = replace(self.session, queries={**self.session.queries, name: query})

    def remember_extra(self, name: str, value: Any) -> None:
        """Whatever else a screen keeps for the next start (JSON)."""
        self.session = replace(self.session, extra={**self.session.extra, name: value})

    def with_host(self, then: Callable[[Interpreter], None]) -> None:
        """This host's interpreter for runs with its stack: asked once a session, in a thread (up to seconds on a cold disk)."""
        if self._host is not None:
            then(self._host)
            return

        def work() -> Callable[[], None]:
            from trnui_runner.host.interpreter import find

            found = find(str(self.settings.python) or None)

            def keep() -> None:
                self._host = found
                then(found)

            return keep

        self.in_thread(work, "host")

    def run_row(self, detail: Detail, *, options: bool = False) -> None:
        """Preflight and consent for a row, then its run."""
        from trnui.tui.run.run_actions import open_run

        open_run(self, detail, options=options)

    # -- what screens ask of the app

    def key_of(self, action_id: str) -> str:
        return next((a.shown.split()[0] for a in self.actions if a.id == action_id and a.keys), "–")

    def say(self, words: str, style: str = "accent") -> None:
        """One line at the foot of the screen on top."""
        for screen in reversed(self.screen_stack):
            if isinstance(screen, AppScreen):
                screen.say(words, style)
                return

    def copy(self, text: str, what: str) -> None:
        """Sends `text` to the clipboard and says what was really done with it."""
        from trnui.tui.clipboard import send

        self.say(*send(text, what, self.term.clipboard, self._driver.write if self._driver is not None else None))

    def write_file(self, path: Path, data: str | bytes) -> None:
        """Writes a file the user asked for, after a question if it exists, and says where."""
        from trnui.tui.dialogs.save_file import save
        from trnui_runner.common.files import write_atomic

        def write(target: Path) -> str:
            write_atomic(target, data, 0o644)
            return f"written: {target}"

        save(self, path, write)

    def in_thread(self, work: Callable[[], Callable[[], None]], name: str, *, exclusive: bool = False) -> None:
        """Runs `work` beside the screen; what it returns is called on the app's thread. A UserError is said, not raised.

        `exclusive`: what an older call of this name is still to bring is dropped.
        """

        async def bring() -> None:
            then = await beside(work, name, lambda words: self.say(words, "bad"))
            if then is not None:
                self.call_later(then)

        self.run_worker(bring(), name=name, group=name, exclusive=exclusive)


def _fits(app: Explorer) -> AppContext:
    """For mypy: the app is what its screens take it for."""
    return app
