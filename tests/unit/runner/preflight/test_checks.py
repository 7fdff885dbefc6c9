"""The checks at their edges: exact limits, whole messages with their remedies and details, and what weighs as an error where."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from trnui_runner.host.core_blocks import CoreRequest
from trnui_runner.host.core_owners import Owner
from trnui_runner.host.devices import Core, Devices
from trnui_runner.host.neff_cache import Bucket, Cache
from trnui_runner.host.stack import Difference
from trnui_runner.preflight.checks import SMALL_DISK, run_checks
from trnui_runner.preflight.facts import PreflightFacts
from trnui_runner.preflight.report import Check, CheckStatus, Preflight, lines
from trnui_runner.request.hub_info import HubInfo

GIB = 1 << 30
OK, WARNING, ERROR = CheckStatus.OK, CheckStatus.WARNING, CheckStatus.ERROR
CORES = tuple(Core(n, 0, 20 * GIB) for n in range(4))
HOST = Devices(1, CORES, 2, "Trainium2", "trn2.3xlarge", problems=("neuron-ls is old",))
FACTS = PreflightFacts(
    "acme/tiny", "neuron", interpreter="/p", native=True, problems=("odd",), devices=HOST, weights=2 * GIB,
    host_memory=8 * GIB, disk_free=100 * GIB, disk_place="/hub", cached=True,
)  # fmt: skip


def check(name: str, **changes: Any) -> Check:
    return next(c for c in run_checks(replace(FACTS, **changes)) if c.name == name)


def held(*ids: int, lease: str | None = None) -> Devices:
    owner = Owner(7, "python3", age_s=60.0)
    made = (replace(c, **({"lease": lease} if lease else {"owners": (owner,)})) if c.id in ids else c for c in CORES)  # type: ignore[arg-type]
    return replace(HOST, cores=tuple(made))


# -- limits


@pytest.mark.parametrize(
    ("weights", "cores", "script", "status"),
    [
        (17 * GIB, 1, "bundled", OK),  # 85 % of 20 GiB
        (17 * GIB + 1, 1, "bundled", WARNING),
        (20 * GIB, 1, "bundled", WARNING),
        (20 * GIB + 1, 1, "bundled", ERROR),
        (20 * GIB + 1, 1, "published", WARNING),  # its script may do better than its size says
        (34 * GIB, 2, "bundled", OK),
        (40 * GIB + 2, 2, "bundled", ERROR),
    ],
)
def test_memory_of_a_core(weights: int, cores: int, script: str, status: CheckStatus) -> None:
    assert check("HBM", weights=weights, cores=cores, script=script).status is status


def test_memory_remedies_and_what_is_unknown() -> None:
    assert check("HBM", weights=90 * GIB, cores=4).remedy == "Use more cores or a larger instance."
    assert check("HBM", weights=900 * GIB, cores=16).remedy == "It does not fit on 16 cores."
    assert check("HBM", weights=900 * GIB, cores=15).remedy == "Use more cores or a larger instance."
    assert check("HBM", weights=18 * GIB).remedy == "Use more cores."
    assert check("HBM").message == "about 2.0 GiB of weights a core, which has 20.0 GiB"
    assert check("HBM", row_peak_gb=13.14).message.endswith(", the row's peak was 13.1 GB")
    assert check("HBM", weights=None).message == "20.0 GiB a core, weights –"
    unknown = replace(HOST, cores=tuple(replace(c, hbm=None) for c in CORES))
    assert check("HBM", devices=unknown).message == "memory of a core unknown, weights 2.0 GiB"
    assert "HBM" not in {c.name for c in run_checks(replace(FACTS, devices=Devices()))}


@pytest.mark.parametrize(
    ("free", "need", "status"),
    [
        (SMALL_DISK, 0, OK),
        (SMALL_DISK - 1, 0, WARNING),
        (10 * GIB, 8 * GIB, OK),
        (10 * GIB, 8 * GIB + 1, WARNING),
        (10 * GIB, 10 * GIB, WARNING),
        (10 * GIB, 10 * GIB + 1, ERROR),
    ],
)
def test_disk(free: int, need: int, status: CheckStatus) -> None:
    changes: dict[str, Any] = {"disk_free": free} | ({"cached": False, "hub": HubInfo(need)} if need else {})
    found = check("disk", **changes)
    assert found.status is status
    assert bool(found.remedy) is (status is not OK)
    assert "free at /hub, " in found.message
    assert ("nothing to fetch" in found.message) is (need == 0)


def test_disk_words() -> None:
    assert check("disk", cached=False).message == "100.0 GiB free at /hub, the checkpoint's size is unknown"
    assert check("disk", cached=False, local=True).message == "100.0 GiB free at /hub, nothing to fetch"
    assert (
        check("disk", cached=False, hub=HubInfo(GIB)).message
        == "100.0 GiB free at /hub, 1.0 GiB needed for the checkpoint"
    )
    assert "HF_HOME" in check("disk", cached=False, hub=HubInfo(900 * GIB)).remedy


def test_host_memory() -> None:
    assert check("host memory", weights=8 * GIB).status is OK
    over = check("host memory", weights=8 * GIB + 1)
    assert (over.status, bool(over.remedy)) == (WARNING, True)
    for changes in ({"weights": None}, {"host_memory": None}):
        assert "host memory" not in {c.name for c in run_checks(replace(FACTS, **changes))}  # type: ignore[arg-type]


# -- cores


def test_which_cores_it_would_take() -> None:
    assert check("cores").details == ("would take core 0",)
    assert check("cores", cores=2).details == ("would take cores 0 to 1",)
    free = check("cores", devices=held(0), cores=2)
    assert (free.status, free.message) == (OK, "2 needed, 3 of 4 free")
    assert free.details == ("would take cores 2 to 3", "core 0: pid 7, started 1 min ago, python3 (which cores of the device is not known)")  # fmt: skip


def test_cores_that_others_or_runs_of_ours_hold() -> None:
    waits = check("cores", devices=held(0, 1, 2, 3, lease="20260101-x"))
    assert (waits.status, waits.remedy) == (WARNING, "")
    assert waits.message == "1 core needed, 0 of 4 free; our run 20260101-x: it would wait"
    assert len(waits.details) == 4
    alone = check("cores", devices=held(0, 1, 2, 3))
    assert (alone.status, alone.remedy) == (ERROR, "Wait until its owner ends; trnui stops only its own runs.")
    assert alone.message.startswith("1 core needed, 0 of 4 free; pid 7")
    first = CoreRequest(2, (0, 1, 2, 3), visible="none")
    assert check("cores", devices=held(1, lease="x"), cores=2, core_request=first).message.startswith("cores 0 to 1 needed, 3 of 4 free")  # fmt: skip
    few = check("cores", cores=4)
    assert few.status is OK
    assert check("cores", cores=5).message == "5 needed, this host has 4"
    assert "trn2.48xlarge" in check("cores", cores=5).remedy
    none = check("cores", devices=replace(HOST, cores=()), cores=3)
    assert (none.status, none.message, none.details) == (
        WARNING,
        "3 needed; this host's number of cores is unknown",
        HOST.problems,
    )
    assert "neuron-ls" in none.remedy


# -- device, stack, row


@pytest.mark.parametrize(
    ("device", "row", "host", "status", "message"),
    [
        ("cpu", None, HOST, OK, "the CPU"),
        ("cpu", "cpu", HOST, OK, "the CPU, like the row"),
        ("cpu", "neuron", HOST, WARNING, "on the CPU, while the row is from a Trainium: not comparable"),
        ("cpu", "stand-in", HOST, WARNING, "on the CPU, while the row is from a stand-in: not comparable"),
        ("neuron", "neuron", HOST, OK, HOST.words),
        ("neuron", None, Devices(problems=("x",)), ERROR, "no Neuron device on this host"),
        ("stand-in", "neuron", HOST, WARNING, f"{HOST.words} · a stand-in, not a Trainium: not comparable with the row"),
        ("stand-in", "stand-in", HOST, OK, f"{HOST.words} · a stand-in, not a Trainium"),
        ("stand-in", None, replace(HOST, stand_in=True), OK, replace(HOST, stand_in=True).words),
        ("stand-in", "neuron", replace(HOST, stand_in=True), WARNING, f"{replace(HOST, stand_in=True).words}: not comparable with the row"),
    ],
)  # fmt: skip
def test_the_device_is_named_and_compared(
    device: str, row: str | None, host: Devices, status: CheckStatus, message: str
) -> None:
    found = check("device", device=device, row_device=row, devices=host)
    assert (found.status, found.message) == (status, message)
    assert (found.details == host.problems) is (device != "cpu" and status is not WARNING)


def test_the_stacks_words() -> None:
    same = Difference("torch", "2.14", "2.14", "same")
    driver = Difference("neuron_driver", "2.31", "2.30", "differs")
    unsaid = Difference("nki", None, "0.7", "not in the row")
    old = Difference("torch", "2.14", "2.13", "differs")
    assert check("stack").message == "/p; no row to compare with"
    assert check("stack").details == ("odd",)
    found = check("stack", differences=(same, unsaid))
    assert (found.message, found.details) == ("same as the row's (1 package compared)", ("same: torch 2.14 here, 2.14 in the row", "odd"))  # fmt: skip
    assert check("stack", differences=(same, driver)).status is OK
    assert check("stack", differences=(same, driver), device="cpu").message == "same as the row's (1 package compared)"
    weighty = check("stack", differences=(driver, old))
    assert weighty.status is WARNING
    assert weighty.message == "not the row's stack: driver 2.30 for 2.31, torch 2.13 for 2.14"
    assert "trnui packages" in weighty.remedy
    assert check("stack", native=False).message == "/p has the XLA torch-neuronx, without a neuron device"
    assert check("stack", native=None).message == "/p has no torch-neuronx"
    assert check("stack", native=None, device="cpu").status is OK
    lacks = check("stack", missing=("torch", "neuronx_cc"))
    assert lacks.message == "/p has no torch and no neuronx-cc"
    assert lacks.remedy.startswith("/p -m pip install ")
    assert lacks.details == ("odd",)


def test_the_rows_words() -> None:
    excluded = check("row", row_word="EXCLUDED", row_reason=None, newest="2.29")
    assert excluded.message == "excluded from the tests: no reason given"
    assert excluded.details == ("the newest stack on which it passes: 2.29",)
    assert check("row", row_word="").message == "the row says –"
    passes = check("row", row_word="PASS", newest="2.29")
    assert (passes.status, passes.details) == (OK, ("the newest stack on which it passes: 2.29",))
    assert check("row", row_word="FAIL", siblings=("a/b", "a/c")).message == "the row says FAIL; models of its family that pass: a/b, a/c"  # fmt: skip
    assert check("row", row_word="FAIL", row_device="cpu").message == "the row says FAIL (CPU)"


# -- cache, checkpoint, judge, script


def test_the_caches_words() -> None:
    full, empty = Cache(Path("/n"), "2.28", 3, 1000), Cache(Path("/n"), "2.28")
    bucket = Bucket("acme/neff", "the dataset's card")
    assert check("NEFF cache", cache=full, bucket=bucket).remedy == ""
    assert check("NEFF cache", cache=empty, bucket=bucket).remedy == "Fill it: trnui cache MODEL --fill."
    assert check("NEFF cache", cache=empty).details == (
        "/n",
        "the user's cache",
        "no bucket configured (setting neff_bucket)",
    )
    assert check("NEFF cache", cache=full, bucket=bucket).details[2] == "bucket acme/neff, named by the dataset's card"
    broken = replace(full, broken=tuple(map(str, range(30))))
    assert len(check("NEFF cache", cache=broken).details) == 20
    assert check("NEFF cache", cache=broken).status is WARNING


def test_the_checkpoints_words() -> None:
    assert check("checkpoint").message == "in the cache, 2.0 GiB of weights"
    assert check("checkpoint", local=True, weights=None).message == "a folder"
    assert (
        check("checkpoint", lacks=("no weights", "no config.json")).message
        == "the copy in the cache: no weights, no config.json"
    )
    assert check("checkpoint", lacks=("x",), local=True).message == "the folder: x"
    assert (
        check("checkpoint", cached=False).message
        == "not in the cache: will be fetched (size unknown, the Hub was not asked)"
    )
    gated = HubInfo(GIB, True)
    log_in = check("checkpoint", cached=False, hub=gated)
    assert (log_in.status, log_in.message) == (ERROR, "gated, and there is no token")
    assert "hf auth login" in log_in.remedy
    kept = check("checkpoint", cached=False, hub=gated, token=True)
    assert "hf auth login" not in kept.remedy
    assert "hub_token = true" in kept.remedy
    assert check("checkpoint", cached=False, hub=gated, token_sent=True).status is ERROR  # nothing to send
    assert check("checkpoint", cached=False, hub=gated, token=True, token_sent=True).message == "not in the cache: 1.0 GiB to fetch, gated, using your token"  # fmt: skip
    assert check("checkpoint", cached=False, hub=HubInfo(GIB)).message == "not in the cache: 1.0 GiB to fetch"


def test_the_judges_and_the_scripts_words() -> None:
    assert check("judge", judge="a/j", judge_at_hand=True, offline=True).status is OK
    missing = check("judge", judge="a/j", offline=True)
    assert (missing.status, missing.remedy) == (WARNING, "Name one that is on disk: --judge.")
    assert check("script", script="published", consent="you approved it").message == "published: you approved it"
    asked = check("script", script="published", consent=None)
    assert (asked.status, asked.message) == (WARNING, "published: third-party code, not yet approved")
    assert "--yes" in asked.remedy


# -- order, refusal, text


def test_the_order_in_which_a_reader_asks() -> None:
    everything = replace(FACTS, row_word="PASS", judge="a/j", consent="ok", cache=Cache(Path("/n"), "2.28"))
    assert [c.name for c in run_checks(everything)] == ["device", "stack", "row", "cores", "HBM", "NEFF cache", "checkpoint", "disk", "host memory", "judge", "time", "script"]  # fmt: skip
    refused = run_checks(replace(everything, refusal=("heads do not divide", "Try another --cores.")))
    assert refused[0] == Check("run", ERROR, "heads do not divide", "Try another --cores.")
    assert run_checks(replace(everything, refusal=("x", ""), missing=("torch",)))[0].name == "device"


def test_a_preflight_as_text_and_json() -> None:
    found = Preflight(
        (Check("a", OK, "fine"), Check("b", WARNING, "odd", "Look.", ("more", "")), Check("c", ERROR, "no\nroom"))
    )
    assert (found.status, found.summary) == (ERROR, "cannot start: no\nroom")
    assert Preflight(found.checks[:2]).summary == "differs: odd"
    assert Preflight(()).status is OK
    assert Preflight(()).summary == "ready"
    assert lines(found.checks) == [
        "ok       a            fine",
        "warning  b            odd",
        "                      more",
        "                      → Look.",
        "error    c            no room",
    ]
    assert "                      more" not in lines(found.checks, details=False)
    told = found.to_json()
    assert (told["status"], [c["status"] for c in told["checks"]]) == ("error", ["ok", "warning", "error"])
    assert told["checks"][1]["remedy"] == "Look."
