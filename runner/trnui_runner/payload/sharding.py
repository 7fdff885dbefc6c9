"""How many cores a checkpoint needs, and how it is split over them, decided from its config and its files' headers alone.

    python plan.py MODEL [--cores N] [--parallelism tp|ep] [--core-bytes B] [--host-cores H] …      one JSON object

`python plan.py` runs under the run's interpreter, by file path: the architecture without weights (meta device) says what
its plans shard. Weights that fit one core need none of that: `one_core` reads sizes only, and no torch is imported.
"""

from __future__ import annotations

import dataclasses
import json
import os
import re
import struct
import sys
from dataclasses import dataclass, field
from typing import Any

COUNTS = (1, 2, 4, 8, 16)
CORE_BYTES = 24 << 30  # of a Trainium2's logical core
FILL = 0.85  # of a core for weights; the rest is for the cache, activations, NEFFs and the runtime
HEADER = 100 << 20  # bytes of a safetensors header; the format's own limit
EXPERTS = ("num_experts", "num_local_experts", "n_routed_experts", "moe_num_experts")
# Rules that leave the whole weight on every rank.
WHOLE = ("replicate", "all_reduce", "sequence_parallel", "mla_kv_a_proj", "local_params", "moe_identity")


@dataclass(frozen=True)
class ModelFacts:
    """What placement depends on. `sizes`: bytes a rank for each count of cores (and any count asked for)."""

    model_class: str
    heads: int | None
    kv_heads: int | None
    experts: int | None
    tp: bool  # a tensor-parallel rule inside the layers: lm_head alone shards nothing that matters
    ep: bool
    sizes: dict[int, int] = field(default_factory=dict)


@dataclass(frozen=True)
class ShardingPlan:
    """`refused`: why it cannot work, in words; else where it goes. `passed`: counts that were passed over, with the reason."""

    cores: int
    parallelism: str  # "none", "tp", "ep"
    bytes_a_core: int | None = None
    model_class: str = ""
    refused: str | None = None
    passed: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        return dataclasses.asdict(self)


def decide(
    facts: ModelFacts,
    *,
    cores: int | None = None,
    parallelism: str | None = None,
    core_bytes: int = CORE_BYTES,
    host_cores: int | None = None,
) -> ShardingPlan:
    """The smallest count that holds the weights and divides heads and experts, or the count asked for, or why not."""
    way = parallelism or ("tp" if facts.tp else "ep" if facts.ep else None)
    if cores is not None:
        why = obstacle(facts, cores, way, core_bytes, host_cores)
        used = "none" if cores == 1 else way or "none"
        return ShardingPlan(cores, used, facts.sizes.get(cores), facts.model_class, why)
    passed: list[tuple[int, str]] = []
    for count in COUNTS:
        why = obstacle(facts, count, way, core_bytes, host_cores)
        if why is None:
            used = "none" if count == 1 else way or "none"
            return ShardingPlan(
                count, used, facts.sizes.get(count), facts.model_class, None, tuple(f"{n}: {w}" for n, w in passed)
            )
        passed.append((count, why))
    told = refusal(facts, passed, core_bytes)
    return ShardingPlan(COUNTS[-1], way or "none", None, facts.model_class, told, tuple(f"{n}: {w}" for n, w in passed))


def refusal(facts: ModelFacts, passed: list[tuple[int, str]], core_bytes: int) -> str:
    """Why none of the counts will do, each reason once: what holds for most counts first, as that is the cause; then the size."""
    counts: dict[str, list[int]] = {}
    large = ""
    for count, why in passed:
        if why == misfit(facts, count, core_bytes):
            large = why.replace(" do not fit ", f" do not fit on {count} core{'' if count == 1 else 's'} ", 1)
        else:
            counts.setdefault(why.replace(f"{count} cores", "# cores", 1), []).append(count)
    found = []
    for why, n in sorted(counts.items(), key=lambda item: -len(item[1])):
        others = f", nor do {' and '.join(map(str, n[1:]))}" if n[1:] and "do not divide" in why else ""
        found.append(why.replace("# cores", f"{n[0]} cores", 1) + others)
    return "; ".join([*found, *([large] if large else [])])


def misfit(facts: ModelFacts, count: int, core_bytes: int) -> str | None:
    size = facts.sizes.get(count)
    if size is None or size <= core_bytes * FILL:
        return None
    return f"{amount(size)} of weights a core do not fit ({amount(core_bytes * FILL)} of {amount(core_bytes)} are for them)"


def obstacle(facts: ModelFacts, count: int, way: str | None, core_bytes: int, host_cores: int | None) -> str | None:
    """Why `facts` cannot run on `count` cores; None when nothing speaks against it."""
    if not 1 <= count <= COUNTS[-1]:
        return f"{count} cores: the protocol's limit is {COUNTS[-1]}"
    if count > 1 and (way is None or (way == "tp" and not facts.tp) or (way == "ep" and not facts.ep)):
        kind = {"tp": "tensor-parallel", "ep": "expert-parallel", None: "tensor- or expert-parallel"}[way]
        other = " (but an expert-parallel one)" if facts.ep else " (but a tensor-parallel one)" if facts.tp else ""
        return f"{facts.model_class} has no {kind} plan inside its layers{other or ', so it runs on one core only'}"
    if host_cores is not None and count > host_cores:
        return f"it needs {count} cores, this host has {host_cores}"
    large = misfit(facts, count, core_bytes)
    if large or count == 1:
        return large
    if facts.tp:  # also under expert parallelism: the attention is sharded all the same
        for number, what in ((facts.heads, "attention heads"), (facts.kv_heads, "key-value heads")):
            if number and number % count:
                return f"{count} cores do not divide {number} {what}"
    if way == "ep" and (facts.experts or 0) % count:
        return f"{count} cores do not divide {facts.experts} experts"
    return None


def amount(size: float) -> str:
    return f"{size / 2**30:.1f} GiB" if size >= 2**30 / 10 else f"{size / 2**20:.1f} MiB"


# --- from a checkpoint's files, without torch


def one_core(total: int | None, core_bytes: int = CORE_BYTES) -> bool:
    """Do weights of `total` bytes fit one core? Then nothing else has to be known."""
    return total is not None and total <= core_bytes * FILL


def folder_bytes(folder: str) -> int | None:
    """Bytes of all tensors by the headers of the folder's safetensors files; None when there are none or one is damaged."""
    total, names = 0, [n for n in sorted(os.listdir(folder)) if n.endswith(".safetensors")]
    index = os.path.join(folder, "model.safetensors.index.json")
    if os.path.exists(index):  # other copies (consolidated.safetensors) may lie beside the ones in use
        try:
            with open(index, encoding="utf-8") as file:
                names = sorted({str(name) for name in json.load(file)["weight_map"].values()})
        except (OSError, ValueError, KeyError, AttributeError):
            return None
    elif "model.safetensors" in names:
        names = ["model.safetensors"]
    for name in names:
        size = header_bytes(os.path.join(folder, name))
        if size is None:
            return None
        total += size
    return total if names else None


def header_bytes(path: str) -> int | None:
    """Bytes of the tensors in one safetensors file: 8 bytes of length, then JSON with `data_offsets`."""
    try:
        with open(path, "rb") as file:
            (length,) = struct.unpack("<Q", file.read(8))
            if length > HEADER:
                return None
            head = json.loads(file.read(length))
        return sum(
            int(t["data_offsets"][1]) - int(t["data_offsets"][0]) for n, t in head.items() if n != "__metadata__"
        )
    except (OSError, ValueError, KeyError, TypeError, IndexError, AttributeError, struct.error):
        return None


# --- from the architecture, under the run's interpreter


def facts_of(model: str, task: str, counts: tuple[int, ...], origin: dict[str, Any], dtype: str = "auto") -> ModelFacts:
    """The architecture on the meta device: names, shapes and plans, no weights. Raises what transformers raises."""
    import torch
    import transformers

    config = transformers.AutoConfig.from_pretrained(model, **origin)
    auto = (
        transformers.AutoModelForImageTextToText if task == "image-text-to-text" else transformers.AutoModelForCausalLM
    )
    with torch.device("meta"):
        built = auto.from_config(config, trust_remote_code=origin.get("trust_remote_code", False))
    tp = {k: str(v) for k, v in (getattr(built, "tp_plan", None) or {}).items()}
    ep = {k: str(v) for k, v in (getattr(built, "ep_plan", None) or {}).items()}
    text = config.get_text_config()
    by_experts = not layered(tp) and layered(ep)
    parameters = [
        (name, p.numel() * (getattr(torch, dtype).itemsize if dtype != "auto" else p.element_size()))
        for name, p in built.named_parameters()
    ]
    total = sum(size for _, size in parameters)
    # A quantized checkpoint's tensors are smaller than its architecture says: then the files' headers are right.
    stored = folder_bytes(model) if os.path.isdir(model) and getattr(config, "quantization_config", None) else None
    scale = stored / total if stored and total else 1.0
    return ModelFacts(
        type(built).__name__,
        getattr(text, "num_attention_heads", None),
        getattr(text, "num_key_value_heads", None),
        next((getattr(text, k) for k in EXPERTS if getattr(text, k, None)), None),
        layered(tp),
        layered(ep),
        {n: round(bytes_a_rank(parameters, tp, ep if by_experts else {}, n) * scale) for n in counts},
    )


def layered(plan: dict[str, str]) -> bool:
    return any("layers." in name or ".h." in name for name in plan)


def bytes_a_rank(parameters: list[tuple[str, int]], tp: dict[str, str], ep: dict[str, str], count: int) -> float:
    total = 0.0
    for name, size in parameters:
        rule = rule_of(name, ep) or rule_of(name, tp)
        total += size if rule is None or rule.startswith(WHOLE) else size / count
    return total


def rule_of(parameter: str, plan: dict[str, str]) -> str | None:
    """The plan's rule for a parameter: by its own name with `*` for the layer's number, else by its module's."""
    name = re.sub(r"\.\d+(?=\.|$)", ".*", parameter)
    return plan.get(name) or plan.get(name.rpartition(".")[0])


def main() -> int:
    import argparse

    parser = argparse.ArgumentParser()
    parser.add_argument("model")
    parser.add_argument("--task", default="text-generation")
    parser.add_argument("--revision")
    parser.add_argument("--dtype", default="auto")
    parser.add_argument("--cores", type=int)
    parser.add_argument("--parallelism", choices=("tp", "ep"))
    parser.add_argument("--core-bytes", type=int, default=CORE_BYTES)
    parser.add_argument("--host-cores", type=int)
    parser.add_argument("--trust-remote-code", action="store_true")
    a = parser.parse_args()
    counts = COUNTS if a.cores is None else (*COUNTS, a.cores)
    try:
        facts = facts_of(
            a.model, a.task, counts, {"revision": a.revision, "trust_remote_code": a.trust_remote_code}, a.dtype
        )
    except Exception as error:  # noqa: BLE001  told as data: the caller shows it
        print(json.dumps({"error": f"{type(error).__name__}: {error}"}))
        return 1
    plan = decide(facts, cores=a.cores, parallelism=a.parallelism, core_bytes=a.core_bytes, host_cores=a.host_cores)
    print(json.dumps({**plan.to_json(), "facts": dataclasses.asdict(facts)}))
    return 0


if __name__ == "__main__":
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [p for p in sys.path if os.path.abspath(p or ".") != here]  # its names are no top-level modules
    os.environ["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"  # planning touches no device
    sys.exit(main())
