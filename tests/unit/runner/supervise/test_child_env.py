"""What a run's processes get of the user's environment, and what not."""

from __future__ import annotations

from pathlib import Path

import pytest

from trnui_runner.host.core_blocks import Visible
from trnui_runner.request.steps import SupervisionOptions
from trnui_runner.run_folder.recipe import Device
from trnui_runner.supervise.child_env import PROBE, RunPaths, child_environment, core_environment

USER = {
    "PATH": "/usr/bin:/bin",
    "HOME": "/home/u",
    "LC_ALL": "C.UTF-8",
    "https_proxy": "http://proxy:1",
    "HF_HOME": "/data/hf",
    "HF_TOKEN": "hf_secret",
    "HUGGING_FACE_HUB_TOKEN": "hf_older",
    "AWS_SECRET_ACCESS_KEY": "aws",
    "GITHUB_TOKEN": "gh",
    "SSH_AUTH_SOCK": "/run/ssh",
    "PYTHONPATH": "/home/u/lib",
    "PYTHONSTARTUP": "/home/u/.pythonrc",
    "VIRTUAL_ENV": "/home/u/venv",
    "NEURON_CC_FLAGS": "--model-type transformer",
    "NEURON_RT_VISIBLE_CORES": "7",
    "LD_PRELOAD": "/home/u/evil.so",
    "STANDIN_SHAPE": "x",
}


def environ(device: Device = "cpu", *, probe: bool = True, **terms: object) -> dict[str, str]:
    place = RunPaths(
        "20261130-120000-m-0000",
        Path("/runs/r"),
        Path("/tmp/trnui-x"),
        Path("/cache/neff"),
        "/opt/venv/bin/python",
        device,
    )
    return child_environment(USER, place, SupervisionOptions(**terms), probe=probe)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "name",
    [
        "AWS_SECRET_ACCESS_KEY",
        "GITHUB_TOKEN",
        "SSH_AUTH_SOCK",
        "PYTHONSTARTUP",
        "VIRTUAL_ENV",
        "LD_PRELOAD",
        "STANDIN_SHAPE",
    ],
)
def test_what_is_not_on_the_list_stays_outside(name: str) -> None:
    assert name not in environ()


def test_what_a_run_needs_goes_along() -> None:
    got = environ()
    assert {n: got[n] for n in ("HOME", "LC_ALL", "https_proxy", "HF_HOME", "NEURON_CC_FLAGS")} == {
        n: USER[n] for n in ("HOME", "LC_ALL", "https_proxy", "HF_HOME", "NEURON_CC_FLAGS")
    }
    assert got["TMPDIR"] == "/tmp/trnui-x"
    assert got["PYTHONUNBUFFERED"] == got["HF_DEACTIVATE_ASYNC_LOAD"] == "1"
    assert got["PYTHONPATH"] == str(PROBE)


def test_no_token_unless_opted_in() -> None:
    without, with_ = environ(), environ(token=True)
    assert not {"HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"} & without.keys()
    assert without["HF_HUB_DISABLE_IMPLICIT_TOKEN"] == "1"
    assert (with_["HF_TOKEN"], with_["HUGGING_FACE_HUB_TOKEN"]) == ("hf_secret", "hf_older")
    assert "HF_HUB_DISABLE_IMPLICIT_TOKEN" not in with_


def test_the_interpreters_own_programs_come_first_and_the_neuron_tools_last() -> None:
    assert environ()["PATH"] == "/opt/venv/bin:/usr/bin:/bin:/opt/aws/neuron/bin"


def test_neff_cache_by_compiler_version() -> None:
    got = environ("neuron", neuronx_cc="2.28.1+abc")
    assert got["TORCH_NEURONX_NEFF_CACHE_DIR"] == "/cache/neff/neuronxcc-2.28.1+abc"
    assert "NEURON_RT_VISIBLE_CORES" not in got  # known once they are free
    assert got["NEURON_PROCESS_TAG"] == "20261130-120000-m-0000"
    assert "TORCH_NEURONX_NEFF_CACHE_DIR" not in environ(
        "neuron"
    )  # which version is unknown: no folder of ours mixes them


def test_a_cache_that_the_user_has_set_wins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(USER, "TORCH_NEURONX_NEFF_CACHE_DIR", "/mine")
    assert environ("neuron", neuronx_cc="2.28")["TORCH_NEURONX_NEFF_CACHE_DIR"] == "/mine"


def test_cores_of_the_users_shell_do_not_reach_a_run() -> None:
    assert "NEURON_RT_VISIBLE_CORES" not in environ("neuron")
    assert not any(name.startswith("TORCH_NEURONX") for name in environ("cpu"))


@pytest.mark.parametrize(
    ("visible", "told"),
    [("all", {"NEURON_RT_VISIBLE_CORES": "8,9"}), ("rank", {"TRNUI_RANK_CORES": "8,9"}), ("none", {})],
)
def test_leased_cores_are_told_to_the_run(visible: Visible, told: dict[str, str]) -> None:
    assert core_environment(visible, (8, 9)) == told


def test_kept_by_wish_and_without_the_probe() -> None:
    assert environ(keep=("STANDIN_*",))["STANDIN_SHAPE"] == "x"
    assert "PYTHONPATH" not in environ(probe=False)


def test_offline_reaches_the_run_and_the_users_own_word_stays() -> None:
    assert environ(offline=True)["HF_HUB_OFFLINE"] == "1"
    assert "HF_HUB_OFFLINE" not in environ()
