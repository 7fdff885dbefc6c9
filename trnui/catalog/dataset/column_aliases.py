"""Other names under which files may carry the dataset's columns, most likely first. Data only; mapping.py applies it.

The real names always win. The aliases come from result tables of neighbouring projects and from guesses at older and later files.
"""

from __future__ import annotations

from typing import Final

ALIASES: Final[dict[str, tuple[str, ...]]] = {
    "model_id": (
        "model", "checkpoint_id", "config_backend_model", "repo_id", "hf_model_id", "checkpoint", "model_name", "name",
    ),
    "library": ("lib", "framework", "library_name"),
    "tp": (
        "num_cores", "cores", "n_cores", "neuron_cores", "world_size", "nproc", "tp_degree", "tensor_parallel_size", "tp_size",
    ),
    "runner": (),
    "result": ("status", "accuracy", "bringup_status", "outcome", "verdict", "state", "passed", "ok"),
    "notes": ("note", "comment", "comments", "remarks"),
    "error": ("error_message", "trace", "traceback", "stacktrace", "message", "exc", "stderr", "log", "details"),
    "exclusion": ("reason", "skip_reason", "exclusion_reason", "excluded_reason"),
    "wall_s": (
        "duration", "wall_time", "wall", "elapsed", "runtime", "time_spent", "total_time", "time",
    ),
    "hbm_peak_gb": (
        "peak_memory", "peak_device_memory", "device_memory", "max_allocated", "memory", "hbm", "peak_hbm", "hbm_peak",
    ),
    "hbm_capacity_gb": ("memory_capacity", "hbm_capacity", "capacity"),
    "cpu_match": ("cpu_check", "matches_cpu", "tokens_match"),
    "english": ("english_check", "fluent", "fluent_english"),
    "neuronx_cc": (
        "neuronx_cc_version", "compiler_version", "neuronxcc_version", "neuronxcc", "compiler", "neuron_compiler",
    ),
    "library_version": ("transformers_version", "version"),
    "transformers": ("transformers_version",),
    "accelerate": ("accelerate_version",),
    "torch_neuronx": ("torch_neuronx_version", "torchneuron"),
    "torch": ("torch_version", "pytorch", "pytorch_version"),
    "nki": ("nki_version",),
    "python": ("python_version",),
    "neuron_driver": ("driver", "driver_version", "aws_neuronx_dkms", "neuron_driver_version"),
    "tested_at": ("timestamp", "date", "created_at", "run_at", "updated_at", "last_run", "checked_at"),
    "run_py": ("script", "run_script", "code", "source", "run", "reproducer"),
    # No real columns, used where a file has them.
    "task": ("task", "pipeline_tag", "pipeline", "type", "category"),
    "parallelism": ("parallelism", "strategy", "plan"),
}  # fmt: skip

NESTED: Final = ("versions", "stack", "environment", "env", "software", "packages", "config", "report")
"""Columns of type struct or map, or JSON text, that are looked into."""

SHARED: Final = frozenset({"transformers", "library_version"})
"""Canonical columns that may both read one column of a file (`transformers_version`)."""

SECONDS: Final[dict[str, float]] = {
    "_ms": 1e-3,
    "_msec": 1e-3,
    "_s": 1.0,
    "_sec": 1.0,
    "_seconds": 1.0,
    "_min": 60.0,
    "_minutes": 60.0,
}
GIGABYTES: Final[dict[str, float]] = {
    "_bytes": 1e-9, "_kb": 1e-6, "_mb": 1e-3, "_gb": 1.0, "_mib": 1.048576e-3, "_gib": 1.073741824,
}  # fmt: skip
"""Units said by the end of a column's name. Sizes become decimal GB; the dataset does not say which GB it means."""

ABSENT_WORDS: Final = ("", "none", "null", "nan", "nat", "<na>", "n/a", "na", "-", "–")
"""Texts that say "no value", in any case: what other tools write in place of nothing."""
NOT_EXCLUDED: Final = (*ABSENT_WORDS, "no", "false", "0")
"""Texts of `exclusion` that say that a model was not left out."""
KEPT_AS_WRITTEN: Final = ("model_id", "result", "run_py")
"""Text columns whose words are never taken for an absent value; `result` has a word of its own for that."""
