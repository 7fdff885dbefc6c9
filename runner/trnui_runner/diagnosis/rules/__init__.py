"""All rules, in the order in which they are tried. A new rule is one entry in its layer's module, and one case in the tests."""

from __future__ import annotations

from trnui_runner.diagnosis.model import Rule
from trnui_runner.diagnosis.rules import cache, compiler, environment, hub, memory, model, process, results, runtime

LAYERS: dict[str, tuple[Rule, ...]] = {
    "compiler": compiler.RULES,
    "runtime": runtime.RULES,
    "memory": memory.RULES,
    "cache": cache.RULES,
    "hub": hub.RULES,
    "model": model.RULES,
    "environment": environment.RULES,
    "process": process.RULES,
    "results": results.RULES,
}
RULES: tuple[Rule, ...] = tuple(rule for rules in LAYERS.values() for rule in rules)
