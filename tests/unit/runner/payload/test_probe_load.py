"""What the probe tells of the weights: names of those that matter, the caller's own result untouched."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from trnui_runner import payload

PROBE = Path(payload.__file__).parent / "probe"


@pytest.fixture
def load(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModuleType:
    monkeypatch.setenv("TRNUI_RUN_DIR", str(tmp_path))
    monkeypatch.syspath_prepend(str(PROBE))
    for name in [n for n in sys.modules if n.startswith("trnui_probe")]:
        monkeypatch.delitem(sys.modules, name)
    return importlib.import_module("trnui_probe.load")


class Model:
    @classmethod
    def from_pretrained(cls, name: str, **kwargs: Any) -> Any:
        if name == "broken":
            raise ValueError("no such model")
        info = {"missing_keys": {"lm_head.weight"}, "unexpected_keys": {f"layers.{n}.rotary_emb.inv_freq" for n in range(40)} | {"extra.weight"},
                "mismatched_keys": {("embed.weight", (4, 2), (5, 2))}}  # fmt: skip
        return ("model", info) if kwargs.get("output_loading_info") else "model"


def test_loading_info_is_asked_for_and_the_result_is_what_the_script_wants(load: ModuleType) -> None:
    asking = load._asking(Model.from_pretrained.__func__)  # type: ignore[attr-defined]
    assert asking(Model, "x") == "model"
    assert load._account() == {
        "missing": ["lm_head.weight"], "missing_n": 1, "unexpected": ["extra.weight"], "unexpected_n": 1,
        "mismatched": ["embed.weight"], "mismatched_n": 1,
    }  # fmt: skip
    assert load._account() == {}  # told once
    assert asking(Model, "x", output_loading_info=True)[0] == "model"  # the script's own wish
    with pytest.raises(ValueError, match="no such model"):
        asking(Model, "broken")
    assert load._account() == {}
