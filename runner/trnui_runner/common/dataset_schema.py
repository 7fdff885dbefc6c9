"""The dataset's columns, what they mean and how results are worded. How any file's columns map onto them: mapping.py."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final

# The real dataset's 24 columns in their order (its Hub page, read 2026-11-30); DuckDB types. Some files lack `exclusion`.
COLUMNS: Final[dict[str, str]] = {
    "model_id": "VARCHAR",
    "library": "VARCHAR",
    "tp": "INTEGER",  # cores the model is sharded over
    "runner": "VARCHAR",
    "result": "VARCHAR",
    "notes": "VARCHAR",
    "error": "VARCHAR",
    "exclusion": "VARCHAR",
    "wall_s": "INTEGER",  # whole seconds, compilation included
    "hbm_peak_gb": "DOUBLE",  # GB or GiB, per core or in all: the dataset does not say
    "hbm_capacity_gb": "DOUBLE",
    "cpu_match": "VARCHAR",
    "english": "VARCHAR",
    "neuronx_cc": "VARCHAR",
    "library_version": "VARCHAR",
    "transformers": "VARCHAR",
    "accelerate": "VARCHAR",
    "torch_neuronx": "VARCHAR",
    "torch": "VARCHAR",
    "nki": "VARCHAR",
    "python": "VARCHAR",
    "neuron_driver": "VARCHAR",
    "tested_at": "TIMESTAMP WITH TIME ZONE",
    "run_py": "VARCHAR",
}
LONG: Final = ("error", "run_py")  # fetched by file and row when a row is opened, never for a list
STACK: Final = (
    "neuronx_cc", "library_version", "transformers", "accelerate", "torch_neuronx", "torch", "nki", "python", "neuron_driver",
)  # fmt: skip
# Classes by which a script loads a model that is asked about a picture.
PICTURE_CLASSES: Final = ("AutoModelForImageTextToText", "AutoModelForVision2Seq", "AutoModelForMultimodalLM")
TASKS: Final = ("text-generation", "image-text-to-text")  # today's; more are planned, so a list and not branches


class Status(StrEnum):
    """A result folded for filters; the words of `result` themselves are shown as they stand. JSON uses these names."""

    PASS = "PASS"
    FAIL = "FAIL"
    EXCLUDED = "EXCLUDED"
    UNTESTED = "UNTESTED"
    OTHER = "OTHER"

    @property
    def word(self) -> str:
        """As on screen."""
        return "NOT TESTED" if self is Status.UNTESTED else self.value


class Kind(StrEnum):
    """What a PASS was checked by: one core against the CPU's tokens, sharded for fluent English only."""

    CPU_MATCH = "cpu-match"
    ENGLISH = "english"


class Device(StrEnum):
    """Where a row was run. Published rows: neuron. Ours say it in `runner` (trnui/cpu, trnui/stand-in, trnui/neuron)."""

    NEURON = "neuron"
    CPU = "cpu"
    STAND_IN = "stand-in"


NOT_SAID: Final[dict[Kind | None, str]] = {
    Kind.CPU_MATCH: "This PASS: 32 tokens equal to a CPU run of this checkpoint on this stack. "
    "Not said: speed, longer outputs, other settings, other checkpoints.",
    Kind.ENGLISH: "This PASS is the weaker kind: sharded, 32 tokens judged to be fluent English, not compared with a CPU run. "
    "Not said: right meaning, speed, longer outputs, other settings.",
    None: "This PASS does not name how it was checked. Not said: speed, longer outputs, other settings, other checkpoints.",
}

# How a row of ours says where it was run: in `runner`, and as a mark on `result`, so that it is no PASS for who knows neither.
RUNNERS: Final = {"neuron": "trnui/neuron", "cpu": "trnui/cpu", "stand-in": "trnui/stand-in"}
MARKS: Final = {"neuron": "", "cpu": " (CPU)", "stand-in": " (stand-in)"}


def device_of(row: Mapping[str, Any]) -> str:
    """ "neuron", "cpu" or "stand-in": ours say it in `runner`, and a mark in `result` wins over everything."""
    result, runner = str(row.get("result") or ""), str(row.get("runner") or "")
    for device, mark in MARKS.items():
        if mark and result.endswith(mark):
            return device
    return next((device for device, name in RUNNERS.items() if name == runner), "neuron")


def word_of(row: Mapping[str, Any]) -> str:
    """The result without its mark; EXCLUDED where the row says why it was left out."""
    if row.get("exclusion"):
        return "EXCLUDED"
    result = str(row.get("result") or "").strip()
    for mark in MARKS.values():
        if mark and result.endswith(mark):
            return result[: -len(mark)]
    return result.upper() if result.upper() in ("PASS", "FAIL", "EXCLUDED") else result
