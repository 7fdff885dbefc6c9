"""The Hub's variables are read as huggingface_hub reads them, the same for every part of trnui."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from trnui_runner.common.hub_env import has_token, hub_cache, is_offline, without_token

ASK = (
    "import json; from huggingface_hub import constants as c; "
    "print(json.dumps([c.HF_HUB_CACHE, c.HF_HUB_OFFLINE, c.HF_TOKEN_PATH]))"
)
CASES: tuple[dict[str, str], ...] = (
    {},
    {"HF_HOME": "/data"},
    {"HF_HOME": "~/hf"},
    {"HF_HOME": "$HOME/hf"},
    {"XDG_CACHE_HOME": "/cache"},
    {"HF_HUB_CACHE": "/hub", "HF_HOME": "/data"},
    {"HUGGINGFACE_HUB_CACHE": "/old", "HF_HOME": "/data"},
    {"HUGGINGFACE_HUB_CACHE": "/old", "HF_HUB_CACHE": "/hub"},
    {"HF_HUB_CACHE": "~/hub", "HF_TOKEN_PATH": "/secret/token"},
    {"HF_HUB_OFFLINE": "1"},
    {"HF_HUB_OFFLINE": "yes"},
    {"HF_HUB_OFFLINE": "0", "TRANSFORMERS_OFFLINE": "1"},
    {"TRANSFORMERS_OFFLINE": "on"},
    {"HF_HUB_OFFLINE": ""},
)


@pytest.mark.parametrize("environ", CASES, ids=str)
def test_as_huggingface_hub_does(environ: dict[str, str], tmp_path: Path) -> None:
    environ = {**environ, "HOME": str(tmp_path)}
    out = subprocess.run([sys.executable, "-c", ASK], env=environ, capture_output=True, check=True).stdout
    cache, offline, token = json.loads(out)
    assert str(hub_cache(environ)) == cache
    assert is_offline(environ) is offline
    if token.startswith(str(tmp_path)):
        assert not has_token(environ)
        os.makedirs(os.path.dirname(token))
        Path(token).write_text("x")
        assert has_token(environ)


def test_a_token_in_a_variable_is_at_hand_and_can_be_left_out() -> None:
    environ = {"HF_TOKEN": "x", "HUGGING_FACE_HUB_TOKEN": "y", "HF_TOKEN_PATH": "/t", "PATH": "/bin"}
    assert has_token({"HUGGING_FACE_HUB_TOKEN": "y"})
    assert without_token(environ) == {"PATH": "/bin", "HF_HUB_DISABLE_IMPLICIT_TOKEN": "1"}
    assert len(environ) == 4
