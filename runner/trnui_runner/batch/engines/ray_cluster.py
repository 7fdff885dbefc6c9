"""A Ray cluster as it is used here: connect, see its hosts, send a function to one or to any. All that touches Ray is here.

Ray places rows on hosts and says which host died. Which cores a run gets is never Ray's to say: its ids are scattered.
"""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from trnui_runner.common.errors import UsageError, UserError
from trnui_runner.common.text import one_line

RESOURCE: Final = "neuron_cores"
CPUS_A_ROW: Final = 4  # of a row on the CPU


@dataclass(frozen=True)
class Node:
    """id: Ray's, new at each start of its daemon. name: for people, one a host."""

    id: str
    name: str
    cores: float


class Cluster:
    """One connection. `open_port`: an address that is not loopback is taken although nobody has to show a token there."""

    def __init__(self, address: str, *, open_port: bool = False) -> None:
        check_address(address, open_port)
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        try:
            import ray
        except ImportError as error:
            raise UserError(
                f"A batch over several hosts needs Ray ({error}).",
                "pip install 'trnui[fleet]', under the cluster's own Python",
            ) from error
        self._ray: Any = ray
        self.address = address
        try:
            ray.init(address=address, log_to_driver=False, logging_level="error", configure_logging=False)
        except Exception as error:  # versions, networks and tokens raise kinds of their own: each ends the connection
            raise UserError(
                f"Ray at {one_line(address)}: {type(error).__name__}: {one_line(error, 300)}", _remedy(str(error))
            ) from error

    def nodes(self) -> list[Node]:
        """Alive hosts that may run rows: those with NeuronCores, else all."""
        alive = [n for n in self._ray.nodes() if n.get("Alive")]
        found = [Node(n["NodeID"], _name(n), float(n.get("Resources", {}).get(RESOURCE, 0))) for n in alive]
        return [n for n in found if n.cores] or found

    def cpus_a_row(self) -> float:
        """What a row on the CPU asks for: no more than the largest host has, else it would wait for ever."""
        largest = max(
            (float(n.get("Resources", {}).get("CPU", 0)) for n in self._ray.nodes() if n.get("Alive")), default=0.0
        )
        return min(float(CPUS_A_ROW), largest)

    def send(
        self,
        function: Callable[..., Any],
        *args: Any,
        node: str | None = None,
        cores: int = 0,
        cpus: float = 0.0,
        without: Sequence[str] = (),
    ) -> Any:
        """Begins `function` on a host: `node`, or any that has `cores` free and is not among `without`. A reference to its answer."""
        options: dict[str, Any] = {"num_cpus": cpus, "max_retries": 0}
        if cores:
            options["resources"] = {RESOURCE: cores}
        if node is not None:
            from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

            options["scheduling_strategy"] = NodeAffinitySchedulingStrategy(node_id=node, soft=False)
        elif without:
            options["label_selector"] = {"ray.io/node-id": f"!in({','.join(sorted(without))})"}
        return self._ray.remote(function).options(**options).remote(*args)

    def ready(self, references: Sequence[Any]) -> list[Any]:
        """Those whose answer is there, without waiting."""
        if not references:
            return []
        done, _ = self._ray.wait(list(references), num_returns=len(references), timeout=0)
        return list(done)

    def answer(self, reference: Any, timeout: float | None = None) -> Any:
        """Raises HostLostError when its host has gone or does not answer in time; what the function raised, as UserError."""
        try:
            return self._ray.get(reference, timeout=timeout)
        except self._ray.exceptions.RayTaskError as error:
            raise UserError(one_line(error.cause or error, 300)) from error
        except self._ray.exceptions.RayError as error:
            raise HostLostError(type(error).__name__) from error

    def forget(self, reference: Any) -> None:
        """Takes back what has not begun; what goes on on a host goes on."""
        self._ray.cancel(reference, force=False)

    def has_cores(self) -> bool:
        return bool(self._ray.cluster_resources().get(RESOURCE))

    def close(self) -> None:
        self._ray.shutdown()


class HostLostError(Exception):
    """The host of a task has gone; the words are Ray's name for how."""


def check_address(address: str, open_port: bool) -> None:
    """Whoever reaches a cluster's port runs code there: off loopback a token is demanded. Raises UsageError."""
    host = address.removeprefix("ray://").rpartition(":")[0].strip("[]")
    if not host or not address.rpartition(":")[2].isdecimal():
        raise UsageError(f"--ray {one_line(address)}: it takes HOST:PORT, as 10.0.0.5:6379.")
    if open_port or os.environ.get("RAY_AUTH_MODE", "").lower() == "token" or _loopback(host):
        return
    raise UsageError(
        f"--ray {one_line(address)}: whoever reaches that port runs code on your hosts, and RAY_AUTH_MODE is not `token`.",
        "Start the cluster with RAY_AUTH_MODE=token and a token (ray get-auth-token), and set both here; or say --open-port.",
    )


def _loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _name(node: dict[str, Any]) -> str:
    """The name it was started with, else its host's."""
    name, address = str(node.get("NodeName") or ""), node.get("NodeManagerAddress")
    return one_line(name if name and name != address else node.get("NodeManagerHostname") or address, 60)


def _remedy(words: str) -> str:
    if "ersion mismatch" in words:
        return (
            "The cluster has another Ray or Python: run trnui under the cluster's own Python, with its version of Ray."
        )
    return "Is the cluster up (ray status), the address right, and RAY_AUTH_MODE=token set here, if the cluster has it?"
