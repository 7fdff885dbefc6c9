"""Tiny checkpoints with random weights of every architecture that Transformers can make one of, and what each says plainly.

    python -m tests.architectures.tiny FOLDER [--only qwen3,gpt2]

One folder a model type, with `plain.json` in it: the 32 tokens of an ordinary greedy run on the CPU (eager, dynamic cache),
those of a run with a static cache (eager, too), or the error of either. It knows nothing of the runner: it is its oracle.
"""

from __future__ import annotations

import argparse
import copy
import json
import os
import sys
import traceback
from pathlib import Path
from typing import Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")

import torch
import transformers
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES as CAUSAL
from transformers.models.auto.modeling_auto import MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES as SEQ2SEQ

PROMPT = "The compiler turns every graph into"  # the bundled script's
NEW_TOKENS, STD, VOCABULARY = 32, 0.2, 320
# The same few sizes under the many names that configurations have for them.
SIZES: dict[str, Any] = {
    "vocab_size": VOCABULARY, "hidden_size": 32, "d_model": 32, "n_embd": 32, "dim": 32, "model_dim": 32, "embedding_size": 32,
    "word_embed_proj_dim": 32, "intermediate_size": 64, "ffn_dim": 64, "decoder_ffn_dim": 64, "encoder_ffn_dim": 64, "n_inner": 64,
    "ffn_hidden_size": 64, "d_ff": 64, "moe_intermediate_size": 32, "shared_expert_intermediate_size": 32,
    "num_hidden_layers": 2, "n_layer": 2, "num_layers": 2, "decoder_layers": 2, "encoder_layers": 2, "n_layers": 2,
    "num_attention_heads": 4, "n_head": 4, "num_heads": 4, "decoder_attention_heads": 4, "encoder_attention_heads": 4, "n_heads": 4,
    "num_key_value_heads": 2, "num_kv_heads": 2, "head_dim": 8, "d_kv": 8, "rotary_dim": 4, "kv_channels": 8,
    "max_position_embeddings": 128, "n_positions": 128, "n_ctx": 128, "max_seq_len": 128, "max_sequence_length": 128,
    "num_experts": 4, "num_local_experts": 4, "n_routed_experts": 4, "moe_num_experts": 4, "num_experts_per_tok": 2, "moe_k": 2,
    "n_group": 1, "topk_group": 1, "first_k_dense_replace": 1, "n_shared_experts": 1, "q_lora_rank": 16, "kv_lora_rank": 16,
    "qk_rope_head_dim": 4, "qk_nope_head_dim": 8, "v_head_dim": 8, "state_size": 8, "mamba_d_state": 8, "time_step_rank": 4,
    "mamba_n_heads": 4, "mamba_d_head": 16, "mamba_expand": 2, "mamba_n_groups": 1, "n_groups": 1, "mamba_num_heads": 4,
    "mamba_head_dim": 16, "ssm_state_size": 8, "attention_window": 16, "lru_width": 32, "attention_hidden_size": 32,
    "linear_key_head_dim": 8, "linear_value_head_dim": 8, "linear_num_key_heads": 2, "linear_num_value_heads": 4,
    "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "sliding_window": 64, "hidden_size_per_layer_input": 8,
    "vocab_size_per_layer_input": VOCABULARY, "num_kv_shared_layers": 0, "laurel_rank": 4, "type_vocab_size": 2,
}  # fmt: skip
OWN: dict[str, dict[str, Any]] = {  # what one architecture needs besides
    "mamba2": {"head_dim": 16, "num_heads": 4, "expand": 2},
    "openai-gpt": {"n_positions": 128},
    "jamba": {"attn_layer_period": 2, "attn_layer_offset": 1, "expert_layer_period": 2, "expert_layer_offset": 1},
    "granitemoehybrid": {"layer_types": ["mamba", "attention"]},
    "gpt_neo": {"attention_types": [[["global", "local"], 1]], "window_size": 16},
}


def tokenizer() -> Any:
    """Bytes: any text is encodable, nothing has to be trained."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {word: n for n, word in enumerate(["<pad>", "<s>", "</s>", *alphabet])}
    made = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=made, pad_token="<pad>", bos_token="<s>", eos_token="</s>"
    )


def configuration(kind: str) -> Any:
    """The smallest configuration of `kind` that its own defaults and SIZES give. Raises what its class raises."""
    cls = transformers.CONFIG_MAPPING[kind]
    usual = cls()
    given = {name: value for name, value in SIZES.items() if settable(usual, name)}
    for name in ("n_inner", "head_dim", "num_key_value_heads"):
        if getattr(usual, name, 0) is None:
            given.pop(name, None)
    if "kv_lora_rank" in given and "num_key_value_heads" in given:  # latent attention has as many of both
        given |= {"num_key_value_heads": SIZES["num_attention_heads"], "head_dim": SIZES["qk_rope_head_dim"]}
    layers = getattr(usual, "layer_types", None) if settable(usual, "layer_types") else None
    if layers:
        given["layer_types"] = [layers[0], layers[-1]]
    return cls(**{**given, **OWN.get(kind, {})})


def settable(config: Any, name: str) -> bool:
    try:
        known = hasattr(config, name)
    except Exception:  # some are asked for layer by layer
        return False
    fixed = getattr(type(config), name, None)
    return known and not (isinstance(fixed, property) and fixed.fset is None)


def model_of(kind: str) -> Any:
    cls, config = getattr(transformers, CAUSAL[kind]), configuration(kind)
    with torch.device("meta"):
        size = sum(p.numel() for p in cls(copy.deepcopy(config)).parameters())
    if size > 20_000_000:
        raise ValueError(f"{size / 1e6:.0f} M parameters are not tiny")
    torch.manual_seed(0)
    model = cls(config).eval()
    with torch.no_grad():
        for name, parameter in sorted(model.named_parameters()):
            if parameter.ndim >= 2 and parameter.is_floating_point():
                parameter.normal_(0, STD, generator=torch.Generator().manual_seed(len(name) + parameter.numel()))
    model.generation_config.eos_token_id = None
    model.generation_config.pad_token_id = 0
    return model


def said(model: Any, inputs: Any, **more: Any) -> dict[str, Any]:
    """`{tokens}` or `{error}` of an eager greedy run."""
    try:
        with torch.no_grad():
            out = model.generate(
                **inputs, max_new_tokens=NEW_TOKENS, do_sample=False, pad_token_id=0, disable_compile=True, **more
            )
    except Exception as error:
        return {"error": f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"}
    start = 0 if model.config.is_encoder_decoder else inputs["input_ids"].shape[1]
    return {"tokens": out[0, start:].tolist()}


def make_config(kind: str, folder: Path) -> str:
    """A model that answers a text and does not continue one: its config says so, and no run needs its weights."""
    config = transformers.CONFIG_MAPPING[kind]()
    if not config.is_encoder_decoder:
        return "no encoder-decoder by its config"
    config.architectures = [SEQ2SEQ[kind]]
    config.save_pretrained(folder)
    tokenizer().save_pretrained(folder)
    told = {"class": SEQ2SEQ[kind], "plain": {}, "static": {}, "missing": [], "encoder_decoder": True}
    (folder / "plain.json").write_text(json.dumps(told))
    return ""


def make(kind: str, folder: Path) -> str:
    """The checkpoint and its plain.json; empty, or why there is none."""
    try:
        model = model_of(kind)
        model.save_pretrained(folder)
        words = tokenizer()
        words.save_pretrained(folder)
        loaded, info = transformers.AutoModelForCausalLM.from_pretrained(folder, output_loading_info=True)
        inputs = {k: v for k, v in words(PROMPT, return_tensors="pt").items() if k in ("input_ids", "attention_mask")}
        plain = said(loaded.eval(), inputs)
        static = said(loaded, inputs, cache_implementation="static")
    except Exception as error:
        if os.environ.get("TINY_TRACEBACK"):
            traceback.print_exc()
        return f"{type(error).__name__}: {' '.join(str(error).split())[:160]}"
    if "error" in plain:
        return f"says nothing in Transformers alone: {plain['error'][:120]}"
    missing = sorted(map(str, info["missing_keys"]))
    told = {
        "class": CAUSAL[kind],
        "plain": plain,
        "static": static,
        "missing": missing,
        "encoder_decoder": loaded.config.is_encoder_decoder,
    }
    (folder / "plain.json").write_text(json.dumps(told))
    return ""


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default="")
    a = parser.parse_args()
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    torch.set_num_threads(1)
    unmade = {}
    for kind in a.only.split(",") if a.only else sorted({*CAUSAL, *SEQ2SEQ}):
        folder = a.folder / kind
        if not (folder / "plain.json").exists():
            why = make(kind, folder) if kind in CAUSAL else make_config(kind, folder)
            if why:
                unmade[kind] = why
                print(f"{kind}: {why}", file=sys.stderr, flush=True)
    (a.folder / "unmade.json").write_text(json.dumps(unmade, indent=1))
    print(f"{sum(1 for _ in a.folder.glob('*/plain.json'))} made, {len(unmade)} not")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
