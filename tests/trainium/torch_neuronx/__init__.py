"""Stand-in for AWS torch_neuronx: a `neuron` device over CPU memory, a compile backend and a process group. Tests only; NOT Trainium.

Found by PyTorch as the real one is: entry points `torch.backends` (this `_autoload`) and `torch_dynamo_backends` (compiler.py).
"""

from importlib.metadata import PackageNotFoundError, version

STANDIN = True
try:
    __version__ = version("torch-neuronx")
except PackageNotFoundError:
    __version__ = "0.0.0+standin"

_registered = False


def _autoload() -> None:
    """Called by PyTorch at the end of `import torch`, and on import. Registers; starts no runtime."""
    global _registered
    if _registered:
        return
    _registered = True
    from . import device, distributed, operators

    device.register()
    operators.register()
    distributed.register()


_autoload()

from .device import neuron as _neuron  # noqa: E402
from .metrics import get_dynamo_metrics, reset_dynamo_metrics  # noqa: E402,F401

memory_allocated = _neuron.memory_allocated
max_memory_allocated = _neuron.max_memory_allocated
memory_stats = _neuron.memory_stats


def is_neuron_runtime_initialized() -> bool:
    from . import runtime

    return runtime.started()
