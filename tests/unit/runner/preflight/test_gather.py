"""What a preflight gathers: each fact from where it belongs, also when the run was refused; and when the Hub is asked."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from trnui.sample.models import folder_of
from trnui_runner.host.core_blocks import CoreRequest
from trnui_runner.host.devices import Core, Devices
from trnui_runner.host.host_view import HostView
from trnui_runner.host.interpreter import Interpreter
from trnui_runner.host.neff_cache import Bucket
from trnui_runner.payload.judge import DEFAULT, WORD_ORDER
from trnui_runner.preflight import gather as module
from trnui_runner.preflight.gather import KnownElsewhere, gather, preflight
from trnui_runner.preflight.report import CheckStatus
from trnui_runner.request.hub_info import HubInfo
from trnui_runner.request.request import PreparedRun, RunRequest
from trnui_runner.request.steps import SupervisionOptions
from trnui_runner.run_folder.recipe import Recipe

GIB = 1 << 30
STACK: dict[str, Any] = {
    "torch": "2.14",
    "transformers": "5.24",
    "native": True,
    "neuronx_cc": "2.28.1",
    "problems": ["odd"],
}
PYTHON = Interpreter("/env/bin/python", "set by a test", STACK)  # type: ignore[arg-type]
CARD = HostView(Devices(1, tuple(Core(n, 0, 24 * GIB) for n in range(4))), PYTHON)
NONE = HostView(Devices(), PYTHON)
ROW: dict[str, Any] = {
    "model_id": "acme/tiny",
    "result": "FAIL",
    "tp": 4,
    "hbm_peak_gb": 13.1,
    "exclusion": "",
    "run_py": "x = 1",
}


@pytest.fixture(autouse=True)
def online(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)


def facts(request: RunRequest, host: HostView = CARD, prepared: PreparedRun | None = None, **more: Any) -> Any:
    more.setdefault("ask", None)
    return gather(request, prepared, host, more.pop("approval", ""), **more)


def ready(**recipe: Any) -> PreparedRun:
    made = Recipe("x", "acme/tiny", **recipe)
    return PreparedRun(made, b"", (), SupervisionOptions(), (), PYTHON)


# -- what was asked for, when the run was refused


@pytest.mark.parametrize(
    ("request_", "here", "device"),
    [
        (RunRequest("m"), CARD, "neuron"),
        (RunRequest("m"), NONE, "neuron"),
        (RunRequest("m", device="cpu"), CARD, "cpu"),
        (RunRequest("m", row={**ROW, "result": "PASS (CPU)"}), CARD, "cpu"),
        (RunRequest("m", row={**ROW, "result": "PASS (CPU)"}, device="neuron"), CARD, "neuron"),
        (RunRequest("m", row=ROW), CARD, "neuron"),
        (RunRequest("m", row=ROW), replace(CARD, devices=replace(CARD.devices, stand_in=True)), "stand-in"),
        (RunRequest("m", row=ROW), replace(NONE, devices=Devices(stand_in=True)), "neuron"),
    ],
)
def test_the_device_that_was_wanted(request_: RunRequest, here: HostView, device: str) -> None:
    assert facts(request_, here).device == device


@pytest.mark.parametrize(
    ("request_", "cores"),
    [
        (RunRequest("m"), 1),
        (RunRequest("m", cores=2), 2),
        (RunRequest("m", row=ROW), 4),
        (RunRequest("m", row=ROW, cores=2), 2),
        (RunRequest("m", row={**ROW, "tp": 0}), 1),
        (RunRequest("m", row={**ROW, "tp": -4}), 1),
        (RunRequest("m", row={**ROW, "tp": "4"}), 1),
        (RunRequest("m", row={**ROW, "tp": True}), 1),
        (RunRequest("m", row={**ROW, "tp": float("nan")}), 1),
        (RunRequest("m", row={**ROW, "tp": 8.0}), 8),
    ],
)
def test_the_cores_that_were_wanted(request_: RunRequest, cores: int) -> None:
    assert facts(request_).cores == cores


def test_what_was_prepared_counts_before_what_was_asked() -> None:
    found = facts(RunRequest("acme/tiny", row=ROW, script="auto"), prepared=ready(device="cpu", cores=2, script="published", judge="acme/judge"))  # fmt: skip
    assert (found.device, found.cores, found.script, found.judge) == ("cpu", 2, "published", "acme/judge")
    refused = facts(RunRequest("acme/tiny", row=ROW, script="auto"))
    assert (refused.script, refused.consent, refused.core_request) == ("auto", "", None)
    assert facts(RunRequest("m"), approval=None).consent is None
    assert facts(RunRequest("m"), approval="it ships with trnui").consent == "it ships with trnui"


# -- the row and the interpreter


def test_the_rows_facts() -> None:
    found = facts(RunRequest("m", row={**ROW, "result": "PASS (CPU)", "exclusion": "low priority"}))
    assert (found.row_device, found.row_word, found.row_reason, found.row_peak_gb) == (
        "cpu",
        "EXCLUDED",
        "low priority",
        13.1,
    )
    assert {d.package for d in found.differences} >= {"torch", "transformers"}
    bare = facts(RunRequest("m"))
    assert (bare.row_device, bare.row_word, bare.row_reason, bare.row_peak_gb, bare.differences) == (
        None,
        None,
        None,
        None,
        (),
    )
    assert facts(RunRequest("m", row={**ROW, "hbm_peak_gb": float("nan")})).row_peak_gb is None
    assert facts(RunRequest("m", row={**ROW, "hbm_peak_gb": "13"})).row_peak_gb is None


def test_the_interpreters_facts() -> None:
    found = facts(RunRequest("m"))
    assert (found.interpreter, found.problems, found.native, found.missing) == ("/env/bin/python", ("odd",), True, ())
    poor = replace(CARD, interpreter=Interpreter("/p", "", {"native": False, "installed": {"torch": "1"}}))
    assert facts(RunRequest("m"), poor).missing == ("torch", "transformers")
    no_accelerate = replace(CARD, interpreter=replace(PYTHON, stack={**STACK, "installed": {"torch": "1"}}))  # type: ignore[arg-type]
    for script, row, missing in (
        ("bundled", None, ("accelerate",)),
        ("auto", None, ("accelerate",)),
        ("auto", {**ROW, "run_py": ""}, ("accelerate",)),
        ("auto", ROW, ()),  # the row's own script may do without
        ("bundled", ROW, ("accelerate",)),
        ("published", ROW, ()),
    ):
        assert facts(RunRequest("m", script=script, row=row), no_accelerate).missing == missing


@pytest.mark.parametrize(
    ("compiler", "device", "there"), [("2.28", "neuron", True), ("2.28", "cpu", False), ("", "neuron", False)]
)
def test_the_cache_is_of_the_interpreters_compiler_and_for_devices(
    compiler: str, device: str, there: bool, tmp_path: Path
) -> None:
    host = replace(CARD, interpreter=replace(PYTHON, stack={**STACK, "neuronx_cc": compiler}))  # type: ignore[arg-type]
    request = RunRequest("m", device=device, supervision=SupervisionOptions(neff_cache=str(tmp_path)))
    found = facts(request, host).cache
    assert (found is not None) is there
    if found is not None:
        assert found.path == tmp_path / f"neuronxcc-{compiler}"


# -- the checkpoint and the Hub


def cached(home: Path, model: str = "acme/tiny") -> Path:
    """A snapshot in the Hub's cache: a whole checkpoint, by links into the sample's."""
    whole = folder_of("trnui-sample/recites")
    assert whole is not None
    snapshot = Path(os.environ["HF_HOME"]) / "hub" / f"models--{model.replace('/', '--')}" / "snapshots" / ("c" * 40)
    snapshot.mkdir(parents=True)
    (snapshot.parent.parent / "refs").mkdir()
    (snapshot.parent.parent / "refs" / "main").write_text("c" * 40)
    for file in whole.iterdir():
        (snapshot / file.name).symlink_to(file)
    return snapshot


class Hub:
    def __init__(self, info: HubInfo = HubInfo(5 * GIB, False, "c" * 40)) -> None:  # noqa: B008 frozen
        self.info, self.asked = info, list[tuple[Any, ...]]()

    def __call__(self, model: str, revision: str | None, *, token: bool) -> HubInfo:
        self.asked.append((model, revision, token))
        return self.info


def test_the_hub_is_asked_for_what_is_not_here_alone(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hub = Hub()
    request = RunRequest("acme/tiny", revision="v1", supervision=SupervisionOptions(token=True))
    found = facts(request, ask=hub)
    assert hub.asked == [("acme/tiny", "v1", True)]
    assert (found.hub, found.weights, found.cached, found.local) == (hub.info, 5 * GIB, False, False)
    assert (found.token_sent, found.offline) == (True, False)

    silent = Hub()
    whole = folder_of("trnui-sample/recites")
    facts(RunRequest(str(whole)), ask=silent)
    facts(RunRequest("acme/tiny", checkpoint=whole), ask=silent)
    facts(RunRequest("acme/tiny", supervision=SupervisionOptions(offline=True)), ask=silent)
    assert facts(RunRequest("acme/tiny"), ask=None).hub is None
    monkeypatch.setenv("TRANSFORMERS_OFFLINE", "1")
    assert facts(RunRequest("acme/tiny"), ask=silent).offline
    monkeypatch.delenv("TRANSFORMERS_OFFLINE")
    cached(home)
    assert facts(RunRequest("acme/tiny"), ask=silent).cached
    assert silent.asked == []
    facts(RunRequest("acme/tiny", revision="v2"), ask=silent)  # another revision than the one on disk
    assert len(silent.asked) == 1


def test_a_checkpoint_on_disk_is_measured_and_looked_over(home: Path) -> None:
    snapshot = cached(home)
    found = facts(RunRequest("acme/tiny"))
    assert found.weights is not None
    assert 400_000 < found.weights < 500_000
    assert (found.cached, found.local, found.lacks) == (True, False, ())
    (snapshot / "config.json").unlink()
    assert facts(RunRequest("acme/tiny")).lacks == ()  # what is missing is fetched
    offline = RunRequest("acme/tiny", supervision=SupervisionOptions(offline=True))
    assert facts(offline).lacks == ("no config.json",)
    local = facts(RunRequest(str(snapshot)))
    assert (local.local, local.lacks) == (True, ("no config.json",))
    copy = facts(RunRequest("other/name", checkpoint=snapshot))
    assert (copy.local, copy.lacks) == (True, ("no config.json",))


def test_disk_memory_and_token_are_this_hosts(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = facts(RunRequest("acme/tiny"))
    assert found.disk_place == str(Path(os.environ["HF_HOME"]) / "hub")
    assert (found.disk_free or 0) > 0
    assert (found.host_memory or 0) > 0
    assert (found.token, found.token_sent) == (False, False)
    monkeypatch.setenv("HF_TOKEN", "x")
    assert facts(RunRequest("acme/tiny")).token


@pytest.mark.parametrize(
    ("cores", "judge", "name", "here"),
    [
        (1, None, None, False), (1, "acme/judge", None, False), (2, None, DEFAULT, False), (2, "acme/judge", "acme/judge", False),
        (2, WORD_ORDER, WORD_ORDER, True), (2, "/some/folder", "/some/folder", True), (2, "acme/tiny", "acme/tiny", True),
    ],
)  # fmt: skip
def test_the_judge_and_whether_it_is_at_hand(
    home: Path, cores: int, judge: str | None, name: str | None, here: bool
) -> None:
    cached(home)
    found = facts(RunRequest("m", cores=cores, judge=judge))
    assert (found.judge, found.judge_at_hand) == (name, here)


# -- the whole


def test_what_is_known_elsewhere_reaches_the_checks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "look", lambda python: NONE)
    known = KnownElsewhere(("acme/small",), "2.29 / 5.25", "graphs: hf://buckets/acme/card", "")
    found = preflight(RunRequest("acme/tiny", row={**ROW, "notes": "hf://buckets/acme/notes"}), known, ask=None)
    row = next(check for check in found.checks if check.name == "row")
    assert row.message.endswith(
        "; the newest stack on which it passes: 2.29 / 5.25; models of its family that pass: acme/small"
    )
    assert found.prepared is None
    assert found.question is None
    assert found.approval is None
    assert found.refusal is not None
    assert found.status is CheckStatus.ERROR


@pytest.mark.parametrize(
    ("setting", "card", "notes", "script", "bucket"),
    [
        ("acme/set", "hf://buckets/acme/card", None, "", Bucket("acme/set", "the setting neff_bucket")),
        ("", "hf://buckets/acme/card", "hf://buckets/acme/notes", "", Bucket("acme/card", "the dataset's card")),
        ("", None, "hf://buckets/acme/notes", "# hf://buckets/acme/script", Bucket("acme/notes", "the row's notes")),
        ("", None, None, "# hf://buckets/acme/script", Bucket("acme/script", "the row's run.py")),
        ("", None, None, "", None),
    ],
)
def test_the_bucket_that_could_fill_the_cache(
    monkeypatch: pytest.MonkeyPatch,
    setting: str,
    card: str | None,
    notes: str | None,
    script: str,
    bucket: Bucket | None,
) -> None:
    seen: list[Any] = []
    monkeypatch.setattr(module, "look", lambda python: CARD)
    monkeypatch.setattr(module, "run_checks", lambda found: seen.append(found) or ())
    row = {**ROW, "notes": notes, "run_py": script or "x = 1"}
    preflight(RunRequest("acme/tiny", row=row), KnownElsewhere(card=card, neff_bucket=setting), ask=None)
    assert seen[0].bucket == bucket


def test_a_prepared_run_brings_its_cores_and_its_task(home: Path) -> None:
    wanted = CoreRequest(2, (0, 1, 2, 3))
    made = replace(ready(cores=2), supervision=SupervisionOptions(cores=wanted))
    assert facts(RunRequest("m"), prepared=made).core_request is wanted
    folder = str(cached(home))
    for request, prepared, lacks in (
        (RunRequest(folder), None, ()),
        (RunRequest(folder, task="image-text-to-text"), None, ("no processor file",)),
        (RunRequest(folder), ready(task="image-text-to-text"), ("no processor file",)),
        (RunRequest(folder, task="image-text-to-text"), ready(task="text-generation"), ()),
    ):
        assert facts(request, prepared=prepared).lacks == lacks


def test_a_snapshot_without_weights_is_not_in_the_cache(home: Path) -> None:
    (cached(home) / "model.safetensors").unlink()
    found = facts(RunRequest("acme/tiny"))
    assert (found.cached, found.weights) == (False, None)


def test_a_prepared_run_is_asked_about_or_has_its_reason(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    monkeypatch.setattr(module, "look", lambda python: CARD)
    row = {**ROW, "tp": 1, "result": "PASS (CPU)"}
    asked = preflight(RunRequest("acme/tiny", row=row), ask=None)
    assert (asked.approval, asked.refusal) == (None, None)
    assert asked.question is not None
    ours = preflight(RunRequest("acme/tiny", script="bundled", device="cpu"), ask=None)
    assert ours.approval == "it ships with trnui"
