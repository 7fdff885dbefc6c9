"""View 5: two stacks side by side. What passes now, what fails now, what takes other cores, time or memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import ClassVar

from textual.binding import BindingType

from trnui.catalog.analysis.comparison.compare import Change, Comparison, What
from trnui.catalog.analysis.comparison.tables import why_of
from trnui.catalog.column_formats import text
from trnui.catalog.messages import Record
from trnui.catalog.query import Stack
from trnui.settings import DATASET
from trnui.tui.bindings import bindings
from trnui.tui.dialogs.copy_menu import copy_texts, export_rows
from trnui.tui.explore.list_screen import stack_words
from trnui.tui.tables.table_screen import TableScreen
from trnui.tui.widgets.columns import Column, many
from trnui.tui.widgets.picker import Choice, Picker
from trnui.tui.widgets.result_table import Row
from trnui.tui.widgets.styled_lines import Span
from trnui_runner.common.text import ABSENT, shown
from trnui_runner.request.command_line import shell_line

ALWAYS = (  # shown at first; the others by choice
    What.FAILING, What.PASSING, What.TESTED, What.UNTESTED, What.RESULT, What.CORES,
)  # fmt: skip
STYLES = {
    What.PASSING.value: "good",
    What.FAILING.value: "bad",
    What.UNTESTED.value: "warn",
    What.RESULT.value: "warn",
}


def pair(name: str, unit: str = "", digits: int = 0) -> Callable[[Record], str]:
    """`281 → 276 s`; one figure where both are the same."""

    def show(record: Record) -> str:
        a, b = record.get(f"{name}_a"), record.get(f"{name}_b")
        left = f"{a:,.{digits}f}" if isinstance(a, int | float) else ABSENT
        right = f"{b:,.{digits}f}{unit}" if isinstance(b, int | float) else ABSENT
        return right if a == b and a is not None else f"{left} → {right}"

    return show


def results(record: Record) -> str:
    a, b = (shown(record.get(name)).replace("UNTESTED", "NOT TESTED") for name in ("result_a", "result_b"))
    return b if a == b else f"{a} → {b}"


def why(record: Record) -> str:
    """The cause of what is newly failing, then each side's own reason; A's is marked as A's."""
    a, b = (str(record[name]) if record.get(name) else None for name in ("reason_a", "reason_b"))
    both = record.get("result_a") is not None and record.get("result_b") is not None
    parts = (record.get("cause"), why_of(a, b, both=both))
    return " · ".join(dict.fromkeys(shown(part) for part in parts if part))


def since(record: Record) -> str:
    """`neuronx-cc 2.28.7631.0`, of what is newly failing; on which version it passed last is in an export."""
    return shown(record["since"]).removeprefix("since ").partition(" (")[0] if record.get("since") else ""


COLUMNS = (
    Column("change", "change", 14, text("change"), style=lambda r: STYLES.get(str(r.get("change")), "accent")),
    Column("model_id", "model", 48, text("model_id")),
    Column("result", "result", 23, results),
    Column("tp", "cores", 7, pair("tp"), "right"),
    Column("since", "first bad version", 22, since),
    Column("wall_s", "wall time", 15, pair("wall_s", " s"), "right"),
    Column("hbm_peak_gb", "peak mem", 16, pair("hbm_peak_gb", " GB", 1), "right"),
    Column("why", "why", 12, why, style="muted", grow=True),
)


class CompareScreen(TableScreen):
    PLACE = "compare"
    VIEW = "compare"
    CSS_PATH = "compare.tcss"
    BINDINGS: ClassVar[list[BindingType]] = bindings("compare")

    def __init__(self) -> None:
        super().__init__()
        self._a: Stack | None = None
        self._b: Stack | None = None
        self._kinds: tuple[str, ...] = tuple(w.value for w in ALWAYS)
        self._comparison: Comparison | None = None
        self._every: list[Row] = []  # rows of all kinds
        self._changes: Mapping[tuple[str, str], Change] = {}  # by kind and model, as the rows are

    def columns(self) -> tuple[Column, ...]:
        return COLUMNS

    def on_mount(self) -> None:
        self.compare()

    def on_screen_resume(self) -> None:
        if self._comparison is not None:
            self.compare()

    # -- data

    def compare(self) -> None:
        """Asks with the chosen stacks; at first the default one against the newest older compiler with the same library."""
        store = self.context.store
        stacks = self.context.loaded.stacks
        if self._a not in stacks or self._b not in stacks:
            self._a, self._b = first_pair(stacks, self.context.loaded.default)
        a, b = self._a, self._b
        if store is None or a is None or b is None:
            self.put((), (), ["", "Two stacks are needed; there is " + ("one." if stacks else "none yet.")])
            return
        from trnui.catalog.analysis.comparison.causes import explained
        from trnui.catalog.analysis.comparison.compare import compare

        def work() -> Callable[[], None]:
            found = compare(store.database, a, b)

            def then() -> None:
                self._take(found)
                if found.count(
                    What.FAILING
                ):  # each of their errors is read and diagnosed: the counts need not wait for it
                    self.in_thread(causes, "causes")

            def causes() -> Callable[[], None]:
                told = explained(found, store.database)
                return lambda: self._take(told) if self._comparison is found else None

            return then

        self.in_thread(work, "compare")

    def _take(self, found: Comparison) -> None:
        from trnui.catalog.analysis.comparison.tables import COLUMNS as NAMES
        from trnui.catalog.analysis.comparison.tables import table

        self._comparison = found
        self._changes = {(c.what.value, c.model_id): c for c in found.changes}
        self._names, self._every = NAMES, [((row[0], row[1]), *row) for row in table(found)]
        self._show()

    def _show(self) -> None:
        found = self._comparison
        assert found is not None
        rows = [r for r in self._every if not self._kinds or r[1] in self._kinds]
        self.put(self._names, rows, self._why_none(found))
        self.say_chips(_stacks(found, self.app.size.width), _counts(found, self._kinds))

    def _why_none(self, found: Comparison) -> list[str]:
        if found.changes:
            return [
                "",
                f"None of the chosen kinds; {self.context.key_of('compare.change')} chooses among: {found.words}.",
            ]
        return ["", f"No difference: {found.same:,} models have the same result on both."]

    def counted(self, shown: int, every: int) -> str:
        found = self._comparison
        if found is None:
            return many(shown, "change")
        total = len(self._every)
        count = many(total, "change") if shown == total else f"{shown:,} of {many(total, 'change')} shown"
        return f"{count} · {found.same:,} of {found.both:,} unchanged"

    # -- keys

    def why_not(self, action_id: str) -> str | None:
        if action_id in ("compare.open", "compare.copy", "compare.run", "compare.run_left", "compare.side"):
            if self.record is None:
                return "no row under the cursor"
            change = self._change
            if action_id == "compare.run" and (change is None or change.b is None):
                return "B has no row of this model"
            if action_id == "compare.run_left" and (change is None or change.a is None):
                return "A has no row of this model"
        if (
            action_id in ("compare.left", "compare.right", "compare.swap", "compare.change")
            and self._comparison is None
        ):
            return "there are no two stacks to compare"
        return None

    def _choose(self, title: str, chosen: Stack | None, take: Callable[[Stack], None]) -> None:
        stacks = self.context.loaded.stacks
        offered = [
            Choice(str(n), f"neuronx-cc {s.neuronx_cc.partition('+')[0]}", f"{s.library} {s.library_version}")
            for n, s in enumerate(stacks)
        ]
        now = (str(stacks.index(chosen)),) if chosen in stacks else ()

        def done(answer: tuple[str, ...] | None) -> None:
            if answer:
                take(stacks[int(answer[0])])
                self.compare()

        self.app.push_screen(Picker(title, offered, now), done)

    def action_left(self) -> None:
        def take(stack: Stack) -> None:
            self._a = stack

        self._choose("Left stack (before)", self._a, take)

    def action_right(self) -> None:
        def take(stack: Stack) -> None:
            self._b = stack

        self._choose("Right stack (after)", self._b, take)

    def action_swap(self) -> None:
        self._a, self._b = self._b, self._a
        self.compare()

    def action_change(self) -> None:
        assert self._comparison is not None  # why_not
        offered = [Choice(w.value, w.value, f"{n:,}") for w, n in self._comparison.counts]

        def done(answer: tuple[str, ...] | None) -> None:
            if answer is not None:
                self._kinds = answer
                self._show()

        self.app.push_screen(Picker("Kinds of change (none: all)", offered, self._kinds, several=True), done)

    def action_open(self) -> None:
        assert self.record is not None  # why_not
        self.context.open_model(str(self.record["model_id"]))

    @property
    def _change(self) -> Change | None:
        """The change under the cursor."""
        record = self.record
        return None if record is None else self._changes.get((str(record["change"]), str(record["model_id"])))

    def action_run(self) -> None:
        """Reproduces B's row."""
        change = self._change
        self._run(change.b.identity if change and change.b else None)

    def action_run_left(self) -> None:
        """Reproduces A's row."""
        change = self._change
        self._run(change.a.identity if change and change.a else None)

    def _run(self, identity: int | None) -> None:
        store = self.context.store
        if store is None or identity is None:
            return
        from trnui.catalog.engine.lookups import row_in_full

        def work() -> Callable[[], None]:
            detail = row_in_full(store.database, identity)
            return lambda: (
                self.context.run_row(detail) if detail is not None else self.say("this row is no longer there", "warn")
            )

        self.in_thread(work, "row")

    def action_side(self) -> None:
        """The model's rows on both stacks, value by value."""
        from trnui.tui.explore.side_by_side import SideScreen

        assert self.record is not None  # why_not
        model = str(self.record["model_id"])
        marked = tuple((model, s.neuronx_cc, s.library_version) for s in (self._a, self._b) if s is not None)
        self.app.push_screen(SideScreen(self.VIEW, marked))

    def action_copy(self) -> None:
        assert self.record is not None  # why_not
        stacks = [f"{s.neuronx_cc}/{s.library_version}" for s in (self._a, self._b) if s]
        dataset = [] if self.context.dataset == DATASET else ["--dataset", self.context.dataset]
        words = ["trnui", *dataset, "compare", *stacks]
        whole = len(stacks) == 2
        command = shell_line(words) if whole else ""
        gate = shell_line([*words, "--fail-on", "newly-failing"]) if whole else ""
        page = shell_line([*words, "-o", "comparison.html"]) if whole else ""
        copy_texts(
            self.context,
            [
                ("i", "model id", str(self.record["model_id"])),
                ("c", "compare command", command),
                ("f", "the same for CI: fails on newly failing", gate),
                ("h", "the same as an HTML page", page),
            ],
        )

    def action_export(self) -> None:
        export_rows(self.context, "compare", self._names, [r[1:] for r in self._rows])


def first_pair(stacks: tuple[Stack, ...], default: Stack | None) -> tuple[Stack | None, Stack | None]:
    """(before, after): the default stack, and the newest older compiler with its library version, else the next stack there is."""
    if default is None or len(stacks) < 2:
        return None, None
    older = [s for s in stacks if s != default]
    same = [s for s in older if (s.library, s.library_version) == (default.library, default.library_version)]
    return (same or older)[0], default


def _short(stack: Stack) -> str:
    return stack_words(stack).replace("neuronx-cc ", "")


def _stacks(found: Comparison, width: int) -> tuple[Span, ...]:
    """In full, or without what both have in common by nature, where that is too long."""
    for words in (stack_words, _short):
        parts = (
            (" A ", "accent"),
            (f"{words(found.a)} ({found.models_a:,})", "plain"),
            ("  →  B ", "accent"),
            (f"{words(found.b)} ({found.models_b:,})", "plain"),
        )
        if sum(len(text) for text, _ in parts) <= width:
            break
    return parts


def _counts(found: Comparison, kinds: tuple[str, ...]) -> tuple[Span, ...]:
    parts: list[Span] = [(" ", "muted")]
    counts: Mapping[What, int] = dict(found.counts)
    for what, count in counts.items():
        if count:
            parts.append((f"{what.value} {count:,}  ", "plain" if not kinds or what.value in kinds else "muted"))
    return tuple(parts)
