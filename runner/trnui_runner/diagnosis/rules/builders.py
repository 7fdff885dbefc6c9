"""Short constructors, so that a rule reads as one entry."""

from __future__ import annotations

from typing import Any

from trnui_runner.diagnosis.model import LineWeight, Rule

NEURON_DOC = "awsdocs-neuron: neuron-runtime/nrt-troubleshoot"
TRAIN_DOC = "awsdocs-neuron: torch-neuronx training troubleshooting"
CODES_DOC = "awsdocs-neuron: compiler/error-codes"
CACHE_DOC = "awsdocs-neuron: neuron-caching"
STATUS_DOC = "aws-neuron-sdk: nrt_status.h"
NATIVE = "torch-neuronx (native) sources"
TORCH = "PyTorch messages"
HUB = "huggingface_hub messages"
TRANSFORMERS = "Transformers messages"
PIP = "pip messages"
LINUX = "kernel, shell and libc messages"
DUCKDB = "DuckDB and PyArrow messages"
ISSUES = "public reports (aws-neuron-sdk, optimum-neuron, vllm-neuron)"
OURS = "this project's own scripts"


def _rule(
    kind: LineWeight, id: str, cls: str, any: str | tuple[str, ...], match: str, reason: str, source: str, **more: Any
) -> Rule:
    return Rule(
        id=id,
        cls=cls,
        kind=kind,
        any=(any,) if isinstance(any, str) else any,
        pattern=match,
        reason=reason,
        source=source,
        **more,
    )


def fault(id: str, cls: str, any: str | tuple[str, ...], match: str, reason: str, source: str, **more: Any) -> Rule:
    return _rule(LineWeight.FAULT, id, cls, any, match, reason, source, **more)


def after(id: str, cls: str, any: str | tuple[str, ...], match: str, reason: str, source: str, **more: Any) -> Rule:
    return _rule(LineWeight.AFTER, id, cls, any, match, reason, source, **more)


def waits(id: str, cls: str, any: str | tuple[str, ...], match: str, reason: str, source: str, **more: Any) -> Rule:
    return _rule(LineWeight.WAITING, id, cls, any, match, reason, source, passing=True, **more)


def warns(id: str, cls: str, any: str | tuple[str, ...], match: str, reason: str, source: str, **more: Any) -> Rule:
    return _rule(LineWeight.WARNING, id, cls, any, match, reason, source, **more)


def moves(id: str, phase: str, any: str | tuple[str, ...], match: str, reason: str, source: str, **more: Any) -> Rule:
    return _rule(LineWeight.PROGRESS, id, "in_progress", any, match, reason, source, phase=phase, **more)


def result(id: str, cls: str, any: str | tuple[str, ...], match: str, reason: str, source: str, **more: Any) -> Rule:
    return _rule(LineWeight.RESULT, id, cls, any, match, reason, source, phase="done", **more)


def noise(id: str, any: str | tuple[str, ...], match: str, reason: str, source: str, **more: Any) -> Rule:
    return _rule(LineWeight.NOISE, id, "", any, match, reason, source, **more)
