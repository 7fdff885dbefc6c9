"""Every column that a view, a command, an export or the SQL console knows: one entry each, in the order in which they are listed.

A new column is one entry here. What it is in SQL, how it is worded, sorted and aligned, and which views show it all follow
from the entry: lists and their headings, sort pickers, default columns of `trnui list`, JSON and CSV keys, README.

SQL names: `r` is the row (of the dataset or of an own run; NULL for an untested model), `s` its stack, `k` its place in a
ranking of the Hub. A column without SQL is worked out for the rows that are shown (engine/elsewhere.py).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal

from trnui.catalog import column_formats as formats
from trnui.catalog.column_formats import Format
from trnui.catalog.query import View
from trnui_runner.common.dataset_schema import COLUMNS as SCHEMA
from trnui_runner.common.dataset_schema import STACK

EVERYWHERE: Final = frozenset(View)
RANKED: Final = frozenset((View.TRENDING, View.DOWNLOADS))
DATASET: Final = EVERYWHERE - {View.RUNS}
NOWHERE: Final[frozenset[View]] = frozenset()


@dataclass(frozen=True)
class ColumnSpec:
    """`name` is the key in JSON and SQL, `title` the heading on a screen, `help` what it means, in one line.

    carried: the views whose lists hold it (to sort, copy and show it). printed: those whose rows `trnui list` prints with it.
    screen: those whose lists show it on a screen, a column of the stack only where several stacks are shown.
    width: cells on a screen; one that may `grow` takes the room that is left.
    order: SQL that it sorts by, where that is not `sql`. greatest_first: sorts downwards when it is chosen.
    """

    name: str
    title: str
    help: str
    sql: str = ""
    show: Format = field(default=formats.words(""), repr=False)
    width: int = 10
    align: Literal["left", "right"] = "left"
    grow: bool = False
    order: str = ""
    greatest_first: bool = False
    carried: frozenset[View] = EVERYWHERE
    printed: frozenset[View] = NOWHERE
    screen: frozenset[View] = NOWHERE

    @property
    def of_stack(self) -> bool:
        """Whether it tells stacks apart, and says nothing in a list of one stack."""
        return self.name in STACK


def _row(name: str, title: str, help_: str, show: Format, width: int, **more: object) -> ColumnSpec:
    """A column of the dataset's own that `r` holds."""
    return ColumnSpec(name, title, help_, f"r.{name}", show, width, **more)  # type: ignore[arg-type]


def _rank(name: str, title: str, help_: str, show: Format, width: int, **more: object) -> ColumnSpec:
    """A column of the Hub's rankings."""
    return ColumnSpec(name, title, help_, f"k.{name}", show, width, "right", carried=RANKED, printed=RANKED, **more)  # type: ignore[arg-type]


REGISTRY: Final[tuple[ColumnSpec, ...]] = (
    _rank("rank", "rank", "Place in the Hub's list", formats.number("rank"), 4, screen=RANKED),
    _rank("downloads", "downloads", "Downloads in the last 30 days, as the Hub counts them", formats.short("downloads"), 9,
          greatest_first=True, screen=RANKED),
    _rank("trending_score", "trending", "The Hub's trending score", formats.short("trending_score"), 8, greatest_first=True,
          screen=frozenset({View.TRENDING})),
    _rank("parameters", "parameters", "Parameters, as the Hub counts them", formats.short("parameters"), 10, greatest_first=True),
    _rank("gated", "gated", "Whether its authors must be asked for access", formats.text("gated"), 6),
    ColumnSpec("run", "run", "Id of an own run", "r.run", formats.text("run"), 30, carried=frozenset({View.RUNS}),
               printed=frozenset({View.RUNS})),
    _row("model_id", "model", "The checkpoint's id on the Hub", formats.text("model_id"), 38, order="r.lower_id",
         printed=EVERYWHERE, screen=EVERYWHERE),
    _row("status", "result", "PASS, FAIL, EXCLUDED, UNTESTED or OTHER, folded from `result` and `exclusion`", formats.result_word, 10,
         printed=EVERYWHERE, screen=EVERYWHERE),
    _row("result", "in its words", "The result in the file's own word", formats.text("result"), 10),
    _row("kind", "check", "What a PASS was checked by: cpu-match (one core) or english (sharded, weaker)", formats.checked, 7,
         printed=EVERYWHERE, screen=frozenset({View.SELECTED, View.FAILURES, View.RUNS})),
    _row("device", "device", "Where the result was seen: neuron, cpu or stand-in", formats.text("device"), 8, printed=EVERYWHERE),
    _row("tp", "cores", "NeuronCores that the weights were spread over", formats.number("tp"), 5, align="right", greatest_first=True,
         printed=EVERYWHERE, screen=EVERYWHERE),
    _row("wall_s", "wall time", "Seconds of the whole test, compilation included", formats.number("wall_s", " s"), 9, align="right",
         greatest_first=True, printed=EVERYWHERE, screen=EVERYWHERE),
    _row("hbm_peak_gb", "peak mem", "Peak device memory in GB", formats.number("hbm_peak_gb", " GB", 1), 8, align="right",
         greatest_first=True, printed=EVERYWHERE, screen=EVERYWHERE),
    _row("hbm_capacity_gb", "capacity", "Device memory there was, in GB", formats.number("hbm_capacity_gb", " GB", 1), 8, align="right",
         greatest_first=True),
    ColumnSpec("neuronx_cc", "neuronx-cc", "Version of the compiler", "s.neuronx_cc", formats.version("neuronx_cc"), 11,
               order="s.o_neuronx_cc", greatest_first=True, printed=EVERYWHERE, screen=EVERYWHERE),
    ColumnSpec("library", "library", "The library of `library_version`", "s.library", formats.text("library"), 12, printed=EVERYWHERE),
    ColumnSpec("library_version", "version", "Version of the library", "s.library_version", formats.text("library_version"), 10,
               order="s.o_library_version", greatest_first=True, printed=EVERYWHERE, screen=EVERYWHERE),
    ColumnSpec("elsewhere", "other stacks", "How the model stands on the other stacks; the newest one that it passes on is named", "",
               formats.standing, 13, carried=DATASET, printed=DATASET, screen=DATASET),
    _row("reason", "why", "Why it was left out, or failed, in one line", formats.words("reason"), 12, grow=True,
         printed=EVERYWHERE, screen=EVERYWHERE),
    _row("tested_at", "tested", "When it was tested", formats.day("tested_at"), 10, greatest_first=True, screen=EVERYWHERE),
    _row("task", "task", "From `runner`, else from the script, else the Hub's tag", formats.text("task"), 18),
    _row("parallelism", "sharding", "none, tp or ep; unknown where nothing says it", formats.text("parallelism"), 8),
    *(
        ColumnSpec(name, name.replace("_", "-"), f"Version of {name.replace('_', '-')} in the row's stack", f"s.{name}",
                   formats.version(name), 12, order=f"s.o_{name}", greatest_first=True, carried=NOWHERE)
        for name in STACK
        if name not in ("neuronx_cc", "library_version")
    ),
    *(
        _row(name, name, help_, formats.words(name), 20, grow=True, carried=NOWHERE)
        for name, help_ in (("notes", "Notes of the test"), ("error", "The error, if it failed"), ("exclusion", "Why it was left out"))
    ),
)  # fmt: skip
BY_NAME: Final = {spec.name: spec for spec in REGISTRY}
GREATEST_FIRST: Final = frozenset(spec.name for spec in REGISTRY if spec.greatest_first)
OURS: Final = ("status", "kind", "device", "task", "parallelism", "view", "source", "row")
"""What we add to the dataset's columns in a whole row: `source` and `row` are the file and the line (from 0) it is from."""


def carried(view: View) -> tuple[str, ...]:
    """The columns that a list of this view holds, in their order."""
    return tuple(spec.name for spec in REGISTRY if view in spec.carried)


def printed(view: View) -> tuple[str, ...]:
    """The columns that `trnui list` prints by default."""
    return tuple(spec.name for spec in REGISTRY if view in spec.printed)


def on_screen(view: View, *, several: bool) -> tuple[ColumnSpec, ...]:
    """The columns that a screen shows; the first two, result and model, do not scroll."""
    first = (BY_NAME["status"], BY_NAME["model_id"])
    rest = (spec for spec in REGISTRY if view in spec.screen and spec not in first)
    return (*first, *(spec for spec in rest if several or not spec.of_stack))


def sortable(view: View) -> tuple[str, ...]:
    """Every column that a list of this view can be sorted by."""
    return tuple(
        spec.name
        for spec in REGISTRY
        if spec.sql and (view in spec.carried or not (spec.sql.startswith("k.") or spec.name == "run"))
    )


def whole_row(view: View, *, scripts: bool = True) -> tuple[str, ...]:
    """The dataset's 24 columns, ours, and the view's own; `scripts` with the long text of run_py."""
    own = tuple(c for c in carried(view) if c not in carried(View.SELECTED))
    elsewhere = ("elsewhere",) if "elsewhere" in carried(view) else ()
    return (*(c for c in SCHEMA if scripts or c != "run_py"), *OURS, *elsewhere, *own)
