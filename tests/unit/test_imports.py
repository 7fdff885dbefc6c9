"""The house's rules about imports, proved on what a fresh interpreter really loads."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.conftest import ROOT

HEAVY = ("textual", "duckdb", "pyarrow", "torch", "transformers", "huggingface_hub", "rich")


def loaded(statement: str, *roots: str) -> set[str]:
    """Which of `roots` are in sys.modules after `statement` in a new interpreter."""
    code = f"import sys\n{statement}\nprint(*sorted({{m.partition('.')[0] for m in sys.modules}} & set({roots!r})))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    return set(done.stdout.split())


@pytest.mark.parametrize(
    "module", ["trnui.cli", "trnui.settings", "trnui.actions", "trnui.commands.common", "trnui.options"]
)
def test_command_line_loads_nothing_heavy(module: str) -> None:
    assert loaded(f"import {module}", *HEAVY) == set()


def test_runner_loads_neither_explorer_nor_torch() -> None:
    by_path = ("scripts", "probe")  # run by file path under the run's interpreter, never imported here
    names = [
        ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        for file in sorted((ROOT / "runner").rglob("*.py"))
        if file.relative_to(ROOT).parts[1] not in by_path and file.stem != "__main__"
    ]
    assert len(names) > 20
    statement = f"import importlib\nfor name in {names!r}: importlib.import_module(name)"
    assert loaded(statement, "trnui", "textual", "duckdb", "torch", "transformers") == set()


def test_catalog_loads_no_textual() -> None:
    statement = (
        "import importlib, pkgutil, trnui.catalog\n"
        "for m in pkgutil.walk_packages(trnui.catalog.__path__, 'trnui.catalog.'):\n"
        "    importlib.import_module(m.name)"
    )
    assert loaded(statement, "textual", "torch", "transformers") == set()


def test_app_loads_neither_torch_nor_hub() -> None:
    assert loaded("import trnui.app", "torch", "transformers", "huggingface_hub", "pyarrow", "duckdb") == set()


def test_the_first_frame_waits_for_no_command_line_library() -> None:
    assert (
        loaded("import trnui.__main__, trnui.options, trnui.commands.app, trnui.app", "click", "duckdb", "pyarrow")
        == set()
    )


def test_no_message_handler_calls_the_one_it_overrides() -> None:
    """Textual calls the handlers of every class of a widget by itself; a `super()` would run the base's twice."""
    files = [*(ROOT / "trnui" / "screens").glob("*.py"), *(ROOT / "trnui" / "widgets").glob("*.py")]
    assert [f.name for f in files if "super().on_" in f.read_text()] == []
