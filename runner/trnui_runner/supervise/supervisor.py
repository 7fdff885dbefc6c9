"""Watch one run: its steps one after the other, their output, events, time and end. Runs as a fork of the guard (guard.py)."""

from __future__ import annotations

import contextlib
import fcntl
import os
import resource
import selectors
import signal
import socket
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import LiteralString

from trnui_runner.common import procfs
from trnui_runner.common.text import Safe, clean, seconds
from trnui_runner.host import core_leases
from trnui_runner.request.steps import Step, SupervisionOptions
from trnui_runner.result.finalize import result_of
from trnui_runner.result.termination import Ending, How
from trnui_runner.run_folder.event_log import Appender, Merger
from trnui_runner.run_folder.events import (
    Body,
    CoresEvent,
    EnvironmentEvent,
    Event,
    NoticeEvent,
    ResultEvent,
    StepEnd,
    StepStart,
)
from trnui_runner.run_folder.folder import RunFolder, State
from trnui_runner.run_folder.progress import Progress
from trnui_runner.run_folder.recipe import Recipe
from trnui_runner.supervise import process_tree
from trnui_runner.supervise.child_env import core_environment, relevant
from trnui_runner.supervise.event_sources import EventSources, SourceContext, usual_sources
from trnui_runner.supervise.restore import restore

TICK, IDLE_TICK = 0.25, 0.5  # seconds between two looks around; the longer while nothing comes
STATE_S, FAMILY_S, LEASE_S = 1.0, 5.0, 0.5
PIPE = 1 << 20
F_SETPIPE_SZ = 1031
LEFTOVER_GRACE_S = 1.0  # for what a step that has ended left behind


@dataclass(frozen=True)
class RunPlan:
    """Everything a run needs to be executed; handed over in memory, for the environments are nobody's business on disk."""

    recipe: Recipe
    script: bytes  # as it was agreed to
    steps: tuple[Step, ...]
    supervision: SupervisionOptions
    environs: tuple[Mapping[str, str], ...]  # of each step, complete
    leases: Path  # the folder of core leases

    @property
    def tmp(self) -> Path | None:
        """The run's own TMPDIR; it is known here although the run folder may be removed meanwhile."""
        found = self.environs[0].get("TMPDIR") if self.environs else None
        return Path(found) if found else None


@dataclass(frozen=True)
class Cut:
    """Why a step is ended before it ends by itself."""

    how: How
    reason: str


def goes_on(code: int | None, recipe: Recipe, progress: Progress) -> bool:
    """Whether there is something for the next step to check after a step that ended with `code`."""
    return code == 0 or (recipe.script != "bundled" and progress.generated)


def silent_words(progress: Progress, now: float, limit: float) -> str | None:
    """What to tell when nothing has moved for `limit` seconds and no compiler is busy; None otherwise, or if it was told."""
    if limit <= 0 or progress.silent is not None or progress.compiler_busy or progress.silent_for(now) < limit:
        return None
    return f"nothing has moved for {seconds(progress.silent_for(now))} and no compiler is busy; the run is left alone"


class Supervisor:
    """`execute` the plan, then `conclude`. One to a process: it owns that process's children and signals."""

    def __init__(self, run: RunFolder, plan: RunPlan, guard: socket.socket, lease: core_leases.Lease | None) -> None:
        self.run, self.plan, self.guard, self.lease = run, plan, guard, lease
        self.progress = Progress()
        self.began = time.monotonic()
        self.started = time.time()
        self.first_step: float | None = None
        self.events = Merger(self.run.path, self.began)
        self.log = Appender(self.run.path / "output.log", self.plan.supervision.log_limit)
        self.environs = self.plan.environs
        self._look_at_cores()
        self.codes: dict[str, int] = {}
        self.notes: list[str] = []
        self.words = ""  # what the state's message says besides losses
        self.stopping: set[str] = set()
        self.main, self.out = -1, -1
        self.code: int | None = None
        self.beside: set[str] = set()  # runs that held cores of this host meanwhile
        self._saved = self._counted = self._looked = float("-inf")
        self._saved_stage = ""
        self._logged, self._used, self._tick = 0, 0.0, TICK
        self._selector = selectors.DefaultSelector()
        self._wake, write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(write, warn_on_full_buffer=False)
        for sig in (signal.SIGTERM, signal.SIGINT):
            signal.signal(sig, lambda number, _: self.stopping.add(signal.Signals(number).name))
        for sig in (signal.SIGCHLD, signal.SIGHUP):  # a handler, for an ignored signal would stay ignored in the run
            signal.signal(sig, lambda *_: None)
        self._selector.register(self._wake, selectors.EVENT_READ)
        self._selector.register(self.guard, selectors.EVENT_READ)

    @property
    def now(self) -> float:
        return time.monotonic() - self.began

    # -- the run

    def execute(self) -> Ending:
        """All steps, until one is cut short or gives the next nothing to do. Nothing of them is left alive after it."""
        cut = self._cores()
        if cut:
            return self._ending(cut.how, cut.reason)
        self.first_step = time.monotonic()
        last: int | None = 0
        if not self.run.holds("run.py", self.plan.script):
            return self._ending("unstarted", "run.py is not the script that was agreed to")
        for n, (step, environ) in enumerate(zip(self.plan.steps, self.environs, strict=True)):
            if n and not goes_on(last, self.plan.recipe, self.progress):
                break
            if n:  # the check reads the recipe, as it was and not as the run may have left it
                self.notes += restore(self.run, self.plan.recipe, self.plan.script, {})
            try:
                self._start(step, environ)
            except OSError as error:
                return self._ending("unstarted", f"cannot start {step.name}: {error}")
            cut = self._watch()
            self._finish_step(step, cut)
            if cut:
                return self._ending(cut.how, cut.reason)
            last = self.code
        return self._ending("finished", "")

    def _ending(self, how: How, reason: str) -> Ending:
        wall = None if self.first_step is None else round(time.monotonic() - self.first_step, 3)
        return Ending(how, reason, dict(self.codes), wall, tuple(self.notes))

    def _cores(self) -> Cut | None:
        """Waits for the cores' leases. The guard gets them too: both hold them until the run has gone."""
        wanted = self.plan.supervision.cores
        while wanted is not None and self.lease is None:
            self.lease = core_leases.acquire_block(wanted, self.run.id, self.plan.leases)
            if self.lease is not None:
                # Nobody receives them: descriptors under way hold the locks as long as the guard's end of the pair is open.
                socket.send_fds(self.guard, [b"lease"], list(self.lease.descriptors))
                break
            self.words = f"waiting for cores ({wanted.words}): {core_leases.held_by(wanted.ids, self.plan.leases)}"
            cut = self._wait(LEASE_S)
            if cut:
                return cut
        self.words = ""
        if wanted is not None and self.lease is not None:
            ids = self.lease.cores
            self.environs = tuple({**e, **core_environment(wanted.visible, ids)} for e in self.plan.environs)
            self.sources.close()
            self._look_at_cores()
            self._tell(CoresEvent(ids, clean(wanted.visible)))
            if wanted.visible == "rank" and ids[0] != wanted.ids[0]:
                self.notes.append(
                    f"moved to cores {ids[0]} to {ids[-1]}; by itself the script takes {wanted.ids[0]} to {wanted.ids[len(ids) - 1]}"
                )
        return None

    def _look_at_cores(self) -> None:
        """Sources of events; those of devices need to know the run's cores."""
        environ = self.environs[0] if self.environs else {}
        self.scene = SourceContext(self.run, self.plan.recipe, environ, self.lease.cores if self.lease else ())
        self.sources = EventSources(usual_sources(self.scene), self.scene)

    def _start(self, step: Step, environ: Mapping[str, str]) -> None:
        self.code = None
        self.out, write = os.pipe2(os.O_CLOEXEC)
        os.set_blocking(self.out, False)
        with contextlib.suppress(OSError):  # over the user's limit of pipe memory: the usual 64 KiB do too
            fcntl.fcntl(self.out, F_SETPIPE_SZ, PIPE)
        command = [word.replace("{run}", str(self.run.path)) for word in step.command]
        work = self.run.path / "work"
        try:
            child = subprocess.Popen(
                command,
                env={**environ},
                cwd=work if work.is_dir() else self.run.path,
                stdin=subprocess.DEVNULL,
                stdout=write,
                stderr=write,
                start_new_session=True,
                preexec_fn=process_tree.die_with_parent,
            )
        except OSError:
            os.close(self.out)
            raise
        finally:
            os.close(write)
        child.returncode = 0  # we reap it ourselves, together with the orphans
        self.main = child.pid
        self.events.judge = child.pid if step.stage == "checking" else None
        self._tell(StepStart(clean(step.name), step.stage, child.pid))
        self._tell(EnvironmentEvent(clean(step.name), relevant(environ)))
        self._selector.register(self.out, selectors.EVENT_READ)
        self._counted = time.monotonic() - FAMILY_S + 0.5
        self.save()

    def _watch(self) -> Cut | None:
        """Until the step's main process ends (None), or there is a reason to end it."""
        while self.code is None:
            cut = self._wait(self._tick)
            if cut and self.code is None:
                return cut
        return None

    def _finish_step(self, step: Step, cut: Cut | None) -> None:
        """Ends whatever of the step is still alive, takes its last output and events."""
        grace = self.plan.supervision.grace_s if cut else LEFTOVER_GRACE_S
        if cut and cut.how == "lost":
            grace = 0.0
        stray = [] if cut else process_tree.names(procfs.descendants(os.getpid()) - self.scene.foreign)
        left = process_tree.end_all(self.run.id, grace, self._pump, spare=frozenset(self.scene.foreign))
        self._pump(process_tree.reap(), most=64 << 20)
        self._selector_drop(self.out)
        os.close(self.out)
        self.out = -1
        self._merge_all()
        self._take(self.events.tell_all(self.sources.last()))
        if stray:
            names = ", ".join(sorted({p.name for p in stray}))
            self._notice("stray", f"{len(stray)} processes were left over and ended: {names}")
        if left:
            self.notes.append(f"{len(left)} processes would not end: {', '.join(map(str, sorted(left)))}")
        if self.code is not None:
            self.codes[step.name] = self.code
        self._tell(StepEnd(clean(step.name), self.code, self._cpu(), tuple(sorted(left))))

    def _cpu(self) -> float:
        """CPU seconds of the processes that have ended since the last time."""
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        before, self._used = self._used, used.ru_utime + used.ru_stime
        return round(self._used - before, 3)

    # -- waiting and looking

    def _wait(self, seconds: float) -> Cut | None:
        """Serves output, signals and the guard for a moment; then looks around. Returns why to end the run, if so."""
        for key, _ in self._selector.select(seconds):
            if key.fileobj is self.guard:
                if not self.guard.recv(64):
                    return Cut("lost", "the guard was killed")
                self.stopping.add("asked by the guard")
            elif key.fd == self._wake:
                os.read(self._wake, 4096)
            elif self._closed():
                self._selector_drop(self.out)
        self._pump(process_tree.reap())
        self._look_around()
        timeout = self.plan.recipe.timeout_s
        if self.stopping:
            return Cut("cancelled", "stopped: " + ", ".join(sorted(self.stopping)))
        if timeout and self.first_step is not None and time.monotonic() - self.first_step >= timeout:
            return Cut("timeout", f"not done after {timeout:g} s")
        return None

    def _pump(self, ended: Mapping[int, int], most: int = 4 << 20) -> None:
        """Takes output as it comes, in bounded pieces, and notices the end of the main process."""
        if self.main in ended and self.code is None:
            self.code = os.waitstatus_to_exitcode(ended[self.main])
        while most > 0 and self.out >= 0:
            try:
                data = os.read(self.out, 256 << 10)
            except OSError:
                break
            if not data:
                break
            most -= len(data)
            self.log.write(data)

    def _closed(self) -> bool:
        """End of file: every writer has gone (the main process may go on without its output)."""
        try:
            data = os.read(self.out, 64 << 10)
        except BlockingIOError:
            return False
        self.log.write(data)
        return not data

    def _selector_drop(self, fd: int) -> None:
        if fd in self._selector.get_map():
            self._selector.unregister(fd)

    def _look_around(self) -> None:
        """Every tick: events, sources, silence, the stop file; every second the state, every five the family."""
        now = time.monotonic()
        if now - self._looked < self._tick:
            return
        self._looked = now
        self._tick = TICK if self._merge() else IDLE_TICK
        self._take(self.events.tell_all(self.sources.poll(self.now)))
        if self.log.size + self.log.lost > self._logged:
            self._logged = self.log.size + self.log.lost
            self.progress.output(self.now)
        words = silent_words(self.progress, self.now, self.plan.supervision.silence_s) if self.main > 0 else None
        if words:
            self._notice("silent", words)
        if self.run.stop_asked():
            self.stopping.add("on request")
        if now - self._saved >= STATE_S or self.progress.stage != self._saved_stage:
            self.save()
        if now - self._counted >= FAMILY_S:
            self.run.write_family(process_tree.family(os.getpid()))
            if self.lease is not None:
                self.beside |= {*core_leases.holders(self.plan.leases).values()} - {self.run.id}
            self._counted = now

    def save(self) -> None:
        """state.json, as a follower sees the run."""
        self.run.write_state(self._state())
        self._saved, self._saved_stage = time.monotonic(), self.progress.stage

    def _state(self) -> State:
        lost = self.log.lost + self.events.out.lost
        loss = f"{lost} bytes of log or events not kept: {self.log.why or self.events.out.why}" if lost else ""
        silent = self.progress.silent_for(self.now)
        return State(
            stage=self.progress.stage,
            started=self.started,
            updated=time.time(),
            elapsed=round(self.now, 3),
            pid=os.getpid(),
            guard_pid=os.getppid(),
            grace_s=self.plan.supervision.grace_s,
            cores_held=self.lease.cores if self.lease else (),
            silent_since=round(time.time() - silent, 3),
            message="; ".join(w for w in (self.words, self.progress.silent or "", loss) if w),
        )

    def _tell(self, body: Body) -> None:
        self._take([self.events.tell(body)])

    def _notice(self, kind: LiteralString, text: str) -> None:
        self._tell(NoticeEvent(clean(text), Safe(kind)))

    def _take(self, events: Sequence[Event]) -> None:
        for event in events:
            self.progress.add(event)

    def _merge(self) -> bool:
        found = self.events.merge()
        self._take(found)
        return bool(found)

    def _merge_all(self) -> None:
        while self._merge() or self.events.more:
            pass

    # -- the end

    def conclude(self, ending: Ending) -> str:
        """The result, once nothing of the run is alive; the SHA-256 of result.json."""
        self.sources.close()
        left = process_tree.end_all(self.run.id, 0.0, self._pump)
        self.run.tidy(self.plan.tmp)
        if left:
            self.notes.append(f"{len(left)} processes would not end: {', '.join(map(str, sorted(left)))}")
        if self.beside:
            others = f"{len(self.beside)} other run{'s' * (len(self.beside) != 1)}"
            self.notes.append(
                f"shared this host with {others}: its wall time is not comparable with that of a run alone"
            )
        if self.log.lost:
            self.notes.append(f"{self.log.lost} bytes of output are not in output.log: {self.log.why}")
        if self.events.out.lost:
            self.notes.append(f"{self.events.out.lost} bytes of events are lost: {self.events.out.why}")
        if self.events.bad:
            self.notes.append(f"{self.events.bad} lines of events could not be read")
        logs = {"output.log": self.log, "events.jsonl": self.events.out}
        written = {name: (log.fd, log.kept) for name, log in logs.items() if log.fd >= 0}
        self.notes += restore(self.run, self.plan.recipe, self.plan.script, written)
        self.log.close()
        self.events.out.open()
        ending = replace(ending, notes=tuple(self.notes))
        result = result_of(self.run, self.plan.recipe, self.progress, ending, self.plan.script)
        spent = round(time.process_time(), 3)
        device, reason = clean(result.device), clean(result.reason)
        self._tell(ResultEvent(result.outcome, result.kind, device, result.verdict, reason, spent))
        return self.run.finish(result, self._state())
