"""Run by file path under a run's interpreter: prints, as JSON, which distributions it has. Standard library, Python 3.10+; imports none of them."""

from __future__ import annotations

import json
import os
import sys
from importlib import metadata

HERE = os.path.dirname(os.path.abspath(__file__))
NAMED = (
    "torch", "torch-neuronx", "neuronx-cc", "nki", "transformers", "accelerate", "diffusers", "sentence-transformers",
    "huggingface-hub", "safetensors", "tokenizers", "torch-xla", "libneuronxla", "optimum-neuron",
)  # fmt: skip


def installed() -> dict[str, str]:
    """{name: version} from the names of dist-info folders: quick, whatever their number."""
    found: dict[str, str] = {}
    for folder in sys.path:
        try:
            names = os.listdir(folder or ".")
        except OSError:
            continue
        for name in names:
            if name.endswith(".dist-info") and "-" in name[:-10]:
                package, _, version = name[:-10].partition("-")
                found.setdefault(package.lower().replace("_", "-").replace(".", "-"), version)
    return found


def native() -> bool | None:
    """Whether torch-neuronx is a PyTorch backend (and not the XLA package of the same name); None without it."""
    try:
        points = metadata.distribution("torch-neuronx").entry_points
    except metadata.PackageNotFoundError:
        return None
    return any(p.group == "torch.backends" for p in points)


def main() -> None:
    sys.path[:] = [p for p in sys.path if p and os.path.abspath(p) != HERE]
    versions = {}
    for name in NAMED:
        try:
            version = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
        if version:
            versions[name] = version
    value = {
        "python": ".".join(map(str, sys.version_info[:3])),
        "executable": sys.executable,
        "prefix": sys.prefix,
        "path": [p for p in sys.path if os.path.isdir(p)],
        "versions": versions,
        "native": native(),
        "installed": installed(),
    }
    print(json.dumps(value))


if __name__ == "__main__":
    main()
