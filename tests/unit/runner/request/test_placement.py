"""Where a run goes: which device, what the interpreter lacks, how many cores, and the plan that the run's interpreter makes."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from trnui_runner.common.errors import DeviceError, UsageError, UserError
from trnui_runner.common.subprocesses import ToolOutput
from trnui_runner.host.devices import Core, Devices
from trnui_runner.host.interpreter import Interpreter
from trnui_runner.host.stack import StackVersions
from trnui_runner.payload.sharding import CORE_BYTES, ShardingPlan
from trnui_runner.request import placement
from trnui_runner.request.placement import device_for, lacking, place, require_stack, supervision_for
from trnui_runner.request.request import RunRequest
from trnui_runner.run_folder.recipe import Recipe

GIB = 1 << 30
NATIVE: dict[str, Any] = {"torch": "2.14", "transformers": "5.24", "native": True, "neuronx_cc": "2.28.1"}
HOST = Devices(1, tuple(Core(n, 0, 12 * GIB) for n in range(4)))
ROW = {"model_id": "acme/tiny", "result": "PASS", "tp": 1}


def python(**stack: Any) -> Interpreter:
    return Interpreter("/env/bin/python", "set by a test", {**NATIVE, **stack})  # type: ignore[typeddict-item]


# -- device


@pytest.mark.parametrize(
    ("stack", "here", "request_", "device"),
    [
        ({}, HOST, {}, "neuron"),
        ({}, Devices(), {}, "cpu"),  # no device
        ({"native": False}, HOST, {}, "cpu"),  # the XLA package
        ({"native": None}, HOST, {}, "cpu"),
        ({}, HOST, {"device": "cpu"}, "cpu"),
        ({}, HOST, {"device": "neuron"}, "neuron"),
        ({}, HOST, {"row": ROW}, "neuron"),
        ({}, HOST, {"row": {**ROW, "result": "PASS (CPU)"}}, "cpu"),  # the row's own device
        ({}, HOST, {"row": {**ROW, "result": "PASS (CPU)"}, "device": "neuron"}, "neuron"),
        ({"stand_in": True}, HOST, {}, "stand-in"),
        ({}, replace(HOST, stand_in=True), {}, "stand-in"),
        ({"stand_in": True}, Devices(), {"device": "neuron"}, "stand-in"),
        ({}, replace(HOST, stand_in=True), {"device": "cpu"}, "cpu"),
    ],
)
def test_the_device(stack: dict[str, Any], here: Devices, request_: dict[str, Any], device: str) -> None:
    found, notes = device_for(RunRequest("acme/tiny", **request_), python(**stack), here)
    assert found == device
    assert bool(notes) is (device == "cpu" and not request_)  # said where nobody asked for the CPU


@pytest.mark.parametrize(
    ("stack", "here", "words"),
    [
        ({}, Devices(), "acme/tiny needs a Trainium, and this host has none."),
        ({"stand_in": True, "native": None}, Devices(), "acme/tiny needs a Trainium"),
        ({"native": False}, HOST, "/env/bin/python has no torch-neuronx with a `neuron` device."),
    ],
)
@pytest.mark.parametrize("request_", [{"row": ROW}, {"device": "neuron"}])
def test_a_trainium_run_never_falls_back(
    stack: dict[str, Any], here: Devices, words: str, request_: dict[str, Any]
) -> None:
    with pytest.raises(DeviceError) as caught:
        device_for(RunRequest("acme/tiny", **request_), python(**stack), here)
    assert words in caught.value.message
    assert ("--dataset sample" in caught.value.remedy) is not here.present
    assert ("--python" in caught.value.remedy) is here.present


def test_an_unknown_device_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="Unknown device: tpu"):
        device_for(RunRequest("acme/tiny", device="tpu"), python(), HOST)


# -- what the interpreter lacks


@pytest.mark.parametrize(
    ("stack", "bundled", "task", "missing"),
    [
        ({}, True, None, ()),
        ({"torch": ""}, False, None, ("torch",)),
        ({"torch": None, "transformers": None}, True, None, ("torch", "transformers")),
        ({"installed": {"accelerate": "1"}}, True, "text-generation", ()),
        ({"installed": {"x": "1"}}, True, "text-generation", ("accelerate",)),
        ({"installed": {"x": "1"}}, False, "text-generation", ()),  # a published script may do without
        ({"installed": {"accelerate": "1"}}, True, "image-text-to-text", ("pillow",)),
        ({"installed": {"pillow": "1", "accelerate": "1"}}, True, "image-text-to-text", ()),
        ({"installed": {"x": "1"}, "torch": ""}, True, "text-generation", ("torch",)),
        ({"installed": {}}, True, "text-generation", ()),  # not known what is installed
    ],
)
def test_packages_that_are_missing(
    stack: dict[str, Any], bundled: bool, task: str | None, missing: tuple[str, ...]
) -> None:
    interpreter = python(**stack)
    assert lacking(interpreter.stack, bundled, task) == missing
    if not missing:
        require_stack(interpreter, bundled, task)
        return
    with pytest.raises(UserError) as caught:
        require_stack(interpreter, bundled, task)
    assert caught.value.message == f"/env/bin/python has no {' and no '.join(missing)}."
    assert "/env/bin/python -m pip install" in caught.value.remedy
    with pytest.raises(UserError, match=r"has no .*\. \(it broke; badly\)"):
        require_stack(python(**stack, problems=["it broke", "badly"]), bundled, task)


# -- cores


class Planner:
    """In place of sharding.py under the run's interpreter: what it was asked, and the answer it gives."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, **plan: Any) -> None:
        self.asked: list[str] = []
        self.timeout = 0.0
        self.env: dict[str, str] = {}
        self.answer = ToolOutput("python", json.dumps(ShardingPlan(**plan).to_json())) if plan else None
        monkeypatch.setattr(placement, "ask", self)

    def __call__(self, *words: str, timeout: float, env: dict[str, str]) -> ToolOutput:
        self.asked, self.timeout, self.env = list(words), timeout, env
        assert self.answer is not None
        return self.answer

    def option(self, name: str) -> str | None:
        return self.asked[self.asked.index(name) + 1] if name in self.asked else None


@pytest.fixture
def checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder whose weights are as large as `monkeypatch` says: 30 GiB."""
    monkeypatch.setattr(placement.sharding, "folder_bytes", lambda folder: 30 * GIB)
    return tmp_path


def put(request: RunRequest, origin: str = "bundled", device: str = "neuron", here: Devices = HOST) -> tuple[int, str]:
    return place(request, origin, device, python(), here)


@pytest.mark.parametrize(
    ("tp", "cores", "script", "found"),
    [
        (1, None, "x", (1, "none")),
        (None, None, "x", (1, "none")),
        (0, None, "x", (1, "none")),
        (4, None, "tp_plan='auto'", (4, "tp")),
        (4, 2, "x", (2, "tp")),
        (4, 1, "x", (1, "none")),
        (2, None, "PARALLELISM = 'ep'", (2, "ep")),
        (2, None, "PARALLELISM: str = 'tp'  # not expert_parallel", (2, "tp")),
        (2, None, "PARALLELISM: str = 'none'", (2, "tp")),
        (2, None, "x(enable_expert_parallel=True)", (2, "ep")),
        (2, None, "ep_size=2", (2, "ep")),
        (2.0, None, None, (2, "tp")),
    ],
)
def test_a_published_script_runs_on_the_rows_cores(
    tp: Any, cores: int | None, script: str | None, found: tuple[int, str]
) -> None:
    row = {**ROW, "tp": tp, "run_py": script}
    assert put(RunRequest("acme/tiny", row=row, cores=cores), "published") == found


def test_a_file_without_a_row_runs_on_one_core() -> None:
    assert put(RunRequest("acme/tiny"), "file") == (1, "none")
    assert put(RunRequest("acme/tiny", cores=4), "file") == (4, "tp")


def test_weights_that_fit_one_core_need_no_plan(checkpoint: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Planner(monkeypatch)  # fails when it is asked
    monkeypatch.setattr(placement.sharding, "folder_bytes", lambda folder: 10 * GIB)  # 85 % of 12 GiB are 10.2
    assert put(RunRequest("m", checkpoint=checkpoint)) == (1, "none")
    assert put(RunRequest("m", checkpoint=checkpoint, cores=1)) == (1, "none")
    assert put(RunRequest("m", checkpoint=checkpoint), device="cpu", here=Devices()) == (1, "none")


def test_a_cpu_shares_its_memory_so_nothing_is_split_unasked(checkpoint: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(placement.sharding, "folder_bytes", lambda folder: 1 << 60)
    Planner(monkeypatch)
    assert put(RunRequest("m", checkpoint=checkpoint), device="cpu") == (1, "none")
    planner = Planner(monkeypatch, cores=2, parallelism="tp")
    assert put(RunRequest("m", checkpoint=checkpoint, cores=2), device="cpu") == (2, "tp")
    assert planner.option("--host-cores") is None
    assert planner.option("--core-bytes") == str(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))


def test_the_plan_is_asked_of_the_runs_interpreter(checkpoint: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    planner = Planner(monkeypatch, cores=4, parallelism="tp")
    monkeypatch.setenv("PYTHONPATH", "/mine")
    monkeypatch.setenv("HF_HOME", "/hub")
    assert put(RunRequest("m", checkpoint=checkpoint)) == (4, "tp")
    assert planner.asked[:3] == ["/env/bin/python", placement.sharding.__file__, str(checkpoint)]
    assert {n: planner.option(n) for n in ("--task", "--core-bytes", "--dtype", "--host-cores", "--cores", "--revision")} == {
        "--task": "text-generation", "--core-bytes": str(12 * GIB), "--dtype": "auto", "--host-cores": "4", "--cores": None, "--revision": None,
    }  # fmt: skip
    assert "--trust-remote-code" not in planner.asked
    assert planner.timeout == placement.PLAN_S >= 60
    assert planner.env["HF_HOME"] == "/hub"
    assert "PYTHONPATH" not in planner.env
    asked = RunRequest("acme/m", task="image-text-to-text", dtype="float32", revision="v1", cores=2, parallelism="ep", trust_remote_code=True)  # fmt: skip
    assert put(asked, here=Devices(1)) == (4, "tp")
    assert planner.asked[2] == "acme/m"
    assert {n: planner.option(n) for n in ("--task", "--dtype", "--revision", "--cores", "--parallelism", "--host-cores", "--core-bytes")} == {
        "--task": "image-text-to-text", "--dtype": "float32", "--revision": "v1", "--cores": "2", "--parallelism": "ep",
        "--host-cores": None, "--core-bytes": str(CORE_BYTES),
    }  # fmt: skip
    assert "--trust-remote-code" in planner.asked


@pytest.mark.parametrize(
    ("refused", "request_", "remedy"),
    [
        ("M has no tensor-parallel plan inside its layers (but an expert-parallel one)", {"parallelism": "tp"}, "Leave out --parallelism, or run it on one core."),
        ("M has no tensor-parallel plan inside its layers, so it runs on one core only", {"parallelism": "tp"}, "Say --cores 1."),
        ("4 cores do not divide 6 attention heads", {"cores": 4}, "Try another --cores."),
        ("4 cores do not divide 6 attention heads", {"cores": 4, "parallelism": "tp"}, "Try another --cores."),
        ("M has no tensor-parallel plan inside its layers", {}, "Try --cores N, or a larger instance."),
    ],
)  # fmt: skip
def test_a_refused_plan_is_an_error_with_the_way_out(
    checkpoint: Path, monkeypatch: pytest.MonkeyPatch, refused: str, request_: dict[str, Any], remedy: str
) -> None:
    Planner(monkeypatch, cores=16, parallelism="tp", refused=refused)
    with pytest.raises(UserError) as caught:
        put(RunRequest("acme/m", checkpoint=checkpoint, **request_))
    assert caught.value.message == f"acme/m cannot run on this host: {refused}."
    assert caught.value.remedy == remedy
    assert put(RunRequest("acme/m", checkpoint=checkpoint, force=True, **request_)) == (16, "tp")


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (ToolOutput("python", "", "Traceback\nValueError: odd\n", "exit code 1"), "Planning failed: ValueError: odd"),
        (ToolOutput("python", "", "", "no answer in 180 s"), "Planning failed: no answer in 180 s"),
        (ToolOutput("python", "no json", "", "exit code 3"), "Planning failed: exit code 3"),
        (ToolOutput("python"), "Planning failed: its answer cannot be read"),
        (ToolOutput("python", 'words\n{"error": "no such model"}', "", "exit code 1"), "acme/m: no such model"),
    ],
)
def test_a_plan_that_fails_is_told(
    checkpoint: Path, monkeypatch: pytest.MonkeyPatch, answer: ToolOutput, message: str
) -> None:
    planner = Planner(monkeypatch)
    planner.answer = answer
    with pytest.raises(UserError) as caught:
        put(RunRequest("acme/m", checkpoint=checkpoint))
    assert caught.value.message == message
    assert caught.value.remedy


def test_an_answer_of_a_newer_planner_is_understood(checkpoint: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    planner = Planner(monkeypatch)
    planner.answer = ToolOutput(
        "python", json.dumps({"cores": 2, "parallelism": "ep", "passed": ["1: large"], "new": 1})
    )
    assert put(RunRequest("acme/m", checkpoint=checkpoint)) == (2, "ep")


# -- what of the host it may take


def test_more_cores_than_there_are_are_refused() -> None:
    recipe = Recipe("x", "acme/m", device="neuron", cores=5)
    with pytest.raises(DeviceError, match="It needs 5 cores, this host has 4") as caught:
        supervision_for(RunRequest("acme/m"), recipe, b"", python(), HOST)
    assert "larger" in caught.value.remedy
    four = replace(recipe, cores=4)
    assert supervision_for(RunRequest("acme/m"), four, b"", python(), HOST)[0].cores is not None


@pytest.mark.parametrize(("device", "here"), [("cpu", HOST), ("neuron", Devices(1))])
def test_no_cores_are_leased_on_a_cpu_or_where_none_are_known(device: Any, here: Devices) -> None:
    found, notes = supervision_for(
        RunRequest("acme/m"), Recipe("x", "acme/m", device=device, cores=2), b"", python(), here
    )
    assert (found.cores, notes) == (None, ())
    assert found.neuronx_cc == "2.28.1"


def test_the_compiler_of_the_interpreter_names_the_cache_else_the_one_asked_for() -> None:
    request = RunRequest("acme/m")
    request = replace(request, supervision=replace(request.supervision, neuronx_cc="2.27"))
    recipe = Recipe("x", "acme/m")
    assert supervision_for(request, recipe, b"", python(), HOST)[0].neuronx_cc == "2.28.1"
    assert supervision_for(request, recipe, b"", python(neuronx_cc=""), HOST)[0].neuronx_cc == "2.27"


def test_this_very_interpreter_plans_a_real_checkpoint(tmp_path: Path) -> None:
    from trnui.sample.models import folder_of

    folder = folder_of("trnui-sample/recites")
    here = Interpreter(sys.executable, "this one", {})
    found = place(RunRequest("trnui-sample/recites", checkpoint=folder, cores=2), "bundled", "neuron", here, HOST)
    assert found == (2, "tp")


def test_an_interpreter_that_gave_no_answer_is_not_said_to_lack_packages() -> None:
    silent = Interpreter("/env/bin/python", "given", StackVersions(problems=["python: cannot be started: too many"]))
    with pytest.raises(
        UserError, match="could not be asked which packages it has: python: cannot be started: too many"
    ):
        require_stack(silent, True, None)
