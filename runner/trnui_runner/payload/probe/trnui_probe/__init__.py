"""What the probe sees of a run once torch is there. It calls nothing on a device, holds no file open, and never raises.

`find` is asked for the modules named in WATCH, and lets each be observed right after its execution.
"""

from __future__ import annotations

import os
import sys
import threading
from typing import Any

from . import compile, download, generate, load, process_exit, process_group
from .emit import emit, safe

WATCH = {
    "huggingface_hub.file_download": download.watch,
    "torch.distributed.distributed_c10d": process_group.watch,
    "torch._dynamo.callback": compile.watch_frames,
    "torch._dynamo.output_graph": compile.watch_backend,
    "transformers.modeling_utils": load.watch_models,
    "transformers.models.auto.auto_factory": load.watch_auto,
    "transformers.tokenization_utils_base": generate.watch_tokenizers,
    "transformers.generation.utils": generate.watch,
}
_once = threading.Lock()


def find(finder: Any, name: str, path: Any, target: Any) -> Any:
    """The spec that the other finders give, with one more step after the module's execution."""
    for other in sys.meta_path:
        spec = other.find_spec(name, path, target) if other is not finder and hasattr(other, "find_spec") else None
        if spec is not None:
            safe(extend, spec.loader)
            return spec
    return None


def extend(loader: Any) -> None:
    """The loader keeps its class (inspect and importlib.resources ask for it) and gets one attribute, for once."""
    execute = loader.exec_module

    def exec_module(module: Any) -> None:
        del loader.exec_module
        execute(module)
        safe(attach, module)

    loader.exec_module = exec_module


def attach(module: Any) -> None:
    if _once.acquire(blocking=False):  # never released: the first module only
        process_exit.watch()
        emit(
            "process",
            ppid=os.getppid(),
            argv=[str(a)[:200] for a in sys.argv[:8]],
            python=sys.version.split()[0],
            torch=str(getattr(sys.modules.get("torch"), "__version__", "")),
        )
    WATCH[module.__name__](module)
