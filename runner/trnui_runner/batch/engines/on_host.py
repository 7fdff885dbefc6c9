"""What is done on a host of several, asked for from another one: run a row to its end, tell what goes on, stop, bring home.

Arguments and answers are plain values, so that hosts need the same trnui, and nothing else, to understand each other. Every
function is safe to repeat: a row that has begun here is adopted, never started again.
"""

from __future__ import annotations

import io
import os
import tarfile
import time
from collections.abc import Mapping, Sequence
from typing import Any, Final

from trnui_runner import __version__
from trnui_runner.batch.batch_file import BatchRow
from trnui_runner.batch.engines.local import LocalEngine, begun_here
from trnui_runner.batch.journal import RowEvent, RowState
from trnui_runner.batch.request_file import from_values
from trnui_runner.common.files import runs_dir
from trnui_runner.host.interpreter import find
from trnui_runner.run_folder.folder import RunFolder
from trnui_runner.supervise import launcher

LOOK_S: Final = 1.0
LOG: Final = 20 << 20  # bytes of output.log that are brought home; its end counts
LIVE_LOG: Final = 2 << 20
LEFT_OUT: Final = frozenset({"work", "lock", "tmp", "output.log"})
NOT_THE_USERS: Final = ("OMP_NUM_THREADS", "NEURON_RT_VISIBLE_CORES")  # set by the cluster for its own workers


def run_row(
    batch_id: str,
    row: Mapping[str, Any],
    attempt: int,
    oldest: int,
    request: Mapping[str, Any],
    script: bytes | None,
    host: str,
) -> tuple[RowEvent, bytes]:
    """Runs a row here, or follows the run of it that is here already, to its end. (its last event, its run folder packed)"""
    environ = {k: v for k, v in os.environ.items() if k not in NOT_THE_USERS}
    engine = LocalEngine(
        batch_id, lambda _: from_values(request, script), host=host, ask_consent=False, environ=environ
    )
    return follow_row(engine, batch_id, BatchRow(**row), attempt, oldest)


def follow_row(engine: LocalEngine, batch_id: str, row: BatchRow, attempt: int, oldest: int) -> tuple[RowEvent, bytes]:
    """The same with an engine of this host."""
    event = _adopted(engine, batch_id, row.n, oldest)
    while event is None:
        event = engine.start(row, attempt, oldest) if engine.fits(row) else None
        if event is None:
            time.sleep(LOOK_S)
    while event.state is RowState.GOING:
        time.sleep(LOOK_S)
        event = next((e for e in engine.follow() if e.n == row.n), event)
    run = RunFolder(runs_dir() / event.run) if event.run else None
    return event, packed(run, LOG) if run is not None else b""


def _adopted(engine: LocalEngine, batch_id: str, n: int, oldest: int) -> RowEvent | None:
    """The row's run of this try, if it has begun here and was not lost."""
    attempt, run = begun_here(batch_id).get(n, (0, None))
    if run is None or attempt < oldest:
        return None
    event = engine.adopt(n, attempt, run)
    return None if event.state is RowState.LOST or event.outcome == "CANCELLED" else event


def look(batch_id: str) -> list[tuple[int, int, str, str, tuple[int, ...]]]:
    """Rows that go on here: (n, attempt, run, stage, cores)."""
    found = []
    for n, (attempt, run) in begun_here(batch_id).items():
        if not run.ended() and run.outcome() in ("queued", "running"):
            state = run.state()
            found.append((n, attempt, run.id, state.stage if state else "queued", state.cores_held if state else ()))
    return found


def survey(batch_id: str) -> list[tuple[int, int, str, str]]:
    """Every row that has begun here: (n, attempt, run, outcome)."""
    return [(n, attempt, run.id, run.outcome()) for n, (attempt, run) in sorted(begun_here(batch_id).items())]


def stop(batch_id: str, rows: Sequence[int]) -> list[int]:
    """Ends the runs of these rows; those that were going on."""
    going = [(n, run) for n, (_, run) in begun_here(batch_id).items() if n in set(rows) and not run.ended()]
    for _, run in going:
        run.ask_stop()
    for _, run in going:
        launcher.stop(run)
    return [n for n, _ in going]


def log_so_far(run_id: str) -> bytes:
    """The run folder with the end of its log, packed."""
    return packed(RunFolder(runs_dir() / run_id), LIVE_LOG)


def facts(python: str) -> dict[str, Any]:
    """What decides whether rows may run here: trnui's version, the stack of the interpreter, the device."""
    from trnui_runner.host.devices import devices

    here = devices()
    stack = {k: str(v) for k, v in find(python or None).stack.items() if isinstance(v, str)}
    return {"trnui": __version__, "stack": stack, "device": here.words, "cores": len(here.cores), "lnc": here.lnc}


def packed(run: RunFolder, most: int) -> bytes:
    """A run folder as tar.xz: no work folder, no links, of the log at most its last `most` bytes."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:xz", preset=1) as tar:
        for path in sorted(run.path.rglob("*")):
            inside = path.relative_to(run.path)
            if inside.parts[0] in LEFT_OUT or not path.is_file() or path.is_symlink() or inside.name.endswith(".part"):
                continue
            tar.add(path, arcname=f"{run.id}/{inside}", recursive=False)
        data = _end(run, most)
        if data is not None:
            info = tarfile.TarInfo(f"{run.id}/output.log")
            info.size, info.mtime, info.mode = len(data), int(time.time()), 0o600
            tar.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


def _end(run: RunFolder, most: int) -> bytes | None:
    try:
        with open(run.path / "output.log", "rb") as file:
            size = os.fstat(file.fileno()).st_size
            file.seek(max(0, size - most))
            head = f"[the first {size - most} bytes are on the host of the run]\n".encode() if size > most else b""
            return head + file.read()
    except OSError:
        return None
