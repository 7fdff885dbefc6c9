"""What the compile backend has done in this process, under the real module's names."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class GraphMetrics:
    graph_id: str
    graph_name: str
    graph_node_count: int
    timestamp: float
    torch_neuronx_compile_us: int
    cached: bool


_graphs: list[GraphMetrics] = []
COUNTERS = {f"CompilationCache.{name}": 0 for name in ("PersistentHits", "PersistentMisses", "TotalCompilations")}


def add(graph: GraphMetrics) -> None:
    _graphs.append(graph)


def count(name: str) -> None:
    COUNTERS[f"CompilationCache.{name}"] += 1


def get_counter_value(name: str) -> int:
    return COUNTERS[name]


def get_dynamo_metrics() -> list[GraphMetrics]:
    return list(_graphs)


def reset_dynamo_metrics() -> None:
    _graphs.clear()
