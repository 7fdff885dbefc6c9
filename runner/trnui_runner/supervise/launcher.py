"""Start a run, stop it, and end what is left of one that lost its watchers. The launcher keeps no child and no duty."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trnui_runner.common import procfs
from trnui_runner.common.errors import DeviceError, UserError, process_error
from trnui_runner.common.files import cache_dir, leases_dir, private_dir
from trnui_runner.request.steps import Step, SupervisionOptions
from trnui_runner.run_folder.folder import TMP_PREFIX, RunFolder, all_runs
from trnui_runner.run_folder.recipe import Recipe
from trnui_runner.supervise import process_tree
from trnui_runner.supervise.child_env import RunPaths, child_environment
from trnui_runner.supervise.guard import lose
from trnui_runner.supervise.process_tree import Process

GUARD = Path(__file__).resolve().parent / "guard.py"
ANSWER_S = 60.0
FROZEN_S = 5.0  # beyond the grace: then the guard is asked, who does not rely on the supervisor


def start(
    recipe: Recipe,
    script: bytes,
    steps: Sequence[Step],
    supervision: SupervisionOptions = SupervisionOptions(),  # noqa: B008 frozen
    *,
    environ: Mapping[str, str] = os.environ,
    parent: Path | None = None,
) -> RunFolder:
    """A new run, detached, watched from the moment this returns.

    Raises DeviceError when the cores are held and `supervision.wait` is off, UserError when it cannot be started.
    """
    run = None
    try:
        run = RunFolder.create(recipe, script, parent)
        told = _hand_over(run, recipe, script, steps, supervision, environ)
    except OSError as error:
        if run is not None:
            _forget(run)
        raise process_error(error) or UserError(
            f"No run folder: {error}", "Free some disk space, or set TRNUI_STATE_DIR to another folder."
        ) from error
    if told.get("held"):
        return run
    _forget(run)
    if "busy" in told:
        words = supervision.cores.words if supervision.cores else "none"
        raise DeviceError(
            f"No NeuronCores are free ({words}): {told['busy']}", "Wait for that run, stop it, or let this one wait."
        )
    raise UserError(f"The run did not start: {told.get('error', 'no answer')}", "See the message above, or try again.")


def _forget(run: RunFolder) -> None:
    """Takes away a run that has not begun."""
    run.tidy()
    with contextlib.suppress(OSError):
        run.remove()


def _hand_over(
    run: RunFolder,
    recipe: Recipe,
    script: bytes,
    steps: Sequence[Step],
    supervision: SupervisionOptions,
    environ: Mapping[str, str],
) -> dict[str, Any]:
    """Starts the guard with the run's lock and the order in memory; its answer."""
    lock = run.lock()
    if lock is None:
        raise UserError(f"Run {run.id} is held by somebody else already.")
    try:
        tmp = Path(tempfile.mkdtemp(prefix=TMP_PREFIX))  # not below the run folder: paths of sockets have 108 bytes
        try:
            run.keep_tmp(tmp)
        except OSError:
            tmp.rmdir()
            raise
        paths = RunPaths(run.id, run.path.resolve(), tmp, cache_dir() / "neff", recipe.python, recipe.device)
        environs = [{**child_environment(environ, paths, supervision, probe=s.probe), **s.env} for s in steps]
        for cache in {e["TORCH_NEURONX_NEFF_CACHE_DIR"] for e in environs if "TORCH_NEURONX_NEFF_CACHE_DIR" in e}:
            private_dir(Path(cache))  # what lies in there is executed
        order = {
            "recipe": recipe.to_json(),
            "script": script.decode("latin-1"),  # its bytes as they are
            "steps": [dataclasses.asdict(s) for s in steps],
            "supervision": supervision.to_json(),
            "environs": environs,
            "lock": lock,
            "leases": str(leases_dir().resolve()),
            "path": [p for p in sys.path if os.path.isabs(p)],
        }
        with (
            tempfile.TemporaryFile() as plan,
            open(run.path / "guard.log", "ab") as log,
        ):
            plan.write(json.dumps(order).encode())
            plan.seek(0)
            guard = subprocess.Popen(
                [sys.executable, "-I", str(GUARD), str(run.path.resolve())],
                cwd="/",
                stdin=plan,
                stdout=subprocess.PIPE,
                stderr=log,
                start_new_session=True,
                pass_fds=(lock,),
                env={k: v for k, v in os.environ.items() if k not in (procfs.MARK, "TRNUI_RUN_DIR")},
            )
        return _answer(guard, run)
    finally:
        os.close(lock)


def _answer(guard: subprocess.Popen[bytes], run: RunFolder) -> dict[str, Any]:
    try:
        out, _ = guard.communicate(timeout=ANSWER_S)
    except subprocess.TimeoutExpired:
        run.ask_stop()  # whenever it comes up it ends at once
        guard.kill()
        raise UserError(f"The run did not start within {ANSWER_S:g} s.", "This host is very busy; try again.") from None
    try:
        told = json.loads(out)
    except ValueError:
        log = run.guard_log().strip().splitlines()
        return {"error": log[-1] if log else f"the guard ended with {guard.returncode}"}
    return told if isinstance(told, dict) else {}


# --- stopping


@dataclass(frozen=True)
class Stopped:
    """What a stop did: the run's outcome, whether it had ended before, who was alive, and who still is (nobody, as a rule)."""

    outcome: str
    already: bool
    ended: tuple[Process, ...] = ()
    left: tuple[Process, ...] = ()


def stop(run: RunFolder, wait: bool = True) -> Stopped:
    """Asks the run to end: TERM, grace, then KILL for every process of it. With `wait` returns when nothing is left."""
    outcome = run.outcome()
    if outcome == "LOST":
        found = sweep(run)
        return Stopped("LOST", already=not found, ended=tuple(found))
    if outcome not in ("queued", "running"):
        return Stopped(outcome, already=True)
    before = _members(run)
    try:
        run.ask_stop()
    except OSError:  # not even room for an empty file
        _signal_guard(run)
    if not wait:
        return Stopped(run.outcome(), already=False, ended=before)
    state = run.state()
    patience = time.monotonic() + (state.grace_s if state else SupervisionOptions().grace_s) + FROZEN_S
    while run.outcome() in ("queued", "running"):
        if time.monotonic() >= patience:  # a supervisor that is frozen does not see the file
            _signal_guard(run)
            patience = float("inf")
        before = before or _members(run)
        time.sleep(0.05)
    alive = process_tree.marked(run.id) | {p.pid for p in before if procfs.born(p.pid) and _same(p)}
    return Stopped(run.outcome(), already=False, ended=before, left=tuple(process_tree.names(alive)))


def _same(process: Process) -> bool:
    return any(p.name == process.name for p in process_tree.names([process.pid]))


def _members(run: RunFolder) -> tuple[Process, ...]:
    """The run's processes now, without guard and supervisor."""
    guard = _guard_pid(run)
    state = run.state()
    own = {guard, state.pid} if state else {guard}
    found = process_tree.marked(run.id) | (procfs.descendants(guard) if guard else set())
    return tuple(process_tree.names(found - own))


def _guard_pid(run: RunFolder) -> int:
    """The guard, if the pid in the state is still that of this run's guard; else 0."""
    state = run.state()
    try:
        line = Path(f"/proc/{state.guard_pid}/cmdline").read_bytes().split(b"\0") if state else []
    except OSError:
        return 0
    return state.guard_pid if state and os.fsencode(run.path.resolve()) in line else 0


def _signal_guard(run: RunFolder) -> None:
    guard = _guard_pid(run)
    if guard:
        process_tree.send([guard], signal.SIGTERM)


# --- what both watchers left


def sweep(run: RunFolder) -> list[Process]:
    """Ends what is left of a run whose guard and supervisor were both killed, and writes its result. Who was found."""
    lock = run.lock()  # held meanwhile, so that no second one does the same
    if lock is None:
        return []
    try:
        if run.ended():
            return []
        family = run.family()
        found = process_tree.names((process_tree.marked(run.id) | process_tree.alive(family)) - {os.getpid()})
        left = process_tree.end_all(run.id, 0.0, known=family)
        run.tidy()
        if (
            run.problem() and not found
        ):  # an end was written, and has been damaged since: it stays as it is, and is named
            return []
        recipe = run.recipe() or Recipe(run.id, "unknown")
        notes = [f"{len(found)} of its processes were still alive and were stopped"] if found else []
        if left:
            notes.append(f"{len(left)} processes would not end: {', '.join(map(str, sorted(left)))}")
        never = run.state() is None
        reason = "it was never started" if never else "guard and supervisor were both killed, or the host went down"
        lose(run, recipe, reason, tuple(notes))
        return found
    finally:
        os.close(lock)


def sweep_all(parent: Path | None = None) -> dict[str, list[Process]]:
    """Sweeps every run that has no result though nobody watches it: {id: who was still alive}. Cheap when there is none."""
    lost = [run for run in all_runs(parent) if not run.ended() and run.outcome() == "LOST"]
    return {run.id: found for run in lost if (found := sweep(run)) or run.ended()}
