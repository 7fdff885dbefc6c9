"""The probe beside a plain run: it sees loading, groups, compiles and generate in every process, and changes nothing."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from trnui_runner.supervise.child_env import PROBE


@dataclass(frozen=True)
class Seen:
    code: int
    out: str
    err: str
    events: list[dict[str, Any]]
    folder: Path

    def names(self) -> list[str]:
        return [e["event"] + (":" + e["state"] if "state" in e else "") for e in self.events]

    def first(self, name: str) -> dict[str, Any]:
        return next(e for e, n in zip(self.events, self.names(), strict=True) if n == name)


@pytest.fixture
def run(tmp_path: Path) -> Any:
    """run(code or command, probe=…) → Seen."""

    def go(
        code: str | list[str], *args: str, probe: Path | None = PROBE, path: str = "", events: bool = True, **env: str
    ) -> Seen:
        folder = tmp_path / f"run{len(list(tmp_path.iterdir()))}"
        folder.mkdir()
        (folder / "inputs").mkdir()
        if events:
            (folder / "events").mkdir()
        full = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
        full |= {"OMP_NUM_THREADS": "1", "HF_DEACTIVATE_ASYNC_LOAD": "1", "TRNUI_RUN_DIR": str(folder), **env}
        full["PYTHONPATH"] = os.pathsep.join(p for p in (str(probe or ""), path) if p)
        command = [sys.executable, "-c", code, *args] if isinstance(code, str) else code
        done = subprocess.run(command, env=full, capture_output=True, text=True, timeout=300)
        lines = [line for f in sorted(folder.glob("events/*.jsonl")) for line in f.read_text().splitlines()]
        noise = "\n".join(line for line in done.stderr.split("\n") if "it/s" not in line)
        return Seen(done.returncode, done.stdout, noise, [json.loads(line) for line in lines], folder)

    return go


# --- without torch

FAKE = {  # a library with a name that is watched, and something of the shape that is observed
    "huggingface_hub/__init__.py": "",
    "huggingface_hub/file_download.py": "def _download_to_tmp_and_move(incomplete_path, destination_path, filename, expected_size):\n"
    "    if filename == 'bad': raise OSError('no network')\n    return 'got ' + filename\n",
}
USE = "from huggingface_hub import file_download as f\nprint(f._download_to_tmp_and_move('/c/x.part', '/c/blobs/abc', 'w.bin', expected_size=7))\n"


@pytest.fixture
def library(tmp_path_factory: pytest.TempPathFactory) -> str:
    root = tmp_path_factory.mktemp("library")
    for name, text in FAKE.items():
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text(text)
    return str(root)


def test_inert_where_nothing_watched_is_imported(run: Any) -> None:
    code = "import sys; print(sys.path, sorted(m for m in sys.modules if 'sitecustomize' not in m))"
    plain, probed = run(code, probe=None), run(code)
    assert (probed.code, probed.out, probed.err) == (plain.code, plain.out, plain.err)
    assert probed.events == []


def test_another_sitecustomize_is_loaded_as_ever(run: Any, tmp_path: Path) -> None:
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    (theirs / "sitecustomize.py").write_text("print('theirs')")
    seen = run("import sitecustomize; print(sitecustomize.__file__)", path=str(theirs))
    assert seen.out.split() == ["theirs", str(theirs / "sitecustomize.py")]


def test_downloads_are_told_with_name_and_size(run: Any, library: str) -> None:
    seen = run(USE, path=library)
    assert seen.out == "got w.bin\n"
    start, end = seen.first("download:start"), seen.first("download:end")
    assert (start["file"], start["blob"], start["total"]) == ("w.bin", "abc", 7)
    assert end["total"] == 7
    assert seen.names()[0] == "process"


def test_exceptions_reach_the_script_with_the_same_traceback(run: Any, library: str) -> None:
    code = USE.replace("w.bin", "bad")
    plain, probed = run(code, path=library, probe=None), run(code, path=library)
    assert (probed.code, probed.err) == (plain.code, plain.err)
    assert [e["class"] for e in probed.events if e["event"] == "error"] == ["OSError"]
    assert "download:failed" in probed.names()


def test_os_exit_is_seen(run: Any, library: str) -> None:
    seen = run(USE + "import os, sys; sys.stdout.flush(); os._exit(7)", path=library)
    assert seen.code == 7
    assert seen.events[-1]["code"] == 7


BROKEN = {
    "syntax error": ("__init__.py", "def ("),
    "raises on import": ("__init__.py", "1/0"),
    "empty": ("__init__.py", ""),
    "find raises": ("__init__.py", "def find(*a): 1/0"),
    "observer raises": ("download.py", "def watch(module): raise KeyError(module)"),
    "observed function gone": ("download.py", "def watch(module): module.not_there"),
}


@pytest.mark.parametrize("what", BROKEN)
def test_a_broken_probe_changes_nothing(run: Any, library: str, tmp_path: Path, what: str) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(PROBE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    name, text = BROKEN[what]
    (copy / "trnui_probe" / name).write_text(text)
    plain, seen = run(USE, path=library, probe=None), run(USE, path=library, probe=copy)
    assert (seen.code, seen.out, seen.err) == (plain.code, plain.out, plain.err)
    assert "notice" in seen.names()


def test_no_place_for_events_changes_nothing(run: Any, library: str) -> None:
    seen = run(USE, path=library, events=False)
    assert (seen.code, seen.out, seen.err) == (0, "got w.bin\n", "")


# --- with torch

SCRIPT = """
import json, os, sys, torch
from transformers import AutoModelForCausalLM, AutoTokenizer, CompileConfig
torch.set_num_threads(1)
m = AutoModelForCausalLM.from_pretrained(sys.argv[1], dtype=torch.float32).eval()
x = AutoTokenizer.from_pretrained(sys.argv[1])('The compiler turns every graph into', return_tensors='pt')
cc = CompileConfig(backend='aot_eager', dynamic=False, mode=None); cc._compile_all_devices = True
if len(sys.argv) > 2: torch.compile(lambda y: y + 1, backend='eager')(torch.ones(1)); torch._dynamo.reset()
out = m.generate(input_ids=x['input_ids'], max_new_tokens=12, min_new_tokens=12, do_sample=False, cache_implementation='static', compile_config=cc)
from torch._dynamo.utils import counters
print(json.dumps([out[0].tolist(), counters['stats'], counters['graph_break'], sys.path], default=dict))
"""


@pytest.fixture
def model(home: Path) -> str:
    pytest.importorskip("torch", reason="needs the run extra")
    pytest.importorskip("transformers", reason="needs the run extra")
    from trnui.sample.models import folder_of

    return str(folder_of("trnui-sample/qwen3"))


@pytest.mark.e2e
def test_same_tokens_graphs_and_output_with_and_without(run: Any, model: str) -> None:
    plain, seen = run(SCRIPT, model, probe=None), run(SCRIPT, model)
    assert (seen.code, seen.out, seen.err) == (plain.code, plain.out, plain.err)
    tokens = json.loads(plain.out)[0]
    end = seen.first("generate:end")
    length = seen.first("generate:start")["prompt_tokens"]
    assert end["new_ids"] == tokens[length:]
    assert end["forwards"] == 12
    assert end["graphs"] == 1
    assert seen.first("compile:end")["nodes"] > 10
    assert seen.first("loaded")["bytes"] > 0
    assert seen.first("memory")["peak"] > 50 << 20
    from safetensors import safe_open

    with safe_open(str(seen.folder / "inputs" / seen.first("generate:start")["inputs"]), "pt") as file:
        assert file.get_tensor("input_ids")[0].tolist() == tokens[:length]
        assert json.loads(file.metadata()["kwargs"])["max_new_tokens"] == 12


@pytest.mark.e2e
def test_dynamo_reset_does_not_blind_it(run: Any, model: str) -> None:
    seen = run(SCRIPT, model, "reset")
    assert seen.names().count("dynamo:end") == 2


RANKS = """
import os, sys, torch
import torch.distributed as dist
def work(model):
    torch.set_num_threads(1)
    dist.init_process_group('gloo')
    from transformers import AutoModelForCausalLM
    m = AutoModelForCausalLM.from_pretrained(model, dtype=torch.float32).eval()
    m.generate(input_ids=torch.tensor([[5, 6, 7]]), max_new_tokens=3, min_new_tokens=3, do_sample=False)
    dist.barrier()
    dist.destroy_process_group()
def spawned(rank, model):
    os.environ.update(RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE='2')
    work(model)
"""
STARTS = {
    "subprocess": """
import subprocess
if __name__ == '__main__' and 'RANK' not in os.environ:
    ranks = [subprocess.Popen([sys.executable, *sys.argv], env={**os.environ, 'RANK': str(r), 'LOCAL_RANK': str(r), 'WORLD_SIZE': '2'}) for r in range(2)]
    sys.exit(max(r.wait() for r in ranks))
work(sys.argv[1])
""",
    "torch.multiprocessing": """
if __name__ == '__main__':
    import torch.multiprocessing
    torch.multiprocessing.spawn(spawned, (sys.argv[1],), nprocs=2)
""",
    "torchrun": "work(sys.argv[1])\n",
}


@pytest.mark.e2e
@pytest.mark.parametrize("how", STARTS)
def test_every_rank_is_seen_however_it_was_started(run: Any, model: str, tmp_path: Path, how: str) -> None:
    import socket

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    script = tmp_path / "script.py"
    script.write_text(RANKS + STARTS[how])
    command = [sys.executable, str(script), model]
    if how == "torchrun":
        command = [
            sys.executable,
            "-m",
            "torch.distributed.run",
            "--nproc-per-node=2",
            f"--master-port={port}",
            str(script),
            model,
        ]
    seen = run(command, MASTER_ADDR="127.0.0.1", MASTER_PORT=port)
    assert seen.code == 0, seen.err
    for name in ("group:end", "loaded", "generate:end", "memory"):
        found = {e["rank"] for e, n in zip(seen.events, seen.names(), strict=True) if n == name}
        assert {0, 1} <= found, name
    assert {e["world_size"] for e, n in zip(seen.events, seen.names(), strict=True) if n == "group:end"} == {2}
    assert {p.name for p in (seen.folder / "inputs").iterdir()} == {"0.safetensors", "1.safetensors"}
