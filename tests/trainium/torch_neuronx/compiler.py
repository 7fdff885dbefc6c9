"""torch.compile(backend="neuron"): refuses dynamic shapes, runs the host's neuronx-cc as a child, keeps its NEFF in the cache."""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch._dynamo.device_interface import DeviceInterface, register_interface_for_device

from . import cache, device, metrics, runtime
from .shape import host

_INDEX = re.compile(
    r"neuron:\d+|(?<=type='neuron'), index=\d+"
)  # a compiled graph does not know on which core it will run
_STATUS = {"COLLECTIVES": 1200, "HBM_UE": 1201, "NC_UE": 1202, "DMA_ABORT": 1203}


def compile_graph(gm: torch.fx.GraphModule, example_inputs: Sequence[Any], **options: Any) -> Callable[..., Any]:
    """Raises RuntimeError in the real backend's words; the graph itself runs operator by operator."""
    began = time.monotonic()
    _refuse_dynamic(gm)
    if options.get("mode") not in (None, "default"):
        print(
            f"Neuron backend does not support mode='{options['mode']}', falling back to default mode.", file=sys.stderr
        )
    ops = [_name(node.target) for node in gm.graph.nodes if node.op.startswith("call_")]
    module = _module(gm, ops)
    key, cached = cache.compiled(module)
    if host().get("noise"):
        os.write(1, b"2026-10-23 10:00:00.000  INFO ||NCC_WRAPPER||: Compiler status PASS\n.\r..\r")
    spent = int((time.monotonic() - began) * 1e6)
    metrics.add(metrics.GraphMetrics(key, "stand-in", len(ops), time.time(), spent, cached))
    return _executed(gm.forward, ops)


def _name(target: object) -> str:
    """The same in every process: no address, for it becomes part of the cache key."""
    return str(getattr(target, "__name__", None) or target)


def _refuse_dynamic(gm: torch.fx.GraphModule) -> None:
    shapes = [
        (node.name, getattr(node.meta.get("example_value"), "shape", ()))
        for node in gm.graph.nodes
        if node.op == "placeholder"
    ]
    dynamic = [name for name, shape in shapes if any(isinstance(size, torch.SymInt) for size in shape)]
    if dynamic:
        raise RuntimeError(
            "Dynamic shapes detected in the model, but torch-neuronx requires static shapes. "
            f"Found {len(dynamic)} dynamic dimension(s): {', '.join(dynamic[:4])}"
        )


def _module(gm: torch.fx.GraphModule, ops: list[str]) -> str:
    """The graph as text: what the compiler is given and what the cache key is made of."""
    inputs = []
    for node in gm.graph.nodes:
        value = node.meta.get("example_value")
        if isinstance(value, torch.Tensor) and node.op in ("placeholder", "get_attr"):
            inputs.append(f"// {node.name}: {tuple(value.shape)} {value.dtype}")
    return "\n".join(
        ["// stand-in, no StableHLO", *inputs, *(f"// op {name}" for name in ops), _INDEX.sub("neuron", gm.code)]
    )


def _executed(forward: Callable[..., Any], ops: list[str]) -> Callable[..., Any]:
    kind = host().get("hardware_error")
    if not kind:
        return forward

    def fail(*args: Any, **kwargs: Any) -> Any:
        stamp = time.strftime("%Y-%b-%d %H:%M:%S", time.gmtime())
        name, number = f"NRT_EXEC_HW_ERR_{kind}", _STATUS[kind]
        sys.stderr.write(
            f"{stamp}.000000 {os.getpid():5}:{os.getpid():5} ERROR  NRT:nrt_infodump  status={number} {name}\n"
        )
        sys.stderr.flush()
        raise RuntimeError(
            f"NRT Execution error occurred on Neuron for operation={ops[0] if ops else 'graph'}; "
            f'error message="NRT EXECUTION FAILED: status={number} {name} (stand-in)"'
        )

    return fail


class NeuronInterface(DeviceInterface):
    """What Dynamo asks of a device."""

    Event, Stream = device.Event, device.Stream

    class Worker:
        get_device_properties = staticmethod(device.properties)
        current_device = staticmethod(device.current)
        set_device = staticmethod(device.set_device)

    current_device = staticmethod(device.current)
    set_device = staticmethod(device.set_device)
    device_count = staticmethod(runtime.device_count)
    is_available = staticmethod(lambda: True)
    synchronize = staticmethod(device.synchronize)
    get_device_properties = staticmethod(device.properties)
    exchange_device = staticmethod(lambda index: device.current())
    maybe_exchange_device = staticmethod(lambda index: device.current())
    is_bf16_supported = staticmethod(lambda including_emulation=False: True)
    get_compute_capability = staticmethod(lambda device=None: "stand-in")


register_interface_for_device("neuron", NeuronInterface)
for _n in range(128):  # the real one's limit
    register_interface_for_device(f"neuron:{_n}", NeuronInterface)
