"""Several hosts as a batch's engine: Ray chooses the host of a row, leases there choose its cores, and runs outlive them all.

A row is a task that follows a detached run. When its host's daemon dies the task is lost and the run is not: the next task of
that row finds it there and goes on following it. A host whose stack differs from the batch's is not used, by name.
"""

from __future__ import annotations

import dataclasses
import io
import tarfile
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from trnui_runner.batch.batch_file import Batch, BatchRow
from trnui_runner.batch.engines import on_host
from trnui_runner.batch.engines.engine import NoHostError
from trnui_runner.batch.engines.ray_cluster import Cluster, HostLostError, Node
from trnui_runner.batch.folder import BatchFolder
from trnui_runner.batch.journal import RowEvent, RowState
from trnui_runner.batch.request_file import read_values
from trnui_runner.common.errors import UserError
from trnui_runner.common.files import private_dir
from trnui_runner.host.core_blocks import block_size

AHEAD: Final = 4  # rows handed to Ray that no host has begun: it has no priorities, so no more than these
LOOK_S: Final = 4.0  # between two looks at hosts and at what goes on there
ANSWER_S: Final = 60.0
GRACE_S: Final = 60.0  # a host whose daemon died may be back: its runs go on, and would be run twice
WEIGHTY: Final = ("neuronx_cc", "torch_neuronx", "torch", "transformers", "accelerate")


class RayEngine:
    """`run_row` is there to be replaced by tests."""

    def __init__(
        self,
        folder: BatchFolder,
        batch: Batch,
        cluster: Cluster,
        run_row: Callable[..., tuple[RowEvent, bytes]] = on_host.run_row,
        grace_s: float = GRACE_S,
    ) -> None:
        self._run_row = run_row
        self._folder, self._batch, self._cluster = folder, batch, cluster
        self._tasks: dict[Any, tuple[int, int]] = {}  # reference → (n, attempt)
        self._stages: dict[int, str] = {}
        self._where: dict[int, str] = {}  # rows that have begun → the name of their host
        self._pinned: dict[int, str] = {}  # rows that have begun on a host that is alive → its id
        self._nodes: dict[str, Node] = {}
        self._refused: dict[str, str] = {}  # id → why
        self._looks: dict[Any, Node] = {}
        self._logs: dict[Any, int] = {}
        self._runs: dict[int, str] = {}
        self._looked = float("-inf")
        self._over: set[int] = set()
        self._grace_s = grace_s
        self._sent: dict[int, tuple[BatchRow, int, int]] = {}  # row, attempt, oldest of the last task of each
        self._missing: dict[
            int, tuple[float, str]
        ] = {}  # rows whose host was lost → until when it may come back, and why

    @property
    def words(self) -> str:
        self._see_nodes()
        used = [n.name for n in self._nodes.values() if n.id not in self._refused]
        refused = [f"{self._nodes[i].name} is not used: {why}" for i, why in self._refused.items() if i in self._nodes]
        return "; ".join([f"Ray at {self._cluster.address}, {len(used)} hosts: {', '.join(sorted(used))}", *refused])

    # -- hosts

    def _see_nodes(self) -> list[Node]:
        """The hosts that are there now; those that are new, checked. Raises NoHostError."""
        alive = {n.id: n for n in self._cluster.nodes()}
        new = [n for i, n in alive.items() if i not in self._nodes]
        answers = {n.id: self._cluster.send(on_host.facts, self._batch.python, node=n.id) for n in new}
        for node in new:
            self._refused |= self._checked(node, answers[node.id])
        self._nodes = alive
        if not any(i not in self._refused for i in alive):
            words = "; ".join(f"{alive[i].name}: {why}" for i, why in self._refused.items() if i in alive)
            raise NoHostError(words or f"Ray at {self._cluster.address} has no host")
        return [n for n in new if n.id not in self._refused]

    def _checked(self, node: Node, reference: Any) -> dict[str, str]:
        try:
            facts = self._cluster.answer(reference, ANSWER_S)
        except (HostLostError, UserError) as error:
            return {
                node.id: f"it does not answer as trnui ({error}); is trnui installed there, in the cluster's Python?"
            }
        why = unlike(self._batch.stack, facts["stack"])
        return {node.id: why} if why else {}

    # -- what has begun

    def survey(self) -> list[RowEvent]:
        """Rows that have begun are followed where they are; nothing is started for that."""
        self._see_nodes()
        for node in self._used():
            self._look_through(node)
        return []  # their tasks tell: going, or how they ended

    def _used(self) -> list[Node]:
        return [n for i, n in self._nodes.items() if i not in self._refused]

    def _look_through(self, node: Node) -> None:
        """What a host that has (re)appeared knows of this batch: rows of ours are pinned there; others' leftovers are ended."""
        try:
            found = self._cluster.answer(self._cluster.send(on_host.survey, self._batch.id, node=node.id), ANSWER_S)
        except (HostLostError, UserError):
            return  # the next look sees whether it is there
        stray = []
        for n, _attempt, run, outcome in found:
            if outcome in ("LOST", "CANCELLED"):
                continue
            elsewhere = self._where.get(n) not in (None, node.name)
            if n in self._over or (elsewhere and n in self._stages):
                stray += [n] if outcome in ("queued", "running") else []
            else:
                self._pinned[n], self._where[n], self._runs[n] = node.id, node.name, run
        if stray:
            self._cluster.send(on_host.stop, self._batch.id, stray, node=node.id)

    # -- room and start

    def fits(self, row: BatchRow) -> bool:
        return row.n in self._pinned or sum(n not in self._stages for n, _ in self._tasks.values()) < AHEAD

    def start(self, row: BatchRow, attempt: int, oldest: int) -> RowEvent | None:
        if row.device != "cpu" and not self._cluster.has_cores():
            raise NoHostError(
                "the cluster has no neuron_cores: start each host with --resources '{\"neuron_cores\": N}'"
            )
        values, script = read_values(self._folder.path, row.n)
        pinned = self._pinned.get(row.n)
        needs: dict[str, Any] = {"without": tuple(i for i in self._refused if i in self._nodes)}
        if pinned is not None and pinned in self._nodes:
            needs = {"node": pinned}  # it holds its cores there already
        elif row.device == "cpu":
            needs["cpus"] = self._cluster.cpus_a_row()
        else:
            needs["cores"] = block_size(row.cores)
        arguments = (
            self._batch.id,
            dataclasses.asdict(row),
            attempt,
            oldest,
            values,
            script,
            self._where.get(row.n, ""),
        )
        reference = self._cluster.send(self._run_row, *arguments, **needs)
        self._tasks[reference] = (row.n, attempt)
        self._sent[row.n] = (row, attempt, oldest)
        self._over.discard(row.n)
        return RowEvent(time.time(), row.n, RowState.SENT, attempt, self._where.get(row.n, ""))

    # -- what goes on

    def follow(self) -> list[RowEvent]:
        ended = [self._ended(reference) for reference in self._cluster.ready(list(self._tasks))]
        events = [event for event in ended if event is not None] + self._seen() + self._given_up()
        self._take_logs()
        if time.monotonic() - self._looked >= LOOK_S:
            self._looked = time.monotonic()
            for node in self._see_nodes():
                self._look_through(node)
            if not self._looks:
                self._looks = {self._cluster.send(on_host.look, self._batch.id, node=n.id): n for n in self._used()}
            for n in [n for n in self._missing if n in self._pinned]:  # its host is back, and knows it
                del self._missing[n]
                self.start(*self._sent[n])
        return events

    def _given_up(self) -> list[RowEvent]:
        """Rows of hosts that did not come back: they may go elsewhere."""
        over = [n for n, (until, _) in self._missing.items() if time.monotonic() >= until]
        return [self._lost(n, self._sent[n][1], self._missing.pop(n)[1]) for n in over]

    def _lost(self, n: int, attempt: int, why: str) -> RowEvent:
        self._stages.pop(n, None)
        return RowEvent(time.time(), n, RowState.LOST, attempt, self._where.get(n, ""), self._runs.get(n, ""), why=why)

    def _ended(self, reference: Any) -> RowEvent | None:
        """None where the host may come back."""
        n, attempt = self._tasks.pop(reference)
        self._pinned.pop(n, None)
        event: RowEvent
        try:
            event, data = self._cluster.answer(reference)
        except HostLostError as error:
            why = f"its host was lost ({error})"
            if n not in self._stages:  # it had not begun anywhere, as far as is known
                return self._lost(n, attempt, why)
            self._missing[n] = (time.monotonic() + self._grace_s, why)
            return None
        except UserError as error:
            return self._lost(n, attempt, f"its task failed: {error.message}")
        if data:
            try:
                unpack(data, private_dir(self._folder.runs))
            except OSError as error:
                return self._lost(n, attempt, f"its run folder could not be brought home: {error}")
        self._stages.pop(n, None)
        if event.state.over:
            self._over.add(n)
        # the run may be of an earlier attempt, adopted: it counts for this one
        return dataclasses.replace(event, attempt=attempt, host=self._where.get(n) or event.host)

    def _seen(self) -> list[RowEvent]:
        """What hosts have told of rows that go on there."""
        events = []
        tasks = dict(self._tasks.values())
        for reference in self._cluster.ready(list(self._looks)):
            node = self._looks.pop(reference)
            try:
                found = self._cluster.answer(reference)
            except (HostLostError, UserError):
                continue
            for n, _attempt, run, stage, cores in found:
                if n not in tasks:
                    continue
                if self._runs.get(n) != run or n not in self._stages:
                    events.append(RowEvent(time.time(), n, RowState.GOING, tasks[n], node.name, run, tuple(cores)))
                self._stages[n], self._where[n], self._runs[n] = stage, node.name, run
        return events

    def stages(self) -> Mapping[int, str]:
        return {n: self._stages.get(n, "queued") for n in [*(n for n, _ in self._tasks.values()), *self._missing]}

    def stop(self, rows: Iterable[int]) -> list[str]:
        wanted = set(rows)
        for reference, (n, _) in list(self._tasks.items()):
            if n in wanted and n not in self._stages:
                self._cluster.forget(reference)
        asked = {self._cluster.send(on_host.stop, self._batch.id, sorted(wanted), node=n.id): n for n in self._used()}
        unreached = {self._where[n] for n in wanted if n in self._where} - {n.name for n in self._used()}
        for reference, node in asked.items():
            try:
                self._cluster.answer(reference, ANSWER_S)
            except (HostLostError, UserError):
                unreached.add(node.name)
        return sorted(unreached)

    # -- logs

    def fetch_log(self, n: int) -> None:
        node = next((i for i, node in self._nodes.items() if node.name == self._where.get(n)), None)
        if node is not None and n in self._runs and n not in self._logs.values():
            self._logs[self._cluster.send(on_host.log_so_far, self._runs[n], node=node)] = n

    def _take_logs(self) -> None:
        for reference in self._cluster.ready(list(self._logs)):
            n = self._logs.pop(reference)
            try:
                data = self._cluster.answer(reference)
            except (HostLostError, UserError):
                continue
            if n not in self._over:
                unpack(data, private_dir(self._folder.runs))

    def close(self) -> None:
        self._cluster.close()


def unlike(batch: Mapping[str, str], host: Mapping[str, str]) -> str:
    """The packages in which a host's stack differs from the batch's, in words; empty when it may run its rows."""
    apart = [(name, batch.get(name), host.get(name)) for name in WEIGHTY if batch.get(name) != host.get(name)]
    return ", ".join(f"{name} {theirs or 'absent'} instead of {ours or 'absent'}" for name, ours, theirs in apart)


def unpack(data: bytes, folder: Any) -> None:
    """A run folder that comes home; nothing is written outside. Raises OSError."""
    try:
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:xz") as tar:
            tar.extractall(folder, filter="data")
    except (tarfile.TarError, EOFError) as error:
        raise OSError(str(error)) from error
