"""The nearest thing that works: for a model that fails, is left out or not tested on a stack, the smallest change with a PASS.

Pure over rows that passed: what is looked up, and from where, is `nearest_lookup.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final

from trnui.catalog.analysis.checkpoint_names import distance, parsed, siblings
from trnui.catalog.dataset.versions import is_dev, key, public
from trnui.catalog.hub.inference_catalog import ServingRecipe
from trnui.catalog.query import Stack
from trnui_runner.common.dataset_schema import Kind, Status

ASKS: Final = (Status.FAIL, Status.EXCLUDED, Status.UNTESTED)
"""The results for which the question makes sense."""
CHECKED: Final = {
    Kind.CPU_MATCH.value: "tokens as on a CPU",
    Kind.ENGLISH.value: "judged as English, the weaker check",
}


class Way(StrEnum):
    """From the smallest change to the largest."""

    CORES = "other cores"
    STACK = "another stack"
    SIBLING = "a sibling checkpoint, by its name"
    RECIPE = "a tested recipe of the Hub's inference catalog"


@dataclass(frozen=True)
class Passing:
    """A row that passed: the newest of a model on a stack with so many cores."""

    model_id: str
    stack: Stack
    cores: int | None
    kind: str | None = None
    device: str | None = "neuron"
    task: str | None = None
    tested_at: datetime | None = None  # UTC


@dataclass(frozen=True)
class Asked:
    """The row that does not work. `cores` None where nothing was run."""

    model_id: str
    stack: Stack
    cores: int | None = None
    task: str | None = None


@dataclass(frozen=True)
class Nearest:
    """One thing that passed. `passing` None for a recipe, `recipe` None for a row."""

    way: Way
    model_id: str
    passing: Passing | None = None
    recipe: ServingRecipe | None = None

    @property
    def words(self) -> str:
        """`another stack: PASS on neuronx-cc 2.27.5334.0 / transformers 5.22.0 (4 cores, judged as English, the weaker check)`."""
        if self.recipe is not None:
            pinned = f" at {self.recipe.revision[:7]}" if self.recipe.revision else ""
            return f"{self.way}: {self.recipe.id} for serving by {self.recipe.engine}{pinned}; not the dataset's test"
        row = self.passing
        assert row is not None  # one of the two
        name = f"{self.model_id} " if self.way is Way.SIBLING else ""
        stack = f"neuronx-cc {public(row.stack.neuronx_cc) or '–'} / {row.stack.library} {row.stack.library_version}"
        many = None if row.cores is None else f"{row.cores} core{'' if row.cores == 1 else 's'}"
        where = None if row.device in (None, "neuron") else "on a CPU" if row.device == "cpu" else f"on a {row.device}"
        facts = ", ".join(w for w in (many, where, CHECKED.get(row.kind or "")) if w)
        return f"{self.way}: {name}PASS on {stack}" + (f" ({facts})" if facts else "")


def nearest(asked: Asked, passed: Iterable[Passing], recipes: Sequence[ServingRecipe] = ()) -> tuple[Nearest, ...]:
    """The best of each way, the smallest change first; empty when nothing of the kind passed anywhere."""
    rows = tuple(passed)
    own = [r for r in rows if r.model_id.lower() == asked.model_id.lower()]
    here = [r for r in own if r.stack == asked.stack and r.cores != asked.cores]
    away = [r for r in own if r.stack != asked.stack]
    found = []
    if here:
        found.append(_of(Way.CORES, min(here, key=lambda r: _cores_apart(asked, r))))
    if away:
        found.append(_of(Way.STACK, min(away, key=lambda r: _stack_apart(asked, r, rows))))
    sibling = _sibling(asked, rows)
    if sibling is not None:
        found.append(_of(Way.SIBLING, sibling))
    if recipes:
        found.append(Nearest(Way.RECIPE, asked.model_id, recipe=recipes[0]))
    return tuple(found)


def _of(way: Way, row: Passing) -> Nearest:
    return Nearest(way, row.model_id, row)


def _cores_apart(asked: Asked, row: Passing) -> tuple[object, ...]:
    """More cores before fewer, then the nearest number."""
    before, now = asked.cores or 0, row.cores or 0
    return now < before, abs(now - before)


def _stack_apart(asked: Asked, row: Passing, rows: Sequence[Passing]) -> tuple[object, ...]:
    """One half of the pair before both, the library before the compiler, releases before development versions, then the
    nearest versions, then newer before older."""
    stack, other = asked.stack, row.stack
    halves = (stack.neuronx_cc != other.neuronx_cc) + (stack.library_version != other.library_version)
    return (
        other.library != stack.library,
        halves,
        stack.neuronx_cc != other.neuronx_cc,
        is_dev(other.neuronx_cc) or is_dev(other.library_version),
        _steps(stack.neuronx_cc, other.neuronx_cc, (r.stack.neuronx_cc for r in rows)),
        _steps(stack.library_version, other.library_version, (r.stack.library_version for r in rows)),
        key(other.neuronx_cc) < key(stack.neuronx_cc) or key(other.library_version) < key(stack.library_version),
        row.kind != Kind.CPU_MATCH,
        row.cores or 0,
    )


def _steps(a: str, b: str, known: Iterable[str]) -> int:
    """How many releases lie between two versions, of those that are known."""
    order = sorted({a, b, *known}, key=key)
    return abs(order.index(a) - order.index(b))


def _sibling(asked: Asked, rows: Sequence[Passing]) -> Passing | None:
    name = parsed(asked.model_id)
    if name is None:
        return None
    best: tuple[tuple[object, ...], Passing] | None = None
    for row in rows:
        other = parsed(row.model_id)
        if other is None or row.model_id.lower() == asked.model_id.lower() or not siblings(name, other):
            continue
        if None not in (asked.task, row.task) and asked.task != row.task:
            continue
        apart = (row.stack != asked.stack, *distance(name, other), _stack_apart(asked, row, rows), row.model_id)
        if best is None or apart < best[0]:
            best = apart, row
    return best[1] if best else None
