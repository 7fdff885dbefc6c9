"""Load a checkpoint, ask it about a picture, generate greedily with a static cache and torch.compile, print the answer.

    python3 run.py

Needs torch, transformers and pillow, and torch-neuronx for the device "neuron"; nothing of trnui. With CORES > 1 it starts one
process a core itself (no torchrun) and ends them together; the first rank that failed is named first. It is one file,
however long, because it must run without anything else of ours.
"""

# --- imports (of what stands above in the joined script)
from __future__ import annotations

import os
import sys
from typing import Any

from trnui_runner.payload.templates.base import (
    DTYPE,
    REVISION,
    SOURCE,
    TRUST_REMOTE_CODE,
    main,
    placement,
)

# --- end of imports

# --- settings
MODEL = "Qwen/Qwen2.5-VL-3B-Instruct"  # Hub id or folder
PROMPT = "What does the picture show?"
IMAGE: str | None = None  # a file, or a name in the checkpoint's folder; None: a red square is drawn
COMPILE_PREFILL = False  # True splits a vision tower into several graphs
# --- end of settings


def load() -> tuple[Any, Any, dict[str, Any]]:
    """The model on its device, its tokenizer, and the picture with its question as the model's processor encodes them."""
    from transformers import AutoModelForImageTextToText, AutoProcessor

    origin: dict[str, Any] = {"revision": REVISION, "trust_remote_code": TRUST_REMOTE_CODE}
    processor = AutoProcessor.from_pretrained(SOURCE, **origin)
    image = picture()
    if getattr(processor, "chat_template", None):
        content = [{"type": "image", "image": image}, {"type": "text", "text": PROMPT}]
        encoding = {"add_generation_prompt": True, "tokenize": True, "return_dict": True, "return_tensors": "pt"}
        inputs = processor.apply_chat_template([{"role": "user", "content": content}], **encoding)
    else:
        inputs = processor(images=image, text=f"{getattr(processor, 'image_token', '')}{PROMPT}", return_tensors="pt")
    model = AutoModelForImageTextToText.from_pretrained(SOURCE, dtype=DTYPE, **origin, **placement()).eval()
    return (
        model,
        processor.tokenizer,
        {name: placed(value, inputs["input_ids"].shape, model) for name, value in inputs.items()},
    )


def placed(value: Any, tokens: Any, model: Any) -> Any:
    """The picture goes to the device, in the model's dtype; what grows with the tokens stays on the host (see generate)."""
    if value.shape == tokens:
        return value
    return value.to(model.device, model.dtype) if value.is_floating_point() else value.to(model.device)


def picture() -> Any:
    from PIL import Image, ImageDraw

    if IMAGE is not None:
        beside = os.path.join(SOURCE, IMAGE)
        return Image.open(beside if os.path.exists(beside) else IMAGE).convert("RGB")
    drawn = Image.new("RGB", (224, 224), (255, 255, 255))
    ImageDraw.Draw(drawn).rectangle((56, 56, 167, 167), fill=(200, 40, 40))
    return drawn


if __name__ == "__main__":
    sys.exit(main(load))
