"""The keeper as a process of its own, detached from the terminal. Started by `start_keeper`, by file path, or run in place.

python -I keeper_process.py FOLDER      answers one line of JSON on stdout once it holds the batch: {"held": true}, or {"error"}
"""

from __future__ import annotations

import json
import os
import sys

if __name__ == "__main__":  # -I keeps the user's folders off sys.path
    sys.path.insert(0, os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..")))

import signal
import subprocess
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from trnui_runner.batch.folder import BatchFolder
from trnui_runner.common.errors import UserError, process_error
from trnui_runner.common.files import read_json, write_json

if TYPE_CHECKING:
    from trnui_runner.batch.keeper import Keeper

ANSWER_S: Final = 60.0
UNLIMITED: Final = 1_000_000
ENGINE: Final = "engine.json"  # {"ray": address, "open_port"}; absent: this host


def start_keeper(folder: BatchFolder, *, ray: str | None = None, open_port: bool = False) -> bool:
    """A keeper that outlives the caller; False when the batch has one. Takes back a request to stop.

    ray: address of a cluster, kept for the next time; open_port: one that demands no token is taken all the same.
    Raises UserError when it cannot be started.
    """
    if folder.kept():
        return False
    if ray is not None:
        from trnui_runner.batch.engines.ray_cluster import check_address

        check_address(ray, open_port)
    try:
        folder.go_on()
        if ray is not None:
            write_json(folder.path / ENGINE, {"ray": ray, "open_port": open_port})
        with open(folder.path / "keeper.log", "ab") as log:
            child = subprocess.Popen(
                [sys.executable, "-I", __file__, str(folder.path.resolve())],
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                start_new_session=True,
            )
    except OSError as error:
        raise process_error(error) or UserError(
            f"{folder.path}: {error.strerror or error}", "Free some disk space, then attach again."
        ) from error
    told = _answer(child, folder)
    if told.get("error"):
        raise UserError(f"The batch's keeper did not start: {told['error']}", str(told.get("remedy", "")))
    return not told.get("kept")


def _answer(child: subprocess.Popen[bytes], folder: BatchFolder) -> dict[str, Any]:
    try:
        out, _ = child.communicate(timeout=ANSWER_S)
        told = json.loads(out)
    except subprocess.TimeoutExpired:
        child.kill()
        return {"error": f"no answer within {ANSWER_S:g} s", "remedy": "This host is very busy; try again."}
    except ValueError:
        said = folder.keeper_log().strip().splitlines()
        return {
            "error": said[-1] if said else f"it ended with {child.returncode}",
            "remedy": f"See {folder.path / 'keeper.log'}.",
        }
    return told if isinstance(told, dict) else {}


def engine_words(folder: BatchFolder) -> str:
    """`Ray at 10.0.0.5:6379` or `this host`."""
    address = _ray(folder)
    return f"Ray at {address}" if address else "this host"


def _ray(folder: BatchFolder) -> str | None:
    address = _settings(folder).get("ray")
    return address if isinstance(address, str) and address else None


def _settings(folder: BatchFolder) -> dict[str, Any]:
    value = read_json(folder.path / ENGINE)
    return value if isinstance(value, dict) else {}


def keeper_of(folder: BatchFolder) -> Keeper:
    """The batch's keeper with its engine; the caller holds the batch's lock. Raises UserError."""
    from trnui_runner.batch.engines.engine import Engine
    from trnui_runner.batch.engines.local import LocalEngine
    from trnui_runner.batch.keeper import Keeper
    from trnui_runner.batch.planning.checkpoints import Checkpoints

    batch, address = folder.batch(), _ray(folder)
    engine: Engine
    if address is not None:
        from trnui_runner.batch.engines.ray_cluster import Cluster
        from trnui_runner.batch.engines.ray_hosts import RayEngine
        from trnui_runner.batch.planning.checkpoints import Unmanaged

        _quiet()
        cluster = Cluster(address, open_port=bool(_settings(folder).get("open_port")))
        engine = RayEngine(folder, batch, cluster)
        compiling = batch.limits.compiling or UNLIMITED  # this host's vCPUs and memory are not theirs
        return Keeper(folder, engine, Unmanaged(), memory=lambda: None, compilers=compiling)
    limits = batch.limits
    checkpoints = Checkpoints(folder.path / "checkpoints.jsonl", budget=limits.disk, spare=limits.spare)
    return Keeper(folder, LocalEngine(batch.id, folder.request), checkpoints)


def _quiet() -> None:
    """Ray writes its state to file descriptor 2 when a host dies; Python's own words still reach keeper.log."""
    sys.stderr = os.fdopen(os.dup(2), "w", buffering=1)
    null = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
    os.dup2(null, 2)
    os.close(null)


def main(path: str) -> None:
    folder = BatchFolder(Path(path))
    if os.fork():
        os._exit(0)
    for sig in (signal.SIGHUP, signal.SIGPIPE):  # handlers, for what is ignored would stay so in the runs
        signal.signal(sig, lambda *_: None)
    try:
        lock = folder.lock()
        if lock is None:
            return answer(kept=True)
        keeper = keeper_of(folder)
    except UserError as error:
        return answer(error=error.message, remedy=error.remedy)
    except OSError as error:
        return answer(error=f"{folder.path}: {error.strerror}")
    answer(held=True)
    try:
        keeper.run()
    except Exception:  # noqa: BLE001 told in keeper.log; runs go on, and the next keeper finds them
        traceback.print_exc()
        sys.stderr.flush()
        os._exit(1)
    return None


def answer(**words: object) -> None:
    """To whoever started it; afterwards stdout leads nowhere."""
    sys.stdout.flush()
    os.write(1, json.dumps(words).encode() + b"\n")
    null = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
    os.dup2(null, 1)
    os.close(null)


if __name__ == "__main__":
    main(sys.argv[1])
