"""The whole table, by one command: architectures × {1 core, 2 ranks TP, 2 ranks EP} × {CPU, stand-in}, as Markdown.

    python tests/e2e/matrix.py [--devices cpu,stand-in] [--ways "1 core,2 ranks TP"] [--models recites,gpt-oss]

"equal": the tokens are those of the same checkpoint on one core of the CPU. The stand-in is no Trainium.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
from tests.e2e.cells import WAYS, Cell, Done, run  # noqa: E402
from tests.trainium.host import build  # noqa: E402
from tests.trainium.shape import Shape  # noqa: E402

MODELS = ("recites", "qwen3", "llama", "recites-moe", "qwen3-moe", "gpt-oss", "hybrid", "mamba", "gpt2", "bloom", "electra",
          "odd-heads", "recites-picture", "llava")  # fmt: skip


def cells(models: list[str], ways: list[str], devices: list[str]) -> Iterator[Cell]:
    for model in models:
        for way in ways:
            for device in devices:
                yield Cell(model, way, device)


def line(done: Done, reference: list[int] | None) -> str:
    cell, result = done.cell, done.result
    equal = "–" if done.new_ids is None or reference is None else "yes" if done.new_ids == reference else "NO"
    if result is None:
        return f"| {cell.model} | {cell.way} | {cell.device} | refused | – | – | {done.seconds:.0f} | {done.refused} |"
    graphs = "–" if result.graphs is None else result.graphs
    reason = " ".join(result.reason.split()).replace("|", "\\|")
    return f"| {cell.model} | {cell.way} | {cell.device} | {result.outcome} | {graphs} | {equal} | {done.seconds:.0f} | {reason[:160]} |"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--ways", default=",".join(WAYS))
    parser.add_argument("--devices", default="cpu,stand-in")
    a = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="matrix-") as folder:
        for kind in ("STATE", "CACHE", "CONFIG"):
            os.environ[f"TRNUI_{kind}_DIR"] = str(Path(folder, kind.lower()))
        host = build(Path(folder, "trn2"), Shape())
        plain = dict(os.environ)
        reference: dict[str, list[int] | None] = {}
        print(
            "| model | way | device | outcome | graphs | equal | s | said |\n|---|---|---|---|---|---|---|---|",
            flush=True,
        )
        for cell in cells(a.models.split(","), a.ways.split(","), a.devices.split(",")):
            os.environ.clear()
            os.environ.update({**plain, **host.environ} if cell.device == "stand-in" else plain)
            done = run(cell, host.python if cell.device == "stand-in" else sys.executable)
            if cell.way == "1 core" and cell.device == "cpu":
                tokens = done.result.tokens if done.result else None
                reference[cell.model] = (tokens or {}).get("reference_ids") or done.new_ids
            print(line(done, reference.get(cell.model)), flush=True)


if __name__ == "__main__":
    main()
