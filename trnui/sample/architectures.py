"""The sample's architectures: configurations, and tensors with the names and shapes of published checkpoints.

One tensor an expert, so every Transformers version reads them.
"""

from __future__ import annotations

from typing import Any

from trnui.sample.bpe import SPECIAL, VOCAB
from trnui.sample.tensors import (
    BASE,
    HEADS,
    INNER,
    KV,
    LAYERS,
    Checkpoint,
    D,
    H,
    Shape,
    attention,
    decoder,
    experts,
    mlp,
)


def dense(
    model_type: str, cls: str, norm: bool, heads: int = HEADS, kv: int = KV, h: int = H, i: int = INNER, **kw: Any
) -> Checkpoint:
    layer = {n: attention("self_attn.", heads, kv, h, norm) | mlp("mlp.", h, i) for n in range(LAYERS)}
    extra: dict[str, Any] = {
        "num_attention_heads": heads,
        "num_key_value_heads": kv,
        "hidden_size": h,
        "intermediate_size": i,
    }
    return Checkpoint({"architectures": [cls], "model_type": model_type, **BASE, **extra}, decoder(layer, h), **kw)


def qwen3_moe(n: int = 8, **kw: Any) -> Checkpoint:
    layer = {k: attention("self_attn.", norm=True) | experts("mlp.", n, 32) for k in range(LAYERS)}
    extra: dict[str, Any] = {
        "num_experts": n,
        "num_experts_per_tok": 2,
        "moe_intermediate_size": 32,
        "decoder_sparse_step": 1,
        "norm_topk_prob": True,
        "mlp_only_layers": [],
    }
    return Checkpoint(
        {"architectures": ["Qwen3MoeForCausalLM"], "model_type": "qwen3_moe", **BASE, **extra}, decoder(layer), **kw
    )


def gpt_oss(n: int = 8, i: int = INNER, trained: bool = False) -> Checkpoint:
    part = attention("self_attn.", bias=True) | {"self_attn.sinks": (HEADS,)}
    part |= {
        "mlp.router.weight": (n, H),
        "mlp.router.bias": (n,),
        "mlp.experts.gate_up_proj": (n, H, 2 * i),
        "mlp.experts.gate_up_proj_bias": (n, 2 * i),
        "mlp.experts.down_proj": (n, i, H),
        "mlp.experts.down_proj_bias": (n, H),
    }
    extra: dict[str, Any] = {
        "intermediate_size": i,
        "num_local_experts": n,
        "num_experts_per_tok": 2,
        "sliding_window": 64,
        "layer_types": ["sliding_attention", "full_attention"],
    }
    return Checkpoint(
        {"architectures": ["GptOssForCausalLM"], "model_type": "gpt_oss", **BASE, **extra},
        decoder(dict.fromkeys(range(LAYERS), part)),
        trained=trained,
    )


def mamba(trained: bool = False) -> Checkpoint:
    inner, state, rank = 2 * H, 8, 4
    t: dict[str, Shape] = {"backbone.embeddings.weight": (VOCAB, H), "backbone.norm_f.weight": (H,)}
    for n in range(LAYERS):
        p = f"backbone.layers.{n}."
        t |= {f"{p}norm.weight": (H,)} | {
            f"{p}mixer.{k}": s
            for k, s in {
                "A_log": (inner, state),
                "D": (inner,),
                "conv1d.weight": (inner, 1, 4),
                "conv1d.bias": (inner,),
                "dt_proj.weight": (inner, rank),
                "dt_proj.bias": (inner,),
                "in_proj.weight": (2 * inner, H),
                "out_proj.weight": (H, inner),
                "x_proj.weight": (rank + 2 * state, inner),
            }.items()
        }
    cfg = {
        k: BASE[k]
        for k in (
            "hidden_size",
            "num_hidden_layers",
            "vocab_size",
            "pad_token_id",
            "bos_token_id",
            "eos_token_id",
            "dtype",
            "torch_dtype",
        )
    }
    return Checkpoint(
        {
            "architectures": ["MambaForCausalLM"],
            "model_type": "mamba",
            **cfg,
            "state_size": state,
            "time_step_rank": rank,
            "intermediate_size": inner,
            "expand": 2,
            "conv_kernel": 4,
            "tie_word_embeddings": True,
        },
        t,
        power=10,
        trained=trained,
    )


def gpt2(trained: bool = False) -> Checkpoint:
    t: dict[str, Shape] = {
        "transformer.wte.weight": (VOCAB, H),
        "transformer.wpe.weight": (512, H),
        "transformer.ln_f.weight": (H,),
        "transformer.ln_f.bias": (H,),
    }
    for n in range(LAYERS):
        t |= {
            f"transformer.h.{n}.{k}": s
            for k, s in {
                "ln_1.weight": (H,),
                "ln_1.bias": (H,),
                "ln_2.weight": (H,),
                "ln_2.bias": (H,),
                "attn.c_attn.weight": (H, 3 * H),
                "attn.c_attn.bias": (3 * H,),
                "attn.c_proj.weight": (H, H),
                "attn.c_proj.bias": (H,),
                "mlp.c_fc.weight": (H, 4 * H),
                "mlp.c_fc.bias": (4 * H,),
                "mlp.c_proj.weight": (4 * H, H),
                "mlp.c_proj.bias": (H,),
            }.items()
        }
    return Checkpoint(
        {
            "architectures": ["GPT2LMHeadModel"],
            "model_type": "gpt2",
            "vocab_size": VOCAB,
            "n_positions": 512,
            "n_embd": H,
            "n_layer": LAYERS,
            "n_head": HEADS,
            "pad_token_id": 0,
            "bos_token_id": 1,
            "eos_token_id": None,
            "tie_word_embeddings": True,
            "dtype": "bfloat16",
            "torch_dtype": "bfloat16",
        },
        t,
        trained=trained,
    )


def hybrid(trained: bool = False) -> Checkpoint:
    """Qwen3-Next: three layers of linear attention, one of full attention, shared and routed experts."""
    common = experts("mlp.", 4, 32) | mlp("mlp.shared_expert.", i=32) | {"mlp.shared_expert_gate.weight": (1, H)}
    linear: dict[str, Shape] = {
        "linear_attn.A_log": (4,),
        "linear_attn.dt_bias": (4,),
        "linear_attn.conv1d.weight": (128, 1, 4),
        "linear_attn.norm.weight": (16,),
        "linear_attn.in_proj_ba.weight": (8, H),
        "linear_attn.in_proj_qkvz.weight": (192, H),
        "linear_attn.out_proj.weight": (H, 64),
    }
    full = attention("self_attn.", norm=True) | {"self_attn.q_proj.weight": (2 * HEADS * D, H)}
    extra: dict[str, Any] = {
        "num_hidden_layers": 4,
        "layer_types": ["linear_attention"] * 3 + ["full_attention"],
        "linear_num_value_heads": 4,
        "linear_num_key_heads": 2,
        "linear_key_head_dim": 16,
        "linear_value_head_dim": 16,
        "linear_conv_kernel_dim": 4,
        "num_experts": 4,
        "num_experts_per_tok": 2,
        "moe_intermediate_size": 32,
        "shared_expert_intermediate_size": 32,
        "decoder_sparse_step": 1,
        "norm_topk_prob": True,
        "mlp_only_layers": [],
        "partial_rotary_factor": 0.25,
    }
    return Checkpoint(
        {"architectures": ["Qwen3NextForCausalLM"], "model_type": "qwen3_next", **BASE, **extra},
        decoder({n: common | (full if n == 3 else linear) for n in range(4)}),
        power=10,
        trained=trained,
    )


def llava(trained: bool = False) -> Checkpoint:
    v, t = 32, decoder({n: attention("self_attn.") | mlp("mlp.") for n in range(LAYERS)}, prefix="language_model.")
    t |= {
        "multi_modal_projector.linear_1.weight": (H, v),
        "multi_modal_projector.linear_1.bias": (H,),
        "multi_modal_projector.linear_2.weight": (H, H),
        "multi_modal_projector.linear_2.bias": (H,),
    }
    p = "vision_tower.vision_model."
    t |= {
        f"{p}embeddings.class_embedding": (v,),
        f"{p}embeddings.patch_embedding.weight": (v, 3, 14, 14),
        f"{p}embeddings.position_embedding.weight": (17, v),
    }
    norms = [f"{p}pre_layrnorm", f"{p}post_layernorm"]
    for n in range(2):
        q = f"{p}encoder.layers.{n}."
        norms += [f"{q}layer_norm1", f"{q}layer_norm2"]
        t |= {
            f"{q}mlp.fc1.weight": (64, v),
            f"{q}mlp.fc1.bias": (64,),
            f"{q}mlp.fc2.weight": (v, 64),
            f"{q}mlp.fc2.bias": (v,),
        }
        for k in ("q_proj", "k_proj", "v_proj", "out_proj"):
            t |= {f"{q}self_attn.{k}.weight": (v, v), f"{q}self_attn.{k}.bias": (v,)}
    for norm in norms:
        t |= {f"{norm}.weight": (v,), f"{norm}.bias": (v,)}
    vision = {
        "model_type": "clip_vision_model",
        "hidden_size": v,
        "intermediate_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "image_size": 56,
        "patch_size": 14,
        "projection_dim": 32,
    }
    image = SPECIAL.index("<image>")
    return Checkpoint(
        {
            "architectures": ["LlavaForConditionalGeneration"],
            "model_type": "llava",
            "vision_config": vision,
            "text_config": {"model_type": "llama", **BASE},
            "image_token_index": image,
            "image_token_id": image,
            "image_seq_length": 16,
            "vision_feature_layer": -2,
            "vision_feature_select_strategy": "default",
            "dtype": "bfloat16",
            "torch_dtype": "bfloat16",
            "tie_word_embeddings": False,
        },
        t,
        image=True,
        trained=trained,
        powers={"patch_embedding": 11},
    )


def bloom() -> Checkpoint:
    """Positions by ALiBi; the static cache fails in transformers 5.18 and works in 5.24."""
    t: dict[str, Shape] = {"transformer.word_embeddings.weight": (VOCAB, H)}
    norms = ["transformer.word_embeddings_layernorm", "transformer.ln_f"]
    for n in range(LAYERS):
        p = f"transformer.h.{n}."
        norms += [f"{p}input_layernorm", f"{p}post_attention_layernorm"]
        for k, (out, inner) in {
            "self_attention.query_key_value": (3 * H, H),
            "self_attention.dense": (H, H),
            "mlp.dense_h_to_4h": (4 * H, H),
            "mlp.dense_4h_to_h": (H, 4 * H),
        }.items():
            t |= {f"{p}{k}.weight": (out, inner), f"{p}{k}.bias": (out,)}
    for norm in norms:
        t |= {f"{norm}.weight": (H,), f"{norm}.bias": (H,)}
    return Checkpoint(
        {
            "architectures": ["BloomForCausalLM"],
            "model_type": "bloom",
            "vocab_size": VOCAB,
            "hidden_size": H,
            "n_layer": LAYERS,
            "n_head": HEADS,
            "pad_token_id": 0,
            "bos_token_id": 1,
            "eos_token_id": None,
            "dtype": "bfloat16",
            "torch_dtype": "bfloat16",
        },
        t,
    )


def electra() -> Checkpoint:
    """An encoder with a language head: it sees both ways, so the empty slots of a static cache change its answer."""
    t: dict[str, Shape] = {
        f"electra.embeddings.{k}.weight": (n, H)
        for k, n in (("word_embeddings", VOCAB), ("position_embeddings", 512), ("token_type_embeddings", 2))
    }
    norms = ["electra.embeddings.LayerNorm", "generator_predictions.LayerNorm"]
    linear: dict[str, tuple[int, int]] = {"generator_predictions.dense": (H, H)}
    for n in range(LAYERS):
        p = f"electra.encoder.layer.{n}."
        norms += [f"{p}attention.output.LayerNorm", f"{p}output.LayerNorm"]
        linear |= {f"{p}attention.self.{k}": (H, H) for k in ("query", "key", "value")}
        linear |= {
            f"{p}attention.output.dense": (H, H),
            f"{p}intermediate.dense": (INNER, H),
            f"{p}output.dense": (H, INNER),
        }
    for k, shape in linear.items():
        t |= {f"{k}.weight": shape, f"{k}.bias": shape[:1]}
    for k in norms:
        t |= {f"{k}.weight": (H,), f"{k}.bias": (H,)}
    t["generator_lm_head.bias"] = (VOCAB,)
    return Checkpoint(
        {
            "architectures": ["ElectraForCausalLM"],
            "model_type": "electra",
            "vocab_size": VOCAB,
            "embedding_size": H,
            "hidden_size": H,
            "num_hidden_layers": LAYERS,
            "num_attention_heads": HEADS,
            "intermediate_size": INNER,
            "max_position_embeddings": 512,
            "type_vocab_size": 2,
            "pad_token_id": 0,
            "bos_token_id": 1,
            "eos_token_id": None,
            "dtype": "bfloat16",
            "torch_dtype": "bfloat16",
        },
        t,
    )
