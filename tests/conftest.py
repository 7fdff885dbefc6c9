"""Shared by all layers: a home of its own for every test, and no setting of the developer's terminal."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.trainium.fixture import standin_host  # noqa: F401  a fixture for every folder of tests

ROOT = Path(__file__).resolve().parent.parent
# A busy machine makes examples slow; that says nothing of what is tested.
settings.register_profile("trnui", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("trnui")


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """`-n auto`: half as many workers again as processors, since tests wait for processes and terminals half of their time."""
    return (os.cpu_count() or 2) * 3 // 2


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--slow", action="store_true", help="also run the tests marked slow")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not config.getoption("--slow"):
        for item in items:
            if item.get_closest_marker("slow"):
                item.add_marker(pytest.mark.skip(reason="slow: run with --slow"))


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Config, state and cache in a temporary folder; no network, no token, no colour or theme from outside."""
    for name in list(os.environ):
        if (
            name.startswith(("TRNUI_", "TEXTUAL", "HF_", "NEURON_", "XDG_"))
            or name
            in (
                "NO_COLOR",
                "COLORTERM",
                "SSH_CONNECTION",
                "TMUX",
                "SSL_CERT_FILE",
                "SSL_CERT_DIR",
                "REQUESTS_CA_BUNDLE",
                "CURL_CA_BUNDLE",
            )
            or name.lower().endswith("_proxy")
        ):
            monkeypatch.delenv(name)
    for kind in ("CONFIG", "STATE", "CACHE"):
        monkeypatch.setenv(f"TRNUI_{kind}_DIR", str(tmp_path / "home" / kind.lower()))
    monkeypatch.setenv("HF_HOME", str(tmp_path / "home" / "hf"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    return tmp_path / "home"
