"""CPU memory under another device's label, through DLPack: real storages and real views, and no byte is copied."""

from __future__ import annotations

import ctypes

import torch

from . import runtime

_CPU, _NEURON = 1, 12  # kDLCPU, kDLExtDev


class _Device(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int32), ("index", ctypes.c_int32)]


class _Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device", _Device)]


_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.restype, _pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]


def _labelled(tensor: torch.Tensor, kind: int, index: int = 0) -> torch.Tensor:
    capsule = torch._C._to_dlpack(tensor)
    device = ctypes.cast(_pointer(capsule, b"dltensor"), ctypes.POINTER(_Tensor)).contents.device
    device.type, device.index = kind, index
    return torch._C._from_dlpack(capsule)


def on_cpu(tensor: torch.Tensor) -> torch.Tensor:
    """The same bytes as a CPU tensor."""
    return _labelled(tensor.detach(), _CPU) if tensor.device.type == "neuron" else tensor


def on_neuron(tensor: torch.Tensor, index: int = 0) -> torch.Tensor:
    """The same bytes as a tensor of `neuron:index`, counted as its memory."""
    runtime.hold(tensor.untyped_storage(), index)
    return _labelled(tensor.detach(), _NEURON, index)
