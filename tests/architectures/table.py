"""Every architecture that tiny.py made a checkpoint of, run by the bundled script on one CPU core: outcome beside the truth.

    python -m tests.architectures.table FOLDER [--only qwen3,gpt2] [--docs]

FOLDER is tiny.py's; each result is kept in FOLDER/results.jsonl, so that an interrupted table goes on. About ten seconds a
model on an idle core. --docs runs nothing and writes docs/architectures.md from what is there.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tests.e2e.cells import quiet, wait
from trnui_runner.common.errors import UserError
from trnui_runner.request.prepare import prepare
from trnui_runner.request.request import RunRequest
from trnui_runner.supervise import launcher

DOCS = Path(__file__).resolve().parents[2] / "docs" / "architectures.md"
REFUSED = "refused"


@dataclass(frozen=True)
class Row:
    """`plain`, `static`: tiny.py's own eager runs, {tokens} or {error}. `new_ids`: what the run generated."""

    kind: str
    cls: str
    outcome: str
    reason: str
    graphs: int | None = None
    new_ids: list[int] | None = None
    seconds: float = 0.0
    notes: list[str] = field(default_factory=list)
    plain: dict[str, Any] = field(default_factory=dict)
    static: dict[str, Any] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)
    encoder_decoder: bool = False

    @property
    def equal(self) -> bool | None:
        """Whether the run said what the plain one says; None where one of them said nothing."""
        said = self.plain.get("tokens")
        return None if self.new_ids is None or said is None else self.new_ids == said

    @property
    def untrue(self) -> str:
        """Why the outcome is not what the plain runs say it must be; empty when it is."""
        compiled = bool(self.graphs)
        plain, static = self.plain.get("tokens"), self.static.get("tokens")
        if self.outcome == "PASS":
            if not self.equal:
                return "a PASS with other tokens than the plain run's"
            if not compiled:
                return "a PASS though nothing was compiled"
            return "a PASS with weights drawn at random" if self.missing else ""
        if self.outcome == "FAIL":
            if plain is None:
                return "a FAIL though the plain run fails, too"
            if self.new_ids is not None and self.equal:
                return "a FAIL with the plain run's tokens"
            if self.new_ids is not None and static is not None and static != plain:
                return "a FAIL that Transformers' static cache makes of it"
            if self.new_ids is None and static is not None and not compiled:
                return "a FAIL of a run that works uncompiled, before anything was compiled"
            return "a FAIL though weights are missing" if self.missing else ""
        if self.outcome == "UNCHECKED" and self.equal and compiled and not self.missing:
            return "UNCHECKED though compiled and equal"
        if self.outcome == REFUSED and plain is not None and not self.encoder_decoder:
            return "refused though the plain run works"
        return ""


def run(folder: Path) -> Row:
    told = json.loads((folder / "plain.json").read_text())
    known: dict[str, Any] = {
        "kind": folder.name, "cls": told["class"], "plain": told["plain"], "static": told["static"],
        "missing": told["missing"], "encoder_decoder": told["encoder_decoder"],
    }  # fmt: skip
    began = time.monotonic()
    try:
        made = prepare(RunRequest(str(folder), script="bundled", device="cpu", dtype="float32", timeout_s=300.0))
    except UserError as error:
        return Row(
            outcome=REFUSED,
            reason=error.message.replace(str(folder), folder.name),
            seconds=round(time.monotonic() - began, 1),
            **known,
        )
    result = wait(launcher.start(made.recipe, made.script, made.steps, made.supervision, environ=quiet()))
    ids = (result.tokens or {}).get("new_ids")
    return Row(
        outcome=result.outcome, reason=result.reason, graphs=result.graphs, new_ids=ids, notes=list(result.notes),
        seconds=round(time.monotonic() - began, 1), **known,
    )  # fmt: skip


def rows_of(folder: Path) -> dict[str, Row]:
    """The results kept so far, by model type."""
    path = folder / "results.jsonl"
    lines = path.read_text().splitlines() if path.exists() else []
    return {row.kind: row for row in (Row(**json.loads(line)) for line in lines)}


def table(folder: Path, only: list[str]) -> list[Row]:
    """Runs what has no result yet; all rows in the order of their names."""
    known = rows_of(folder)
    for one in sorted(path.parent for path in folder.glob("*/plain.json")):
        if one.name in known or (only and one.name not in only):
            continue
        row = known[one.name] = run(one)
        with open(folder / "results.jsonl", "a") as file:
            file.write(json.dumps(asdict(row)) + "\n")
        print(f"{row.kind:28} {row.outcome:10} {row.seconds:5.1f} s  {row.untrue or row.reason[:90]}", flush=True)
    return [known[kind] for kind in sorted(known) if not only or kind in only]


def document(rows: list[Row], unmade: dict[str, str], untried: list[str]) -> str:
    outcomes = Counter(row.outcome for row in rows)
    untrue = [row for row in rows if row.untrue]
    lines = [
        "# Architectures",
        "",
        f"<!-- made by `python -m tests.architectures.table FOLDER --docs`; Transformers {version('transformers')}, torch {version('torch')} -->",
        "",
        f"{len(rows)} tiny checkpoints with random weights, each run by the bundled script on **one CPU core** (float32,",
        "`torch.compile` with the backend `aot_eager`, static cache) beside a plain eager greedy run of the same checkpoint in",
        "Transformers alone. **Nothing here was run on a Trainium**, and a tiny model says nothing of its big relatives: the table",
        "shows that trnui's outcome is the true one, not which models work.",
        "",
        ", ".join(f"{count} {word}" for word, count in outcomes.most_common())
        + f"; outcomes that contradict the plain run: {len(untrue)}.",
        "",
        "| model type | outcome | graphs | as the plain run | why |",
        "|---|---|---|---|---|",
    ]
    for row in rows:
        equal = {None: "–", True: "yes", False: "no"}[row.equal]
        why = " ".join((row.untrue or row.reason).split()).replace("|", "\\|")
        extra = [note for note in row.notes if "no chunked prefill" in note]
        if row.outcome == "FAIL" and "error" in row.static:
            extra.append("with a static cache it fails in Transformers alone, too")
        why = "" if row.outcome == "PASS" else why[:200]
        lines.append(
            f"| {row.kind} | {row.outcome} | {'–' if row.graphs is None else row.graphs} | {equal} | {'; '.join([why, *extra]).strip('; ')} |"
        )
    if untried:
        lines += ["", f"Made, and not run for this table ({len(untried)}): {', '.join(untried)}."]
    lines += [
        "",
        f"Not made by tests/architectures/tiny.py, and so not tried ({len(unmade)}): {', '.join(sorted(unmade))}.",
        "",
    ]
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--docs", action="store_true")
    a = parser.parse_args()
    folder = a.folder.resolve()
    rows = [] if a.docs else table(folder, [word for word in a.only.split(",") if word])
    if a.docs:
        unmade = json.loads((folder / "unmade.json").read_text())
        DOCS.parent.mkdir(exist_ok=True)
        made = {path.parent.name for path in folder.glob("*/plain.json")}
        rows = [row for row in rows_of(folder).values() if row.kind in made]
        rows.sort(key=lambda row: row.kind)
        untried = sorted(made - {row.kind for row in rows})
        DOCS.write_text(document(rows, unmade, untried), encoding="utf-8")
    untrue = [f"{row.kind}: {row.untrue}" for row in rows if row.untrue]
    print(f"{len(rows)} architectures, {len(untrue)} untrue", *untrue, sep="\n")
    return 1 if untrue else 0


if __name__ == "__main__":
    raise SystemExit(main())
