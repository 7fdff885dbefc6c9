"""What a sample checkpoint is made of: names and shapes of the tensors that decoders share, as published ones call them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from trnui.sample.bpe import VOCAB

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Checkpoint:
    """One model: config.json, the tensors by name, and how their values are made."""

    config: dict[str, Any]
    tensors: dict[str, Shape]
    power: int = 9  # values are (2b-255) / 2**power: std 0.29 at 9, 0.14 at 10
    powers: dict[str, int] = field(default_factory=dict)  # by a part of the name
    image: bool = False
    trained: bool = False
    seed: int = 0


H, INNER, LAYERS, HEADS, KV, D = 64, 128, 2, 4, 4, 16
BASE: dict[str, Any] = {
    "hidden_size": H,
    "intermediate_size": INNER,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": HEADS,
    "num_key_value_heads": KV,
    "head_dim": D,
    "max_position_embeddings": 2048,
    "vocab_size": VOCAB,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": None,
    "rms_norm_eps": 1e-6,
    "rope_theta": 10000.0,
    "tie_word_embeddings": False,
    "hidden_act": "silu",
    "dtype": "bfloat16",
    "torch_dtype": "bfloat16",
}


def attention(
    p: str, heads: int = HEADS, kv: int = KV, h: int = H, norm: bool = False, bias: bool = False
) -> dict[str, Shape]:
    t: dict[str, Shape] = {
        f"{p}q_proj.weight": (heads * D, h),
        f"{p}k_proj.weight": (kv * D, h),
        f"{p}v_proj.weight": (kv * D, h),
        f"{p}o_proj.weight": (h, heads * D),
    }
    if norm:
        t |= {f"{p}q_norm.weight": (D,), f"{p}k_norm.weight": (D,)}
    if bias:
        t |= {
            f"{p}q_proj.bias": (heads * D,),
            f"{p}k_proj.bias": (kv * D,),
            f"{p}v_proj.bias": (kv * D,),
            f"{p}o_proj.bias": (h,),
        }
    return t


def mlp(p: str, h: int = H, i: int = INNER) -> dict[str, Shape]:
    return {f"{p}gate_proj.weight": (i, h), f"{p}up_proj.weight": (i, h), f"{p}down_proj.weight": (h, i)}


def experts(p: str, n: int, i: int) -> dict[str, Shape]:
    t: dict[str, Shape] = {f"{p}gate.weight": (n, H)}
    for e in range(n):
        t |= mlp(f"{p}experts.{e}.", i=i)
    return t


def decoder(layer: dict[int, dict[str, Shape]], h: int = H, vocab: int = VOCAB, prefix: str = "") -> dict[str, Shape]:
    t: dict[str, Shape] = {
        f"{prefix}model.embed_tokens.weight": (vocab, h),
        f"{prefix}lm_head.weight": (vocab, h),
        f"{prefix}model.norm.weight": (h,),
    }
    for n, parts in layer.items():
        p = f"{prefix}model.layers.{n}."
        t |= {f"{p}input_layernorm.weight": (h,), f"{p}post_attention_layernorm.weight": (h,)}
        t |= {p + k: s for k, s in parts.items()}
    return t
