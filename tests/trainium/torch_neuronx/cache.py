"""The persistent NEFF cache: `<root>/ab/cd/<key>.neff`, written as `.tmp.XXXXXX` and renamed, one flock a key among processes."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import tempfile
import time

from . import metrics
from .shape import ROOT, host, placed


def folder() -> str:
    return os.environ.get("TORCH_NEURONX_NEFF_CACHE_DIR") or os.path.join(
        ROOT if placed() else "/tmp", "tmp", "neff_cache"
    )


def _lock_folder() -> str:
    local = os.environ.get("TORCH_NEURONX_NEFF_LOCAL_CACHE_DIR") or os.path.join(ROOT, "tmp", "local_cache")
    return os.path.join(local, "locks")


def _log(words: str) -> None:
    """A line of the native log, as the real one writes it at level 3."""
    path = os.environ.get("TORCH_NEURONX_LOG_FILE")
    if path and os.environ.get("TORCH_NEURONX_LOG_LEVEL") == "3":
        with open(path, "a") as file:
            file.write(f"[Neuron] [DEBUG] [CompilationCache.cpp:1] {words} (stand-in)\n")


def compiled(module: str) -> tuple[str, bool]:
    """The key of the module's NEFF, which is in the cache then, and whether it was there before. Without a host: only the time it takes."""
    flags = os.environ.get("NEURON_CC_FLAGS", "") + os.environ.get("NEURON_COMPILER_OPT_LEVEL", "-O1")
    key = hashlib.blake2b(
        (flags + module).encode(), digest_size=16
    ).hexdigest()  # not of the compiler's version, as in the real one
    if not placed():
        time.sleep(float(host()["compile_s"]))
        return key, False
    if os.environ.get("TORCH_NEURONX_NEFF_DISABLE_CACHE", "").lower() in ("1", "true", "yes"):
        _compile(module, None)
        return key, False
    path = os.path.join(folder(), key[:2], key[2:4], key + ".neff")
    if os.path.exists(path):
        metrics.count("PersistentHits")
        _log(f"Persistent cache hit key= {key} persistent_key= {key} size= {os.path.getsize(path)}")
        return key, True
    _log(f"Acquiring compilation lock key= {key} lock_path= {_lock_folder()}/{key}.lock")
    os.makedirs(_lock_folder(), exist_ok=True)
    fd = os.open(os.path.join(_lock_folder(), key + ".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        if os.path.exists(path):  # another process has compiled it meanwhile
            metrics.count("PersistentHits")
            _log(f"Persistent cache hit key= {key} persistent_key= {key} size= {os.path.getsize(path)}")
            return key, True
        metrics.count("PersistentMisses")
        _log(f"Persistent cache miss key= {key}")
        _compile(module, path)
        _log(f"Stored to persistent cache key= {key}")
    finally:
        os.close(fd)
    return key, False


def _compile(module: str, path: str | None) -> None:
    """Runs neuronx-cc in a folder of its own; its output is shown only when it fails."""
    work = tempfile.mkdtemp(prefix="neuron_compile_")
    try:
        source, target = os.path.join(work, "module.mlir"), os.path.join(work, "module.neff")
        with open(source, "w") as file:
            file.write(module)
        level = os.environ.get("NEURON_COMPILER_OPT_LEVEL", "-O1")
        command = [
            "neuronx-cc",
            "compile",
            source,
            "--framework",
            "XLA",
            "--target",
            "trn2",
            "--lnc",
            str(host()["lnc"]),
            level,
        ]
        command += [*os.environ.get("NEURON_CC_FLAGS", "").split(), "--output", target]
        try:
            done = subprocess.run(command, capture_output=True, text=True)
            code, words = done.returncode, done.stdout + done.stderr
        except FileNotFoundError:
            code, words = 127, "sh: 1: neuronx-cc: not found"
        if code:
            raise RuntimeError(
                f"Command failed (neuronx-cc compilation) with exit code {code}: {' '.join(command)}\n{words}"
            )
        metrics.count("TotalCompilations")
        if path is not None:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            fd, part = tempfile.mkstemp(prefix=".tmp.", dir=os.path.dirname(path))
            with os.fdopen(fd, "wb") as out, open(target, "rb") as made:
                shutil.copyfileobj(made, out)
            os.replace(part, path)
    finally:
        shutil.rmtree(work, ignore_errors=True)
