"""What can be known to be wrong with a checkpoint before it runs: missing files, the wrong task, missing packages."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final

from trnui_runner.common.files import read_json
from trnui_runner.common.text import one_line
from trnui_runner.payload.sharding import header_bytes
from trnui_runner.request.checkpoint import PICTURE, TEXT

# Of each of these kinds of file from_pretrained needs at least one; patterns of names.
WEIGHTS: Final = (
    "model*.safetensors", "pytorch_model*.safetensors", "*.safetensors.index.json", "pytorch_model*.bin", "*.bin.index.json",
    "diffusion_pytorch_model*", "tf_model.h5", "flax_model.msgpack",
)  # fmt: skip
TOKENIZER: Final = (
    "tokenizer*", "vocab*", "*.model", "*.tiktoken", "merges.txt", "tekken.json", "spiece*", "sentencepiece*", "*.py",
)  # fmt: skip
PROCESSOR: Final = ("processor_config.json", "preprocessor_config.json", "image_processor*", "*processor*.json", "*.py")
INDICES: Final = ("model.safetensors.index.json", "pytorch_model.bin.index.json")
# quant_method of a config → the distributions without which such weights cannot be loaded.
QUANTIZERS: Final[Mapping[str, tuple[str, ...]]] = {
    "bitsandbytes": ("bitsandbytes",), "gptq": ("gptqmodel", "optimum"), "awq": ("gptqmodel",), "compressed-tensors": ("compressed-tensors",),
    "quanto": ("optimum-quanto",), "hqq": ("hqq",), "aqlm": ("aqlm",), "eetq": ("eetq",), "torchao": ("torchao",), "vptq": ("vptq",),
    "quark": ("amd-quark",), "higgs": ("flute-kernel",), "auto-round": ("auto-round",),
}  # fmt: skip


def missing(folder: Path, task: str) -> tuple[str, ...]:
    """What a checkpoint's folder lacks to be loaded, in words; empty when nothing is seen to be wrong.

    A folder without a tokenizer loads all the same, and then knows no words: the error comes late and says something else.
    """
    try:
        names = sorted(entry.name for entry in os.scandir(folder))
    except OSError as error:
        return (f"it cannot be read ({error.strerror})",)
    found = []
    if "config.json" not in names:
        found.append(_adapter(folder) if "adapter_config.json" in names else "no config.json")
    for what, patterns in (("weights", WEIGHTS), ("tokenizer", TOKENIZER), ("processor", PROCESSOR)):
        if (what == "processor" and task != PICTURE) or any(fnmatchcase(n, p) for n in names for p in patterns):
            continue
        found.append(_no_weights(names) if what == "weights" else f"no {what} file")
    found += _lost_shards(folder, set(names))
    return (*found, *(f"{name} is cut off" for name in names if name.endswith(".safetensors") and _cut(folder / name)))


def _adapter(folder: Path) -> str:
    config = read_json(folder / "adapter_config.json")
    base = config.get("base_model_name_or_path") if isinstance(config, dict) else None
    return "an adapter only, no model" + (f" (of {one_line(base)})" if base else "")


def _no_weights(names: list[str]) -> str:
    """Weights exist, but not in a form that from_pretrained finds."""
    for pattern, words in (
        ("consolidated*", "no weights in Transformers' format, only consolidated ones"),
        ("*.gguf", "only GGUF weights, which from_pretrained takes by name (gguf_file=) and not by folder"),
    ):
        if any(fnmatchcase(name, pattern) for name in names):
            return words
    return "no weights"


def _lost_shards(folder: Path, names: set[str]) -> Iterator[str]:
    """Files that the weights' index names and that are missing."""
    for index in INDICES:
        value = read_json(folder / index) if index in names else None
        shards = value.get("weight_map") if isinstance(value, dict) else None
        if not isinstance(shards, dict):
            continue
        wanted = {str(name) for name in shards.values()}
        lost = sorted(wanted - names)
        if lost:
            yield f"{len(lost)} of {len(wanted)} files of weights ({', '.join(map(one_line, lost[:2]))}{', …' if len(lost) > 2 else ''})"
        return


def _cut(path: Path) -> bool:
    """Whether a safetensors file is shorter than its own header says."""
    size = header_bytes(str(path))
    try:
        with open(path, "rb") as file:
            length = int.from_bytes(file.read(8), "little")
        return size is None or path.stat().st_size < 8 + length + size
    except OSError:
        return False


def unfit(config: Mapping[str, Any], task: str) -> str:
    """Why a model is not made for `task`, by its config; empty when nothing speaks against it."""
    names = [str(name) for name in config.get("architectures") or ()]
    if task == TEXT and config.get("is_encoder_decoder") is True and not any("ForCausalLM" in name for name in names):
        return f"{one_line(names[0]) if names else 'it'} is an encoder-decoder, which answers a text and does not continue one"
    return ""


def packages_of(config: Mapping[str, Any]) -> tuple[str, ...]:
    """Distributions that these weights need besides the usual ones: by the way in which they are quantized."""
    quantization = config.get("quantization_config")
    method = quantization.get("quant_method") if isinstance(quantization, dict) else None
    return QUANTIZERS.get(str(method), ())
