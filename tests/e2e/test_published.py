"""Someone else's run.py on the stand-in host: ranks started in three ways, each seen by the probe; and what the host does to it."""

from __future__ import annotations

import hashlib
import os
import subprocess
import textwrap
import time
from collections.abc import Callable
from typing import Any

import pytest

from tests.e2e.cells import quiet, wait
from tests.trainium.fixture import standin_host as standin_host  # a fixture
from tests.trainium.host import Host
from tests.trainium.shape import Busy
from trnui.sample.models import folder_of
from trnui_runner.common.errors import DeviceError
from trnui_runner.common.files import locked
from trnui_runner.host import core_leases
from trnui_runner.request.prepare import prepare
from trnui_runner.request.request import RunRequest
from trnui_runner.result.bug_report import report
from trnui_runner.run_folder.folder import Result, RunFolder
from trnui_runner.run_folder.recipe import RowSource
from trnui_runner.supervise import launcher, process_tree

pytestmark = [pytest.mark.e2e, pytest.mark.standin, pytest.mark.timeout(240)]
Make = Callable[..., Host]

RANK = """
    import os, sys, torch
    import torch.distributed as dist
    from transformers import AutoModelForCausalLM, AutoTokenizer, CompileConfig
    MODEL = {model!r}
    WORLD = {world}

    def test(rank):
        torch.set_num_threads(1)
        where = dict(device_map="neuron")
        if WORLD > 1:
            torch.accelerator.set_device_index(int(os.environ.get("LOCAL_RANK", rank)))
            dist.init_process_group("neuron")
            from transformers.distributed import DistributedConfig
            where = dict(distributed_config=DistributedConfig(tp_size=WORLD, tp_plan="auto"))
        model = AutoModelForCausalLM.from_pretrained(MODEL, dtype=torch.float32, **where).eval()
        tokens = AutoTokenizer.from_pretrained(MODEL)("The compiler turns every graph into", return_tensors="pt")
        out = model.generate(**tokens.to(model.device), max_new_tokens=32, min_new_tokens=32, do_sample=False,
                             cache_implementation="static",
                             compile_config=CompileConfig(backend="neuron", fullgraph=False, dynamic=False))
        if rank == 0:
            print(out[0].tolist(), flush=True)
        if WORLD > 1:
            dist.destroy_process_group()
"""
SUBPROCESS = (
    RANK
    + """
    if "RANK" in os.environ:
        test(int(os.environ["RANK"]))
    else:
        import subprocess
        names = dict(WORLD_SIZE=WORLD, LOCAL_WORLD_SIZE=WORLD, MASTER_ADDR="127.0.0.1", MASTER_PORT={port})
        ranks = [subprocess.Popen([sys.executable, __file__], env=dict(os.environ, **{{k: str(v) for k, v in
                 dict(names, RANK=r, LOCAL_RANK=r).items()}})) for r in range(WORLD)]
        sys.exit(max(r.wait() for r in ranks))
"""
)
SPAWN = (
    RANK
    + """
    def start(rank):
        os.environ.update(RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(WORLD), LOCAL_WORLD_SIZE=str(WORLD),
                          MASTER_ADDR="127.0.0.1", MASTER_PORT="{port}")
        test(rank)

    if __name__ == "__main__":
        import torch.multiprocessing as mp
        mp.spawn(start, nprocs=WORLD)
"""
)
TORCHRUN = (
    RANK
    + """
    if "RANK" in os.environ:
        test(int(os.environ["RANK"]))
    else:
        import subprocess
        sys.exit(subprocess.call([sys.executable, "-m", "torch.distributed.run", "--nproc_per_node", str(WORLD),
                                  "--master_port", "{port}", __file__]))
"""
)
ONE = (
    RANK
    + """
    test(0)
"""
)


def request_for_row(host: Host, script: str, world: int, name: str = "recites", **more: Any) -> RunRequest:
    model = folder_of(f"trnui-sample/{name}")
    assert model is not None
    text = textwrap.dedent(script.format(model=str(model), world=world, port=20000 + os.getpid() % 20000))
    row = {
        "model_id": str(model),
        "library": "transformers",
        "tp": world,
        "result": "PASS",
        "run_py": text,
        "neuronx_cc": "2.28.7631.0",
    }
    return RunRequest(str(model), row=row, source=RowSource("acme/results", "1a2b3c4d" * 5, "data/a.parquet", 0), device="auto",
                 python=str(host.python), judge="word order", timeout_s=200.0, **more)  # fmt: skip


def go(host: Host, script: str, world: int, **more: Any) -> tuple[RunFolder, Result]:
    made = prepare(request_for_row(host, script, world, **more))
    run = launcher.start(made.recipe, made.script, made.steps, made.supervision, environ=quiet())
    result = wait(run)
    return run, result


def events_of(run: RunFolder) -> list[dict[str, Any]]:
    return [line.raw for line in run.events()]


def of(events: list[dict[str, Any]], name: str, state: str | None = None) -> list[dict[str, Any]]:
    return [e for e in events if e["event"] == name and (state is None or e.get("state") == state)]


@pytest.mark.parametrize(
    "script",
    [
        pytest.param(SUBPROCESS, id="subprocess"),
        pytest.param(SPAWN, id="spawn", marks=pytest.mark.slow),
        pytest.param(TORCHRUN, id="torchrun", marks=pytest.mark.slow),
    ],
)
def test_ranks_are_seen_however_they_are_started(standin_host: Make, script: str) -> None:
    host = standin_host()
    run, result = go(host, script, 2)
    events = events_of(run)
    told = (run.path / "output.log").read_text()[-2000:]
    assert (result.outcome, result.kind, result.device) == ("PASS", "english", "stand-in"), (result.reason, told)
    for name, state in (
        ("group", "end"),
        ("loaded", None),
        ("generate", "start"),
        ("generate", "end"),
        ("compile", "end"),
    ):
        during = [e for e in of(events, name, state) if e["src"] == "rank"]
        assert {e["rank"] for e in during} >= {0, 1}, (name, state)
    assert len({e["pid"] for e in of(events, "loaded") if e["rank"] in (0, 1)}) == 2
    assert {e["backend"] for e in of(events, "group", "end")} == {"neuron"}
    assert result.tokens is not None
    assert result.tokens["text"].startswith(" a program for the device")
    # the script ran byte for byte, and it is not comparable with a row of a Trainium
    assert hashlib.sha256(run.script()).hexdigest() == hashlib.sha256(textwrap.dedent(script.format(
        model=str(folder_of("trnui-sample/recites")), world=2, port=20000 + os.getpid() % 20000)).encode()).hexdigest()  # fmt: skip
    assert result.verdict == "NOT COMPARABLE"
    assert result.row is not None
    assert result.row["result"] == "PASS (stand-in)"
    assert result.row["runner"] == "trnui/stand-in"
    assert result.row["hbm_peak_gb"] is None


@pytest.mark.parametrize(
    "script",
    [
        pytest.param(SUBPROCESS, id="subprocess"),
        pytest.param(SPAWN, id="spawn", marks=pytest.mark.slow),
        pytest.param(TORCHRUN, id="torchrun", marks=pytest.mark.slow),
    ],
)
def test_sharded_script_is_moved_to_free_cores_untouched(standin_host: Make, script: str) -> None:
    host = standin_host()
    other = core_leases.acquire((0,), "another-run")
    assert other is not None
    try:
        run, result = go(host, script, 2)
    finally:
        other.release()
    assert result.outcome == "PASS", (result.reason, (run.path / "output.log").read_text()[-2000:])
    events = events_of(run)
    assert [e["ids"] for e in of(events, "cores")] == [[2, 3]]
    assert {(e["rank"], e["cores"]) for e in of(events, "group", "end")} == {(0, "2"), (1, "3")}
    assert "moved to cores 2 to 3; by itself the script takes 0 to 1" in result.notes


def test_one_core_with_compiles_memory_and_cache_seen_from_outside_then_cached(standin_host: Make) -> None:
    host = standin_host(compile_s=2.5)
    run, first = go(host, ONE, 1)
    events = events_of(run)
    assert (first.outcome, first.kind) == ("PASS", "cpu-match"), first.reason
    assert max(e["alive"] for e in of(events, "compilers")) == 1
    assert of(events, "compilers")[-1]["alive"] == 0
    assert first.neff is not None
    assert first.neff["new"] >= 1
    assert first.neff["misses"] == first.neff["new"]
    assert first.compile_s is not None
    assert first.compile_s >= 2.5
    cores = [m for m in first.memory if m["source"] == "neuron-monitor (stand-in)"]
    assert [m["scope"] for m in cores] == ["core 0"]
    assert cores[0]["peak"] > 100_000
    assert cores[0]["capacity"] == 24 << 30
    assert any(m["source"] == "torch (stand-in)" for m in first.memory)  # what each rank says of itself
    cache = next(e for e in of(events, "environment") if e["step"] == "run")["values"]["TORCH_NEURONX_NEFF_CACHE_DIR"]
    assert cache.endswith("neuronxcc-2.28.7631.0+standin")

    _, second = go(host, ONE, 1)
    assert second.outcome == "PASS"
    assert second.neff is not None
    assert (second.neff["misses"], second.neff["new"]) == (0, 0)
    assert second.neff["hits"] == first.neff["new"]
    assert second.tokens == first.tokens or second.tokens["new_ids"] == first.tokens["new_ids"]  # type: ignore[index]


@pytest.mark.parametrize(
    ("shape", "cls"),
    [
        ({"fail_op": "mul"}, "unsupported_op"),
        ({"hardware_error": "HBM_UE"}, "hw_error"),
        ({"core_limit_gib": 0.0002}, "hbm_oom"),
        ({"compiler_exit": 70, "compiler_code": "NCC_IBCG901"}, "compiler_failure"),
    ],
)
def test_what_goes_wrong_on_the_device_is_named(standin_host: Make, shape: dict[str, Any], cls: str) -> None:
    run, result = go(standin_host(**shape), ONE, 1)
    assert result.outcome == "FAIL", result.reason
    assert result.diagnosis is not None
    assert result.diagnosis["class"] == cls
    assert result.row is not None
    assert result.row["result"] == "FAIL (stand-in)"
    shown = report(run)
    assert "**Run on a stand-in, not on a Trainium.**" in shown
    assert "NEURON_CC_FLAGS is not set" in shown


def test_busy_cores_are_refused_before_anything_starts(standin_host: Make) -> None:
    with subprocess.Popen(["sleep", "100"], env=os.environ | {"NEURON_RT_VISIBLE_CORES": "0-3"}) as child:
        host = standin_host(busy={0: Busy(child.pid)})
        with pytest.raises(DeviceError, match=f"pid {child.pid}"):
            prepare(request_for_row(host, ONE, 1))
        child.kill()


def until(run: RunFolder, name: str, holds: Callable[[dict[str, Any]], bool], seconds: float = 100) -> dict[str, Any]:
    """The first such event of a run that is going on."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for event in of(events_of(run), name):
            if holds(event):
                return event
        assert run.outcome() in ("queued", "running"), (run.path / "output.log").read_text()[-2000:]
        time.sleep(0.2)
    raise AssertionError(f"no {name} in {run.id}")


def test_a_stopped_compile_leaves_no_compiler_and_no_lock_and_who_waited_goes_on(standin_host: Make) -> None:
    host = standin_host(compile_s=200.0)
    runs = []
    for _ in range(2):  # the same graphs on two cores: one compiles, the other waits for it
        made = prepare(request_for_row(host, ONE, 1))
        runs.append(launcher.start(made.recipe, made.script, made.steps, made.supervision, environ=quiet()))
        until(runs[-1], "compile", lambda e: e["state"] == "start")
    one, other = runs
    until(one, "compilers", lambda e: e["alive"] == 1)
    lock = until(other, "lock", lambda e: e["state"] == "start")
    assert lock["holder"] in process_tree.marked(one.id)
    assert lock["waiting"] == [other_pid for other_pid in lock["waiting"] if other_pid in process_tree.marked(other.id)]
    assert lock["age_s"] > 0
    assert of(events_of(other), "compilers") == []

    stopped = launcher.stop(one)
    assert (stopped.outcome, stopped.left) == ("CANCELLED", ())
    assert "neuronx-cc" in {p.name for p in stopped.ended}
    assert process_tree.marked(one.id) == set()
    until(other, "lock", lambda e: e["state"] == "end")
    until(other, "compilers", lambda e: e["alive"] == 1)
    assert launcher.stop(other).left == ()
    assert process_tree.marked(other.id) == set()
    end = time.monotonic() + 5
    while (
        core_leases.holders() and time.monotonic() < end
    ):  # guard and supervisor end right after the result is written
        time.sleep(0.05)
    assert core_leases.holders() == {}
    for path in (host.root.parent / "home").rglob("*.lock"):
        with locked(path, wait=False) as free:
            assert free, path
