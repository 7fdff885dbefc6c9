"""The house's rules about imports, proved on what a fresh interpreter really loads."""

from __future__ import annotations

import re
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
    "module",
    ["trnui.cli.main", "trnui.settings", "trnui.actions", "trnui.cli.shared_options", "trnui.cli.global_options"],
)
def test_command_line_loads_nothing_heavy(module: str) -> None:
    assert loaded(f"import {module}", *HEAVY) == set()


def test_runner_loads_neither_explorer_nor_torch() -> None:
    package = ROOT / "runner" / "trnui_runner"
    names = [
        ".".join(file.relative_to(package.parent).with_suffix("").parts).removesuffix(".__init__")
        for file in sorted(package.rglob("*.py"))
        if file.relative_to(package).parts[0] != "payload" and file.stem != "__main__"  # payload: run by file path
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
    assert loaded("import trnui.tui.app", "torch", "transformers", "huggingface_hub", "pyarrow", "duckdb") == set()


def test_the_first_frame_waits_for_no_command_line_library() -> None:
    assert (
        loaded(
            "import trnui.__main__, trnui.cli.global_options, trnui.cli.open_app, trnui.tui.app",
            "click",
            "duckdb",
            "pyarrow",
        )
        == set()
    )


def test_no_message_handler_calls_the_one_it_overrides() -> None:
    """Textual calls the handlers of every class of a widget by itself; a `super()` would run the base's twice."""
    files = sorted((ROOT / "trnui" / "tui").rglob("*.py"))
    assert len(files) > 40
    assert [f.name for f in files if re.search(r"super\(\)\.on_(?!event\b)", f.read_text())] == []
