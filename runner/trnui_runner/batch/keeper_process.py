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
from typing import Any, Final

from trnui_runner.batch.folder import BatchFolder
from trnui_runner.common.errors import UserError
from trnui_runner.common.files import read_json, write_json

ANSWER_S: Final = 60.0
ENGINE: Final = "engine.json"  # {"ray": address}; absent: this host


def start_keeper(folder: BatchFolder, *, ray: str | None = None, python: str | None = None) -> bool:
    """A keeper that outlives the caller; False when the batch has one. Takes back a request to stop.

    ray: address of a cluster, kept for the next time; `python`: an interpreter with the cluster's own version of Ray.
    Raises UserError when it cannot be started.
    """
    if folder.kept():
        return False
    try:
        folder.go_on()
        if ray is not None:
            write_json(folder.path / ENGINE, {"ray": ray})
        with open(folder.path / "keeper.log", "ab") as log:
            child = subprocess.Popen(
                [python or sys.executable, "-I", __file__, str(folder.path.resolve())],
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                start_new_session=True,
            )
    except OSError as error:
        raise UserError(
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
    value = read_json(folder.path / ENGINE)
    address = value.get("ray") if isinstance(value, dict) else None
    return address if isinstance(address, str) and address else None


def keep(folder: BatchFolder) -> None:
    """The work itself; the caller holds the batch's lock. Raises UserError."""
    from trnui_runner.batch.checkpoints import Checkpoints
    from trnui_runner.batch.engines.engine import Engine
    from trnui_runner.batch.engines.local import LocalEngine
    from trnui_runner.batch.keeper import Keeper

    batch = folder.batch()
    engine: Engine = LocalEngine(batch, folder.request)
    limits = batch.limits
    checkpoints = Checkpoints(folder.path / "checkpoints.jsonl", budget=limits.disk, spare=limits.spare)
    Keeper(folder, engine, checkpoints).run()


def main(path: str) -> None:
    folder = BatchFolder(Path(path))
    try:
        folder.batch()
        lock = folder.lock()
    except UserError as error:
        return answer(error=error.message, remedy=error.remedy)
    except OSError as error:
        return answer(error=f"{folder.path}: {error.strerror}")
    if lock is None:
        return answer(kept=True)
    if os.fork():
        os._exit(0)
    for sig in (signal.SIGHUP, signal.SIGPIPE):  # handlers, for what is ignored would stay so in the runs
        signal.signal(sig, lambda *_: None)
    answer(held=True)
    try:
        keep(folder)
    except Exception:  # noqa: BLE001 told in keeper.log; runs go on, and the next keeper finds them
        traceback.print_exc()
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
