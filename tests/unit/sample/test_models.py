"""The sample's checkpoints are the same bytes on every machine and under every Python."""

from __future__ import annotations

import hashlib
import json
import struct
from pathlib import Path

import pytest

from trnui.sample import models
from trnui_runner.common.errors import UserError

# SHA-256 of model.safetensors, first 16 digits; the same under Python 3.10 to 3.13.
WEIGHTS = {
    "recites": "9c880062e1721655",
    "recites-moe": "f48bc15c19be280e",
    "recites-picture": "a1c6d90c265f304c",
    "qwen3": "15ac22071aab9e0e",
    "llama": "d9e2ec21061be988",
    "qwen3-moe": "46966438e212b179",
    "gpt-oss": "5f97bd6db80c0417",
    "mamba": "c26ed768884c62d9",
    "gpt2": "0cc03bb2fda4ecd2",
    "hybrid": "5ee778e848099c3c",
    "llava": "24d415ecc2ad81cc",
    "bloom": "cc8e45f7fe7ed97e",
    "electra": "bc205cb60b47db3a",
    "odd-heads": "55d47f58cde74848",
    "new-type": "d9e2ec21061be988",
}


@pytest.mark.parametrize("name", models.MODELS)
def test_weights_have_one_digest(name: str, tmp_path: Path) -> None:
    models.write(name, tmp_path)
    assert hashlib.sha256((tmp_path / "model.safetensors").read_bytes()).hexdigest()[:16] == WEIGHTS[name]


@pytest.mark.parametrize("name", models.MODELS)
def test_tensors_are_those_of_the_architecture(name: str, tmp_path: Path) -> None:
    models.write(name, tmp_path)
    raw = (tmp_path / "model.safetensors").read_bytes()
    header = json.loads(raw[8 : 8 + struct.unpack("<Q", raw[:8])[0]])
    assert {k: tuple(v["shape"]) for k, v in header.items() if k != "__metadata__"} == models.MODELS[name]().tensors


def test_tokenizer_numbers_its_entries_without_gaps(tmp_path: Path) -> None:
    models.write("qwen3", tmp_path)
    vocab = json.loads((tmp_path / "tokenizer.json").read_text())["model"]["vocab"]
    assert sorted(vocab.values()) == list(range(len(vocab)))
    assert 700 < len(vocab) <= 1024


def test_folder_is_built_once_and_found_again() -> None:
    first = models.folder_of("trnui-sample/recites")
    assert first is not None
    stamp = (first / "model.safetensors").stat().st_mtime_ns
    again = models.folder_of("trnui-sample/recites")
    assert again == first
    assert (first / "model.safetensors").stat().st_mtime_ns == stamp


@pytest.mark.parametrize("other", ["Qwen/Qwen3-0.6B", "trnui-sample/unknown", "recites", ""])
def test_other_models_are_not_the_samples(other: str) -> None:
    assert models.folder_of(other) is None


def test_damaged_shipped_weights_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(models.TRAINED, "recites", "0" * 16)  # type: ignore[index]
    with pytest.raises(UserError, match=r"recites\.safetensors: not the weights that were shipped"):
        models.folder_of("trnui-sample/recites")
