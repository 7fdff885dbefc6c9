"""Before a run: green, yellow or red for each thing that it needs, with words and a remedy. Pure functions over gathered values.

Green starts; yellow says what differs and wants one more word; red says why not and what to do. Who gathers them: preflight.py.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

from trnui_runner.common.text import ABSENT, one_line, size
from trnui_runner.host.devices import Devices
from trnui_runner.host.neff_cache import Bucket, Cache
from trnui_runner.host.requirements import SIZE, install_line
from trnui_runner.host.stack import NEURON_ONLY, WEIGHTY, WORDS, Difference
from trnui_runner.request.hub_info import HubFacts
from trnui_runner.request.placement import SAMPLE_WAY
from trnui_runner.result.dataset_row import MARKS

if TYPE_CHECKING:
    from trnui_runner.request.prepare import Prepared

FULL: Final = 0.85  # of a core for weights; more leaves little for the rest
SMALL_DISK: Final = 2 << 30


class Light(StrEnum):
    GREEN = "green"
    YELLOW = "yellow"
    RED = "red"


_ORDER: Final = {Light.GREEN: 0, Light.YELLOW: 1, Light.RED: 2}


@dataclass(frozen=True)
class Item:
    """`details`: more lines, for who wants them. `remedy` is empty where nothing is to be done."""

    name: str
    light: Light
    words: str
    remedy: str = ""
    details: tuple[str, ...] = ()


@dataclass(frozen=True)
class Preflight:
    items: tuple[Item, ...]
    prepared: Prepared | None = None  # None when it cannot run at all

    @property
    def light(self) -> Light:
        """The worst of all."""
        return max((item.light for item in self.items), key=_ORDER.__getitem__, default=Light.GREEN)

    def of(self, light: Light) -> tuple[Item, ...]:
        return tuple(item for item in self.items if item.light is light)

    @property
    def words(self) -> str:
        """One line: what keeps it from starting, what differs, or that all is well."""
        for light, start in ((Light.RED, "cannot start: "), (Light.YELLOW, "differs: ")):
            found = self.of(light)
            if found:
                return start + "; ".join(item.words for item in found)
        return "ready"

    def to_json(self) -> dict[str, Any]:
        return {"light": str(self.light), "words": self.words, "items": [asdict(item) for item in self.items]}


@dataclass(frozen=True)
class Facts:
    """All that the lights depend on. Sizes in bytes; None is unknown, never nought."""

    model: str
    device: str  # where it is to run: neuron, cpu, stand-in
    row_device: str | None = None  # of the row to reproduce; None without a row
    row_word: str | None = None  # PASS, FAIL, EXCLUDED or the row's own word, without the device's mark
    row_reason: str | None = None
    script: str = "bundled"
    consent: str | None = None  # why the script may run; None: the user has to be asked; empty: not looked at
    interpreter: str = ""
    problems: tuple[str, ...] = ()  # of its stack
    missing: tuple[str, ...] = ()  # packages without which nothing runs
    native: bool | None = None
    differences: tuple[Difference, ...] = ()
    devices: Devices = field(default_factory=Devices)
    cores: int = 1
    wanted: tuple[int, ...] | None = None  # core ids that the script takes whatever happens; None: any free ones
    weights: int | None = None
    host_memory: int | None = None  # available
    row_peak_gb: float | None = None
    disk_free: int | None = None
    disk_place: str = ""
    lacks: tuple[str, ...] = ()  # what is wrong with the checkpoint's files
    cached: bool = False
    local: bool = False  # a folder, not a Hub id
    hub: HubFacts | None = None  # None: not asked
    offline: bool = False
    token: bool = False  # there is one at hand
    token_sent: bool = False  # and the setting lets it be used
    judge: str | None = None  # None: none is needed
    judge_at_hand: bool = False
    cache: Cache | None = None
    bucket: Bucket | None = None
    siblings: tuple[str, ...] = ()  # models of its family that pass
    newest: str | None = None  # the newest stack on which the model passes
    refusal: tuple[str, str] | None = None  # (message, remedy) of who prepares the run


def judge(facts: Facts) -> tuple[Item, ...]:
    """The lights, in the order in which a reader asks."""
    items = [_device(facts), _stack(facts), _row(facts)]
    if facts.device != "cpu":
        items += [_cores(facts), _hbm(facts), _neff(facts)]
    items += [_checkpoint(facts), _disk(facts), _host_memory(facts), _judge(facts), _consent(facts)]
    found = [item for item in items if item is not None]
    if facts.refusal is not None and not any(item.light is Light.RED for item in found):
        found.insert(0, Item("run", Light.RED, facts.refusal[0], facts.refusal[1]))
    return tuple(found)


def _device(f: Facts) -> Item | None:
    mark = " · a stand-in, not a Trainium" if f.device == "stand-in" else ""
    if f.device == "cpu":
        if f.row_device in ("neuron", "stand-in"):
            words = f"on the CPU, where the row is of {'a Trainium' if f.row_device == 'neuron' else 'a stand-in'}: not comparable"
            return Item("device", Light.YELLOW, words)
        return Item("device", Light.GREEN, "the CPU" + (", as the row" if f.row_device == "cpu" else ""))
    if not f.devices.present:
        return Item("device", Light.RED, "no Neuron device on this host", SAMPLE_WAY, f.devices.problems)
    if f.row_device == "neuron" and f.device == "stand-in":
        return Item(
            "device",
            Light.YELLOW,
            f"{f.devices.words}{'' if f.devices.stand_in else mark}: not comparable with the row",
        )
    return Item("device", Light.GREEN, f"{f.devices.words}{'' if f.devices.stand_in else mark}", "", f.devices.problems)


def _stack(f: Facts) -> Item:
    """The interpreter's packages beside the row's."""
    if f.missing:
        names = " and no ".join(WORDS.get(n, n) for n in f.missing)
        remedy = f"{install_line(f.interpreter)} ({SIZE}), or give --python an environment that has it."
        return Item("stack", Light.RED, f"{f.interpreter} has no {names}", remedy, f.problems)
    if f.device != "cpu" and not f.native:
        what = "the XLA torch-neuronx, without a neuron device" if f.native is False else "no torch-neuronx"
        remedy = "Give --python an environment with torch-neuronx 2.13.3 or later (on AWS's images: /opt/aws_neuronx_venv_*)."
        return Item("stack", Light.RED, f"{f.interpreter} has {what}", remedy, f.problems)
    looked = [d for d in f.differences if f.device != "cpu" or d.package not in NEURON_ONLY]
    off = [d for d in looked if d.state in ("differs", "missing")]
    details = tuple(f"{d.state}: {d.words}" for d in looked if d.state != "unsaid") + f.problems
    if any(d.package in WEIGHTY for d in off):
        names = ", ".join(f"{WORDS.get(d.package, d.package)} {d.here or ABSENT} for {d.row}" for d in off)
        remedy = "Install the row's stack (trnui packages), or choose the row of this host's stack."
        return Item("stack", Light.YELLOW, f"not the row's stack: {names}", remedy, details)
    if not f.differences:
        return Item("stack", Light.GREEN, f"{f.interpreter}; no row to compare with", "", f.problems)
    if off:
        names = ", ".join(d.words for d in off)
        return Item("stack", Light.GREEN, f"the row's stack but for {names}", "", details)
    same = sum(d.state == "same" for d in looked)
    return Item("stack", Light.GREEN, f"as the row's, {same} packages the same", "", details)


def _row(f: Facts) -> Item | None:
    """What the row says, and where it passes."""
    if f.row_word is None:
        return None
    elsewhere = []
    if f.newest:
        elsewhere.append(f"the newest stack on which it passes: {f.newest}")
    if f.siblings:
        elsewhere.append(f"of its family pass: {', '.join(f.siblings)}")
    if f.row_word == "EXCLUDED":
        return Item(
            "row",
            Light.YELLOW,
            f"left out of the tests: {one_line(f.row_reason or 'no reason given', 200)}",
            "",
            tuple(elsewhere),
        )
    said = f"the row says {one_line(f.row_word, 60) or ABSENT}{MARKS.get(f.row_device or '', '')}"
    if f.row_word == "PASS" or not elsewhere:
        return Item("row", Light.GREEN, said, "", tuple(elsewhere))
    return Item("row", Light.YELLOW, f"{said}; {'; '.join(elsewhere)}", "", tuple(elsewhere))


def _cores(f: Facts) -> Item | None:
    here = f.devices
    if not here.present:
        return None
    if not here.cores:
        return Item(
            "cores",
            Light.YELLOW,
            f"{f.cores} needed; how many there are is not known",
            "Install neuron-ls (aws-neuronx-tools).",
            here.problems,
        )
    if f.cores > len(here.cores):
        return Item(
            "cores",
            Light.RED,
            f"{f.cores} needed, this host has {len(here.cores)}",
            "Use a larger instance (16 cores are 4 devices: trn2.48xlarge).",
        )
    free = here.free
    held = tuple(f"core {c.id}: {c.held_by}" for c in here.cores if not c.free)
    wanted = [c for c in here.cores if f.wanted is not None and c.id in f.wanted]
    taken = [c for c in wanted if not c.free]
    if taken or len(free) < f.cores:
        blocking = taken or [c for c in here.cores if not c.free]
        others = [c for c in blocking if c.lease is None]
        which = f"cores {f.wanted[0]} to {f.wanted[-1]}" if f.wanted else f"{f.cores} core{'s' if f.cores > 1 else ''}"
        words = f"{which} needed, {len(free)} of {len(here.cores)} free; {blocking[0].held_by}"
        if others:
            leftover = any(o.leftover for c in others for o in c.owners)
            remedy = (
                "End what is left of that run: trnui stop."
                if leftover
                else "Wait until its owner ends; nothing of others is ended from here."
            )
            return Item("cores", Light.RED, words, remedy, held)
        return Item("cores", Light.YELLOW, f"{words}: it would wait", "", held)
    return Item("cores", Light.GREEN, f"{f.cores} needed, {len(free)} of {len(here.cores)} free", "", held)


def _hbm(f: Facts) -> Item | None:
    core = f.devices.core_hbm
    row = f", the row's peak was {f.row_peak_gb:.1f} GB" if f.row_peak_gb is not None else ""
    if core is None or f.weights is None:
        known = f"{size(core)} a core" if core is not None else "memory of a core unknown"
        return (
            Item("HBM", Light.GREEN, f"{known}, size of the weights {size(f.weights)}{row}")
            if f.devices.present
            else None
        )
    share = f.weights / f.cores
    words = f"about {size(share)} of weights a core, which has {size(core)}{row}"
    if share > core:
        remedy = "Take more cores, or a larger instance." if f.cores < 16 else "It does not fit 16 cores."
        return Item("HBM", Light.RED if f.script == "bundled" else Light.YELLOW, words, remedy)
    if share > FULL * core:
        return Item("HBM", Light.YELLOW, f"{words}: little room for the rest", "Take more cores.")
    return Item("HBM", Light.GREEN, words)


def _neff(f: Facts) -> Item | None:
    if f.cache is None:
        return None
    fill = "Fill it: trnui cache MODEL --fill." if f.bucket is not None else ""
    if f.cache.broken:
        return Item(
            "NEFF cache",
            Light.YELLOW,
            f.cache.words,
            "Fill it anew (trnui cache MODEL --fill), or delete the empty files.",
            f.cache.broken[:20],
        )
    named = (
        f"bucket {f.bucket.name}, named by {f.bucket.source}"
        if f.bucket is not None
        else "no bucket is named (setting neff_bucket)"
    )
    return Item(
        "NEFF cache",
        Light.GREEN,
        f.cache.words,
        "" if f.cache.files else fill,
        (str(f.cache.path), f.cache.origin, named),
    )


def _checkpoint(f: Facts) -> Item:
    if f.lacks:
        words = f"{'the folder' if f.local else 'the copy in the cache'}: {', '.join(f.lacks)}"
        if f.row_word == "FAIL":  # which may well be the failure to reproduce
            return Item("checkpoint", Light.GREEN, words)
        remedy = "Give a whole checkpoint (config.json, weights, tokenizer)."
        return Item("checkpoint", Light.RED if f.script == "bundled" else Light.YELLOW, words, remedy)
    if f.local or f.cached:
        return Item(
            "checkpoint",
            Light.GREEN,
            f"{'a folder' if f.local else 'in the cache'}{'' if f.weights is None else ', ' + size(f.weights) + ' of weights'}",
        )
    if f.offline:
        return Item(
            "checkpoint",
            Light.RED,
            "not in the cache, and offline",
            "Fetch it once with a network, or take another checkpoint.",
        )
    if f.hub is None:
        return Item("checkpoint", Light.GREEN, "not in the cache: fetched first (the Hub was not asked how much)")
    if f.hub.problem:
        return Item(
            "checkpoint",
            Light.YELLOW,
            f"not in the cache, and the Hub does not answer: {f.hub.problem}",
            "Check the name and the network.",
        )
    if f.hub.gated and not (f.token and f.token_sent):
        remedy = (
            "Accept its terms on its Hub page, log in (hf auth login)"
            if not f.token
            else "Accept its terms on its Hub page"
        )
        return Item(
            "checkpoint",
            Light.RED,
            f"gated, and {'no token is at hand' if not f.token else 'tokens are not sent'}",
            f"{remedy}, and set hub_token = true.",
        )
    words = f"not in the cache: {size(f.hub.bytes)} to fetch"
    return Item("checkpoint", Light.GREEN, words + (", gated, with your token" if f.hub.gated else ""))


def _disk(f: Facts) -> Item | None:
    if f.disk_free is None:
        return None
    fetched = f.cached or f.local
    need = 0 if fetched else f.hub.bytes if f.hub is not None else None
    wanted = "what the checkpoint needs is not known" if need is None else f"{size(need)} needed for the checkpoint"
    words = f"{size(f.disk_free)} free at {f.disk_place}, {'nothing to fetch' if fetched else wanted}"
    if need is not None and need > f.disk_free:
        return Item("disk", Light.RED, words, "Free some, or point HF_HOME at a larger disk.")
    if f.disk_free - (need or 0) < SMALL_DISK:
        return Item("disk", Light.YELLOW, f"{words}: little is left for graphs and logs", "Free some.")
    return Item("disk", Light.GREEN, words)


def _host_memory(f: Facts) -> Item | None:
    if f.weights is None or f.host_memory is None:
        return None
    words = f"{size(f.host_memory)} of host memory available, weights take {size(f.weights)}"
    if f.weights > f.host_memory:
        return Item(
            "host memory", Light.YELLOW, words, "Loading may be ended by the kernel; a larger instance has more."
        )
    return Item("host memory", Light.GREEN, words)


def _judge(f: Facts) -> Item | None:
    if f.judge is None:
        return None
    if f.judge_at_hand:
        return Item("judge", Light.GREEN, f"{one_line(f.judge)}, at hand")
    if f.offline:
        return Item(
            "judge",
            Light.YELLOW,
            f"{one_line(f.judge)} is not at hand, and offline: the run will be UNCHECKED",
            "Name one that is: --judge.",
        )
    return Item("judge", Light.GREEN, f"{one_line(f.judge)}, fetched while preparing")


def _consent(f: Facts) -> Item | None:
    if f.consent == "":
        return None
    if f.consent is not None:
        return Item("script", Light.GREEN, f"{f.script}: {f.consent}")
    return Item(
        "script",
        Light.YELLOW,
        f"{f.script}: someone's code, not agreed to yet",
        "Read it (trnui script MODEL), then say yes (--yes).",
    )


def lines(items: Iterable[Item], *, details: bool = True) -> list[str]:
    """The table for a terminal without colour: the light is a word."""
    found = []
    for item in items:
        found.append(f"{item.light:<6}  {item.name:<11}  {one_line(item.words, 1000)}")
        found += [f"{'':21}{one_line(d, 300)}" for d in item.details if details and d]
        if item.remedy:
            found.append(f"{'':21}→ {one_line(item.remedy, 600)}")
    return found
