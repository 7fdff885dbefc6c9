"""The sample's checkpoints: what there is, and a folder of any of them on this machine, made when it is asked for.

Three models were trained to know a few English sentences by heart (shipped in trained/, digests below; tools/train_sample.py
made them); all others have random weights. None of them is a model that anybody uses.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from trnui.sample import architectures as made
from trnui.sample.bpe import SPECIAL, tokenizer_json
from trnui.sample.tensors import Checkpoint
from trnui.sample.texts import PASSAGE, PICTURES, QUESTION
from trnui.sample.weights import safetensors, square, values
from trnui_runner.common.errors import UserError
from trnui_runner.common.files import cache_dir

OWNER: Final = "trnui-sample"  # model ids are trnui-sample/NAME: no such account, nothing to fetch
MODELS: Final[Mapping[str, Callable[[], Checkpoint]]] = {
    "recites": lambda: made.dense("qwen3", "Qwen3ForCausalLM", norm=True, trained=True),
    "recites-moe": lambda: made.qwen3_moe(trained=True),
    "recites-picture": lambda: made.llava(trained=True),
    "qwen3": lambda: made.dense("qwen3", "Qwen3ForCausalLM", norm=True),
    "llama": lambda: made.dense("llama", "LlamaForCausalLM", norm=False),
    "qwen3-moe": made.qwen3_moe,
    "gpt-oss": made.gpt_oss,
    "mamba": made.mamba,
    "gpt2": made.gpt2,
    "hybrid": made.hybrid,
    "llava": made.llava,
    "bloom": made.bloom,
    "electra": made.electra,
    "odd-heads": lambda: made.dense("llama", "LlamaForCausalLM", norm=False, heads=6, kv=3, h=96),
    "new-type": lambda: made.dense("internlm3", "InternLM3ForCausalLM", norm=False),
}
TRAINED: Final = {
    "recites": "9c880062e1721655",
    "recites-moe": "f48bc15c19be280e",
    "recites-picture": "a1c6d90c265f304c",
}  # first 16 digits of the SHA-256 of trained/NAME.safetensors
CHAT: Final = (
    "{% for m in messages %}{% if m['content'] is string %}{{ m['content'] }}{% else %}{% for c in m['content'] %}"
    "{% if c['type'] == 'image' %}<image>{% else %}{{ c['text'] }}{% endif %}{% endfor %}{% endif %} {% endfor %}"
)


def name_of(model_id: str) -> str | None:
    """NAME if `model_id` is one of the sample's."""
    owner, _, name = model_id.partition("/")
    return name if owner == OWNER and name in MODELS else None


def folder_of(model_id: str) -> Path | None:
    """The checkpoint's folder in the cache, built now if it is not there (0.1 s); None for any other model.

    Raises UserError when a shipped file is damaged, OSError when the disk is full.
    """
    name = name_of(model_id)
    if name is None:
        return None
    from trnui import __version__

    folder = cache_dir() / "sample" / __version__ / name
    if not (folder / "model.safetensors").exists():
        folder.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        part = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{name}."))
        try:
            write(name, part)
            if folder.exists():
                shutil.rmtree(folder)
            os.replace(part, folder)
        except OSError:
            shutil.rmtree(part, ignore_errors=True)
            if not (folder / "model.safetensors").exists():  # else another process was quicker
                raise
    return folder


def write(name: str, out: Path, weights: bytes | None = None) -> None:
    """Writes checkpoint NAME into `out`. `weights` stand in for the shipped ones (training does that)."""
    model = MODELS[name]()
    out.mkdir(parents=True, exist_ok=True)
    _json(out / "config.json", model.config)
    _json(out / "generation_config.json", {"pad_token_id": 0, "bos_token_id": 1})
    _json(out / "tokenizer.json", tokenizer_json("\n".join([*PASSAGE, *(p[2] for p in PICTURES), QUESTION])))
    _json(out / "tokenizer_config.json", _tokenizer_config(model.image))
    if model.image:
        _picture_files(out)
    if weights is None:
        weights = _shipped(name) if model.trained else drawn_weights(model)
    (out / "model.safetensors").write_bytes(weights)


def drawn_weights(model: Checkpoint) -> bytes:
    return safetensors({n: (s, values(model, n, s)) for n, s in model.tensors.items()})


def _shipped(name: str) -> bytes:
    file = Path(__file__).parent / "trained" / f"{name}.safetensors"
    data = file.read_bytes()
    if not hashlib.sha256(data).hexdigest().startswith(TRAINED[name]):
        raise UserError(f"{file}: not the weights that were shipped (SHA-256 differs)", "Install trnui again.")
    return data


def _json(path: Path, value: object) -> None:
    path.write_text(json.dumps(value, indent=2, sort_keys=True) + "\n", encoding="utf-8")


def _tokenizer_config(image: bool) -> dict[str, Any]:
    return {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "pad_token": SPECIAL[0],
        "bos_token": SPECIAL[1],
        "eos_token": SPECIAL[2],
        "clean_up_tokenization_spaces": False,
        "model_max_length": 2048,
        "chat_template": CHAT,
        **({"image_token": "<image>"} if image else {}),
    }


def _picture_files(out: Path) -> None:
    """Processor files that need Pillow alone, no resampling (`do_resize` off), and the pictures the model was shown."""
    processor = {
        "image_processor_type": "CLIPImageProcessor",
        "do_resize": False,
        "do_center_crop": False,
        "do_rescale": True,
        "do_normalize": True,
        "do_convert_rgb": True,
        "image_mean": [0.5] * 3,
        "image_std": [0.5] * 3,
        "rescale_factor": 1 / 255,
        "resample": 3,
        "size": {"shortest_edge": 56},
        "crop_size": {"height": 56, "width": 56},
    }
    _json(out / "preprocessor_config.json", processor)
    _json(
        out / "processor_config.json",
        {
            "processor_class": "LlavaProcessor",
            "image_token": "<image>",
            "patch_size": 14,
            "num_additional_image_tokens": 1,
            "vision_feature_select_strategy": "default",
            "image_processor": processor,
        },
    )
    (out / "chat_template.jinja").write_text(CHAT, encoding="utf-8")
    for name, colour, _ in PICTURES:
        (out / f"{name}.png").write_bytes(square(colour))
