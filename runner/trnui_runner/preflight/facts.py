"""Everything that the preflight checks depend on, as one value. gather.py gathers it."""

from __future__ import annotations

from dataclasses import dataclass, field

from trnui_runner.host.core_blocks import CoreRequest
from trnui_runner.host.devices import Devices
from trnui_runner.host.neff_cache import Bucket, Cache
from trnui_runner.host.stack import Difference
from trnui_runner.preflight.expected_wait import ExpectedWait
from trnui_runner.request.hub_info import HubInfo


@dataclass(frozen=True)
class PreflightFacts:
    """Everything the checks depend on. Sizes in bytes; None means unknown, not zero."""

    model: str
    device: str  # where it is to run: neuron, cpu, stand-in
    row_device: str | None = None  # of the row to reproduce; None without a row
    row_word: str | None = None  # PASS, FAIL, EXCLUDED or the row's own word, without the device's mark
    row_reason: str | None = None
    script: str = "bundled"
    consent: str | None = None  # why the script may run; None: the user has to be asked; empty: not looked at
    interpreter: str = ""
    problems: tuple[str, ...] = ()  # of its stack
    not_asked: str = ""  # why the interpreter could not say what it has
    missing: tuple[str, ...] = ()  # packages without which nothing runs
    native: bool | None = None
    differences: tuple[Difference, ...] = ()
    devices: Devices = field(default_factory=Devices)
    cores: int = 1
    core_request: CoreRequest | None = None  # None: it was refused, or needs none
    weights: int | None = None
    host_memory: int | None = None  # available
    row_peak_gb: float | None = None
    disk_free: int | None = None
    disk_place: str = ""
    lacks: tuple[str, ...] = ()  # what is wrong with the checkpoint's files
    cached: bool = False
    local: bool = False  # a folder, not a Hub id
    hub: HubInfo | None = None  # None: not asked
    offline: bool = False
    token: bool = False  # there is one at hand
    token_sent: bool = False  # and the setting lets it be used
    judge: str | None = None  # None: none is needed
    judge_at_hand: bool = False
    cache: Cache | None = None
    wait: ExpectedWait | None = None  # None: nothing is known of this test on this device
    bucket: Bucket | None = None
    siblings: tuple[str, ...] = ()  # models of its family that pass
    newest: str | None = None  # the newest stack on which the model passes
    refusal: tuple[str, str] | None = None  # (message, remedy): why it could not be prepared
