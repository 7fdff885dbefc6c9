"""What must be installed, and where each requirement is from."""

from __future__ import annotations

import shlex
import time

import pytest

from trnui.catalog.dataset.packages import Package, imports, install_command, install_lines, packages_of, script_block

STACK = {"library": "transformers", "library_version": "5.20.2", "torch": "2.14.0", "torch_neuronx": "2.14.3.0.1234", "neuronx_cc": "2.28.7631.0+0a1b", "python": "3.12.3", "neuron_driver": "2.31.7.0"}  # fmt: skip


def extras(**values: object) -> list[tuple[str, str]]:
    return [(p.requirement, p.origin) for p in packages_of({**STACK, **values}) if p.extra]


def test_the_stack_is_what_the_version_columns_say() -> None:
    assert [(p.requirement, p.origin) for p in packages_of(STACK)] == [
        ("transformers==5.20.2", "columns library and library_version"), ("torch==2.14.0", "column torch"),
        ("torch-neuronx==2.14.3.0.1234", "column torch_neuronx"), ("neuronx-cc==2.28.7631.0+0a1b", "column neuronx_cc"),
    ]  # fmt: skip
    assert packages_of({}) == ()
    (dev,) = packages_of({"library": "transformers", "library_version": "5.25.0.dev0", "transformers": "5.25.0.dev0"})
    assert "development version" in dev.origin


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("pip install tiktoken sentencepiece", ["tiktoken", "sentencepiece"]),
        ("first `pip3 install -U 'einops>=0.8' --extra-index-url https://x.y timm`, then run", ["einops>=0.8", "timm"]),
        ("python3 -m pip install -q qwen-vl-utils[decord]==0.0.8 && python run.py", ["qwen-vl-utils[decord]==0.0.8"]),
        ("uv pip install mamba-ssm # slow", ["mamba-ssm"]),
        ("pip install -r requirements.txt", []),
        ("pip install git+https://github.com/o/r@main", ["git+https://github.com/o/r@main"]),
        ("pip --no-cache-dir install av\nthen pip install bb; rm -rf /", ["av", "bb"]),
        ("pip install it's broken", []),
        ("Needs pip install tiktoken before it runs", ["tiktoken"]),
        ("(pip install tiktoken.) Evil follows", ["tiktoken"]),
        ("pip install av, bb and cc", ["av", "bb"]),
        ("pip installed nothing", []),
        ("pip install $(evil) x", []),
        ("pip install av`evil`", ["av"]),
        ('subprocess.run([sys.executable, "-m", "pip", "install", "protobuf", "-q"])', ["protobuf"]),
        ("", []),
    ],
)
def test_install_lines(text: str, found: list[str]) -> None:
    assert install_lines(text) == found


def test_imports_that_neither_python_nor_the_stack_brings() -> None:
    script = "import os, torch\nfrom PIL import Image\nimport einops.layers as l\nfrom . import x\ndef f():\n    import tiktoken\nfrom transformers import A"
    assert imports(script) == ["PIL", "einops", "tiktoken"]
    assert imports("import einops\nthis is no Python (") == ["einops"]
    assert imports("import a\x00b") == ["a"]
    assert imports("(" * 5000) == []


def test_extras_name_their_origin_and_come_once() -> None:
    assert extras(notes="pip install tiktoken", run_py="import tiktoken\nfrom PIL import Image\nimport flash_attn") == [
        ("tiktoken", "an install line in notes"), ("pillow", "run_py imports PIL"), ("flash-attn", "run_py imports flash_attn"),
    ]  # fmt: skip
    assert extras(extra_packages=["timm", "av>=1"], Requirements="x, y") == [
        ("timm", "column extra_packages"), ("av>=1", "column extra_packages"), ("x", "column Requirements"), ("y", "column Requirements"),
    ]  # fmt: skip
    assert extras(notes="pip install torch==2.0") == []  # the stack's own version stands
    block = '# /// script\n# dependencies = ["rich", "av"]\n# ///\nimport rich\n'
    assert script_block(block) == ["rich", "av"]
    assert extras(run_py=block) == [
        ("rich", "the dependency block of run_py"),
        ("av", "the dependency block of run_py"),
    ]
    assert script_block("# /// script\n# dependencies = [\n# ///\n") == []


def test_the_command_is_one_line_that_a_shell_reads_back() -> None:
    found = [Package("a>=1; python_version > '3'", "x", True), Package("torch-neuronx==2", "y", False)]
    command = install_command(found, "https://index")
    assert shlex.split(command)[3:] == [
        "install",
        "--extra-index-url",
        "https://index",
        "a>=1; python_version > '3'",
        "torch-neuronx==2",
    ]
    assert "index" not in install_command(found[:1], "https://index")
    assert install_command([], "https://index") == ""


def test_a_huge_script_is_read_by_its_import_lines_and_quickly() -> None:
    began = time.process_time()
    assert imports("import os\nfrom einops import rearrange\n" + "x = 1\n" * 100_000) == ["einops"]
    assert time.process_time() - began < 0.5
