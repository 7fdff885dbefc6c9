"""What is wrong with a checkpoint is said before it is run: files, task, packages."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from trnui_runner.request.checkpoint_check import missing, packages_of, unfit

WHOLE = ("config.json", "tokenizer.json")
TEXT, PICTURE = "text-generation", "image-text-to-text"


def folder(path: Path, *names: str, **texts: Any) -> Path:
    for name in names:
        (path / name).write_text("{}")
    for name, value in texts.items():
        (path / f"{name.replace('__', '.')}.json").write_text(json.dumps(value))
    return path


@pytest.mark.parametrize(
    ("names", "words"),
    [
        ((*WHOLE, "pytorch_model.bin"), ()),
        (WHOLE, ("no weights",)),
        (("config.json", "pytorch_model.bin"), ("no tokenizer file",)),
        (
            (*WHOLE, "consolidated.00.pth", "params.json"),
            ("no weights in Transformers' format, only consolidated ones",),
        ),
        (
            (*WHOLE, "m-Q4_K_M.gguf"),
            ("only GGUF weights, which from_pretrained takes by name (gguf_file=) and not by folder",),
        ),
    ],
)
def test_files_that_are_missing(tmp_path: Path, names: tuple[str, ...], words: tuple[str, ...]) -> None:
    assert missing(folder(tmp_path, *names), TEXT) == words


def test_adapter_is_no_model(tmp_path: Path) -> None:
    made = folder(tmp_path, "tokenizer.json", adapter_config={"base_model_name_or_path": "o/base"})
    assert missing(made, TEXT) == ("an adapter only, no model (of o/base)", "no weights")


def test_files_that_the_index_names_and_that_are_not_there(tmp_path: Path) -> None:
    index = {"weight_map": {f"layer.{n}": f"pytorch_model-0000{n}-of-00003.bin" for n in (1, 2, 3)}}
    made = folder(tmp_path, *WHOLE, "pytorch_model-00002-of-00003.bin", pytorch_model__bin__index=index)
    assert missing(made, TEXT) == (
        "2 of 3 files of weights (pytorch_model-00001-of-00003.bin, pytorch_model-00003-of-00003.bin)",
    )


@pytest.mark.parametrize(
    ("config", "task", "said"),
    [
        ({"architectures": ["T5ForConditionalGeneration"], "is_encoder_decoder": True}, TEXT, True),
        ({"architectures": ["BartForCausalLM"], "is_encoder_decoder": True}, TEXT, False),  # its decoder alone
        ({"architectures": ["Florence2ForConditionalGeneration"], "is_encoder_decoder": True}, PICTURE, False),
        ({"architectures": ["LlamaForCausalLM"]}, TEXT, False),
        ({}, TEXT, False),
    ],
)
def test_encoder_decoder_does_not_continue_a_text(config: dict[str, Any], task: str, said: bool) -> None:
    assert ("encoder-decoder" in unfit(config, task)) is said


def test_quantized_weights_need_packages() -> None:
    assert packages_of({"quantization_config": {"quant_method": "gptq"}}) == ("gptqmodel", "optimum")
    assert packages_of({"quantization_config": {"quant_method": "fp8"}}) == ()
    assert packages_of({"quantization_config": None}) == ()
