"""Stacks: versions by the interpreter itself, cached until something changes, and package by package beside a row's."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.trainium.host import Host
from trnui_runner.common.errors import UsageError
from trnui_runner.common.subprocesses import ToolOutput
from trnui_runner.host import stack as module
from trnui_runner.host.interpreter import candidates, find, resolve
from trnui_runner.host.stack import StackVersions, compare, differences, parse_compiler, parse_dpkg, stack_of

Make = Callable[..., Host]


def test_this_interpreters_stack() -> None:
    from importlib.metadata import version

    stack = stack_of(sys.executable)
    assert stack["torch"] == version("torch")
    assert stack["library_version"] == version("transformers")
    assert stack["python"] == ".".join(map(str, sys.version_info[:3]))
    assert stack["native"] is None
    assert stack["installed"]["textual"] == version("textual")


def test_library_version_is_that_of_the_rows_library() -> None:
    from importlib.metadata import version

    assert stack_of(sys.executable, "accelerate")["library_version"] == version("accelerate")
    assert "library_version" not in stack_of(sys.executable, "diffusers")


def test_second_look_starts_no_process_until_a_package_changes(
    standin_host: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = standin_host()
    first = stack_of(str(host.python))
    asked: list[str] = []
    real = module.ask
    monkeypatch.setattr(module, "ask", lambda tool, *a, **k: asked.append(tool) or real(tool, *a, **k))
    assert stack_of(str(host.python)) == first
    assert asked == []
    host.change(neuronx_cc="2.29.1.0")
    assert stack_of(str(host.python))["neuronx_cc"] == "2.29.1.0+standin"
    assert asked


@pytest.mark.standin
def test_stand_ins_stack_says_so(standin_host: Make) -> None:
    stack = stack_of(str(standin_host().python))
    assert stack["stand_in"]
    assert stack["native"] is True
    assert (stack["torch_neuronx"], stack["neuronx_cc"]) == ("2.14.3.0+standin", "2.28.7631.0+standin")
    assert stack["neuron_driver"] == "2.31.7.0+standin"


@pytest.mark.standin
def test_compiler_missing_from_the_path_is_said(standin_host: Make) -> None:
    stack = stack_of(str(standin_host(compiler="absent").python))
    assert "neuronx-cc is not on the PATH" in stack["problems"]


def test_interpreter_that_is_none_is_a_problem_not_an_exception(tmp_path: Path) -> None:
    (tmp_path / "python").write_text("#!/bin/sh\necho hello\n")
    (tmp_path / "python").chmod(0o755)
    assert "cannot be read" in stack_of(str(tmp_path / "python"))["problems"][0]
    assert "not installed" in stack_of(str(tmp_path / "none"))["problems"][0]


@pytest.mark.parametrize(
    ("row", "here", "state"),
    [
        ("2.28.7631.0", "2.28.7631.0", "same"),
        ("2.28.7631.0+6f180f47", "2.28.7631.0", "same"),
        ("2.28.7631.0+6f180f47", "2.28.7631.0+abc", "differs"),
        ("2.28.7631.0", "2.28.7632.0", "differs"),
        ("2.13", "2.13.0", "same"),
        ("2.13.0", "2.13.0+cpu", "same"),
        ("5.24.0.dev0", "5.24.0", "differs"),
        ("2.28.7631.0", "2.28.7631.0+standin", "differs"),
        ("2.28.7631.0+standin", "2.28.7631.0+standin", "same"),
        ("main", "5.24.0", "differs"),
        ("5.24.0", None, "missing"),
        (None, "5.24.0", "not in the row"),
        ("", None, "not in the row"),
    ],
)
def test_compare(row: str | None, here: str | None, state: str) -> None:
    assert compare(row, here)[0] == state


def test_differences_package_by_package() -> None:
    row = {
        "neuronx_cc": "2.28.7631.0", "torch_neuronx": "2.14.3.0", "transformers": "5.25.0", "torch": "2.14.0",
        "python": "3.12.3", "neuron_driver": "2.31.7.0", "library": "transformers", "library_version": "5.25.0",
    }  # fmt: skip
    here = StackVersions(
        neuronx_cc="2.28.7631.0",
        torch_neuronx="2.14.3.0",
        transformers="5.24.0",
        python="3.12.9",
        native=True,
        problems=[],
    )
    found = {d.package: d for d in differences(here, row)}
    assert {n: d.state for n, d in found.items()} == {
        "neuronx_cc": "same", "torch_neuronx": "same", "torch": "missing", "transformers": "differs",
        "accelerate": "not in the row", "nki": "not in the row", "neuron_driver": "missing", "python": "same",
    }  # fmt: skip
    assert found["transformers"].words == "transformers 5.24.0 here, 5.25.0 in the row"
    assert found["python"].note == "another patch release"


def test_xla_package_is_never_the_same() -> None:
    found = differences(
        StackVersions(torch_neuronx="2.9.0.2.15.32035", native=False), {"torch_neuronx": "2.9.0.2.15.32035"}
    )
    difference = next(d for d in found if d.package == "torch_neuronx")
    assert difference.state == "differs"
    assert "XLA" in difference.note


def test_library_of_another_kind_is_compared_by_its_own_version() -> None:
    found = differences(StackVersions(library_version="0.36.0"), {"library": "diffusers", "library_version": "0.35.0"})
    assert next(d for d in found if d.package == "library_version").state == "differs"


def test_compilers_version_on_either_stream() -> None:
    text = "NeuronX Compiler version 2.27.5334.0+f702b353\n\nPython version 3.12.3\n"
    assert parse_compiler(ToolOutput("neuronx-cc", out=text)) == "2.27.5334.0+f702b353"
    assert parse_compiler(ToolOutput("neuronx-cc", err=text)) == "2.27.5334.0+f702b353"
    assert parse_compiler(ToolOutput("neuronx-cc", out="no such thing")) is None


def test_debian_packages_that_are_not_installed_are_left_out() -> None:
    out = "aws-neuronx-dkms 2.31.7.0 installed\naws-neuronx-tools 2.33 not-installed\naws-neuronx-collectives\n"
    assert parse_dpkg(out) == {"aws-neuronx-dkms": "2.31.7.0"}


# -- which interpreter


def test_the_one_that_is_set_wins_and_must_be_there(tmp_path: Path) -> None:
    assert find(sys.executable).path == sys.executable
    with pytest.raises(UsageError, match="No Python interpreter"):
        find(str(tmp_path / "none"))


def test_folder_of_an_environment_will_do() -> None:
    assert resolve(sys.prefix) == f"{sys.prefix}/bin/python"


@pytest.mark.standin
def test_aws_environment_is_found_and_says_what_was_passed_over(
    standin_host: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = standin_host()
    monkeypatch.setenv("VIRTUAL_ENV", sys.prefix)
    found = find()
    assert found.path == str(host.python)
    assert found.origin == "AWS's environment"
    assert "the active environment): no torch_neuronx" in found.passed[0]
    assert "torch-neuronx 2.14.3.0+standin" in found.words
    assert found.words.endswith("stand-in")


def test_torchneuron_environments_come_first_and_newest_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = ["pytorch_2_9", "torch_neuronx_2_13_0", "torch_neuronx_2_14_0"]
    for name in names:
        python = tmp_path / f"opt/aws_neuronx_venv_{name}/bin/python"
        python.parent.mkdir(parents=True)
        python.symlink_to(sys.executable)
    monkeypatch.setenv("TRNUI_HOST_ROOT", str(tmp_path))
    monkeypatch.delenv("VIRTUAL_ENV", raising=False)
    order = [path.split("venv_")[1].split("/")[0] for path, origin in candidates() if "AWS" in origin]
    assert order == ["torch_neuronx_2_14_0", "torch_neuronx_2_13_0", "pytorch_2_9"]


@pytest.mark.parametrize(
    "place",
    [
        "opt/torch-neuronx/.venv",
        "opt/aws-neuron/venv",
        "opt/conda/envs/torch_neuronx",
        "opt/aws_neuronx_venv_torch_neuronx_2_14_0",
    ],
)
def test_environments_of_aws_images_and_containers_are_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    python = tmp_path / place / "bin/python"
    python.parent.mkdir(parents=True)
    python.symlink_to(sys.executable)
    monkeypatch.setenv("TRNUI_HOST_ROOT", str(tmp_path))
    monkeypatch.delenv("VIRTUAL_ENV", raising=False)
    assert candidates()[0] == (str(python), "AWS's environment")


def test_none_with_torch_neuronx_means_this_one() -> None:
    found = find(ask=lambda path: StackVersions(python="3.11.0", torch="2.13.0", native=None, problems=[]))
    assert found.path == sys.executable
    assert "this one" in found.origin
