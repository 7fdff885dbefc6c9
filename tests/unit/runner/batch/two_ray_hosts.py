"""Two Ray hosts on this machine, each with its own state folder and 16 stand-in cores, and a coordinator that can be killed.

python two_ray_hosts.py BATCH ADDRESS      is the coordinator: a keeper over these hosts
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.unit.runner.batch import standin_batch
from trnui_runner.batch.batch_file import BatchRow
from trnui_runner.batch.engines.local import LocalEngine
from trnui_runner.batch.engines.on_host import NOT_THE_USERS, follow_row
from trnui_runner.batch.folder import BatchFolder
from trnui_runner.batch.journal import RowEvent
from trnui_runner.batch.keeper import Keeper
from trnui_runner.batch.planning.checkpoints import Unmanaged
from trnui_runner.batch.request_file import from_values

ROOT = Path(__file__).resolve().parents[4]


def run_row(
    batch_id: str,
    row: Mapping[str, Any],
    attempt: int,
    oldest: int,
    request: Mapping[str, Any],
    script: bytes | None,
    host: str,
) -> tuple[RowEvent, bytes]:
    """As on_host.run_row, with a script that only sleeps."""
    environ = {k: v for k, v in os.environ.items() if k not in NOT_THE_USERS}
    engine = LocalEngine(
        batch_id, lambda _: from_values(request, script), host=host, ask_consent=False, environ=environ,
        prepare=standin_batch.prepared, devices=standin_batch.here,
    )  # fmt: skip
    return follow_row(engine, batch_id, BatchRow(**row), attempt, oldest)


class Hosts:
    """`ray start` of a head without cores and of two hosts below `folder`; `kill` and `start` one of them by its name."""

    def __init__(self, folder: Path, environ: Mapping[str, str], port: int) -> None:
        self.folder, self.port = folder, port
        self.environ = {
            **environ,
            "RAY_USAGE_STATS_ENABLED": "0",
            "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "runner")]),
        }
        self._daemons: dict[str, int] = {}
        self._all: set[int] = set()
        self._start("head", "--head", f"--port={port}", "--num-cpus=0", "--include-dashboard=false")

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def start(self, name: str) -> None:
        resources = json.dumps({"neuron_cores": 16})
        self._start(
            name, f"--address={self.address}", "--num-cpus=32", f"--resources={resources}", f"--node-name={name}"
        )

    def _start(self, name: str, *words: str) -> None:
        before = set(daemons(self.folder))
        env = {
            **self.environ,
            "TRNUI_STATE_DIR": str(self.folder / name),
            "TRNUI_CACHE_DIR": str(self.folder / name / "cache"),
        }
        ray = str(Path(sys.executable).with_name("ray"))
        more = [f"--temp-dir={self.folder / 'r'}"] if name == "head" else []
        done = subprocess.run(
            [ray, "start", *words, *more, "--disable-usage-stats"],
            env=env,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stdout[-800:] + done.stderr[-800:]
        mine = set(daemons(self.folder)) - before
        self._all |= mine
        self._daemons[name] = next(pid for pid in mine if "raylet/raylet" in command(pid)[0])

    def kill(self, name: str) -> None:
        os.kill(self._daemons[name], signal.SIGKILL)

    def close(self) -> None:
        """Ends what was started here, by id: `ray stop` would end every Ray of the user."""
        for _ in range(50):
            alive = daemons(self.folder)
            for pid in alive:
                with_suppress(os.kill, pid, signal.SIGKILL)
            if not alive:
                return
            time.sleep(0.1)


def with_suppress(call: Any, *args: Any) -> None:
    try:
        call(*args)
    except ProcessLookupError:
        return


def command(pid: int) -> list[str]:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return [""]


def daemons(folder: Path) -> list[int]:
    """Ray's processes of this folder's cluster."""
    mark = str(folder / "r")
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit() and int(name) != os.getpid() and any(mark in word for word in command(int(name))):
            found.append(int(name))
    return found


def keeper(folder: BatchFolder, address: str) -> Keeper:
    from trnui_runner.batch.engines.ray_cluster import Cluster
    from trnui_runner.batch.engines.ray_hosts import RayEngine

    engine = RayEngine(folder, folder.batch(), Cluster(address), run_row)
    return Keeper(folder, engine, Unmanaged(), look_s=0.5, memory=lambda: None, compilers=1000)


if __name__ == "__main__":
    at = BatchFolder(Path(sys.argv[1]))
    assert at.lock() is not None
    print("held", flush=True)
    keeper(at, sys.argv[2]).run()
