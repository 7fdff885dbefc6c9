"""How many cores: the fewest that hold the weights and divide the heads, or the reason why none does."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import pytest

from trnui_runner.payload.sharding import (
    COUNTS,
    ModelFacts,
    bytes_a_rank,
    decide,
    folder_bytes,
    header_bytes,
    layered,
    one_core,
    rule_of,
)

GIB = 1 << 30


def facts(
    total: float = 10, *, tp: bool = True, ep: bool = False, heads: int = 32, kv: int = 8, experts: int | None = None
) -> ModelFacts:
    """A model of `total` GiB that shards evenly."""
    split = tp or ep
    return ModelFacts("M", heads, kv, experts, tp, ep, {n: int(total * GIB / (n if split else 1)) for n in COUNTS})


def test_small_model_takes_one_core() -> None:
    plan = decide(facts(20))
    assert (plan.cores, plan.parallelism, plan.refused) == (1, "none", None)


@pytest.mark.parametrize(("total", "cores"), [(20.4, 1), (21, 2), (60, 4), (140, 8)])
def test_fewest_cores_that_hold_the_weights(total: float, cores: int) -> None:
    plan = decide(facts(total))
    assert (plan.cores, plan.refused) == (cores, None)
    assert plan.parallelism == ("tp" if cores > 1 else "none")
    assert len(plan.passed) == COUNTS.index(cores)


def test_count_that_does_not_divide_the_heads_is_passed_over() -> None:
    plan = decide(facts(30, heads=12, kv=3), cores=None)
    assert plan.refused is not None
    assert "2 cores do not divide 3 key-value heads" in plan.refused


def test_asked_for_count_is_refused_with_the_reason() -> None:
    assert decide(facts(1, heads=9, kv=3), cores=3).refused is None
    assert decide(facts(1, heads=6, kv=3), cores=4).refused == "4 cores do not divide 6 attention heads"


def test_model_without_a_plan_inside_its_layers_is_not_split() -> None:
    plan = decide(facts(1, tp=False), cores=2)
    assert plan.refused == "M has no tensor- or expert-parallel plan inside its layers, so it runs on one core only"


def test_mixture_of_experts_without_a_layered_plan_goes_expert_parallel() -> None:
    plan = decide(facts(30, tp=False, ep=True, experts=32))
    assert (plan.cores, plan.parallelism, plan.refused) == (2, "ep", None)
    assert decide(facts(30, tp=False, ep=True, experts=7)).refused is not None


def test_expert_parallel_attention_need_not_divide_when_only_experts_are_split() -> None:
    assert decide(facts(1, tp=False, ep=True, heads=9, kv=3, experts=8), cores=2).refused is None
    assert decide(facts(1, tp=True, ep=True, heads=9, kv=3, experts=8), cores=2, parallelism="ep").refused is not None


def test_this_host_is_too_small() -> None:
    plan = decide(facts(60), host_cores=2)
    assert plan.refused is not None
    assert plan.refused.startswith(
        "it needs 4 cores, this host has 2; 30.0 GiB of weights a core do not fit on 2 cores"
    )


def test_a_refusal_names_the_cause_once_and_first() -> None:
    none = decide(facts(80, tp=False))
    assert none.refused is not None
    assert none.refused.startswith(
        "M has no tensor- or expert-parallel plan inside its layers, so it runs on one core only"
    )
    assert none.refused.count("do not fit") == 1
    odd = decide(facts(60, heads=6, kv=3))
    assert odd.refused is not None
    assert odd.refused.startswith(
        "4 cores do not divide 6 attention heads, nor do 8 and 16; 30.0 GiB of weights a core do not fit on 2 cores"
    )
    assert odd.refused.count("heads") == 1


def test_nothing_fits_sixteen_cores() -> None:
    plan = decide(facts(700))
    assert plan.refused is not None
    assert "43.8 GiB of weights a core do not fit on 16 cores (20.4 GiB of 24.0 GiB are for them)" in plan.refused
    assert decide(facts(700), cores=32).refused == "32 cores: the protocol's limit is 16"


def test_rule_of_a_parameter_is_its_own_else_its_modules() -> None:
    plan = {
        "model.layers.*.mlp.experts.down_proj": "rowwise",
        "model.layers.*.self_attn.q_proj": "colwise",
        "lm_head": "colwise",
    }
    assert rule_of("model.layers.11.self_attn.q_proj.weight", plan) == "colwise"
    assert rule_of("model.layers.0.mlp.experts.down_proj", plan) == "rowwise"
    assert rule_of("model.norm.weight", plan) is None
    assert layered(plan)
    assert not layered({"lm_head": "colwise"})


def test_replicated_weights_count_in_full_on_every_rank() -> None:
    plan = {"a": "colwise", "b": "replicated_with_grad_allreduce"}
    assert bytes_a_rank([("a.weight", 100), ("b.weight", 10), ("c.weight", 1)], plan, {}, 4) == 25 + 10 + 1


def safetensors(path: Path, sizes: dict[str, int]) -> None:
    head, at = {"__metadata__": {"format": "pt"}}, 0
    for name, size in sizes.items():
        head[name] = {"dtype": "U8", "shape": [size], "data_offsets": [at, at + size]}  # type: ignore[dict-item]
        at += size
    text = json.dumps(head).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + bytes(at))


def test_weights_are_added_up_from_the_headers_of_the_files_in_use(tmp_path: Path) -> None:
    assert folder_bytes(str(tmp_path)) is None
    safetensors(tmp_path / "a.safetensors", {"x": 10, "y": 5})
    safetensors(tmp_path / "b.safetensors", {"z": 7})
    safetensors(tmp_path / "consolidated.safetensors", {"x": 22})
    index = {"weight_map": {"x": "a.safetensors", "y": "a.safetensors", "z": "b.safetensors"}}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(index))
    assert folder_bytes(str(tmp_path)) == 22


@pytest.mark.parametrize(
    "data", [b"", b"\x01", struct.pack("<Q", 1 << 62), struct.pack("<Q", 4) + b"{]{]", struct.pack("<Q", 2) + b"[]"]
)
def test_damaged_header_is_unknown_not_nought(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "model.safetensors").write_bytes(data)
    assert header_bytes(str(tmp_path / "model.safetensors")) is None
    assert folder_bytes(str(tmp_path)) is None
    assert not one_core(None)
