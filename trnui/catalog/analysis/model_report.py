"""Everything about a model as values and as plain text: what `trnui show` prints and writes as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

from trnui.catalog.analysis.export import as_table
from trnui.catalog.analysis.nearest_lookup import Suggestion
from trnui.catalog.analysis.stack_matrix import Matrix, matrices
from trnui.catalog.analysis.what_if import FitEstimate, WhatIf, estimate
from trnui.catalog.columns import OURS
from trnui.catalog.dataset.packages import NONE_NAMED, Package, install_command, packages_of
from trnui.catalog.dataset.rankings import stored
from trnui.catalog.dataset.versions import public
from trnui.catalog.engine.result_set import Table
from trnui.catalog.hub.inference_catalog import ServingRecipe
from trnui.catalog.messages import Detail, Provenance
from trnui.sample.models import folder_of
from trnui.settings import DATASET
from trnui_runner.common.dataset_schema import COLUMNS, NOT_SAID, STACK, Kind, Status
from trnui_runner.common.text import ABSENT, Safe, clean, one_line, seconds, shown, words
from trnui_runner.diagnosis import Diagnosis, Facts, advise, diagnose_row
from trnui_runner.request.command_line import row_line, shell_line

HEAD_LINES: Final = 12
HEAD_CHARACTERS: Final = 1500
ROW_COLUMNS: Final = (
    "neuronx_cc", "library", "library_version", "status", "result", "kind", "device", "tp", "wall_s", "hbm_peak_gb", "tested_at",
)  # fmt: skip
CHECKED: Final = {"cpu-match": "tokens as on a CPU", "english": "sharded, judged as English"}
ON_ALL_STACKS: Final = (
    "On all stacks (result and cores; one core is checked against a CPU run, more by the text's English)"
)
RECIPE_WORDS: Final = "has a tested Neuron recipe in the Hub's inference catalog"
NOT_FAILURES: Final = {
    Status.EXCLUDED: "EXCLUDED: left out on purpose, for the reason given; not a failure.",
    Status.UNTESTED: "NOT TESTED: no result on this stack; not a failure.",
    Status.OTHER: "This result is in words of its own; it counts neither as PASS nor as FAIL.",
}


@dataclass(frozen=True)
class Sheet:
    """`detail` is the row chosen, `rows` all of the model's (ROW_COLUMNS), `runs` those of this host."""

    detail: Detail
    rows: Table
    runs: Table
    provenance: Provenance
    neuron_index: str
    default_row: bool = True  # whether the row is the one that is chosen without stack options
    nearest: tuple[Suggestion, ...] = ()  # what works, where this row does not
    recipes: tuple[ServingRecipe, ...] = ()  # of the Hub's inference catalog
    what_if: WhatIf | None = None  # a host that is asked about

    @property
    def packages(self) -> tuple[Package, ...]:
        return packages_of(self.detail.values)

    @property
    def matrices(self) -> tuple[Matrix, ...]:
        return matrices(self.rows.records())

    @property
    def model(self) -> str:
        return str(self.detail.values.get("model_id") or "")

    def commands(self) -> list[tuple[str, Safe]]:
        """(what it does, the command), every name quoted for a shell. Empty for a model without a row."""
        values = self.detail.values
        if self.detail.derived.get("file") is None:
            return []
        found = [("run it here, watched and checked", self._line("run"))]
        if values.get("run_py") and self.provenance.sample:
            found += self._sample_by_hand()
        elif values.get("run_py"):
            found += [
                ("or by hand: the packages", Safe(f"{self._line('packages')} | sh")),
                ("the script", Safe(f"{self._line('script')} > run.py")),
                ("and the run", Safe("python3 run.py")),
            ]
        if self.detail.derived["device"] == "neuron":
            found.append(("compiled graphs, so that the first run need not compile", self._line("cache")))
        return found

    def _line(self, command: str) -> Safe:
        """A command about this row; of the row that is chosen anyway its stack is not named."""
        dataset = self.provenance.dataset
        row = None if self.default_row else self.detail.values
        return row_line(command, self.model, row, dataset if dataset and dataset != DATASET else None)

    def _sample_by_hand(self) -> list[tuple[str, Safe]]:
        """The sample's models are on no Hub: their checkpoints are made on this machine when they are asked for."""
        folder = folder_of(self.model)
        if folder is None:
            return []
        return [
            ("or by hand: the script", Safe(f"{self._line('script')} > run.py")),
            ("and the run (this model is on no Hub)", Safe(f"TRNUI_CHECKPOINT={shell_line([folder])} python3 run.py")),
        ]

    def on_host(self) -> FitEstimate | None:
        """What the host that is asked about would do with this row."""
        if self.what_if is None:
            return None
        lower = self.model.lower()
        known = (m for r in stored() for m in (*r.trending, *r.downloads) if m.model_id.lower() == lower)
        size = self.detail.values.get("weight_bytes") or next((m.weight_bytes for m in known if m.weight_bytes), None)
        return estimate(self.what_if, {**self.detail.values, **self.detail.derived}, size)

    def said(self) -> str:
        """What the result does not say."""
        status = self.detail.derived["status"]
        if status == Status.PASS:
            kind = self.detail.derived["kind"]
            words = NOT_SAID[Kind(kind) if kind else None]
            return words if self.detail.derived["device"] == "neuron" else f"Not on Trainium. {words}"
        return NOT_FAILURES.get(Status(status), "")

    def meaning(self) -> Diagnosis | None:
        """What a failing row means, and on which stack the model passes, if it does."""
        if self.detail.derived["status"] != Status.FAIL:
            return None
        passing = next((row for row in self.rows.records() if row["status"] == Status.PASS), None)
        stack = (
            f"neuronx-cc {passing['neuronx_cc']}, {passing['library']} {passing['library_version']}" if passing else ""
        )
        found = diagnose_row({k: v for k, v in self.detail.values.items() if k != "run_py"})
        return advise(found, Facts(model=self.model, passes_on=stack))

    def to_json(self) -> dict[str, Any]:
        """The row's columns and ours at the top, then packages, all rows, matrices, commands, provenance."""
        values, derived = self.detail.values, self.detail.derived
        source = self.provenance
        ours = {k: derived.get(k) for k in OURS if k in derived} | {
            "view": "selected",
            "source": derived.get("file"),
            "row": derived.get("row"),
        }
        return {
            **{c: values.get(c) for c in COLUMNS},
            **ours,
            "unknown": {k: v for k, v in values.items() if k not in COLUMNS},
            "packages": [{"requirement": p.requirement, "origin": p.origin, "extra": p.extra} for p in self.packages],
            "install": install_command(self.packages, self.neuron_index) or None,
            "not_said": self.said(),
            "nearest": [suggestion.to_json() for suggestion in self.nearest],
            "tested_recipes": [asdict(recipe) for recipe in self.recipes],
            "host": {"instance": self.what_if.instance.name, **asdict(found)}
            if self.what_if and (found := self.on_host())
            else None,
            "diagnosis": meaning.to_json() if (meaning := self.meaning()) else None,
            "rows": self.rows.records(),
            "matrix": [m.to_json() for m in self.matrices],
            "runs": self.runs.records(),
            "commands": [command for _, command in self.commands()],
            "provenance": {
                "dataset": source.dataset,
                "words": source.words,
                "sample": source.sample,
                "commit": source.commit,
            },
        }

    def lines(self, *, full: bool = False, width: int | None = None) -> Iterator[str]:
        """For a terminal. `full` prints the whole error and the whole notes."""
        values, derived = self.detail.values, self.detail.derived
        yield one_line(self.model, 300)
        yield ""
        yield from self._result(values, derived)
        if self.said():
            yield f"  {self.said()}"
        if self.what_if is not None and (found := self.on_host()) is not None:
            yield f"  {found.words(self.what_if)}"
        for recipe in self.recipes:
            yield f"  {'also':<20}{RECIPE_WORDS} ({one_line(recipe.id)}, {one_line(recipe.engine)})"
        if self.nearest:
            yield ""
            yield "Nearest that works"
            for suggestion in self.nearest:
                yield f"  {one_line(suggestion.words, 400)}"
                yield from ([f"    {suggestion.command}"] if suggestion.command else [])
        for title, name in (("Left out", "exclusion"), ("Notes", "notes"), ("Error", "error")):
            if values.get(name):
                yield ""
                yield from _block(title, str(values[name]), full)
        if meaning := self.meaning():
            yield from (
                "",
                "What it means",
                f"  {meaning.cls}: {clean(meaning.summary)}",
                f"  What to do: {clean(meaning.hint)}",
            )
        yield ""
        yield "Stack"
        names = ["library", *STACK] if derived.get("file") is not None or derived.get("run") else []
        for name in names:
            yield f"  {name:<20}{shown(values.get(name))}"
        if not names:
            yield f"  {ABSENT}"
        yield ""
        yield from self._packages()
        yield from self._everywhere(width)
        if self.commands():
            yield ""
            yield "Reproduce"
            wide = max(len(what) for what, _ in self.commands())
            yield from (f"  {what:<{wide}}  {command}" for what, command in self.commands())
        extra = {k: v for k, v in values.items() if k not in COLUMNS and v is not None and k not in ("run", "outcome")}
        if extra:
            yield ""
            yield "Other columns of this row" if derived.get("file") is not None else "On the Hub"
            yield from (f"  {one_line(k, 40):<20}{shown(v)}" for k, v in extra.items())
        yield ""
        yield (
            f"From {one_line(derived['file'])}, row {derived['row']}"
            if derived.get("file")
            else "No row of the dataset"
        )

    def _result(self, values: Mapping[str, Any], derived: Mapping[str, Any]) -> Iterator[str]:
        status = Status(derived["status"])
        word = shown(values.get("result")) if status is Status.OTHER else status.word
        checked = CHECKED.get(str(derived.get("kind")), "")
        where = (
            ""
            if derived.get("device") in (None, "neuron")
            else f"on {'the CPU' if derived['device'] == 'cpu' else 'a stand-in'}"
        )
        yield f"  {'result':<20}" + " · ".join(w for w in (word, checked, where) if w)
        plan = {"tp": "tensor parallel", "ep": "expert parallel"}.get(derived.get("parallelism") or "", "")
        yield f"  {'cores':<20}{shown(values.get('tp'))}{f' · {plan}' if plan else ''}"
        wall = values.get("wall_s")
        yield f"  {'wall time':<20}{ABSENT if wall is None else seconds(wall) + ', incl. compilation'}"
        peak, capacity = values.get("hbm_peak_gb"), values.get("hbm_capacity_gb")
        of = f" of {capacity:g} GB" if isinstance(capacity, int | float) else ""
        yield f"  {'peak device memory':<20}{ABSENT if peak is None else f'{peak:g} GB'}{of if peak is not None else ''}"
        yield f"  {'task':<20}{shown(derived.get('task'))}"
        for name in ("cpu_match", "english", "runner"):
            if values.get(name):
                yield f"  {name:<20}{shown(values[name])}"
        tested = values.get("tested_at")
        yield (
            f"  {'tested':<20}{tested:%Y-%m-%d %H:%M} UTC"
            if hasattr(tested, "strftime")
            else f"  {'tested':<20}{shown(tested)}"
        )

    def _packages(self) -> Iterator[str]:
        yield "Packages"
        found = self.packages
        wide = max((len(p.requirement) for p in found), default=0)
        yield from (f"  {one_line(p.requirement):<{wide}}  {one_line(p.origin)}" for p in found)
        if not any(p.extra for p in found):
            yield f"  beyond the stack: {NONE_NAMED}"
        command = install_command(found, self.neuron_index)
        if command:
            yield f"  {command}"

    def _everywhere(self, width: int | None) -> Iterator[str]:
        for matrix in self.matrices:
            yield ""
            yield words("{}: {}", ON_ALL_STACKS, matrix.library)
            lines = matrix.grid()[1:]
            short = tuple([public(line[0]), *line[1:]] for line in lines)
            table = Table(("neuronx_cc", *matrix.versions), tuple(tuple(v or None for v in line) for line in short))
            text, left_out = as_table(table, width - 2 if width else None)
            yield from (f"  {line}" for line in text)
            if left_out:
                yield f"  … and {len(left_out)} older versions"
            if matrix.works_since and len(matrix.cells) > 1:
                yield words("  works since {}", matrix.works_since)
            if matrix.broken_since:
                yield words("  broken since {}", matrix.broken_since)
        if self.runs.rows:
            yield ""
            yield "Runs on this host"
            text, _ = as_table(self.runs, width - 2 if width else None)
            yield from (f"  {line}" for line in text)


def _block(title: str, text: str, full: bool) -> Iterator[str]:
    """Foreign text of several lines, its head unless `full`."""
    whole = clean(text)
    head = whole if full else "\n".join(whole[:HEAD_CHARACTERS].splitlines()[:HEAD_LINES])
    yield title
    yield from (f"  {line}" for line in head.splitlines())
    if len(head.rstrip()) < len(whole.rstrip()):
        yield f"  … {len(whole) - len(head):,} more characters: --full prints them"
