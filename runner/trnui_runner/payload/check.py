"""Checks what a run generated: tokens against a CPU run of the same checkpoint, or a judge's opinion of the English.

    python check.py RUN_FOLDER

Executed by the run's interpreter, by file path: standard library, torch and transformers only. It reads what the probe
kept (inputs, tokens, how the weights were loaded, what was compiled) and writes one line, the event "check", to
events/<pid>.jsonl. It never touches a device.
"""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any

HERE = os.path.dirname(os.path.abspath(__file__))
PACKAGE = "trnui_payload"  # this folder, when it is executed by file path


def main(folder: str) -> int:
    from . import generation

    started = time.monotonic()
    with open(f"{folder}/recipe.json", encoding="utf-8") as file:
        recipe = json.load(file)
    kind = "cpu-match"
    try:
        events = generation.read_events(f"{folder}/events")
        kind = "english" if generation.world_size(events) > 1 else kind
        found = check(folder, recipe, events, kind)
    except generation.Unchecked as error:
        found = {"outcome": "UNCHECKED", "reason": str(error)}
    except Exception as error:  # noqa: BLE001  a reference that cannot run is no failure of the device
        sys.excepthook(type(error), error, error.__traceback__)
        words = f"the check itself failed: {type(error).__name__}: {str(error)[:300]}"
        found = {"outcome": "UNCHECKED", "reason": words}
    found = {"kind": kind, **found, "seconds": round(time.monotonic() - started, 3), "stack": stack()}
    tell(folder, found)
    print(f"check ({kind}): {found['outcome']}: {found['reason']}", flush=True)
    return 0


def check(folder: str, recipe: dict[str, Any], events: list[dict[str, Any]], kind: str) -> dict[str, Any]:
    """`{outcome, reason, tokens, judge}`. Raises Unchecked."""
    from . import conditions, fluency, reference
    from .generation import generation

    one = generation(folder, recipe, events)
    found = fluency.fluency(recipe, one) if kind == "english" else reference.against_cpu(recipe, events, one)
    return conditions.weighed(found, conditions.weights(events, one), conditions.protocol(recipe, events, one))


def stack() -> dict[str, str]:
    """The versions of this interpreter, by the dataset's columns."""
    from importlib.metadata import PackageNotFoundError, version

    found = {"python": sys.version.split()[0]}
    for column, package in (("torch", "torch"), ("torch_neuronx", "torch-neuronx"), ("neuronx_cc", "neuronx-cc"), ("nki", "nki"),
                            ("transformers", "transformers"), ("accelerate", "accelerate")):  # fmt: skip
        try:
            found[column] = version(package)
        except PackageNotFoundError:
            continue
    return found


def tell(folder: str, found: dict[str, Any]) -> None:
    pid = os.getpid()
    record = {"t": round(time.time(), 4), "rank": None, "pid": pid, "event": "check", **found}
    with open(f"{folder}/events/{pid}.jsonl", "ab") as file:
        file.write(json.dumps(record).encode() + b"\n")


def alone() -> None:
    """Leaves the probe out (this is not the run), and this folder (its names are no top-level modules)."""
    sys.meta_path[:] = [f for f in sys.meta_path if getattr(f, "__module__", "") != "sitecustomize"]
    sys.path[:] = [p for p in sys.path if os.path.abspath(p or ".") != HERE]
    os.environ["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"


def as_package() -> Any:
    """This module again, as one of the package that the folder is: whatever else is called `judge`, ours is taken."""
    import importlib
    from importlib.util import module_from_spec, spec_from_file_location

    spec = spec_from_file_location(PACKAGE, os.path.join(HERE, "__init__.py"), submodule_search_locations=[HERE])
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[PACKAGE] = module_from_spec(spec)
    spec.loader.exec_module(module)
    return importlib.import_module(f"{PACKAGE}.check")


if __name__ == "__main__":
    alone()
    sys.exit(as_package().main(sys.argv[1]))
