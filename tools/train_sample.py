"""Trains the sample's three models that know a passage (or the pictures) by heart, and writes their bfloat16 weights.

    python tools/train_sample.py --out trnui/sample/trained [--steps N] [NAME ...]      one thread, fixed seed, about a minute

The weights are shipped, since their bits depend on the CPU's vector instructions; this script is their origin, and the
tests retrain them for what they say (tests/e2e/test_sample_training.py).
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import struct
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")

import torch
from transformers import AutoModelForCausalLM, AutoModelForImageTextToText, AutoProcessor, AutoTokenizer

from trnui.sample import models
from trnui.sample.texts import PASSAGE, PICTURES, QUESTIONS
from trnui.sample.weights import safetensors

STEPS = 400
Batch = dict[str, torch.Tensor]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=list(models.TRAINED))
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    for name in args.names:
        data = train(name, args.steps)
        (args.out / f"{name}.safetensors").write_bytes(data)
        print(name, len(data), hashlib.sha256(data).hexdigest())


def train(name: str, steps: int = STEPS, seed: int = 1) -> bytes:
    """The weights of `name` after `steps` steps from the drawn ones, as a safetensors file in bfloat16."""
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    model = replace(models.MODELS[name](), trained=False, power=12, powers={})
    with tempfile.TemporaryDirectory() as work:
        folder = Path(work) / name
        models.write(name, folder, models.drawn_weights(model))
        torch.manual_seed(seed)
        batches = Pictures(folder) if model.image else Sentences(folder, seed)
        auto = AutoModelForImageTextToText if model.image else AutoModelForCausalLM
        network = auto.from_pretrained(folder, dtype=torch.float32).train()
        optimizer = torch.optim.AdamW(network.parameters(), lr=3e-3, weight_decay=0.02, betas=(0.9, 0.98))
        schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 4e-3, total_steps=steps, pct_start=0.15)
        for step in range(steps):
            loss = torch.stack([network(**b).loss for b in batches.at(step)]).mean()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            optimizer.zero_grad()
        saved = Path(work) / "saved"
        network.save_pretrained(saved)
        return in_bfloat16((saved / "model.safetensors").read_bytes(), set(model.tensors))


def in_bfloat16(raw: bytes, names: set[str]) -> bytes:
    """A saved fp32 checkpoint as our own file: published names, sorted, nothing else in the header."""
    size = struct.unpack("<Q", raw[:8])[0]
    tensors = {}
    for name, info in json.loads(raw[8 : 8 + size]).items():
        if name != "__metadata__":
            start, end = info["data_offsets"]
            value = torch.frombuffer(bytearray(raw[8 + size + start : 8 + size + end]), dtype=torch.float32).bfloat16()
            published = re.sub(r"^vision_tower\.(?!vision_model\.)", "vision_tower.vision_model.", name)
            tensors[published] = (tuple(info["shape"]), value.view(torch.uint8).numpy().tobytes())
    if set(tensors) != names:
        raise ValueError(f"names differ: {sorted(set(tensors) ^ names)[:4]}")
    return safetensors(tensors)


class Sentences:
    """Windows of the passage, some from anywhere, some from a sentence's start, four from a prompt's first words."""

    def __init__(self, folder: Path, seed: int) -> None:
        tokenizer = AutoTokenizer.from_pretrained(folder)
        parts = [tokenizer(" " + s).input_ids for s in PASSAGE]
        self.ids = [t for p in parts for t in p]
        self.starts = [sum(map(len, parts[:n])) for n in range(len(parts))]
        # A prompt has no leading space, so its first tokens differ from those inside the passage.
        self.openings = [
            (tokenizer(s).input_ids, start + len(p)) for s, start, p in zip(PASSAGE, self.starts, parts, strict=True)
        ]
        self.draw = torch.Generator().manual_seed(seed)

    def at(self, step: int) -> list[Batch]:
        rows = [self._window(64) for _ in range(12)]
        picks = torch.randint(len(self.openings), (4,), generator=self.draw).tolist()
        rows += [(first + (self.ids + self.ids)[after:])[:64] for first, after in (self.openings[n] for n in picks)]
        x = torch.tensor(rows)
        return [{"input_ids": x, "labels": x}]

    def _window(self, length: int) -> list[int]:
        if torch.rand((), generator=self.draw) < 0.7:
            at = self.starts[int(torch.randint(len(self.starts), (), generator=self.draw))]
        else:
            at = int(torch.randint(len(self.ids) - 8, (), generator=self.draw))
        return [(self.ids + self.ids)[at + n] for n in range(length)]


class Pictures:
    """The three pictures under each wording of the question in turn; only the caption is learned."""

    def __init__(self, folder: Path) -> None:
        from PIL import Image

        self.processor: Any = AutoProcessor.from_pretrained(folder)
        images = {name: Image.open(folder / f"{name}.png") for name, _, _ in PICTURES}
        self.feeds = {q: [self._feed(images[name], q, text) for name, _, text in PICTURES] for q in QUESTIONS}

    def at(self, step: int) -> list[Batch]:
        return self.feeds[QUESTIONS[step % len(QUESTIONS)]]

    def _feed(self, image: Any, question: str, caption: str) -> Batch:
        content = [{"type": "image", "image": image}, {"type": "text", "text": question}]
        x = self.processor.apply_chat_template(
            [{"role": "user", "content": content}], tokenize=True, return_dict=True, return_tensors="pt",
            add_generation_prompt=True,
        )  # fmt: skip
        y = self.processor.tokenizer(caption, return_tensors="pt", add_special_tokens=False).input_ids
        ids = torch.cat([x["input_ids"], y], 1)
        labels = ids.clone()
        labels[:, : x["input_ids"].shape[1]] = -100
        return {
            "input_ids": ids,
            "attention_mask": torch.ones_like(ids),
            "pixel_values": x["pixel_values"],
            "labels": labels,
        }


if __name__ == "__main__":
    main()
