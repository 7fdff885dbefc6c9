"""What a run means: its outcome with kind and device, and whether it reproduced the row it was started from. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from trnui_runner.common.dataset_schema import device_of, word_of
from trnui_runner.common.errors import Exit
from trnui_runner.common.text import Safe, one_line, seconds, shown
from trnui_runner.host.stack import NEURON_ONLY, WEIGHTY, WORDS, differences
from trnui_runner.result.dataset_row import make_row
from trnui_runner.result.no_fault import OF_THE_HOST, no_fault
from trnui_runner.result.termination import Ending, plain
from trnui_runner.run_folder.events import CheckEvent, WarmEvent
from trnui_runner.run_folder.folder import Outcome, Result, Verdict
from trnui_runner.run_folder.progress import Generate, Note, Progress
from trnui_runner.run_folder.recipe import Recipe

NOT_CHECKED: Final = CheckEvent(None, Safe(""), None)
CHECKED: Final[tuple[Outcome, ...]] = ("PASS", "FAIL", "UNCHECKED")  # what a check may say
REPRODUCED: Final[Verdict] = "REPRODUCED"
DIFFERS: Final[Verdict] = "DIFFERS"
NOT_COMPARABLE: Final[Verdict] = "NOT COMPARABLE"
DEVICE_WORDS: Final[Mapping[str, str]] = {"neuron": "Trainium", "cpu": "the CPU", "stand-in": "a stand-in device"}
# What a rank says when another one has gone: never the cause of a failure.
SECONDARY: Final = (
    "Connection closed by peer", "Connection reset", "Timed out waiting", "Broken pipe", "closed by remote peer", "Socket Timeout",
    "recvValue failed",
)  # fmt: skip
_INNER = re.compile(r"""\bgot (\w+)\((["'])(.+?)\2\)""")
REASON = 400  # characters of an error in a reason; the whole of it is in the log and in the row


def conclude(
    recipe: Recipe,
    progress: Progress,
    ending: Ending,
    *,
    script: bytes = b"",
    stack: Mapping[str, Any] | None = None,
    diagnosis: Mapping[str, Any] | None = None,
    last_words: str = "",
    now: float | None = None,
) -> Result:
    """The Result of a run that has ended. `stack`: the interpreter's versions when the run itself did not tell them;
    `last_words`: the log's last line; `now`: the time of day for the row's `tested_at` (UTC epoch seconds)."""
    check = progress.check or NOT_CHECKED
    versions = {**(stack or {}), **check.stack}
    device = "stand-in" if recipe.device == "neuron" and versions.get("stand_in") else recipe.device
    meaning = dict(diagnosis) if diagnosis else live_diagnosis(progress)
    outcome, reason = judged(recipe, progress, ending, meaning, last_words)
    result = replace(
        plain(recipe, progress, ending),
        outcome=outcome,
        reason=reason,
        kind=check.kind,
        device=device,
        tokens=dict(check.tokens or {}) or generated(progress),
        judge=dict(check.judge or {}) or None,
        stack=versions,
        diagnosis=meaning,
        notes=(
            *ending.notes,
            *(f"not the protocol: {words}" for words in recipe.departures()),
            *another_stack(recipe, device, versions),
            *how_it_ran(recipe, progress),
        ),
    )
    cores = cores_seen(recipe, progress)
    row = make_row(recipe, result, cores=cores, error=error_text(progress, result), script=script, now=now)
    verdict, differences = against_row(recipe, result, cores)
    return replace(result, row=row, verdict=verdict, differences=differences)


def exit_code(result: Result) -> Exit:
    """What a command that waited for this run ends with."""
    if result.outcome == "PASS" and result.verdict == NOT_COMPARABLE:
        return Exit.UNCHECKED
    return {
        "PASS": Exit.OK,
        "UNCHECKED": Exit.UNCHECKED,
        "TIMEOUT": Exit.TIMEOUT,
        "CANCELLED": Exit.INTERRUPTED,
    }.get(result.outcome, Exit.FAILED)


# --- the outcome


def judged(
    recipe: Recipe, progress: Progress, ending: Ending, diagnosis: Mapping[str, Any] | None = None, last_words: str = ""
) -> tuple[Outcome, str]:
    """(outcome, reason). Never PASS without a check that said so, nor after a script that failed; never FAIL where
    nothing was there to be tested."""
    base = plain(recipe, progress, ending)
    if ending.how != "finished":
        return base.outcome, base.reason
    code, check = ending.codes.get("run"), progress.check
    said = one_line(check.reason, REASON) if check else ""
    if code:
        words = failure(progress, code, last_words)
        why = no_fault(recipe, progress, diagnosis, first_cause(progress), last_words)
        if why:
            return "UNCHECKED", f"{why}: {words}"
        return "FAIL", f"{words}; what it had generated: {said}" if check else words
    if check is not None and check.outcome in CHECKED:
        return check.outcome, said
    crashed = ending.codes.get("check")
    if crashed:
        return "UNCHECKED", f"the check ended with code {crashed}, see the log"
    return "UNCHECKED", "nothing was checked" if progress.generated else "run.py never called generate()"


def live_diagnosis(progress: Progress) -> dict[str, Any] | None:
    """What the log meant while the run went on, as it stands in result.json."""
    found = progress.diagnosis
    if found is None:
        return None
    return {"class": found.cls, "severity": found.severity, "summary": found.summary, "hint": found.hint}


def nothing_tested(result: Result) -> bool:
    """Whether this end says something about the run or the host, and nothing about the checkpoint."""
    return result.outcome in ("CANCELLED", "LOST") or (result.outcome == "UNCHECKED" and result.exit_code != 0)


def failure(progress: Progress, code: int, last_words: str = "") -> str:
    """The cause in one line: the last error that is no echo of another rank's end, else how the script ended."""
    cause = first_cause(progress)
    if cause is not None:
        who = f"rank {cause.rank}: " if cause.rank is not None and progress.world_size > 1 else ""
        return who + essence(cause)
    ended = f"run.py ended with exit code {code}" if code > 0 else f"run.py was killed by signal {-code}"
    return f"{ended}: {one_line(last_words, REASON)}" if last_words and code > 0 else ended


def essence(cause: Note) -> str:
    """`class: message` on one line; of an error that Dynamo met while tracing, that error."""
    inner = _INNER.search(cause.text)
    if inner is not None:
        return f"{inner[1]}: {one_line(inner[3], REASON)} (in {cause.kind})"
    return f"{cause.kind or 'error'}: {one_line(cause.text, REASON)}"


def first_cause(progress: Progress) -> Note | None:
    """An exception is told by the place that raised it, by `generate`, and at the end by the script: the last is the one
    that ended it. With several ranks their parent speaks last, and names the one that failed first."""
    primary = [n for n in progress.errors if not any(words in n.text for words in SECONDARY)]
    return (primary or [*progress.errors])[-1] if progress.errors else None


def another_stack(recipe: Recipe, device: str, stack: Mapping[str, Any]) -> Iterator[str]:
    """A result holds for its stack: where the row's was another one, REPRODUCED must not be read without that."""
    if recipe.row is None or device_of(recipe.row) != device:
        return
    apart = [d for d in differences(stack, recipe.row) if d.package in WEIGHTY and d.state in ("differs", "missing")]
    words = [f"{WORDS.get(d.package, d.package)} {shown(d.here)} for {shown(d.row)}" for d in apart
             if device != "cpu" or d.package not in NEURON_ONLY]  # fmt: skip
    if words:
        yield f"not the row's stack: {', '.join(words)}"


def how_it_ran(recipe: Recipe, progress: Progress) -> Iterator[str]:
    """Whether the prompt was compiled too (the published protocol does not say), and the warm second call by itself."""
    calls = list(progress.generates.values())
    answer = next((call for call in reversed(calls) if call.new_ids is not None), None)
    if answer is not None and (answer.prefill_chunk or recipe.script == "bundled"):
        yield prefill_words(calls, answer, progress)
    if recipe.script == "bundled":
        yield from (one_line(note.text, REASON) for note in progress.notices if note.kind == "set aside")
    if progress.warm is not None:
        yield warm_words(progress.warm)


def prefill_words(calls: list[Generate], answer: Generate, progress: Progress) -> str:
    """By what was seen: the chunk is only an option, and a model that cannot be compiled takes it, too."""
    if answer.prefill_chunk:
        return "prefill compiled" if progress.graphs else "prefill not compiled: nothing was"
    given_up = any(call.failed and call.prefill_chunk for call in calls)
    error = next((note for note in reversed(progress.errors)), None) if given_up else None
    return "prefill not compiled" + (f": no chunked prefill ({essence(error)})" if error is not None else "")


def warm_words(warm: WarmEvent) -> str:
    other = ", OTHER tokens than the first time" if warm.same_tokens is False else ""
    return f"warm: {shown(warm.tokens)} tokens in {seconds(warm.seconds)}, new graphs: {shown(warm.new_graphs)}{other}"


def error_text(progress: Progress, result: Result) -> str | None:
    """For the row's `error`: the whole message, if the run failed by one."""
    if result.outcome not in ("FAIL", "LOST", "TIMEOUT"):
        return None
    cause = first_cause(progress)
    return f"{cause.kind}: {cause.text}" if cause is not None and result.exit_code else result.reason


def cores_seen(recipe: Recipe, progress: Progress) -> int:
    """The ranks that really formed a group; before that, what was asked for."""
    return progress.world_size if progress.world_size > 1 or progress.generated else recipe.cores


def generated(progress: Progress) -> dict[str, Any] | None:
    """What came out, when no check has told it."""
    for call in progress.generates.values():
        if call.new_ids is not None:
            return {
                "new_ids": list(call.new_ids),
                "text": call.text,
                "reference_ids": None,
                "first_difference": None,
                "margin": None,
            }
    return None


# --- against the row


def against_row(recipe: Recipe, result: Result, cores: int) -> tuple[Verdict | None, tuple[str, ...]]:
    """(REPRODUCED, DIFFERS, NOT COMPARABLE or None, in what). None: there is no row, or the run did not get to an end.

    Times and memory stand side by side and are not judged.
    """
    row = recipe.row
    if row is None or result.outcome in ("CANCELLED", "TIMEOUT", "LOST"):
        return None, ()
    theirs, hash_ = one_line(word_of(row), 60) or "none", recipe.options.get("row_script_sha256")
    apart = []
    if device_of(row) != result.device:
        apart.append(f"device: {DEVICE_WORDS[device_of(row)]} in the row, {DEVICE_WORDS[result.device]} here")
    if recipe.script != "published":
        if hash_ is None or hash_ != recipe.script_sha256:
            apart.append("script: the row's own run.py was not the one that ran")
    elif hash_ is not None and hash_ != recipe.script_sha256:
        apart.append("script: its SHA-256 is not the row's")
    if theirs not in ("PASS", "FAIL"):
        apart.append(f"result: {theirs} in the row, so there is nothing to reproduce")
    elif result.outcome == "UNCHECKED":
        apart.append(f"result: {theirs} in the row, UNCHECKED here")
    if apart:
        return NOT_COMPARABLE, tuple(apart)
    differs = []
    if theirs != result.outcome:
        differs.append(f"result: {theirs} in the row, {result.outcome} here")
    elif result.outcome == "FAIL":
        differs += hosts_own_error(row, result)
    tp = row.get("tp")
    if isinstance(tp, int | float) and int(tp) != cores:
        differs.append(f"cores: {int(tp)} in the row, {cores} here")
    return (DIFFERS, tuple(differs)) if differs else (REPRODUCED, ())


def hosts_own_error(row: Mapping[str, Any], result: Result) -> list[str]:
    """A device or disk that gave up after the checkpoint was loaded fails too, but that is not the row's failure."""
    mine = str((result.diagnosis or {}).get("class") or "")
    if mine not in OF_THE_HOST:
        return []
    from trnui_runner.diagnosis import diagnose_row  # two hundred rules: loaded only here

    theirs = diagnose_row(dict(row)).cls
    return [] if theirs == mine else [f"error: {theirs} in the row, {mine} here, which is this host's"]
