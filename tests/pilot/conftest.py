"""One folder of invented rows for all pilot tests: 40 models on 5 stacks."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.visit import make_dataset


@pytest.fixture(scope="session")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_dataset(
        tmp_path_factory.mktemp("rows"),
        "--models",
        "40",
        "--compilers",
        "2",
        "--libraries",
        "3",
        "--script-bytes",
        "900",
    )
