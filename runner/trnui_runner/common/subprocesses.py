"""The one way to ask a tool of the host (neuron-ls, dpkg-query, …): always with a timeout; its absence is a normal answer.

`TRNUI_HOST_ROOT` puts another folder in the place of `/` for everything that is looked up on the host; then it is a stand-in.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from trnui_runner.common.errors import process_error, process_limit
from trnui_runner.common.text import decode, one_line, seconds

NEURON_BIN = "opt/aws/neuron/bin"  # not on every user's PATH
MOST = 32 << 20  # bytes of an answer


def host_root() -> Path:
    """`/`, or the stand-in's folder."""
    return Path(os.environ.get("TRNUI_HOST_ROOT") or "/")


def is_stand_in() -> bool:
    """Whether the host's files come from elsewhere than `/`."""
    return host_root() != Path("/")


@dataclass(frozen=True)
class ToolOutput:
    """What a tool said. `problem` is empty when it ended with 0; `present` is False when there is no such tool."""

    tool: str
    out: str = ""
    err: str = ""
    problem: str = ""
    present: bool = True

    @property
    def ok(self) -> bool:
        return not self.problem


def locate(tool: str, first: Sequence[Path] = ()) -> str | None:
    """The tool's path: in the folders `first`, on PATH, or where AWS installs its tools."""
    folders = [*map(str, first), os.environ.get("PATH", os.defpath), str(host_root() / NEURON_BIN)]
    return shutil.which(tool, path=os.pathsep.join(folders))


def ask(tool: str, *arguments: str, timeout: float = 5.0, env: Mapping[str, str] | None = None) -> ToolOutput:
    """Runs the tool (a name or a path) and waits at most `timeout` seconds; whatever it started is ended with it. Never raises."""
    name = os.path.basename(tool)
    path = tool if os.sep in tool else locate(tool)
    if path is None:
        return ToolOutput(name, problem="not installed", present=False)
    try:
        child = subprocess.Popen(
            [path, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            env=dict(env) if env is not None else None,
        )
    except FileNotFoundError:
        return ToolOutput(name, problem="not installed", present=False)
    except OSError as error:
        words = process_limit() if process_error(error) else error.strerror
        return ToolOutput(name, problem=f"cannot be started: {words}")
    try:
        out, err = child.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        return ToolOutput(name, problem=f"no answer in {seconds(timeout)}")
    finally:
        if child.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)
            for pipe in (child.stdout, child.stderr):
                if pipe is not None:
                    pipe.close()
            child.wait()
    words = decode(err[:MOST])
    if child.returncode:
        last = next((line for line in reversed(words.splitlines()) if line.strip()), "")
        return ToolOutput(
            name, decode(out[:MOST]), words, f"ended with {child.returncode}: {one_line(last, 200)}".rstrip(": ")
        )
    return ToolOutput(name, decode(out[:MOST]), words)
