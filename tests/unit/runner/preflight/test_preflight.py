"""Before a run: which status each thing gets, with words and a remedy; and the whole on a stand-in host and on none."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.fakehub import FakeHub
from tests.trainium.host import Host
from tests.trainium.shape import Busy
from trnui.sample.models import folder_of
from trnui_runner.common import subprocesses
from trnui_runner.common.hub_env import has_token
from trnui_runner.host import devices, host_view, interpreter, stack
from trnui_runner.host.core_blocks import CoreRequest
from trnui_runner.host.core_owners import Owner
from trnui_runner.host.devices import Core, Devices
from trnui_runner.host.neff_cache import Bucket, Cache
from trnui_runner.host.stack import Difference
from trnui_runner.payload.judge import DEFAULT, WORD_ORDER
from trnui_runner.preflight.checks import run_checks
from trnui_runner.preflight.facts import PreflightFacts
from trnui_runner.preflight.gather import KnownElsewhere, preflight
from trnui_runner.preflight.report import Check, CheckStatus, Preflight, lines
from trnui_runner.request import placement
from trnui_runner.request.checkpoint_check import missing
from trnui_runner.request.hub_info import HubInfo, ask_hub, fetched_bytes
from trnui_runner.request.request import RunRequest
from trnui_runner.request.steps import SupervisionOptions
from trnui_runner.run_folder.recipe import RowSource

GIB = 1 << 30
Make = Callable[..., Host]


FIRST_TWO = CoreRequest(2, (0, 1, 2, 3), visible="none")


def cores(*held: int, lease: int | None = None, count: int = 4, leftover: bool = False) -> Devices:
    owner = Owner(4242, "python3 train.py", age_s=7200.0, run="old-run" if leftover else None, leftover=leftover)
    made = tuple(
        Core(n, n // 4, 24 * GIB, (owner,) if n in held else (), "20260101-000000-mine-ab12" if n == lease else None)
        for n in range(count)
    )
    return Devices(count // 4, made, 2, "Trainium2", "trn2.3xlarge")


GOOD = PreflightFacts(
    model="acme/tiny", device="neuron", row_device="neuron", row_word="PASS", script="published", consent="you agreed", interpreter="python",
    native=True, differences=(Difference("neuronx_cc", "2.28", "2.28", "same"),), devices=cores(), cores=1, weights=2 * GIB,
    host_memory=16 * GIB, disk_free=500 * GIB, disk_place="/hub", cached=True, cache=Cache(Path("/neff"), "2.28", 63, 29 << 20),
)  # fmt: skip
DIFFERS = Difference("neuronx_cc", "2.28.1", "2.27.1", "differs")
MINOR = Difference("neuron_driver", "2.31", "2.30", "differs")


def look(**changes: Any) -> dict[str, Check]:
    return {item.name: item for item in run_checks(replace(GOOD, **changes))}


def test_all_is_well() -> None:
    flight = Preflight(run_checks(GOOD))
    assert flight.status is CheckStatus.OK
    assert flight.summary == "ready"


@pytest.mark.parametrize(
    ("name", "status", "words", "changes"),
    [
        # device
        ("device", "error", "no Neuron device", {"devices": Devices()}),
        ("device", "warning", "not comparable", {"device": "cpu"}),
        ("device", "warning", "not comparable with the row", {"device": "stand-in"}),
        ("device", "ok", "stand-in", {"device": "stand-in", "row_device": "stand-in"}),
        ("device", "ok", "like the row", {"device": "cpu", "row_device": "cpu"}),
        # stack
        ("stack", "warning", "neuronx-cc 2.27.1 for 2.28.1", {"differences": (DIFFERS,)}),
        ("stack", "warning", "torch – for 2.14", {"differences": (Difference("torch", "2.14", None, "missing"),)}),
        ("stack", "ok", "except driver", {"differences": (MINOR,)}),
        ("stack", "ok", "no row", {"differences": ()}),
        ("stack", "error", "XLA", {"native": False}),
        ("stack", "error", "no torch-neuronx", {"native": None}),
        ("stack", "error", "no torch", {"missing": ("torch",)}),
        ("stack", "ok", "0 packages compared", {"device": "cpu", "native": None, "differences": (DIFFERS,)}),
        # row
        ("row", "ok", "PASS", {}),
        ("row", "ok", "FAIL", {"row_word": "FAIL"}),
        ("row", "warning", "on which it passes: 2.29; models of its family that pass: a/b", {"row_word": "FAIL", "newest": "2.29", "siblings": ("a/b",)}),
        ("row", "warning", "low priority", {"row_word": "EXCLUDED", "row_reason": "low priority"}),
        # cores
        ("cores", "ok", "1 needed, 4 of 4 free", {}),
        ("cores", "ok", "1 needed, 3 of 4 free", {"devices": cores(0)}),
        ("cores", "error", "4 adjacent cores needed, 3 of 4 free; pid 4242, started 2 h ago", {"devices": cores(0), "cores": 4}),
        ("cores", "error", "this host has 4", {"cores": 16}),
        ("cores", "warning", "would wait", {"devices": cores(lease=1), "cores": 4}),
        ("cores", "ok", "", {"devices": cores(3), "cores": 2, "core_request": FIRST_TWO}),
        ("cores", "error", "cores 0 to 1 needed", {"devices": cores(1), "cores": 2, "core_request": replace(FIRST_TWO, held=(1,))}),
        ("cores", "warning", "cores 0 to 1 needed", {"devices": cores(lease=1), "cores": 2, "core_request": FIRST_TWO}),
        ("cores", "ok", "2 needed, 3 of 4 free", {"devices": cores(1), "cores": 2}),
        ("cores", "error", "2 adjacent cores needed, 2 of 4 free", {"devices": cores(1, 3), "cores": 2}),
        ("cores", "warning", "number of cores is unknown", {"devices": Devices(1)}),
        # HBM
        ("HBM", "ok", "2.0 GiB of weights", {}),
        ("HBM", "ok", "row's peak was 13.1 GB", {"row_peak_gb": 13.1}),
        ("HBM", "error", "30.0 GiB", {"weights": 30 * GIB, "script": "bundled"}),
        ("HBM", "warning", "30.0 GiB", {"weights": 30 * GIB}),
        ("HBM", "warning", "little room", {"weights": 22 * GIB}),
        ("HBM", "ok", "weights –", {"weights": None}),
        # NEFF cache
        ("NEFF cache", "ok", "63 graphs", {}),
        ("NEFF cache", "ok", "compiles everything", {"cache": Cache(Path("/n"), "2.28")}),
        ("NEFF cache", "warning", "2 empty files", {"cache": Cache(Path("/n"), "2.28", broken=("a", "b"))}),
        # checkpoint
        ("checkpoint", "ok", "in the cache", {}),
        ("checkpoint", "error", "offline", {"cached": False, "offline": True}),
        ("checkpoint", "ok", "3.0 GiB to fetch", {"cached": False, "hub": HubInfo(3 * GIB, False)}),
        ("checkpoint", "ok", "– to fetch", {"cached": False, "hub": HubInfo(None, False)}),
        ("checkpoint", "warning", "no answer in 12 s", {"cached": False, "hub": HubInfo(problem="no answer in 12 s")}),
        ("checkpoint", "error", "there is no token", {"cached": False, "hub": HubInfo(gated=True)}),
        ("checkpoint", "error", "the token is not sent", {"cached": False, "hub": HubInfo(gated=True), "token": True}),
        ("checkpoint", "ok", "gated, using your token", {"cached": False, "hub": HubInfo(1, True), "token": True, "token_sent": True}),
        # disk, host memory
        ("disk", "error", "700.0 GiB needed", {"cached": False, "hub": HubInfo(700 * GIB, False)}),
        ("disk", "warning", "little is left", {"disk_free": GIB}),
        ("host memory", "warning", "available", {"host_memory": GIB}),
        # judge, script
        ("judge", "ok", "at hand", {"judge": "a/j", "judge_at_hand": True}),
        ("judge", "ok", "fetched", {"judge": "a/j"}),
        ("judge", "warning", "UNCHECKED", {"judge": "a/j", "offline": True}),
        ("script", "warning", "not yet approved", {"consent": None}),
    ],
)  # fmt: skip
def test_checks(name: str, status: str, words: str, changes: dict[str, Any]) -> None:
    item = look(**changes)[name]
    assert item.status == status, item
    assert words in item.message
    if status == "error":
        assert item.remedy


def test_what_does_not_apply_is_not_shown() -> None:
    assert {"cores", "HBM", "NEFF cache"} & look(device="cpu", row_device="cpu").keys() == set()
    assert "judge" not in look()
    assert "script" not in look(consent="")
    assert "row" not in look(row_word=None)
    assert "disk" not in look(disk_free=None)


def test_without_a_trainium_the_way_of_the_sample_is_offered() -> None:
    assert "--dataset sample" in look(devices=Devices())["device"].remedy


def test_a_leftover_of_ours_is_to_be_stopped_and_others_are_left_alone() -> None:
    assert "trnui stop" in look(devices=cores(0, leftover=True), cores=4)["cores"].remedy
    assert "stops only its own runs" in look(devices=cores(0), cores=4)["cores"].remedy


def test_a_filling_is_offered_when_a_bucket_is_named() -> None:
    empty = Cache(Path("/n"), "2.28")
    assert look(cache=empty)["NEFF cache"].remedy == ""
    assert "--fill" in look(cache=empty, bucket=Bucket("a/b", "the dataset's card"))["NEFF cache"].remedy


def test_the_refusal_of_who_prepares_is_an_error_unless_a_check_says_the_same() -> None:
    items = run_checks(replace(GOOD, refusal=("heads do not divide", "Try another --cores.")))
    assert (items[0].status, items[0].message) == (CheckStatus.ERROR, "heads do not divide")
    items = run_checks(replace(GOOD, devices=Devices(), refusal=("no Trainium", "")))
    assert [i.name for i in items if i.status is CheckStatus.ERROR] == ["device"]


def test_the_worst_check_is_the_whole_and_leads_the_summary() -> None:
    flight = Preflight(run_checks(replace(GOOD, consent=None, disk_free=GIB)))
    assert flight.status is CheckStatus.WARNING
    assert flight.summary.startswith("differs: ")
    assert Preflight(run_checks(replace(GOOD, devices=Devices(), consent=None))).summary.startswith(
        "cannot start: no Neuron device"
    )


def test_lines_need_no_colour() -> None:
    shown = "\n".join(lines(run_checks(replace(GOOD, devices=Devices()))))
    assert "error    device       no Neuron device on this host" in shown
    assert "→ " in shown


# -- gathered


def order(**changes: Any) -> RunRequest:
    row = {
        "model_id": "acme/tiny", "library": "transformers", "tp": 1, "result": "PASS", "neuronx_cc": "2.28.7631.0",
        "torch_neuronx": "2.14.3.0", "transformers": "1.0", "library_version": "1.0", "run_py": "print('hello')",
    }  # fmt: skip
    return RunRequest("acme/tiny", row=row, source=RowSource("acme/results", "1a2b3c4d" * 5), **changes)


def test_on_a_host_without_trainium(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TRNUI_HOST_ROOT", str(tmp_path))
    flight = preflight(order(supervision=SupervisionOptions(offline=True)))
    assert flight.status is CheckStatus.ERROR
    assert {"script", "NEFF cache"} & {i.name for i in flight.checks} == set()
    assert flight.prepared is None
    device = next(i for i in flight.checks if i.name == "device")
    assert "--dataset sample" in device.remedy


@pytest.mark.standin
def test_on_a_stand_in_host(standin_host: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    standin_host()
    monkeypatch.delenv("HF_HUB_OFFLINE")
    flight = preflight(
        order(), KnownElsewhere(newest="2.29 / 5.25.0"), ask=lambda *a, **k: HubInfo(5 * GIB, False, "c" * 40)
    )
    assert flight.prepared is not None
    items = {i.name: i for i in flight.checks}
    assert items["device"].status is CheckStatus.WARNING
    assert "stand-in" in items["device"].message
    assert items["stack"].status is CheckStatus.WARNING
    assert "1 needed, 4 of 4 free" in items["cores"].message
    assert "5.0 GiB to fetch" in items["checkpoint"].message
    assert items["script"].status is CheckStatus.WARNING
    assert "the newest stack on which it passes: 2.29 / 5.25.0" in items["row"].details


@pytest.mark.standin
def test_cores_held_by_another_are_red_with_its_name(standin_host: Make) -> None:
    with subprocess.Popen(["sleep", "60"], env=os.environ | {"NEURON_RT_VISIBLE_CORES": "0-3"}) as child:
        standin_host(busy={0: Busy(child.pid)})
        flight = preflight(order(), ask=None)
        child.kill()
    item = next(i for i in flight.checks if i.name == "cores")
    assert item.status is CheckStatus.ERROR
    assert f"pid {child.pid}" in item.message


def test_token_is_looked_for_never_looked_at(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert not has_token({"HF_HOME": str(tmp_path)})
    (tmp_path / "token").write_text("secret")
    assert has_token({"HF_HOME": str(tmp_path)})
    assert has_token({"HF_TOKEN": "x"})


# -- the Hub


def test_what_from_pretrained_would_fetch() -> None:
    files = [("model.safetensors", 100), ("pytorch_model.bin", 100), ("config.json", 1), ("original/consolidated.pth", 100),
             ("consolidated.safetensors", 100), ("tokenizer.model", 2), ("README.md", 5), ("onnx/model.onnx", 100)]  # fmt: skip
    assert fetched_bytes(files) == 103
    assert fetched_bytes([("pytorch_model.bin", 100), ("config.json", 1)]) == 101
    assert fetched_bytes([("model.safetensors", None)]) is None


def test_the_hub_is_asked_in_a_child(monkeypatch: pytest.MonkeyPatch) -> None:
    with FakeHub() as hub:
        hub.add_repo("models", "acme/tiny", {"model.safetensors": b"x" * 1000, "config.json": b"{}"})
        hub.add_repo("models", "acme/gated", {"config.json": b"{}"}, gated="manual")
        monkeypatch.setenv("HF_ENDPOINT", hub.url)
        monkeypatch.delenv("HF_HUB_OFFLINE")
        found = ask_hub("acme/tiny")
        assert (found.bytes, found.gated, found.problem) == (1002, False, "")
        assert ask_hub("acme/gated").gated
        assert "no acme/none" in ask_hub("acme/none").problem
        hub.fail("/api/models/acme/tiny", status=0, delay=30)
        assert ask_hub("acme/tiny", timeout=1.5).problem == "no answer in 1.5 s"


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda f: (f / "config.json").unlink(), "no config.json"),
        (lambda f: (f / "model.safetensors").unlink(), "no weights"),
        (lambda f: [p.unlink() for p in f.glob("tokenizer*")], "no tokenizer file"),
        (lambda f: os.truncate(f / "model.safetensors", 200_000), "model.safetensors is cut off"),
        (lambda f: os.truncate(f / "model.safetensors", 4), "model.safetensors is cut off"),
        (lambda f: [p.unlink() for p in f.iterdir()], "no config.json, no weights, no tokenizer file"),
    ],
)
def test_folder_that_is_no_whole_checkpoint_is_red_before_anything_is_loaded(
    tmp_path: Path, home: Path, damage: Callable[[Path], Any], words: str
) -> None:
    whole = folder_of("trnui-sample/recites")
    assert whole is not None
    folder = Path(shutil.copytree(whole, tmp_path / "mine"))
    before = {i.name: i for i in preflight(RunRequest(str(folder), device="cpu")).checks}["checkpoint"]
    assert before.status is CheckStatus.OK
    damage(folder)
    item = {i.name: i for i in preflight(RunRequest(str(folder), device="cpu")).checks}["checkpoint"]
    assert item.status is CheckStatus.ERROR
    assert item.message == f"the folder: {words}"


def test_picture_model_needs_a_processor(tmp_path: Path, home: Path) -> None:
    whole = folder_of("trnui-sample/recites-picture")
    assert whole is not None
    assert missing(whole, "image-text-to-text") == ()
    folder = Path(shutil.copytree(whole, tmp_path / "mine"))
    for file in folder.glob("*processor*"):
        file.unlink()
    assert missing(folder, "image-text-to-text") == ("no processor file",)
    assert missing(folder, "text-generation") == ()


def test_damaged_checkpoint_may_be_what_a_failing_row_is_about() -> None:
    hurt = {"local": True, "cached": False, "lacks": ("no weights",), "script": "bundled"}
    assert look(**hurt)["checkpoint"].status is CheckStatus.ERROR
    assert look(**hurt | {"row_word": "FAIL"})["checkpoint"].status is CheckStatus.OK
    assert look(**hurt | {"script": "published"})["checkpoint"].status is CheckStatus.WARNING


@pytest.mark.parametrize(("device", "mark"), [("cpu", " (CPU)"), ("stand-in", " (stand-in)"), ("neuron", "")])
def test_row_that_was_not_on_trainium_says_so_beside_its_pass(device: str, mark: str) -> None:
    assert look(row_device=device)["row"].message == f"the row says PASS{mark}"


@pytest.mark.parametrize(("count", "words"), [(1, "1 core needed"), (2, "2 adjacent cores needed")])
def test_cores_are_counted_in_good_english(count: int, words: str) -> None:
    assert look(devices=cores(0, 1, 2, 3), cores=count)["cores"].message.startswith(words)


# -- one look, one question


def test_the_host_is_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, ...]] = []
    real = subprocesses.ask

    def ask(*command: str, **options: Any) -> Any:
        asked.append(command)
        return real(*command, **options)

    found: list[str | None] = []
    search = interpreter.find
    for module in (devices, stack, placement):
        monkeypatch.setattr(module, "ask", ask)
    monkeypatch.setattr(host_view, "find", lambda python: found.append(python) or search(python))
    whole = folder_of("trnui-sample/recites")
    assert preflight(RunRequest(str(whole), device="cpu", python=sys.executable), ask=None).prepared is not None
    assert len([c for c in asked if c[0] == "neuron-ls" and "--output-format" in c]) == 1
    assert found == [sys.executable]


@pytest.mark.parametrize(
    ("cores", "judge", "line"),
    [
        (1, None, None),
        (1, "acme/judge", None),  # one core is checked by tokens: no judge is loaded, whatever is set
        (2, None, f"{DEFAULT}, fetched from the Hub while preparing"),
        (2, "acme/judge", "acme/judge, fetched from the Hub while preparing"),
        (2, WORD_ORDER, None),
    ],
)
def test_the_question_names_the_judge_that_is_loaded(cores: int, judge: str | None, line: str | None) -> None:
    row = {
        "model_id": "acme/tiny",
        "tp": cores,
        "result": "PASS (CPU)",
        "runner": "trnui/cpu",
        "run_py": "print('theirs')",
    }
    found = preflight(RunRequest("acme/tiny", row=row, judge=judge, device="cpu"), ask=None)
    assert found.question is not None
    assert found.approval is None
    assert dict(found.question.lines).get("judge") == line
    check = next((c for c in found.checks if c.name == "judge"), None)
    assert (check is None) == (cores == 1)
