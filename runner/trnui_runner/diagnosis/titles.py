"""Each class of the diagnosis as a person says it: a label in lists, comparisons and reports. The class itself stays the key."""

from __future__ import annotations

from typing import Final

TITLES: Final[dict[str, str]] = {
    "ok": "no failure",
    "in_progress": "in progress",
    "excluded": "left out on purpose",
    "numerical_mismatch": "output differs from the CPU",
    "eager_fallback": "fell back to eager execution",
    "compiler_failure": "the compiler failed",
    "unsupported_op": "unsupported operator",
    "unsupported_dtype": "unsupported data type",
    "graph_capture": "graph capture failed",
    "graph_too_large": "graph too large",
    "hbm_oom_compile": "device memory full, predicted by the compiler",
    "hbm_oom": "device memory full",
    "host_oom": "host memory full",
    "disk_full": "disk full",
    "no_device": "no Neuron device",
    "driver_mismatch": "driver does not match",
    "cores_busy": "cores are busy",
    "core_count": "number of cores not possible",
    "hw_error": "hardware error",
    "index_oob": "index out of range",
    "cache_lock_wait": "waiting for a cache lock",
    "cache_failed_entry": "failed entry in the cache",
    "cache_version_mismatch": "cache of another version",
    "cache_miss": "not in the cache",
    "hub_gated": "gated on the Hub",
    "hub_not_found": "not found on the Hub",
    "hub_rate_limit": "the Hub limits requests",
    "hub_network": "the Hub cannot be reached",
    "hub_offline": "offline, and not in the cache",
    "hub_lock_wait": "waiting for a download lock",
    "remote_code": "custom code of the checkpoint",
    "tokenizer": "tokenizer",
    "model_unknown": "unknown architecture",
    "sharding": "sharding",
    "version_mismatch": "versions do not fit together",
    "python_version": "Python version",
    "distributed_comm": "communication between ranks",
    "timeout_hang": "timeout or hang",
    "interrupted": "interrupted",
    "data_schema": "unexpected columns",
    "file_lock": "file is locked",
    "empty": "no error text",
    "unknown": "unknown cause",
}


def title(cls: str) -> str:
    """The class's own name with spaces where it is none of these."""
    return TITLES.get(cls, cls.replace("_", " "))
