"""One registry of actions: keys, label, help, place. Bindings, footer, help, palette, `trnui keys` and the README's table
are all made from it. No Textual in here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final


@dataclass(frozen=True)
class Action:
    """`id` is the binding id users remap in [keys]; `run` is the Textual action; `where` the screen or widget it belongs to."""

    id: str
    keys: tuple[str, ...]
    label: str  # footer and palette: one or two words
    help: str  # one sentence
    where: str  # "app", "list", "model", "run", "runs", "log", "compare", "failures", "sql", "help"
    run: str = ""  # "" = the id's last part, as `action_<name>`
    footer: bool = False

    @property
    def action(self) -> str:
        return self.run or self.id.rpartition(".")[2]


PLACES: Final = {
    "app": "Everywhere",
    "list": "List of models",
    "model": "A model's page",
    "run": "A run",
    "runs": "List of runs",
    "log": "Log",
    "compare": "Compare two stacks",
    "failures": "Failures by cause",
    "sql": "SQL",
}

ACTIONS: Final[tuple[Action, ...]] = (
    Action("app.help", ("question_mark",), "Help", "Show the keys that work here", "app", footer=True),
    Action("app.palette", ("colon",), "Commands", "Find any action by its name", "app", run="command_palette"),
    Action("app.back", ("escape",), "Back", "Close the top-most thing, one step", "app"),
    Action("app.quit", ("q",), "Quit", "Leave; runs go on", "app", footer=True),
)


def remapped(
    keys: Mapping[str, str], actions: tuple[Action, ...] = ACTIONS
) -> tuple[tuple[Action, ...], tuple[str, ...]]:
    """The registry with a user's [keys] applied, and what was wrong with them (unknown ids)."""
    import difflib

    by_id = {a.id: a for a in actions}
    problems = []
    for name, value in keys.items():
        if name not in by_id:
            near = difflib.get_close_matches(name, by_id, 1)
            problems.append(f"[keys]: unknown action {name!r}" + (f"; did you mean {near[0]!r}?" if near else ""))
            continue
        by_id[name] = replace(by_id[name], keys=tuple(k.strip() for k in value.split(",") if k.strip()))
    return tuple(by_id[a.id] for a in actions), tuple(problems)


def at(place: str, actions: tuple[Action, ...] = ACTIONS) -> tuple[Action, ...]:
    return tuple(a for a in actions if a.where == place)
