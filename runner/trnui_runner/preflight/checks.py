"""The preflight checks: OK, WARNING or ERROR for each thing that a run needs, with a message and a remedy. Pure functions over PreflightFacts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from trnui_runner.common.dataset_schema import MARKS
from trnui_runner.common.text import ABSENT, one_line, seconds, size, thousands
from trnui_runner.host.environments import EXAMPLES, SIZE, install_line
from trnui_runner.host.stack import NEURON_ONLY, WEIGHTY, WORDS
from trnui_runner.payload.sharding import FILL
from trnui_runner.preflight.facts import PreflightFacts
from trnui_runner.preflight.report import Check, CheckStatus
from trnui_runner.request.placement import SAMPLE_WAY, core_request

SMALL_DISK: Final = 2 << 30


def run_checks(facts: PreflightFacts) -> tuple[Check, ...]:
    """All checks that apply, in the order in which a reader asks."""
    items = [_device(facts), _stack(facts), _row(facts)]
    if facts.device != "cpu":
        items += [_cores(facts), _hbm(facts), _neff(facts)]
    items += [_checkpoint(facts), _disk(facts), _host_memory(facts), _judge(facts), _wait(facts), _consent(facts)]
    found = [item for item in items if item is not None]
    if facts.refusal is not None and not any(item.status is CheckStatus.ERROR for item in found):
        found.insert(0, Check("run", CheckStatus.ERROR, facts.refusal[0], facts.refusal[1]))
    return tuple(found)


def _device(f: PreflightFacts) -> Check | None:
    mark = " · a stand-in, not a Trainium" if f.device == "stand-in" else ""
    if f.device == "cpu":
        if f.row_device in ("neuron", "stand-in"):
            words = f"on the CPU, while the row is from {'a Trainium' if f.row_device == 'neuron' else 'a stand-in'}: not comparable"
            return Check("device", CheckStatus.WARNING, words)
        return Check("device", CheckStatus.OK, "the CPU" + (", like the row" if f.row_device == "cpu" else ""))
    if not f.devices.present:
        return Check("device", CheckStatus.ERROR, "no Neuron device on this host", SAMPLE_WAY, f.devices.problems)
    if f.row_device == "neuron" and f.device == "stand-in":
        return Check(
            "device",
            CheckStatus.WARNING,
            f"{f.devices.words}{'' if f.devices.stand_in else mark}: not comparable with the row",
        )
    return Check(
        "device", CheckStatus.OK, f"{f.devices.words}{'' if f.devices.stand_in else mark}", "", f.devices.problems
    )


def _stack(f: PreflightFacts) -> Check:
    """The interpreter's packages beside the row's."""
    if f.not_asked:
        words = f"{f.interpreter} could not be asked which packages it has: {f.not_asked}"
        return Check("stack", CheckStatus.ERROR, words, "Give another interpreter with --python, or try again.")
    if f.missing:
        names = " and no ".join(WORDS.get(n, n) for n in f.missing)
        remedy = f"{install_line(f.interpreter)} ({SIZE}), or give --python an environment that has it."
        return Check("stack", CheckStatus.ERROR, f"{f.interpreter} has no {names}", remedy, f.problems)
    if f.device != "cpu" and not f.native:
        what = "the XLA torch-neuronx, without a neuron device" if f.native is False else "no torch-neuronx"
        remedy = f"Give --python an environment with the native torch-neuronx ({EXAMPLES})."
        return Check("stack", CheckStatus.ERROR, f"{f.interpreter} has {what}", remedy, f.problems)
    looked = [d for d in f.differences if f.device != "cpu" or d.package not in NEURON_ONLY]
    off = [d for d in looked if d.state in ("differs", "missing")]
    details = tuple(f"{d.state}: {d.words}" for d in looked if d.state != "not in the row") + f.problems
    if any(d.package in WEIGHTY for d in off):
        names = ", ".join(f"{WORDS.get(d.package, d.package)} {d.here or ABSENT} for {d.row}" for d in off)
        remedy = "Install the row's stack (trnui packages), or choose the row of this host's stack."
        return Check("stack", CheckStatus.WARNING, f"not the row's stack: {names}", remedy, details)
    if not f.differences:
        return Check("stack", CheckStatus.OK, f"{f.interpreter}; no row to compare with", "", f.problems)
    if off:
        names = ", ".join(d.words for d in off)
        return Check("stack", CheckStatus.OK, f"the row's stack except {names}", "", details)
    same = sum(d.state == "same" for d in looked)
    return Check(
        "stack", CheckStatus.OK, f"same as the row's ({same} package{'' if same == 1 else 's'} compared)", "", details
    )


def _row(f: PreflightFacts) -> Check | None:
    """What the row says, and where it passes."""
    if f.row_word is None:
        return None
    elsewhere = []
    if f.newest:
        elsewhere.append(f"the newest stack on which it passes: {f.newest}")
    if f.siblings:
        elsewhere.append(f"models of its family that pass: {', '.join(f.siblings)}")
    if f.row_word == "EXCLUDED":
        return Check(
            "row",
            CheckStatus.WARNING,
            f"excluded from the tests: {one_line(f.row_reason or 'no reason given', 200)}",
            "",
            tuple(elsewhere),
        )
    said = f"the row says {one_line(f.row_word, 60) or ABSENT}{MARKS.get(f.row_device or '', '')}"
    if f.row_word == "PASS" or not elsewhere:
        return Check("row", CheckStatus.OK, said, "", tuple(elsewhere))
    return Check("row", CheckStatus.WARNING, f"{said}; {'; '.join(elsewhere)}")


def _cores(f: PreflightFacts) -> Check | None:
    here = f.devices
    if not here.present:
        return None
    if not here.cores:
        return Check(
            "cores",
            CheckStatus.WARNING,
            f"{f.cores} needed; this host's number of cores is unknown",
            "Install neuron-ls (aws-neuronx-tools).",
            here.problems,
        )
    if f.cores > len(here.cores):
        return Check(
            "cores",
            CheckStatus.ERROR,
            f"{f.cores} needed, this host has {len(here.cores)}",
            "Use a larger instance (16 cores are 4 devices: trn2.48xlarge).",
        )
    held = tuple(f"core {c.id}: {c.held_by}" for c in here.cores if not c.free)
    request = f.core_request or core_request(f.cores, here)
    leased = [c.id for c in here.cores if c.lease is not None]
    count = f"{len(here.free)} of {len(here.cores)} free"
    block = next(iter(request.candidates(leased)), None)
    if block is not None:
        taken = f"would take {'core' if len(block) == 1 else 'cores'} {_span(block)}"
        return Check("cores", CheckStatus.OK, f"{f.cores} needed, {count}", "", (taken, *held))
    need = f"cores {_span(request.ids[: request.count])}" if request.visible == "none" else "1 core"
    if request.visible != "none" and request.count > 1:
        need = f"{request.count} adjacent cores"
    blocking = [c for c in here.cores if not c.free]
    words = f"{need} needed, {count}" + (f"; {blocking[0].held_by}" if blocking else "")
    if request.candidates():
        return Check("cores", CheckStatus.WARNING, f"{words}: it would wait", "", held)
    leftover = any(o.leftover for c in blocking for o in c.owners)
    remedy = (
        "Stop what is left of that run: trnui stop."
        if leftover
        else "Wait until its owner ends; trnui stops only its own runs."
    )
    return Check("cores", CheckStatus.ERROR, words, remedy, held)


def _span(ids: Sequence[int]) -> str:
    return str(ids[0]) if len(ids) == 1 else f"{ids[0]} to {ids[-1]}"


def _hbm(f: PreflightFacts) -> Check | None:
    core = f.devices.core_hbm
    row = f", the row's peak was {f.row_peak_gb:.1f} GB" if f.row_peak_gb is not None else ""
    if core is None or f.weights is None:
        known = f"{size(core)} a core" if core is not None else "memory of a core unknown"
        return Check("HBM", CheckStatus.OK, f"{known}, weights {size(f.weights)}{row}") if f.devices.present else None
    share = f.weights / f.cores
    words = f"about {size(share)} of weights a core, which has {size(core)}{row}"
    if share > core:
        remedy = "Use more cores or a larger instance." if f.cores < 16 else "It does not fit on 16 cores."
        return Check("HBM", CheckStatus.ERROR if f.script == "bundled" else CheckStatus.WARNING, words, remedy)
    if share > FILL * core:
        return Check(
            "HBM", CheckStatus.WARNING, f"{words}: little room for activations and the cache", "Use more cores."
        )
    return Check("HBM", CheckStatus.OK, words)


def _neff(f: PreflightFacts) -> Check | None:
    if f.cache is None:
        return None
    fill = "Fill it: trnui cache MODEL --fill." if f.bucket is not None else ""
    if f.cache.broken:
        return Check(
            "NEFF cache",
            CheckStatus.WARNING,
            f.cache.words,
            "Fill it again (trnui cache MODEL --fill), or delete the empty files.",
            f.cache.broken[:20],
        )
    named = (
        f"bucket {f.bucket.name}, named by {f.bucket.source}"
        if f.bucket is not None
        else "no bucket configured (setting neff_bucket)"
    )
    return Check(
        "NEFF cache",
        CheckStatus.OK,
        f.cache.words,
        "" if f.cache.files else fill,
        (str(f.cache.path), f.cache.origin, named),
    )


def _wait(f: PreflightFacts) -> Check | None:
    """Never an obstacle. Nothing to say of a run that cannot start."""
    if f.refusal is not None:
        return None
    if f.wait is None:
        return Check("time", CheckStatus.OK, f"{ABSENT}: no time is known of this test on this device")
    kept = f.cache.files if f.cache is not None else 0
    shorter = (
        f"; {thousands(kept)} compiled graph{'s' * (kept != 1)} in the NEFF cache can make it shorter" if kept else ""
    )
    return Check(
        "time", CheckStatus.OK, f"about {seconds(f.wait.seconds)}, compilation included: {f.wait.source}{shorter}"
    )


def _checkpoint(f: PreflightFacts) -> Check:
    if f.lacks:
        words = f"{'the folder' if f.local else 'the copy in the cache'}: {', '.join(f.lacks)}"
        if f.row_word == "FAIL":  # which may well be the failure to reproduce
            return Check("checkpoint", CheckStatus.OK, words)
        remedy = "Give a complete checkpoint (config.json, weights, tokenizer)."
        return Check("checkpoint", CheckStatus.ERROR if f.script == "bundled" else CheckStatus.WARNING, words, remedy)
    if f.local or f.cached:
        return Check(
            "checkpoint",
            CheckStatus.OK,
            f"{'a folder' if f.local else 'in the cache'}{'' if f.weights is None else ', ' + size(f.weights) + ' of weights'}",
        )
    if f.offline:
        return Check(
            "checkpoint",
            CheckStatus.ERROR,
            "not in the cache, and offline",
            "Fetch it once while online, or choose another checkpoint.",
        )
    if f.hub is None:
        return Check(
            "checkpoint", CheckStatus.OK, "not in the cache: will be fetched (size unknown, the Hub was not asked)"
        )
    if f.hub.problem:
        return Check(
            "checkpoint",
            CheckStatus.WARNING,
            f"not in the cache, and the Hub gave no answer: {f.hub.problem}",
            "Check the name and the network.",
        )
    if f.hub.gated and not (f.token and f.token_sent):
        remedy = (
            "Accept its terms on its Hub page, log in (hf auth login)"
            if not f.token
            else "Accept its terms on its Hub page"
        )
        return Check(
            "checkpoint",
            CheckStatus.ERROR,
            f"gated, and {'there is no token' if not f.token else 'the token is not sent'}",
            f"{remedy}, and set hub_token = true.",
        )
    words = f"not in the cache: {size(f.hub.bytes)} to fetch"
    return Check("checkpoint", CheckStatus.OK, words + (", gated, using your token" if f.hub.gated else ""))


def _disk(f: PreflightFacts) -> Check | None:
    if f.disk_free is None:
        return None
    fetched = f.cached or f.local
    need = 0 if fetched else f.hub.bytes if f.hub is not None else None
    wanted = "the checkpoint's size is unknown" if need is None else f"{size(need)} needed for the checkpoint"
    words = f"{size(f.disk_free)} free at {f.disk_place}, {'nothing to fetch' if fetched else wanted}"
    if need is not None and need > f.disk_free:
        return Check("disk", CheckStatus.ERROR, words, "Free some space, or point HF_HOME at a larger disk.")
    if f.disk_free - (need or 0) < SMALL_DISK:
        return Check("disk", CheckStatus.WARNING, f"{words}: little is left for graphs and logs", "Free some space.")
    return Check("disk", CheckStatus.OK, words)


def _host_memory(f: PreflightFacts) -> Check | None:
    if f.weights is None or f.host_memory is None:
        return None
    words = f"{size(f.host_memory)} of host memory available, weights take {size(f.weights)}"
    if f.weights > f.host_memory:
        return Check(
            "host memory", CheckStatus.WARNING, words, "The kernel may kill it while loading; use a larger instance."
        )
    return Check("host memory", CheckStatus.OK, words)


def _judge(f: PreflightFacts) -> Check | None:
    if f.judge is None:
        return None
    if f.judge_at_hand:
        return Check("judge", CheckStatus.OK, f"{one_line(f.judge)}, at hand")
    if f.offline:
        return Check(
            "judge",
            CheckStatus.WARNING,
            f"{one_line(f.judge)} is not on disk, and offline: the run will be UNCHECKED",
            "Name one that is on disk: --judge.",
        )
    return Check("judge", CheckStatus.OK, f"{one_line(f.judge)}, fetched while preparing")


def _consent(f: PreflightFacts) -> Check | None:
    if f.consent == "":
        return None
    if f.consent is not None:
        return Check("script", CheckStatus.OK, f"{f.script}: {f.consent}")
    return Check(
        "script",
        CheckStatus.WARNING,
        f"{f.script}: third-party code, not yet approved",
        "Read it (trnui script MODEL), then approve it (--yes).",
    )
