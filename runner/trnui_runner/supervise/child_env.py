"""The environment of a run's processes, as a pure function: an allow-list of the user's, and what is set for the run.

It is fixed before the first process starts, because importing torch loads TorchNeuron, which reads its variables then.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from trnui_runner.common.hub_env import TOKENS
from trnui_runner.common.procfs import MARK
from trnui_runner.host.core_blocks import Visible
from trnui_runner.request.steps import SupervisionOptions
from trnui_runner.run_folder.recipe import Device

RANK_CORES = "TRNUI_RANK_CORES"
PROBE = Path(__file__).resolve().parent.parent / "payload" / "probe"
NEURON_TOOLS = "/opt/aws/neuron/bin"
# Names, or prefixes with *. Python's own variables and the virtual environment's stay outside, and so does everything
# that may hold a secret: AWS_*, tokens, other programs' settings.
ALLOWED = (
    *("PATH", "HOME", "USER", "LOGNAME", "LANG", "LANGUAGE", "LC_*", "TZ", "LD_LIBRARY_PATH", "XDG_CACHE_HOME"),
    *("http_proxy", "https_proxy", "all_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"),
    *("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"),
    *(
        "HF_*",
        "HUGGINGFACE_HUB_CACHE",
        "TRANSFORMERS_*",
        "NEURON_*",
        "TORCH*",
        "FI_*",
        "OMP_*",
        "MKL_*",
        "TOKENIZERS_PARALLELISM",
    ),
)
# What may change a result, and so is told as an event and stands in a report.
RELEVANT = (
    "NEURON_*",
    "TORCH*",
    "HF_HUB_OFFLINE",
    "HF_DEACTIVATE_*",
    "HF_ENDPOINT",
    "TRANSFORMERS_*",
    "OMP_*",
    "MKL_*",
    "FI_*",
    "LD_LIBRARY_PATH",
)
# Of TorchNeuron: its log at the level that tells of compiles and cache hits, into a file; its counters at exit.
NEURON_LOG_LEVEL = "3"


@dataclass(frozen=True)
class RunPaths:
    """Where a run lives: its folder, its own TMPDIR, and the folder of NEFF caches."""

    run_id: str
    folder: Path
    tmp: Path
    neff_caches: Path
    python: str
    device: Device


def neff_cache(paths: RunPaths, supervision: SupervisionOptions) -> Path | None:
    """One folder for each compiler version (which is no part of TorchNeuron's cache key); None while that is unknown."""
    root = Path(supervision.neff_cache).expanduser() if supervision.neff_cache else paths.neff_caches
    return root / f"neuronxcc-{supervision.neuronx_cc}" if supervision.neuronx_cc else None


def child_environment(
    base: Mapping[str, str], paths: RunPaths, supervision: SupervisionOptions, *, probe: bool = True
) -> dict[str, str]:
    """What the run's processes get of `base` (the user's environment), and what the run sets on top."""
    secret = () if supervision.token else TOKENS
    found = {
        name: value
        for name, value in base.items()
        if any(fnmatchcase(name, pattern) for pattern in (*ALLOWED, *supervision.keep)) and name not in secret
    }
    if supervision.token and "HUGGING_FACE_HUB_TOKEN" in base:
        found["HUGGING_FACE_HUB_TOKEN"] = base["HUGGING_FACE_HUB_TOKEN"]
    found.setdefault("PATH", os.defpath)
    found["PATH"] = _path(found["PATH"], paths)
    found |= {
        MARK: paths.run_id,
        "TRNUI_RUN_DIR": str(paths.folder),
        "TMPDIR": str(paths.tmp),
        "PYTHONUNBUFFERED": "1",  # a pipe is then as prompt as a terminal
        "HF_DEACTIVATE_ASYNC_LOAD": "1",
    }
    if supervision.offline:  # else it asks again and again, file by file, for half a minute each
        found["HF_HUB_OFFLINE"] = "1"
    if not supervision.token:
        found["HF_HUB_DISABLE_IMPLICIT_TOKEN"] = "1"
    if probe:
        found["PYTHONPATH"] = str(PROBE)
    if paths.device != "cpu":
        found.pop("NEURON_RT_VISIBLE_CORES", None)  # the cores that this run has leased, or those the script takes
        found |= _neuron(found, paths, supervision)
    return found


def relevant(environ: Mapping[str, str]) -> dict[str, str]:
    """The variables of a run that a maintainer asks for (NEURON_CC_FLAGS is one); no token among them."""
    return {
        name: value
        for name, value in sorted(environ.items())
        if any(fnmatchcase(name, pattern) for pattern in RELEVANT) and name not in TOKENS
    }


def _path(path: str, paths: RunPaths) -> str:
    """The interpreter's own programs first (neuronx-cc is one of them), the Neuron tools last."""
    own = os.path.dirname(paths.python)
    parts = [own, *path.split(os.pathsep), NEURON_TOOLS] if own else [*path.split(os.pathsep), NEURON_TOOLS]
    return os.pathsep.join(dict.fromkeys(p for p in parts if p))


def _neuron(found: Mapping[str, str], paths: RunPaths, supervision: SupervisionOptions) -> dict[str, str]:
    cache = neff_cache(paths, supervision)
    usual = {  # what the user has set wins
        "TORCH_NEURONX_LOG_LEVEL": NEURON_LOG_LEVEL,
        "TORCH_NEURONX_LOG_FILE": str(paths.folder / "neuron.log"),
        "TORCH_NEURONX_METRICS_ENABLED": "1",
        "TORCH_NEURONX_METRICS_DIR": str(paths.folder / "metrics"),
        "TORCH_NEURONX_ENABLED_METRIC_TABLES": "graph_stats",
    }
    if cache is not None:
        usual["TORCH_NEURONX_NEFF_CACHE_DIR"] = str(cache)
        usual["TORCH_NEURONX_NEFF_LOCAL_CACHE_DIR"] = str(cache.parent / "local")
    own = {"NEURON_PROCESS_TAG": paths.run_id}
    return {name: value for name, value in usual.items() if name not in found} | own


def core_environment(visible: Visible, cores: Sequence[int]) -> dict[str, str]:
    """What tells the run which cores it has leased; known only once they are free. RANK_CORES is the probe's: it gives each rank its own."""
    ids = ",".join(map(str, cores))
    return {"NEURON_RT_VISIBLE_CORES": ids} if visible == "all" else {RANK_CORES: ids} if visible == "rank" else {}
