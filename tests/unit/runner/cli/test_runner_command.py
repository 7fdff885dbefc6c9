"""What `trnui-runner run` makes of its arguments."""

from __future__ import annotations

from pathlib import Path

import pytest

from trnui_runner.__main__ import asked
from trnui_runner.common.errors import Exit, UsageError

SAMPLE = "trnui-sample/recites-0.1M"


def test_the_samples_models_are_not_asked_for_at_the_hub() -> None:
    with pytest.raises(UsageError, match=r"is part of trnui's sample: use `trnui run`") as caught:
        asked(SAMPLE, None, None, {})
    assert caught.value.code == Exit.USAGE
    assert f"trnui --dataset sample run {SAMPLE}" in caught.value.remedy


def test_with_a_folder_they_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert asked(SAMPLE, None, tmp_path, {}).checkpoint == tmp_path
    monkeypatch.setenv("TRNUI_CHECKPOINT", str(tmp_path))
    assert asked(SAMPLE, None, None, {}).model == SAMPLE
    monkeypatch.delenv("TRNUI_CHECKPOINT")
    assert asked("trnui-sampled/x", None, None, {}).model == "trnui-sampled/x"
