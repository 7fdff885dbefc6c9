"""The stand-in host keeps the documented shapes, can be put out of shape, and says everywhere that it is one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from .host import Host
from .shape import Busy

pytestmark = pytest.mark.standin
Make = Callable[..., Host]


def tool(*command: str, timeout: float = 20) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, timeout=timeout)


def python(host: Host, code: str, **env: str) -> subprocess.CompletedProcess[str]:
    """Code in the host's AWS-like environment, without PYTHONPATH."""
    clean = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"} | {"OMP_NUM_THREADS": "1"} | env
    return subprocess.run(
        [host.python, "-c", textwrap.dedent(code)], capture_output=True, text=True, env=clean, timeout=120
    )


def test_new_neuron_ls_knows_the_new_flag_and_the_old_one_the_old(standin_host: Make) -> None:
    host = standin_host(devices=2)
    devices = json.loads(tool("neuron-ls", "--output-format", "json").stdout)["neuron_devices"]
    assert [d["neuroncore_ids"] for d in devices] == [[0, 1, 2, 3], [4, 5, 6, 7]]
    assert all(d["stand_in"] for d in devices)
    assert tool("neuron-ls", "-j").returncode == 2
    host.change(neuron_ls="old")
    assert isinstance(json.loads(tool("neuron-ls", "-j").stdout), list)
    assert tool("neuron-ls", "--output-format", "json").returncode == 2


def test_absent_failing_and_hanging_tools(standin_host: Make) -> None:
    host = standin_host(neuron_ls="absent")
    with pytest.raises(FileNotFoundError):
        tool("neuron-ls")
    host.change(neuron_ls="failing")
    assert tool("neuron-ls").returncode == 1
    host.change(neuron_ls="hanging")
    with pytest.raises(subprocess.TimeoutExpired):
        tool("neuron-ls", timeout=0.5)


def test_compiler_takes_its_time_and_fails_as_told(standin_host: Make, tmp_path: Path) -> None:
    host = standin_host(compiler_exit=70, compiler_code="NCC_IBCG901")
    module, neff = tmp_path / "m.mlir", tmp_path / "m.neff"
    module.write_text("// op aten.silu\n")
    failed = tool("neuronx-cc", "compile", str(module), "--output", str(neff))
    assert failed.returncode == 70
    assert "[INTERNAL_ERROR] [NCC_IBCG901]" in failed.stderr
    assert not neff.exists()
    host.change(compiler_exit=0)
    assert tool("neuronx-cc", "compile", str(module), "--output", str(neff)).returncode == 0
    assert neff.read_bytes().startswith(b"NEFF stand-in")
    assert "+standin" in tool("neuronx-cc", "--version").stdout
    assert [c["exit"] for c in host.compiles()] == [70, 0]


def test_torch_finds_the_device_and_the_backend_by_entry_points(standin_host: Make) -> None:
    host = standin_host()
    done = python(
        host,
        """
        import subprocess, torch
        x = torch.ones(3, device="neuron:1")
        f = torch.compile(lambda y: (y * 2).relu(), backend="neuron", dynamic=False)
        print(f(x).cpu().tolist(), x.device, torch.neuron.memory_allocated(), torch.neuron.get_device_name())
        print(torch.neuron.get_dynamo_metrics()[0].cached)
        print(subprocess.run(["neuron-ls", "--output-format", "json"], capture_output=True, text=True).stdout.count('"pid"'))
        """,
    )
    assert done.returncode == 0, done.stderr
    first, cached, owners = done.stdout.splitlines()
    assert first.startswith("[2.0, 2.0, 2.0] neuron:1 ")
    assert "stand-in" in first
    assert (cached, owners) == ("False", "1")
    assert len(list(host.neff_cache.glob("??/??/*.neff"))) == 1
    assert len(host.compiles()) == 1


def test_without_autoload_there_is_no_device(standin_host: Make) -> None:
    done = python(standin_host(), "import torch; torch.ones(1, device='neuron')", TORCH_DEVICE_BACKEND_AUTOLOAD="0")
    assert done.returncode == 1
    assert "neuron" in done.stderr


def test_busy_core_is_refused_in_the_runtimes_words(standin_host: Make) -> None:
    host = standin_host(busy={1: Busy(os.getpid())})
    done = python(host, "import torch; torch.ones(1, device='neuron')", NEURON_RT_VISIBLE_CORES="1")
    assert "Logical Neuron Core(s) not available - Requested:lnc1-lnc1" in done.stderr
    assert python(host, "import torch; torch.ones(1, device='neuron')", NEURON_RT_VISIBLE_CORES="2").returncode == 0


def test_memory_beyond_the_core_named_op_and_hardware_error(standin_host: Make) -> None:
    host = standin_host(core_limit_gib=1e-3, fail_op="silu", hardware_error="HBM_UE")
    code = """
    import torch
    for name, call in {
        "memory": lambda: torch.ones(1 << 20, device="neuron"),
        "op": lambda: torch.compile(torch.nn.functional.silu, backend="neuron")(torch.ones(4, device="neuron")),
        "hardware": lambda: torch.compile(torch.cos, backend="neuron")(torch.ones(4, device="neuron")),
        "dynamic": lambda: torch.compile(torch.cos, backend="neuron", dynamic=True)(torch.ones(5, 7, device="neuron")),
    }.items():
        try:
            call()
        except Exception as error:
            print(name, type(error).__name__, str(error).replace("\\n", " "))
    """
    lines = {line.split()[0]: line for line in python(host, code).stdout.splitlines()}
    assert "OutOfMemoryError" in lines["memory"]
    assert "exit code 70" in lines["op"]
    assert "NCC_EVRF029" in lines["op"]
    assert "NRT_EXEC_HW_ERR_HBM_UE" in lines["hardware"]
    assert "requires static shapes" in lines["dynamic"]


def test_monitor_shows_a_live_process_with_zeros_for_foreign_cores(standin_host: Make, tmp_path: Path) -> None:
    host = standin_host()
    config = tmp_path / "monitor.json"
    config.write_text('{"period": "0.1s", "neuron_runtimes": [{"tag_filter": "mine"}]}')
    code = "import torch, time; x = torch.ones(1000, device='neuron'); torch.neuron.synchronize(); print('up', flush=True); time.sleep(30)"
    env = os.environ | {"NEURON_RT_VISIBLE_CORES": "2", "NEURON_PROCESS_TAG": "mine", "OMP_NUM_THREADS": "1"}
    with subprocess.Popen([host.python, "-c", code], env=env, stdout=subprocess.PIPE) as run:
        assert run.stdout is not None
        assert run.stdout.readline() == b"up\n"
        with subprocess.Popen(["neuron-monitor", "-c", str(config)], stdout=subprocess.PIPE) as monitor:
            assert monitor.stdout is not None
            record = json.loads(monitor.stdout.readline())
            monitor.kill()
        run.kill()
    (runtime,) = record["neuron_runtime_data"]
    usage = runtime["report"]["memory_used"]["neuron_runtime_used_bytes"]["usage_breakdown"]["neuroncore_memory_usage"]
    assert {core: parts["tensors"] for core, parts in usage.items()} == {"0": 0, "1": 0, "2": 4000, "3": 0}
    assert record["stand_in"] is True


def test_by_hand_it_prints_exports(tmp_path: Path) -> None:
    script = Path(__file__).parent / "host.py"
    out = tool(sys.executable, str(script), str(tmp_path / "h"), "devices=2").stdout
    assert f"export TRNUI_HOST_ROOT={tmp_path / 'h'}" in out
    assert (tmp_path / "h" / "dev" / "neuron1").exists()
