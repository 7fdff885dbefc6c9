"""The Neuron devices of this host: cores, memory a core, and who holds them. No device is a normal answer, not an error."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from trnui_runner.common.subprocesses import ToolOutput, ask, host_root, is_stand_in
from trnui_runner.host import core_leases
from trnui_runner.host.core_owners import Owner, owner
from trnui_runner.host.neuron_ls import ListedDevice, Listing, parse

TIMEOUT = 5.0  # neuron-ls; longer than it takes on a host with 16 devices
DEFAULT_LNC = 2  # of trn2 and trn3, where nothing says otherwise
PHYSICAL = 8  # cores of a Trainium2 or Trainium3 device
KINDS = {"trn2": "Trainium2", "trn3": "Trainium3", "trn1": "Trainium", "inf2": "Inferentia2"}


@dataclass(frozen=True)
class Core:
    """A logical core by its id. `hbm`: its share of the device's memory in bytes, None if unknown."""

    id: int
    device: int
    hbm: int | None
    owners: tuple[Owner, ...] = ()
    lease: str | None = None  # our run that holds it

    @property
    def free(self) -> bool:
        return not self.owners and self.lease is None

    @property
    def held_by(self) -> str:
        """Words; empty when it is free."""
        words = [o.words + ("" if o.cores else " (which cores of the device is not known)") for o in self.owners]
        if self.lease is not None and not any(o.run == self.lease for o in self.owners):
            words.append(f"our run {self.lease}")
        return "; ".join(words)


@dataclass(frozen=True)
class Devices:
    """`sources` names where each fact comes from; `problems` what could not be found out. Without devices both may be empty."""

    count: int = 0
    cores: tuple[Core, ...] = ()
    lnc: int | None = None
    kind: str | None = None
    instance_type: str | None = None
    nodes: tuple[str, ...] = ()
    unplaced: tuple[Owner, ...] = ()  # processes on a device whose cores nothing tells; all its cores count as held
    stand_in: bool = False
    sources: Mapping[str, str] = field(default_factory=dict)
    problems: tuple[str, ...] = ()

    @property
    def present(self) -> bool:
        return self.count > 0

    @property
    def free(self) -> tuple[int, ...]:
        return tuple(core.id for core in self.cores if core.free)

    @property
    def core_hbm(self) -> int | None:
        """Bytes of the smallest core."""
        sizes = [core.hbm for core in self.cores if core.hbm]
        return min(sizes) if sizes else None

    @property
    def words(self) -> str:
        """`1 Trainium2 device, 4 cores (LNC 2), 24.0 GiB each, trn2.3xlarge`."""
        from trnui_runner.common.text import size

        if not self.present:
            return "no Neuron device"
        parts = [f"{self.count} {self.kind or 'Neuron'} device{'s' if self.count > 1 else ''}"]
        cores = f"{len(self.cores)} cores" if self.cores else "number of cores unknown"
        parts.append(cores + (f" (LNC {self.lnc})" if self.lnc else ""))
        parts.append(f"{size(self.core_hbm)} each")
        if self.instance_type:
            parts.append(self.instance_type)
        return ", ".join(parts) + (" · stand-in" if self.stand_in else "")

    def to_json(self) -> dict[str, Any]:
        return asdict(self) | {"present": self.present, "free": list(self.free), "core_hbm": self.core_hbm}


def devices(timeout: float = TIMEOUT) -> Devices:
    """What is here now. Never raises; at most about `timeout` seconds for each form of neuron-ls."""
    nodes = find_nodes()
    listing, problem = _listed(timeout)
    problems = [p for p in (problem, listing.problem) if p]
    if listing.devices:
        listed = listing.devices
    elif nodes:
        listed = tuple(_from_sysfs(node) for node in nodes)
    else:
        return Devices(stand_in=is_stand_in(), problems=tuple(p for p in problems if not p.endswith("not installed")))
    return assemble(listing, listed, nodes, tuple(problems))


def find_nodes() -> tuple[str, ...]:
    """`/dev/neuron0`, … by number. In a container, only those that it was given."""
    found = [p for p in (host_root() / "dev").glob("neuron*") if re.fullmatch(r"neuron\d+", p.name)]
    return tuple(str(p) for p in sorted(found, key=lambda p: int(p.name[6:])))


def _listed(timeout: float) -> tuple[Listing, str]:
    """neuron-ls in its new form, then in the old one. (listing, what was wrong with it)"""
    answers: list[ToolOutput] = []
    for flags in (("--output-format", "json"), ("-j",)):
        answer = ask("neuron-ls", *flags, timeout=timeout)
        answers.append(answer)
        if answer.ok:
            listing = parse(answer.out)
            if listing.devices or not listing.problem:
                return replace(listing, problem=f"neuron-ls: {listing.problem}" if listing.problem else ""), ""
            return Listing(problem=f"neuron-ls: {listing.problem}"), ""
        if not answer.present or answer.problem.startswith("no answer"):
            break
    # The second form's complaint is about a flag; the first one's says what is wrong.
    return Listing(), f"neuron-ls: {answers[0].problem}"


def _from_sysfs(node: str) -> ListedDevice:
    """A device known only by its node, with what sysfs says about it (optional: the layout changed with driver 2.31)."""
    index = int(re.findall(r"\d+", node)[-1])
    base = host_root() / "sys/devices/virtual/neuron_device" / f"neuron{index}"
    lnc = _lnc_setting() or DEFAULT_LNC
    try:
        physical = int((base / "core_count").read_text())
    except (OSError, ValueError):
        return ListedDevice(index, ())
    count = physical // lnc
    return ListedDevice(index, tuple(range(index * count, (index + 1) * count)), None, lnc)


def _lnc_setting() -> int | None:
    value = os.environ.get("NEURON_LOGICAL_NC_CONFIG", "")
    return int(value) if value in ("1", "2") else None


def assemble(
    listing: Listing, listed: tuple[ListedDevice, ...], nodes: tuple[str, ...], problems: tuple[str, ...]
) -> Devices:
    """Devices from what neuron-ls said (or the nodes alone), with owners from /proc and our own leases."""
    by_tool = bool(listing.devices)
    held = core_leases.holders()
    cores: list[Core] = []
    unplaced: list[Owner] = []
    for device in listed:
        owners = [owner(p.pid, p.command) for p in device.processes]
        vague = [o for o in owners if not o.cores and o.run not in held.values()]
        unplaced += vague
        share = device.memory // len(device.cores) if device.memory and device.cores else None
        for core in device.cores:
            mine = [o for o in owners if o.cores and core in o.cores]
            cores.append(Core(core, device.index, share, (*mine, *vague), held.get(core)))
    lnc = next((d.lnc for d in listed if d.lnc), None)
    told = "neuron-ls" if by_tool else "sysfs"
    if lnc is None and cores:
        lnc = PHYSICAL // max(1, len(listed[0].cores)) if by_tool else DEFAULT_LNC
    kind = next((name for prefix, name in KINDS.items() if (listing.instance_type or "").startswith(prefix)), None)
    return Devices(
        count=len(listed),
        cores=tuple(sorted(cores, key=lambda c: c.id)),
        lnc=lnc,
        kind=kind,
        instance_type=listing.instance_type,
        nodes=nodes,
        unplaced=tuple(unplaced),
        stand_in=listing.stand_in or is_stand_in(),
        sources={
            "devices": "neuron-ls" if by_tool else "/dev",
            "cores": told,
            "owners": "neuron-ls, /proc and leases of our runs",
        },
        problems=problems,
    )
