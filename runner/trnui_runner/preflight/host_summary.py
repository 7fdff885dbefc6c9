"""This host in one value: devices, cores and who holds them, the interpreter's stack, caches, and what a run would lack."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from trnui_runner.common.hub_env import has_token, hub_cache
from trnui_runner.common.subprocesses import locate
from trnui_runner.common.text import ABSENT, age, one_line, shown, size
from trnui_runner.host import neff_cache as neff
from trnui_runner.host.devices import Core, Devices, devices
from trnui_runner.host.environments import SIZE, install_line
from trnui_runner.host.interpreter import Interpreter, find
from trnui_runner.host.logind import Sessions, sessions
from trnui_runner.host.neff_cache import Cache
from trnui_runner.host.stack import PACKAGES, SYSTEM, WORDS, not_asked
from trnui_runner.host.system_info import free_space, host_memory
from trnui_runner.preflight.report import Check, CheckStatus, lines
from trnui_runner.request.placement import SAMPLE_WAY

TOOLS: Final = ("neuron-ls", "neuron-monitor")
MARK: Final = " · stand-in"
WIDTH: Final = 12


@dataclass(frozen=True)
class DiskUsage:
    """A folder that runs use. `free`: bytes left on its file system."""

    name: str
    path: Path
    free: int | None
    words: str = ""


@dataclass(frozen=True)
class Host:
    devices: Devices
    interpreter: Interpreter
    tools: dict[str, str | None]  # path of each, None when it is not here
    caches: tuple[Cache, ...]
    used: Cache | None  # the one that a run of this interpreter uses; None without a compiler
    places: tuple[DiskUsage, ...]
    memory: int | None
    sessions: Sessions
    token: bool

    @property
    def stand_in(self) -> bool:
        return self.devices.stand_in or bool(self.interpreter.stack.get("stand_in"))

    def missing(self) -> tuple[Check, ...]:
        """What keeps a run on a Trainium from starting or from being monitored; empty when nothing is missing."""
        stack, found = self.interpreter.stack, list[Check]()
        gone = [n for n in ("torch", "transformers") if not stack.get(n)]
        if silent := not_asked(stack):
            found.append(
                Check(
                    "packages",
                    CheckStatus.ERROR,
                    f"{self.interpreter.path} could not be asked: {silent}",
                    "Give another one with --python, or try again.",
                )
            )
        elif gone:
            found.append(
                Check(
                    "packages",
                    CheckStatus.ERROR,
                    f"{self.interpreter.path} has no {' and no '.join(gone)}",
                    f"{install_line(self.interpreter.path)} ({SIZE}), or --python.",
                )
            )
        if not self.devices.present:
            found.append(Check("device", CheckStatus.ERROR, "no Neuron device: runs on the CPU only", SAMPLE_WAY))
            return tuple(found)
        if not stack.get("native"):
            kind = "an XLA torch-neuronx" if stack.get("native") is False else "no torch-neuronx"
            found.append(
                Check(
                    "torch-neuronx",
                    CheckStatus.ERROR,
                    f"{self.interpreter.path} has {kind}",
                    "Give --python an environment with 2.13.3 or later.",
                )
            )
        if any("PATH" in p for p in stack.get("problems", ())):
            found.append(
                Check(
                    "neuronx-cc",
                    CheckStatus.ERROR,
                    "the compiler is not on the PATH",
                    "It is in the environment's bin folder; reinstall neuronx-cc there.",
                )
            )
        if not stack.get("neuron_driver"):
            found.append(
                Check("driver", CheckStatus.WARNING, "its version cannot be told", "Install aws-neuronx-dkms.")
            )
        for name, what in (("neuron-ls", "who holds which core"), ("neuron-monitor", "live memory of each core")):
            if self.tools[name] is None:
                found.append(
                    Check(
                        name, CheckStatus.WARNING, f"not installed: {what} is not known", "Install aws-neuronx-tools."
                    )
                )
        if self.devices.cores and not self.devices.free:
            found.append(Check("cores", CheckStatus.WARNING, "all in use", "See who holds them, above."))
        return tuple(found)

    def to_json(self) -> dict[str, Any]:
        """Every object that describes a stand-in has `stand_in`: true."""
        stand_in = self.stand_in
        used = self.used.to_json() | {"stand_in": stand_in} if self.used is not None else None
        found = self.devices.to_json()
        cores = [dict(c, stand_in=self.devices.stand_in) for c in found["cores"]]
        return {
            "stand_in": stand_in,
            "devices": {**found, "cores": cores},
            "interpreter": self.interpreter.to_json(),
            "tools": {name: {"path": path, "stand_in": stand_in} for name, path in self.tools.items()},
            "neff_caches": [c.to_json() | {"stand_in": stand_in} for c in self.caches],
            "neff_cache": used,
            "places": [{"name": p.name, "path": str(p.path), "free": p.free, "words": p.words} for p in self.places],
            "host_memory_available": self.memory,
            "survives_logout": self.sessions.survive,
            "hub_token": self.token,
            "missing": [
                {"name": i.name, "status": str(i.status), "message": i.message, "remedy": i.remedy}
                for i in self.missing()
            ],
        }

    def lines(self) -> list[str]:
        """For a terminal, without colour. Each line about a stand-in's part ends with the word."""
        mark = MARK if self.stand_in else ""
        here, stack = self.devices, self.interpreter.stack
        out = [_line("devices", here.words)]
        out += [_line("", one_line(p)) for p in here.problems]
        if here.present:
            out.append(_line("driver", f"{stack.get('neuron_driver', ABSENT)}{mark}"))
            out += [
                _line("tools" if n == 0 else "", f"{name} {path or 'not installed'}{mark}")
                for n, (name, path) in enumerate(self.tools.items())
            ]
        out += self._cores()
        out += [_line("python", f"{self.interpreter.path} ({self.interpreter.origin}){mark}")]
        versions = [("Python", stack.get("python")), *((WORDS.get(n, n), stack.get(n)) for n in PACKAGES)]
        out += [
            _line("", f"{name:<14}{shown(version)}{mark if 'standin' in str(version) else ''}")
            for name, version in versions
        ]
        system = stack.get("system", {})
        out += [_line("", f"{name:<28}{system[name]}{mark}") for name in SYSTEM if name in system]
        out += [_line("", one_line(p)) for p in stack.get("problems", ())]
        out += self._caches(mark)
        out += [
            _line("disk" if n == 0 else "", f"{p.name}: {size(p.free)} free, {p.path}{p.words}")
            for n, p in enumerate(self.places)
        ]
        out.append(_line("memory", f"{size(self.memory)} of host memory available"))
        out.append(_line("logout", self.sessions.words))
        out.append(_line("Hub token", "at hand" if self.token else "none at hand"))
        missing = self.missing()
        out += [
            "",
            "Missing for a run on Trainium:"
            if missing
            else f"Nothing is missing for a run{' on this stand-in' if self.stand_in else ''}.",
        ]
        return out + [f"  {line}" for line in lines(missing, details=False)]

    def _cores(self) -> list[str]:
        """Adjacent cores in the same state share a line."""
        mark = MARK if self.devices.stand_in else ""
        groups: list[list[Core]] = []
        for core in self.devices.cores:
            last = groups[-1][-1] if groups else None
            if last is not None and (last.device, last.hbm, last.held_by) == (core.device, core.hbm, core.held_by):
                groups[-1].append(core)
            else:
                groups.append([core])
        out = []
        for n, group in enumerate(groups):
            ids = f"{group[0].id}" if len(group) == 1 else f"{group[0].id}-{group[-1].id}"
            words = f"{ids:<7} device {group[0].device:<3} {size(group[0].hbm):>9}{' each' if len(group) > 1 else '     '}  {group[0].held_by or 'free'}"
            out.append(_line("cores" if n == 0 else "", words + mark))
        return out

    def _caches(self, mark: str) -> list[str]:
        out = [_line("NEFF cache", "none is used: no neuronx-cc here")]
        if self.used is not None:
            out = [_line("NEFF cache", f"{self.used.words}{mark}"), _line("", f"{self.used.path} ({self.used.origin})")]
        for cache in self.caches:
            if self.used is None or cache.path != self.used.path:
                newest = "" if cache.newest is None else f", newest {age(time.time() - cache.newest)}"
                out.append(_line("", f"also {cache.words}{newest}"))
        return out


def _line(name: str, words: str) -> str:
    return f"{name:<{WIDTH}}{words}".rstrip()


def look(python: str | None = None, neff_cache: str = "") -> Host:
    """What is here now; about 0.2 s. Raises UsageError when the interpreter that is set is not there."""
    interpreter = find(python)
    compiler = interpreter.stack.get("neuronx_cc")
    used = neff.cache(compiler, neff_cache) if compiler else None
    checkpoints = hub_cache()
    places = (
        DiskUsage("checkpoints", checkpoints, free_space(checkpoints), f" ({_models(checkpoints)} in it)"),
        DiskUsage("graphs", neff.root(neff_cache), free_space(neff.root(neff_cache))),
        DiskUsage(
            "temporary files",
            Path(os.environ.get("TMPDIR", "/tmp")),
            free_space(Path(os.environ.get("TMPDIR", "/tmp"))),
        ),
    )
    tools = {name: locate(name) for name in TOOLS}
    return Host(
        devices(), interpreter, tools, neff.all_caches(neff_cache), used, places, host_memory(), sessions(), has_token()
    )


def _models(path: Path) -> str:
    try:
        count = sum(entry.name.startswith("models--") for entry in os.scandir(path))
    except OSError:
        return "no checkpoint"
    return f"{count} checkpoint{'' if count == 1 else 's'}" if count else "no checkpoint"
