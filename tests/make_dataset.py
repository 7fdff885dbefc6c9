#!/usr/bin/env python3
"""Writes an invented result dataset in the schema and layout of the real one, for tests and benchmarks.

usage: make_dataset.py FOLDER [--models N] [--compilers N] [--libraries N] [--seed S] [--script-bytes N]

One Parquet file per (neuronx-cc version, Transformers version). Files of the oldest compiler lack the column
`exclusion`, as in the real dataset. Models are `example-org/...`: nothing here is a result of a real model.
Same arguments, same bytes. As in life, not every pair exists: the newest compiler lacks the newest library version.
250 models x (3 compilers x 4 libraries - 1) = 2,750 rows by default.
"""

import argparse
import datetime as dt
import random
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

COMPILERS = [
    "2.26.6360.0+6f180f47",
    "2.27.5334.0+f702b353",
    "2.28.7631.0+0a1b2c3d",
    "2.28.9000.0+4e5f6a7b",
    "2.29.100.0+8c9d0e1f",
    "2.9.0.0+00000000",
]
LIBRARIES = ["5.9.0", "5.18.0", "5.20.2", "5.22.0", "5.23.0", "5.24.0", "5.25.0.dev0"]
FAMILIES = ["Aster", "Birch", "Cedar", "Dahlia", "Elm", "Fern", "Gentian", "Hazel", "Iris", "Juniper"]
SIZES = [(0.135, 1), (0.6, 1), (1.7, 1), (4, 1), (8, 1), (14, 2), (32, 4), (70, 8), (106, 16), (235, 16)]
ERRORS = [
    "[NCC_EVRF001] An unsupported operator was used: erfinv",
    "RuntimeError: shape '[1, 24, -1, 128]' is invalid for input of size 26624",
    "[NCC_EVRF009] Size of total input and output tensors exceeds HBM limit of Trainium2. Needed 33285996544 bytes (31 GB) vs. available 25769803776 bytes (24 GB).",
    'RuntimeError: nrt_tensor_allocate status=4 message="Allocation Failure"',
    "tokens differ from the CPU run at position 7 of 32",
    "[INTERNAL_ERROR] [NCC_IBCG901] unexpected failure, please open a support ticket",
    "ValueError: The checkpoint you are trying to load has model type `aster4` but Transformers does not recognize this architecture.",
]
EXCLUSIONS = [
    "low priority: superseded by a newer checkpoint",
    "needs more than 16 cores",
    "quantized checkpoint: unsupported dtype",
    "low priority: fine-tune of a tested model",
]
SCHEMA = pa.schema(
    [
        ("model_id", pa.string()),
        ("library", pa.string()),
        ("tp", pa.int32()),
        ("runner", pa.string()),
        ("result", pa.string()),
        ("notes", pa.string()),
        ("error", pa.string()),
        ("exclusion", pa.string()),
        ("wall_s", pa.int32()),
        ("hbm_peak_gb", pa.float64()),
        ("hbm_capacity_gb", pa.float64()),
        ("cpu_match", pa.string()),
        ("english", pa.string()),
        ("neuronx_cc", pa.string()),
        ("library_version", pa.string()),
        ("transformers", pa.string()),
        ("accelerate", pa.string()),
        ("torch_neuronx", pa.string()),
        ("torch", pa.string()),
        ("nki", pa.string()),
        ("python", pa.string()),
        ("neuron_driver", pa.string()),
        ("tested_at", pa.timestamp("ms", tz="UTC")),
        ("run_py", pa.string()),
    ]
)


def models(rng: random.Random, count: int) -> list[tuple[str, float, int, str]]:
    out = []
    for i in range(count):
        size, cores = SIZES[rng.randrange(len(SIZES))]
        vision = rng.random() < 0.15
        name = f"example-org-{i % 23:02d}/{FAMILIES[i % 10]}{rng.randrange(1, 5)}-{'VL-' if vision else ''}{size:g}B-{i:05d}"
        out.append((name, size, cores, "image-text-to-text" if vision else "text-generation"))
    return out


def script(name: str, cores: int, task: str, size: int) -> str:
    head = (
        f'"""Invented run.py of {name}: never meant to run."""\nimport torch\nfrom transformers import AutoModelForCausalLM, AutoTokenizer\n\n'
        f'MODEL = "{name}"\nCORES = {cores}\nTASK = "{task}"\nMAX_NEW_TOKENS = 32\n\n'
    )
    line = '# filler, so that the text has the length of a real script: static cache, torch.compile(backend="neuron"), 32 tokens\n'
    return head + line * max(0, (size - len(head)) // len(line))


def rows(rng, pool, compiler, library, script_bytes):
    start = dt.datetime(2026, 10, 20, tzinfo=dt.UTC)
    for name, size, cores, task in pool:
        draw = rng.random()
        excluded, failed = draw < 0.08, draw < 0.30
        sharded = cores > 1
        capacity = 24.0 * cores
        yield {
            "model_id": name,
            "library": "transformers",
            "tp": None if excluded else cores,
            "runner": task,
            "result": None if excluded else ("FAIL" if failed else "PASS"),
            "notes": "" if rng.random() < 0.9 else "pip install tiktoken sentencepiece",
            "error": rng.choice(ERRORS) if failed and not excluded else None,
            "exclusion": rng.choice(EXCLUSIONS) if excluded else None,
            "wall_s": None if excluded else int(60 + size * 9 + rng.random() * 300),
            "hbm_peak_gb": None
            if excluded or (failed and rng.random() < 0.5)
            else round(min(size * 2.2 + 0.8, capacity * 0.95), 2),
            "hbm_capacity_gb": None if excluded else capacity,
            "cpu_match": None if excluded or sharded else ("32/32" if not failed else "7/32"),
            "english": None if excluded or not sharded else ("yes" if not failed else "no"),
            "neuronx_cc": compiler,
            "library_version": library,
            "transformers": library,
            "accelerate": "1.15.0",
            "torch_neuronx": "2.14.3.0.1234",
            "torch": "2.14.0",
            "nki": "0.7.0",
            "python": "3.12.3",
            "neuron_driver": "2.31.7.0",
            "tested_at": start + dt.timedelta(minutes=rng.randrange(40_000)),
            "run_py": "" if excluded else script(name, cores, task, script_bytes),
        }


def main() -> None:
    p = argparse.ArgumentParser()
    p.add_argument("folder", type=Path)
    p.add_argument("--models", type=int, default=250)
    p.add_argument("--compilers", type=int, default=3)
    p.add_argument("--libraries", type=int, default=4)
    p.add_argument("--seed", type=int, default=7)
    p.add_argument("--script-bytes", type=int, default=4000)
    a = p.parse_args()
    rng = random.Random(a.seed)
    pool = models(rng, a.models)
    a.folder.mkdir(parents=True, exist_ok=True)
    chosen = COMPILERS[: a.compilers]
    for ci, compiler in enumerate(chosen):
        for li, library in enumerate(LIBRARIES[: a.libraries]):
            if ci == len(chosen) - 1 and li == a.libraries - 1 and a.libraries > 1:
                continue
            table = pa.Table.from_pylist(list(rows(rng, pool, compiler, library, a.script_bytes)), schema=SCHEMA)
            if ci == 0:
                table = table.drop_columns(["exclusion"])
            pq.write_table(table, a.folder / f"neuronx_cc-{compiler.split('+')[0]}_transformers-{library}.parquet")


if __name__ == "__main__":
    main()
