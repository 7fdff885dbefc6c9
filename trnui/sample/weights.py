"""Values and files of the sample's checkpoints, byte for byte the same on every machine, with the standard library alone.

A byte b of SHAKE-256("seed/parameter name") becomes the odd integer 2b-255 times a power of two, which bfloat16 holds
exactly: one file serves both dtypes, and no library, CPU or thread count has a say in it.
"""

from __future__ import annotations

import hashlib
import json
import math
import struct
import zlib

from trnui.sample.tensors import Checkpoint, Shape


def bfloat16(x: float) -> bytes:
    """Round to nearest even."""
    n = struct.unpack("<I", struct.pack("<f", x))[0]
    return struct.pack("<H", (n + 0x7FFF + ((n >> 16) & 1)) >> 16)


def drawn(seed: int, name: str, count: int, power: int) -> bytes:
    raw = hashlib.shake_256(f"{seed}/{name}".encode()).digest(count)
    table = [bfloat16((2 * b - 255) / 2**power) for b in range(256)]
    out = bytearray(2 * count)
    out[0::2] = raw.translate(bytes(t[0] for t in table))
    out[1::2] = raw.translate(bytes(t[1] for t in table))
    return bytes(out)


def values(c: Checkpoint, name: str, shape: Shape) -> bytes:
    count, last = math.prod(shape), name.rsplit(".", 1)[-1]
    if name.endswith("A_log"):  # log(1..n) along the last axis
        return b"".join(bfloat16(math.log(i % shape[-1] + 1)) for i in range(count))
    if "norm" in name.lower() or "ln_" in name or last == "D":
        zero = last == "bias" or (
            c.config["model_type"] == "qwen3_next" and "linear_attn.norm" not in name
        )  # Qwen3-Next adds one
        return bfloat16(0.0 if zero else 1.0) * count
    if len(shape) == 1 and last in ("bias", "dt_bias"):
        return bfloat16(0.0) * count
    power = next((p for part, p in c.powers.items() if part in name), c.power)
    return drawn(c.seed, name, count, power)


def safetensors(tensors: dict[str, tuple[Shape, bytes]]) -> bytes:
    head, at = {}, 0
    for name in sorted(tensors):
        shape, data = tensors[name]
        head[name] = {"dtype": "BF16", "shape": list(shape), "data_offsets": [at, at + len(data)]}
        at += len(data)
    text = json.dumps({"__metadata__": {"format": "pt"}, **head}, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + b"".join(tensors[n][1] for n in sorted(tensors))


def png(width: int, height: int, rgb: bytes) -> bytes:
    """Stored, not compressed: zlib versions pack differently."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = b"".join(b"\0" + rgb[y * width * 3 : (y + 1) * width * 3] for y in range(height))
    blocks = b"".join(
        struct.pack("<BHH", i + 65535 >= len(rows), len(p := rows[i : i + 65535]), len(p) ^ 0xFFFF) + p
        for i in range(0, len(rows), 65535)
    )
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
        + chunk(b"IDAT", b"\x78\x01" + blocks + struct.pack(">I", zlib.adler32(rows)))
        + chunk(b"IEND", b"")
    )


def square(colour: tuple[int, int, int], size: int = 56) -> bytes:
    inside = range(size // 4, size - size // 4)
    return png(
        size,
        size,
        b"".join(
            bytes(colour if x in inside and y in inside else (255, 255, 255)) for y in range(size) for x in range(size)
        ),
    )
