"""One registry of actions: keys, label, help, place. Bindings (keys.py), footer, help, palette, `trnui keys` and the README's
table are all made from it. No Textual in here."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final


@dataclass(frozen=True)
class Action:
    """`id` is what users remap in [keys]; `run` is the Textual action; `where` the screen or widget it belongs to."""

    id: str
    keys: tuple[str, ...]  # characters, or Textual's names: "enter", "ctrl+d", "pagedown"
    label: str  # footer and palette: one or two words
    help: str  # one sentence
    where: str  # a name of PLACES
    run: str = ""  # "" = the id's last part, as `action_<name>`
    footer: bool = False

    @property
    def action(self) -> str:
        return self.run or self.id.rpartition(".")[2]

    @property
    def shown(self) -> str:
        """The keys as a person reads them: `j ↓`."""
        return " ".join(key_word(k) for k in self.keys)


PLACES: Final = {
    "app": "Everywhere",
    "list": "List of models",
    "table": "Moving in a list",
    "filter": "Filter line",
    "picker": "A choice",
    "model": "A model's page",
    "matrix": "Matrix of stacks",
    "text": "Text: run.py, error, card",
    "run": "A run",
    "runs": "List of runs",
    "batch": "A batch",
    "batch_start": "Before a batch",
    "log": "Log",
    "start": "Before a run",
    "options": "A run with options",
    "report": "A report",
    "compare": "Compare two stacks",
    "failures": "Failures by cause",
    "mine": "My models",
    "sql": "SQL",
}
_WORDS: Final = {
    "up": "↑", "down": "↓", "left": "←", "right": "→", "pageup": "PgUp", "pagedown": "PgDn", "home": "Home", "end": "End",
    "escape": "Esc", "enter": "Enter", "tab": "Tab", "shift+tab": "Shift+Tab", "space": "Space",
}  # fmt: skip

_ALIASES: Final = {
    "esc": "escape", "return": "enter", "pgdn": "pagedown", "pgup": "pageup", "del": "delete", "ins": "insert", "↑": "up", "↓": "down",
    "←": "left", "→": "right", "bksp": "backspace",
}  # fmt: skip
_NAMED: Final = {
    "up", "down", "left", "right", "pageup", "pagedown", "home", "end", "escape", "enter", "tab", "space", "delete", "insert", "backspace",
    "question_mark", "colon", "slash", "comma",
}  # fmt: skip
_LONG_NAMES: Final = {"↑": "up", "↓": "down", "←": "left", "→": "right"}
# Places whose widget takes the keys of another place first: a list's letters reach its table before the screen.
MOVING: Final = {
    "list": "table", "runs": "table", "compare": "table", "failures": "table", "sql": "table", "start": "text", "report": "text", "run": "log",
}  # fmt: skip

ACTIONS: Final[tuple[Action, ...]] = (
    Action("app.help", ("?",), "Help", "Show the keys that work here", "app", footer=True),
    Action("app.palette", (":", "ctrl+p"), "Commands", "Find any action, view or theme by its name", "app"),
    Action("app.back", ("escape",), "Back", "Close the top-most thing, one step", "app", run="step_back"),
    Action("app.selected", ("1",), "Selected", "View: the models that the dataset tests", "app", run="view('selected')"),
    Action("app.trending", ("2",), "Trending", "View: the Hub's trending models, tested or not", "app", run="view('trending')"),
    Action("app.downloads", ("3",), "Downloads", "View: the Hub's most downloaded models, tested or not", "app", run="view('downloads')"),
    Action("app.runs", ("4",), "Runs", "View: the runs of this host", "app", run="view('runs')"),
    Action("app.compare", ("5",), "Compare", "View: two stacks side by side", "app", run="view('compare')"),
    Action("app.failures", ("6",), "Failures", "View: failures by their cause", "app", run="view('failures')"),
    Action("app.sql", ("7",), "SQL", "View: one read-only SELECT over everything", "app", run="view('sql')"),
    Action("app.card", ("i",), "Dataset card", "The dataset's own words: what each result means", "app"),
    Action("app.theme", ("f2",), "Theme", "Next theme: dark, light, the terminal's own colours", "app", run="next_theme"),
    Action("app.redraw", ("ctrl+l",), "Redraw", "Draw the whole screen again", "app"),
    Action("app.suspend", ("ctrl+z",), "Suspend", "Back to the shell; fg returns", "app", run="suspend_process"),
    Action("app.quit", ("q",), "Quit", "Leave; runs go on", "app", footer=True),
    Action("list.filter", ("/",), "Filter", "Filter by any part of the model's name, as you type", "list", footer=True),
    Action("list.anywhere", ("w",), "Words", "Filter by words in name, notes or error", "list"),
    Action("list.open", ("enter",), "Open", "Open the model's page", "list", footer=True),
    Action("list.run", ("r",), "Run", "Reproduce this row, or the marked ones one after the other", "list", footer=True),
    Action("list.options", ("R",), "Run with…", "Run this model with options of your own", "list"),
    Action("list.batch", ("B",), "Batch", "Run the marked rows, or the whole view, as a batch", "list"),
    Action("list.compiler", ("c",), "neuronx-cc", "Choose the compiler versions", "list", run="pick('compiler')", footer=True),
    Action("list.version", ("v",), "Version", "Choose the library and its versions", "list", run="pick('version')", footer=True),
    Action("list.all", ("a",), "All stacks", "All stacks, or back to the default one", "list", run="pick('all')"),
    Action("list.task", ("t",), "Task", "Choose the task", "list", run="pick('task')", footer=True),
    Action("list.result", ("s",), "Result", "Choose the results: PASS, FAIL, EXCLUDED, NOT TESTED", "list", run="pick('result')", footer=True),
    Action("list.fits", ("f",), "Fits on", "Only what fits on so many cores, or on this host", "list", run="pick('fits')"),
    Action("list.sort", ("o",), "Sort", "Sort by the next column", "list", run="pick('sort')", footer=True),
    Action("list.reverse", ("O",), "Reverse", "Turn the order round", "list"),
    Action("list.clear", ("x",), "Filters", "See the filters and clear them one by one", "list", run="pick('filters')"),
    Action("list.clear_all", ("X",), "Clear all", "Clear every filter", "list", run="pick('clear')"),
    Action("list.mark", ("space",), "Mark", "Mark this row, or take its mark away", "list"),
    Action("list.unmark", ("U",), "Unmark all", "Take all marks away", "list"),
    Action("list.side", ("=",), "Side by side", "Show the marked rows side by side", "list", run="side_by_side"),
    Action("list.nearest", ("b",), "What works", "What passed that is nearest to a row that does not: run it, open it, copy it", "list"),
    Action("list.watch", ("*",), "Watch", "Watch this model: say what begins to pass or fail; or no more", "list"),
    Action("list.mine", ("M",), "My models", "The checkpoints of this host's Hub cache, each with its best known result", "list"),
    Action("list.save_view", ("V",), "Save view", "Save filters and order under a name, for the palette and trnui list --saved", "list"),
    Action("list.copy_line", ("L",), "Copy list", "Copy the trnui list line that shows the same", "list"),
    Action("list.copy", ("y",), "Copy…", "Copy the id, the row, a command, run.py", "list"),
    Action("list.copy_id", ("Y",), "Copy id", "Copy the model's id", "list"),
    Action("list.export", ("e",), "Export", "Write the view (or the marked rows) to a file", "list"),
    Action("list.refresh", ("ctrl+r",), "Refresh", "Fetch the dataset and the rankings now", "list"),
    Action("list.sample", ("S",), "Sample", "Show the bundled sample", "list"),
    Action("list.pane", ("p",), "Pane", "Show or hide the pane beside the list", "list"),
    Action("table.down", ("j", "down"), "Down", "Next row", "table", run="move(1)"),
    Action("table.up", ("k", "up"), "Up", "Previous row", "table", run="move(-1)"),
    Action("table.page_down", ("pagedown", "ctrl+d"), "Page down", "One page down", "table", run="page(1)"),
    Action("table.page_up", ("pageup", "ctrl+u"), "Page up", "One page up", "table", run="page(-1)"),
    Action("table.first", ("g", "home"), "First", "First row", "table", run="go(0)"),
    Action("table.last", ("G", "end"), "Last", "Last row", "table", run="go(-1)"),
    Action("table.right", ("l", "right"), "Right", "Columns to the right", "table", run="side(1)"),
    Action("table.left", ("h", "left"), "Left", "Columns to the left", "table", run="side(-1)"),
    Action("filter.keep", ("enter", "down"), "Keep", "Keep the filter, back to the list", "filter", footer=True),
    Action("filter.drop", ("escape",), "Clear", "Clear the filter, back to the list; the row stays under the cursor", "filter", footer=True),
    Action("picker.down", ("j", "down"), "Down", "Next choice", "picker", run="move(1)"),
    Action("picker.up", ("k", "up"), "Up", "Previous choice", "picker", run="move(-1)"),
    Action("picker.toggle", ("space",), "Choose", "Add this choice, or take it away", "picker", run="choose", footer=True),
    Action("picker.take", ("enter",), "Take", "Take what is chosen", "picker", footer=True),
    Action("picker.none", ("x",), "None", "Take all choices away; Enter then means no limit", "picker", footer=True),
    Action("picker.cancel", ("escape", "q"), "Back", "Leave it as it was", "picker", footer=True),
    Action("model.next", ("tab", "l", "right"), "Next tab", "Next tab", "model", run="tab(1)", footer=True),
    Action("model.previous", ("shift+tab", "h", "left"), "Previous tab", "Previous tab", "model", run="tab(-1)"),
    Action("model.newer", ("]",), "Next stack", "The next stack of the matrix", "model", run="stack(1)", footer=True),
    Action("model.older", ("[",), "Previous stack", "The previous stack of the matrix", "model", run="stack(-1)"),
    Action("model.matrix", ("m",), "Matrix", "Move in the matrix of stacks with the arrow keys", "model", footer=True),
    Action("model.run", ("r",), "Run", "Reproduce this row on this host", "model", footer=True),
    Action("model.options", ("R",), "Run with…", "Run this model with options of your own", "model"),
    Action("model.nearest", ("b",), "What works", "What passed that is nearest to this row: run it, open it, copy it", "model", footer=True),
    Action("model.watch", ("*",), "Watch", "Watch this model: say what begins to pass or fail; or no more", "model"),
    Action("model.copy", ("y",), "Copy…", "Copy the id, the row, a command, run.py, the report", "model", footer=True),
    Action("model.copy_id", ("Y",), "Copy id", "Copy the model's id", "model"),
    Action("model.save", ("e",), "Save", "Write what this tab shows to a file", "model", footer=True),
    Action("model.open", ("enter",), "Open", "Open the sibling or the run under the cursor", "model"),
    Action("matrix.down", ("j", "down"), "Older compiler", "The next older compiler", "matrix", run="go(1, 0)"),
    Action("matrix.up", ("k", "up"), "Newer compiler", "The next newer compiler", "matrix", run="go(-1, 0)"),
    Action("matrix.right", ("l", "right"), "Older library", "The next older library version", "matrix", run="go(0, 1)"),
    Action("matrix.left", ("h", "left"), "Newer library", "The next newer library version", "matrix", run="go(0, -1)"),
    Action("matrix.leave", ("enter", "escape"), "Take", "Back to the page, with this stack", "matrix", run="leave", footer=True),
    Action("text.down", ("j", "down"), "Down", "One line down", "text", run="scroll(1)"),
    Action("text.up", ("k", "up"), "Up", "One line up", "text", run="scroll(-1)"),
    Action("text.page_down", ("pagedown", "ctrl+d", "space"), "Page down", "One page down", "text", run="page(1)"),
    Action("text.page_up", ("pageup", "ctrl+u"), "Page up", "One page up", "text", run="page(-1)"),
    Action("text.first", ("g", "home"), "Top", "To the top", "text", run="go(0)"),
    Action("text.last", ("G", "end"), "End", "To the end", "text", run="go(-1)"),
    Action("text.search", ("/",), "Search", "Search in this text", "text", footer=True),
    Action("text.next", ("n",), "Next hit", "Next hit of the search", "text", run="hit(1)"),
    Action("text.previous", ("N",), "Previous hit", "Previous hit of the search", "text", run="hit(-1)"),
    Action("text.wrap", ("W",), "Wrap", "Wrap long lines, or cut them", "text"),
    Action("log.down", ("j", "down"), "Down", "One line down", "log", run="move(1)"),
    Action("log.up", ("k", "up"), "Up", "One line up; following ends", "log", run="move(-1)"),
    Action("log.page_down", ("pagedown", "ctrl+d", "space"), "Page down", "One page down", "log", run="page(1)"),
    Action("log.page_up", ("pageup", "ctrl+u"), "Page up", "One page up", "log", run="page(-1)"),
    Action("log.first", ("g", "home"), "Top", "To the beginning", "log"),
    Action("log.last", ("G", "end"), "End", "To the end, and follow it", "log"),
    Action("log.follow", ("f",), "Follow", "Follow the end of the log, or stay here", "log", footer=True),
    Action("log.search", ("/",), "Search", "Search as you type; a capital letter makes case count", "log", footer=True),
    Action("log.next", ("n",), "Next hit", "Next hit of the search", "log", run="hit(1)"),
    Action("log.previous", ("N",), "Previous hit", "Previous hit of the search", "log", run="hit(-1)"),
    Action("log.only", ("&",), "Matching", "Only the lines that match, as they come; or all", "log"),
    Action("log.error", ("E",), "Error", "To the first line that looks like an error, then to the next", "log", footer=True),
    Action("log.wrap", ("W",), "Wrap", "Wrap long lines, or cut them", "log"),
    Action("log.right", ("l", "right"), "Right", "Further right in long lines", "log", run="side(1)"),
    Action("log.left", ("h", "left"), "Left", "Back to the left", "log", run="side(-1)"),
    Action("log.select", ("v",), "Select", "Select lines: v begins, j k extend, y copies", "log"),
    Action("log.copy", ("y",), "Copy", "Copy the selected lines, or the visible ones", "log"),
    Action("log.save", ("e",), "Save", "Write the log, or its matching lines, to a file", "log"),
    Action("run.stop", ("s",), "Stop", "End this run and all its processes, after a question", "run", footer=True),
    Action("run.again", ("r",), "Run again", "Run the same once more", "run", footer=True),
    Action("run.log", ("enter",), "Log", "The log alone on the screen, or everything again", "run", footer=True),
    Action("run.other", ("tab",), "Other pane", "Between the verdict and the log", "run"),
    Action("run.copy_command", ("c",), "Command", "Copy the command that does the same without the app", "run", footer=True),
    Action("run.report", ("p",), "Report", "The run as a bug report: read, copy, save", "run", footer=True),
    Action("run.back", ("escape",), "Back", "Close the top-most thing, one step; the run goes on", "run"),
    Action("runs.open", ("enter",), "Open", "Open the run; one that goes on is followed", "runs", footer=True),
    Action("runs.stop", ("s",), "Stop", "End the run under the cursor, after a question", "runs", footer=True),
    Action("runs.again", ("r",), "Run again", "Run the same once more", "runs", footer=True),
    Action("runs.report", ("p",), "Report", "The run as a bug report: read, copy, save", "runs", footer=True),
    Action("runs.delete", ("D",), "Delete", "Delete the run's folder, after a question", "runs", footer=True),
    Action("runs.filter", ("/",), "Filter", "Filter by any part of model, outcome, device or id", "runs", footer=True),
    Action("runs.copy", ("y",), "Copy id", "Copy the run's id", "runs"),
    Action("runs.copy_command", ("c",), "Command", "Copy the command that does the same without the app", "runs"),
    Action("batch_start.yes", ("y",), "Start", "Start the batch, and agree to its scripts", "batch_start", footer=True),
    Action("batch.open", ("enter",), "Open", "Open the run of the row under the cursor", "batch", footer=True),
    Action("batch.log", ("l",), "Log", "The log of the row under the cursor, alone on the screen", "batch", footer=True),
    Action("batch.stop", ("s",), "Stop", "Start nothing more, or end what goes on too, after a question", "batch", footer=True),
    Action("batch.go_on", ("a",), "Go on", "Go on with a batch that was stopped or whose keeper was killed", "batch", footer=True),
    Action("batch.again", ("r",), "Run again", "Run the row under the cursor once more, whatever it ended with", "batch", footer=True),
    Action("batch.copy_command", ("c",), "Command", "Copy the command that follows the batch without the app", "batch"),
    Action("start.go", ("enter",), "Start", "Start the run, when all lights are green", "start", footer=True),
    Action("start.yes", ("y",), "Yes", "Start it all the same; agree to this script, where that is asked", "start", footer=True),
    Action("start.all", ("a",), "Yes to all", "Agree to every script of this dataset at this commit, and start", "start"),
    Action("start.look", ("ctrl+r",), "Look again", "Look at this host again", "start", footer=True),
    Action("start.cpu", ("c",), "On the CPU", "The bundled script on the CPU instead: says nothing about Trainium", "start", footer=True),
    Action("start.sample", ("S",), "Sample", "Reproduce a row of the bundled sample here instead", "start", footer=True),
    Action("start.install", ("Y",), "Copy install", "Copy the line that installs what the interpreter lacks", "start"),
    Action("options.go", ("f5",), "Go on", "To the look at this host, and then the start", "options", footer=True),
    Action("options.next", ("tab", "down"), "Next", "Next field", "options", run="next(1)"),
    Action("options.previous", ("shift+tab", "up"), "Previous", "Previous field", "options", run="next(-1)"),
    Action("report.copy", ("y",), "Copy", "Copy the report", "report", footer=True),
    Action("report.save", ("e",), "Save", "Write the report to a file", "report", footer=True),
    Action("compare.left", ("c",), "Left stack", "Choose the left stack", "compare", footer=True),
    Action("compare.right", ("v",), "Right stack", "Choose the right stack", "compare", footer=True),
    Action("compare.swap", ("w",), "Swap", "Swap the two stacks", "compare"),
    Action("compare.change", ("s",), "Changes", "Choose the kinds of change", "compare", footer=True),
    Action("compare.filter", ("/",), "Filter", "Filter by the model's name", "compare", footer=True),
    Action("compare.open", ("enter",), "Open", "Open the model's page", "compare", footer=True),
    Action("compare.side", ("=",), "Side by side", "The model's rows on both stacks, value by value", "compare"),
    Action("compare.run", ("r",), "Run B's", "Reproduce the right stack's row on this host", "compare", footer=True),
    Action("compare.run_left", ("R",), "Run A's", "Reproduce the left stack's row on this host", "compare"),
    Action("compare.copy", ("y",), "Copy…", "Copy the id or the command", "compare"),
    Action("compare.export", ("e",), "Export", "Write the comparison to a file", "compare"),
    Action("failures.open", ("enter",), "Open", "The rows of this cause; there, the model's page", "failures", footer=True),
    Action("failures.filter", ("/",), "Filter", "Filter by the model's name", "failures", footer=True),
    Action("failures.all", ("a",), "All stacks", "All stacks, or back to the default one", "failures", run="all_stacks", footer=True),
    Action("failures.copy", ("y",), "Copy…", "Copy the id, the error or the command", "failures"),
    Action("failures.export", ("e",), "Export", "Write the causes to a file", "failures"),
    Action("mine.open", ("enter",), "Open", "Open the model's page", "mine", footer=True),
    Action("mine.filter", ("/",), "Filter", "Filter by the model's name", "mine", footer=True),
    Action("mine.copy", ("y",), "Copy…", "Copy the id or the command", "mine", footer=True),
    Action("mine.export", ("e",), "Export", "Write the list to a file", "mine", footer=True),
    Action("sql.run", ("f5",), "Run", "Run the query (Enter while typing it)", "sql", footer=True),
    Action("sql.edit", ("/",), "Edit", "Back to the query", "sql", footer=True),
    Action("sql.open", ("enter",), "Row", "The row in full, however long its values", "sql", footer=True),
    Action("sql.model", ("m",), "Model", "The page of the row's model", "sql", footer=True),
    Action("sql.copy", ("y",), "Copy…", "Copy the rows or the command", "sql"),
    Action("sql.export", ("e",), "Export", "Write the result to a file", "sql", footer=True),
)  # fmt: skip


def key_word(key: str) -> str:
    """`ctrl+d` as `^d`, `pagedown` as `PgDn`, `question_mark` as `?`."""
    names = {"question_mark": "?", "colon": ":", "slash": "/", "comma": ","}
    if key in _WORDS:
        return _WORDS[key]
    if key.startswith("ctrl+"):
        return "^" + key_word(key[5:])
    return names.get(key, key.upper() if len(key) > 1 and key[0] == "f" and key[1:].isdigit() else key)


def key_name(text: str) -> str | None:
    """Textual's name of a key written as Textual or trnui writes it (`F5`, `^t`, `Space`, `PgDn`, `Ctrl+Y`, `?`); None for no key."""
    if len(text) == 1:
        return _LONG_NAMES.get(text, text) if text.isprintable() and not text.isspace() else None
    low = text.lower()
    if low.startswith(("^", "c-")) and len(text) > 1:
        low = "ctrl+" + low.lstrip("^").removeprefix("c-")
    *modifiers, key = low.split("+")
    key = _ALIASES.get(key, key)
    if len(set(modifiers)) != len(modifiers) or not set(modifiers) <= {"ctrl", "alt", "shift"}:
        return None
    if not (key in _NAMED or re.fullmatch(r"f([1-9]|1[0-9]|2[0-4])", key) or (modifiers and len(key) == 1)):
        return None
    return "+".join([*sorted(modifiers, key=("alt", "ctrl", "shift").index), key])


def remapped(
    keys: Mapping[str, str], actions: tuple[Action, ...] = ACTIONS, lines: Mapping[str, str] | None = None
) -> tuple[tuple[Action, ...], tuple[str, ...]]:
    """The registry with a user's [keys] applied, and what was wrong with them: unknown ids, words that name no key, a key taken
    twice in one place. `lines`: file and line of each id, for the words."""
    lines = lines or {}
    by_id = {a.id: a for a in actions}
    problems = []
    for name, value in keys.items():
        if name not in by_id:
            import difflib

            near = difflib.get_close_matches(name, by_id, 1)
            where = lines.get(name, "[keys]")
            problems.append(f"{where}: unknown action {name!r}" + (f"; did you mean {near[0]!r}?" if near else ""))
            continue
        where = lines.get(name, "[keys]")
        words = [value.strip()] if value.strip() == "," else [k.strip() for k in value.split(",") if k.strip()]
        named = {word: key_name(word) for word in words}
        wrong = [word for word, key in named.items() if key is None]
        if wrong:
            problems.append(
                f"{where}: {name}: {', '.join(map(repr, wrong))} is not a key; keys are written as j, F5, ctrl+t, space, PgDn"
            )
        chosen = tuple(dict.fromkeys(key for key in named.values() if key is not None))
        if wrong and not chosen:
            continue  # its own keys stay
        taken = [
            (k, a)
            for a in by_id.values()
            for k in chosen
            if a.where == by_id[name].where and a.id != name and k in a.keys and a.id not in keys
        ]
        moving = MOVING.get(by_id[name].where)
        for key in chosen:
            mover = next((a for a in by_id.values() if a.where == moving and key in a.keys), None)
            if mover is not None:
                problems.append(
                    f"{where}: {key_word(key)!r} of {name} also moves ({mover.id}), which comes first; give that another key"
                )
        for key, other in taken:
            problems.append(f"{where}: {key_word(key)!r} of {name} was {other.id}'s key, which has lost it")
            by_id[other.id] = replace(other, keys=tuple(k for k in other.keys if k != key))
        by_id[name] = replace(by_id[name], keys=chosen)
    return tuple(by_id[a.id] for a in actions), tuple(problems)


def at(place: str, actions: tuple[Action, ...] = ACTIONS) -> tuple[Action, ...]:
    return tuple(a for a in actions if a.where == place)
