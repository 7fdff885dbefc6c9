"""Start a run that outlives everyone, and see that nothing of it outlives its end. Linux; started by launch.py, by path.

    launcher --> guard (own session, adopted by init) --> supervisor --> the steps (own sessions) --> ranks, compilers

Guard and supervisor are subreapers tied by a socket pair. The launcher took the run's lock and hands it on open, and the
two hold it together: a free lock means that both have gone. If the supervisor dies the guard ends the run, and the other
way round. If both are killed before either acts, `launch.sweep` ends what is left.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys

if __name__ == "__main__":  # -I keeps the user's folders off sys.path; ours, and the launcher's, come with the order
    sys.path.insert(0, os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..")))

import signal
import socket
import traceback
from pathlib import Path
from typing import Any

from trnui_runner.common.errors import process_error
from trnui_runner.host import core_leases
from trnui_runner.request.steps import Step, SupervisionOptions
from trnui_runner.result.finalize import result_of
from trnui_runner.result.termination import Ending
from trnui_runner.run_folder.folder import RunFolder
from trnui_runner.run_folder.progress import Progress
from trnui_runner.run_folder.recipe import Recipe
from trnui_runner.supervise import process_tree
from trnui_runner.supervise.restore import restore
from trnui_runner.supervise.supervisor import RunPlan, Supervisor

FROZEN_S = 15  # beyond the grace, for a supervisor that does not answer


def read_plan(order: dict[str, Any]) -> RunPlan:
    """The launcher's order. Raises ValueError, TypeError or KeyError when it is none."""
    steps = tuple(Step(s["name"], tuple(s["command"]), s["env"], s["stage"], s["probe"]) for s in order["steps"])
    recipe, supervision = Recipe.from_json(order["recipe"]), SupervisionOptions.from_json(order["supervision"])
    return RunPlan(
        recipe, order["script"].encode("latin-1"), steps, supervision, tuple(order["environs"]), Path(order["leases"])
    )


def answer(**words: object) -> None:
    """To the launcher, if it is still there: a run goes on without it. Afterwards stdout leads nowhere."""
    with contextlib.suppress(BrokenPipeError):
        os.write(1, json.dumps(words).encode() + b"\n")
    null = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
    os.dup2(null, 1)
    os.close(null)


def guard(run: RunFolder, plan: RunPlan) -> None:
    """Takes leases, parts into guard and supervisor, tells the launcher, and waits for the supervisor's end."""
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    for sig in (signal.SIGHUP, signal.SIGPIPE):  # handlers, for what is ignored would stay so in the run
        signal.signal(sig, lambda *_: None)
    lease = None
    cores = plan.supervision.cores
    if cores is not None:
        lease = core_leases.acquire_block(cores, run.id, plan.leases)
        if lease is None and not plan.supervision.wait:
            return answer(busy=core_leases.held_by(cores.ids, plan.leases) or "other processes")
    try:
        run.reserve()
    except OSError as error:
        return answer(error=f"no room for a run in {run.path.parent}: {error.strerror or error}")
    process_tree.become_subreaper()
    mine, theirs = socket.socketpair()
    seal, sealed = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        child = os.fork()
    except OSError as error:
        return answer(error=str(process_error(error) or error))
    if child == 0:
        mine.close()
        os._exit(_supervise(run, plan, theirs, lease, sealed))
    theirs.close()
    os.close(sealed)
    how = _until_end(child, mine, plan)
    try:
        if not _ended(run, seal):
            _lost(run, plan, how)
    finally:  # the run folder may be gone
        run.tidy(plan.tmp)
    return None


def _ended(run: RunFolder, seal: int) -> bool:
    """Whether the result is the supervisor's, who told its digest here, in memory, where no process of the run can."""
    try:
        digest = os.read(seal, 64)
    except BlockingIOError:
        return False
    return len(digest) == 64 and run.written(digest.decode())


def _supervise(
    run: RunFolder, plan: RunPlan, guard: socket.socket, lease: core_leases.Lease | None, sealed: int
) -> int:
    """Watches the run to its end; the digest of the result goes to the guard by `sealed`. The exit code."""
    null = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
    os.dup2(null, 1)
    os.close(null)
    try:
        process_tree.become_subreaper()
        supervisor = Supervisor(run, plan, guard, lease)
        supervisor.save()
        os.write(sealed, supervisor.conclude(supervisor.execute()).encode())
    except BaseException:  # noqa: BLE001 told in guard.log; the guard ends the run
        traceback.print_exc()
        return 1
    return 0


def _until_end(child: int, supervisor: socket.socket, plan: RunPlan) -> int:
    """Waits for the supervisor, reaping orphans; passes a request to stop on. Its exit code, negative for a signal."""
    status: int | None = None

    def ask(*_: object) -> None:
        signal.alarm(int(plan.supervision.grace_s) + FROZEN_S)
        try:
            supervisor.send(b"stop", socket.MSG_DONTWAIT)
        except OSError:
            return  # it is ending

    def force(*_: object) -> None:
        if status is None:
            os.kill(child, signal.SIGKILL)

    signal.signal(signal.SIGALRM, force)
    for sig in (signal.SIGTERM, signal.SIGINT):
        signal.signal(sig, ask)
    answer(held=True)
    while status is None:
        pid, got = os.waitpid(-1, 0)
        status = got if pid == child else None
    return os.waitstatus_to_exitcode(status)


def _lost(run: RunFolder, plan: RunPlan, how: int) -> None:
    left = process_tree.end_all(run.id, 0.0)
    run.tidy(plan.tmp)
    words = f"was killed by signal {-how}" if how < 0 else f"ended with {how}, see guard.log"
    put_right = restore(run, plan.recipe, plan.script, {})
    notes = (f"{len(left)} processes would not end: {', '.join(map(str, sorted(left)))}",) if left else ()
    lose(run, plan.recipe, f"the supervisor {words}", (*notes, *put_right))


def lose(run: RunFolder, recipe: Recipe, reason: str, notes: tuple[str, ...] = ()) -> None:
    """The result of a run whose supervisor has gone: what its events had told, and why there is no more."""
    progress = Progress()
    for event in run.events():
        progress.add(event)
    wall = progress.now or None
    result = result_of(run, recipe, progress, Ending("lost", reason, progress.codes, wall, notes), run.script())
    run.finish(result)


def main() -> None:
    order = json.loads(sys.stdin.buffer.read())
    os.set_inheritable(order["lock"], False)
    sys.path += [p for p in order["path"] if p not in sys.path]
    null = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
    os.dup2(null, 0)
    os.close(null)
    try:
        child = os.fork()
    except OSError as error:
        return answer(error=str(process_error(error) or error))
    if child:
        os._exit(0)
    return guard(RunFolder(Path(sys.argv[1])), read_plan(order))


if __name__ == "__main__":
    main()
