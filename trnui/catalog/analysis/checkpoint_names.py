"""What a checkpoint's name says of its architecture and size: `Qwen/Qwen3-8B-Base` is of the family `qwen3`, of size `8b`.

Names are all that the dataset has; a sibling found by its name is said to be one by its name.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

# 8B, 0.6b, 135M, 8x7B, 30B-A3B
_SIZE: Final = re.compile(r"(?<![a-z0-9.])((?:\d+x)?\d+(?:\.\d+)?[bm](?:-a\d+(?:\.\d+)?[bm])?)(?![a-z0-9])")
_SEPARATORS: Final = re.compile(r"[-_ ]+")
# Parts of a name that mean another architecture or other weights of the same one.
MODALITIES: Final = frozenset({"vl", "vision", "omni", "audio", "image", "video", "speech", "moe", "mtp"})
FORMATS: Final = frozenset({"awq", "gptq", "fp8", "fp4", "nvfp4", "mxfp4", "int8", "int4", "gguf", "bnb", "4bit", "8bit", "mlx", "exl2", "w4a16", "w8a8"})  # fmt: skip


@dataclass(frozen=True)
class CheckpointName:
    """All in lower case. `rest`: the parts behind the size; `formats` are those of them that name a quantization."""

    owner: str
    family: str
    size: str
    modalities: frozenset[str]
    formats: frozenset[str]
    rest: tuple[str, ...]


def parsed(model: str) -> CheckpointName | None:
    """None for a name without a size: of such nothing can be said."""
    owner, _, name = model.lower().rpartition("/")
    found = _SIZE.search(name)
    if found is None or not found.start():
        return None
    family = _SEPARATORS.sub("-", name[: found.start()]).strip("-")
    rest = tuple(part for part in _SEPARATORS.split(name[found.end() :]) if part)
    parts = {*rest, *family.split("-")}
    if not family:
        return None
    return CheckpointName(owner, family, found[1], frozenset(parts & MODALITIES), frozenset(parts & FORMATS), rest)


def siblings(one: CheckpointName, other: CheckpointName) -> bool:
    """Whether two names mean the same architecture and size, and neither is a quantized form of the other."""
    alike = (one.family, one.size, one.modalities) == (other.family, other.size, other.modalities)
    return alike and one.formats == other.formats


def distance(one: CheckpointName, other: CheckpointName) -> tuple[bool, int]:
    """How far two siblings are apart: another owner last, then by how many parts of their names differ."""
    return one.owner != other.owner, len(set(one.rest) ^ set(other.rest))
