"""What a hostile row may hold: nothing of it reaches a terminal as a control character, and no command offered runs but itself."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

from tests.called import called
from tests.datasets import folder, row
from trnui.catalog.query import Stack

CONTROLS = [chr(c) for c in (*range(0x20), *range(0x7F, 0xA0)) if chr(c) not in "\n\t"]
INVISIBLE = ["\u200b", "\u200e", "\u202a", "\u202e", "\u2066", "\u2069", "\ufeff", "\u061c"]
SEQUENCES = [
    "\x1b[2J", "\x1b]0;title\x07", "\x1b]52;c;AAAA\x07", "\x1b[6n", "\x1b[?1049h", "\x1bP+q544e\x1b\\", "\x9b2J", "\x1b(0", "\x1b[31m", "a\rb", "a\x08b",
    "\x1b_x\x1b\\", "\x1b]8;;http://evil\x1b\\x\x1b]8;;\x1b\\",
]  # fmt: skip
SHELL = [
    "`touch x`", "$(touch x)", "; touch x", "| touch x", "&& touch x", "' ; touch x; '", '" ; touch x; "', "\n touch x\n", "a\x1b[b;touch x;#", "--help",
    "-o x", "<(touch x)", "${IFS}touch${IFS}x", "*", "~", "!!", "a b", "\\'; touch x #",
]  # fmt: skip
HOSTILE = [*CONTROLS, *INVISIBLE, *SEQUENCES, *SHELL]
BAD = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff]")


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every hostile text in every column of text, and a model that fails on the newest of hostile stacks."""
    path = tmp_path_factory.mktemp("hostile")
    names = ("notes", "error", "exclusion", "cpu_match", "english", "runner", "transformers", "accelerate", "torch_neuronx", "torch", "nki", "python", "neuron_driver")  # fmt: skip
    rows = []
    for n, evil in enumerate(HOSTILE):
        stack = Stack(f"2.28.{n}+a{evil}", f"5.24.{n}+b{evil}", f"lib{evil}" if n % 3 == 0 else "transformers")
        rows += [
            row(f"o/m{evil}", "FAIL" if n % 2 else "PASS", stack, **dict.fromkeys(names, evil)),
            row("o/all", "PASS" if n < 40 else "FAIL", stack, error=evil), row(f"o/r{n}", f"result {evil}", stack),
        ]  # fmt: skip
    folder_of_rows(path, rows)
    return path


def folder_of_rows(path: Path, rows: list[dict[str, object]]) -> None:
    """One file for all: stacks with `/` or NUL in them cannot be names of files."""
    from tests.datasets import parquet

    (path / "hostile.parquet").write_bytes(parquet(rows))
    folder(path, row("o/good", "PASS"))


EVERY = ("--neuronx-cc", "all", "--library-version", "all")


@pytest.mark.parametrize(
    "args",
    [
        ("list", *EVERY), ("list", *EVERY, "--columns", "all", "--format", "json"), ("list", *EVERY, "--columns", "all", "--format", "markdown"),
        ("list", *EVERY, "--columns", "all", "--no-truncate"), ("list", "--view", "failures", *EVERY), ("list", "--search", "zorp"),
        ("list", "--from", "-"), ("show", "o/all"), ("show", "o/all", "--full"), ("show", "o/all", "--format", "json"), ("packages", "o/all"),
        ("compare", "--summary"), ("compare", "2.28.0", "2.28.1"), ("compare", "2.28.50", "2.28.1", "--format", "json"),
        ("sql", "SELECT * FROM results"), ("sql", "SELECT * FROM results", "--format", "markdown"), ("watch", "--list"), ("sync", "--check"),
        ("list", *EVERY, "--host", "trn2.3xlarge"),
    ],
    ids=" ".join,
)  # fmt: skip
def test_no_terminal_obeys_a_row(data: Path, args: tuple[str, ...]) -> None:
    done = called("--dataset", data, *args, stdin="o/all\n")
    assert done.code in (0, 1), done.err
    assert "internal error" not in done.err
    found = BAD.search(done.out) or BAD.search(done.err)
    assert found is None, (done.out + done.err)[max(0, found.start() - 40) : found.end() + 40]


def test_every_models_page_is_clean_and_its_commands_run_nothing_but_themselves(data: Path, tmp_path: Path) -> None:
    """Pasted into a shell in which `trnui`, `python3`, `pip` and `hf` do nothing: no file appears."""
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ("trnui", "python3", "pip", "hf"):
        (tools / name).write_text("#!/bin/sh\ncat >/dev/null 2>&1 </dev/null\nexit 0\n")
        (tools / name).chmod(0o755)
    place = tmp_path / "place"
    place.mkdir()
    listed = json.loads(called("--dataset", data, "list", *EVERY, "--columns", "model_id", "--format", "json").out)
    names = sorted({str(r["model_id"]) for r in listed if str(r["model_id"]).startswith("o/m")})
    assert len(names) > 60
    lines: list[str] = []
    for name in names:
        done = called("--dataset", data, "show", "--format", "json", "--", name)
        assert done.code == 0, done.err
        assert BAD.search(done.out) is None
        found = json.loads(done.out)
        lines += [*found["commands"], found["install"] or "", *(n["command"] or "" for n in found["nearest"])]
    block = "\n".join(line for line in lines if line)
    assert BAD.search(block) is None
    subprocess.run(["sh"], input=block, cwd=place, env={"PATH": f"{tools}:/usr/bin:/bin", "HOME": str(tmp_path)}, text=True, timeout=120, capture_output=True, check=False)  # fmt: skip
    assert {p.name for p in place.iterdir()} <= {"run.py"}  # `trnui script … > run.py` is one of the commands
