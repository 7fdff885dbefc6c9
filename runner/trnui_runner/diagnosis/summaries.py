"""One line for a person: templates by class, the first whose facts are all known; then the error's own words as far as they fit."""

from __future__ import annotations

import re
from collections.abc import Mapping
from string import Formatter
from typing import Any, Final

from trnui_runner.common.text import one_line
from trnui_runner.diagnosis.log_prefix import peel

MOST: Final = 110
_PARSE = Formatter()

SUMMARIES: Final[dict[str, tuple[str, ...]]] = {
    "ok": (
        "Passed: {tokens_done} tokens, {graphs_compiled} graphs compiled, {graphs_cached} from the cache",
        "Passed; {graphs_compiled} graphs compiled, {graphs_cached} from the cache",
        "Passed",
    ),
    "in_progress": (
        "No result yet; {phase_words} ({doing})","No result yet; {phase_words}, {graphs_compiled} graphs compiled so far", "No result yet; {phase_words}"),
    "excluded": ("Left out on purpose ({reason}); neither passed nor failed",),
    "numerical_mismatch": (
        "It ran, but only {matched} of {of} tokens match the CPU run",
        "It ran, but the device reports NaN (status {status})",
        "It ran, but the result is wrong",
    ),
    "eager_fallback": ("It says PASS, but part of it ran uncompiled or on the CPU", "Part of it runs uncompiled or on the CPU"),
    "compiler_failure": (
        "neuronx-cc failed on {ranks_words} ({code}); the other ranks only lost their peer",
        "neuronx-cc failed on {ranks_words} ({code}, exit {exit})",
        "neuronx-cc failed on {ranks_words} ({code})",
        "neuronx-cc internal error {code}, exit {exit}",
        "neuronx-cc internal error {code}",
        "neuronx-cc failed with exit code {exit}",
        "neuronx-cc failed",
    ),
    "unsupported_op": (
        "The compiler does not support operator {op} ({code})", "The compiler does not support operator {op}", "An operator is not supported ({code})", "An operator is not supported",
    ),
    "unsupported_dtype": (
        "Data type {dtype} is refused in {op} ({code})", "Data type {dtype} is refused on this hardware ({code})", "A data type is refused on this hardware ({code})",
        "Data type {dtype} is refused on this hardware", "A data type is refused on this hardware",
    ),
    "graph_capture": (
        "The graph could not be captured at {file}:{line}", "The graph could not be captured: dynamic shapes ({code})", "Dynamo gave up after {limit} recompiles: every step makes a new graph",
        "The graph could not be captured",
    ),
    "graph_too_large": (
        "Program too large for one core: {instructions} instructions, limit {limit} ({code})", "Program too large for one core: {instructions} instructions, limit {limit}",
        "Program too large for one core: too many instructions {unroll} ({code})", "Program too large for one core: too many instructions {unroll}", "Program too large for one core: too many instructions ({code})",
        "Program too large for one core: too many instructions",
    ),
    "hbm_oom_compile": (
        "The compiler predicts {need_gb} GB of device memory where {have_gb} GB exist ({code})", "The compiler predicts {need_gb} GB of device memory where {have_gb} GB exist",
        "The compiler predicts more device memory than a core has ({code})", "The compiler predicts more device memory than a core has",
    ),
    "hbm_oom": (
        "Device memory full: {asked} for {usage} refused on device {nd}, core {nc}", "Device memory full: {asked} refused on device {nd}, core {nc}", "Device memory full on device {nd}, core {nc}",
        "Device memory full: {asked} refused", "Device memory full: loading failed (status {status}) on {tp} cores", "Device memory full (status {status})", "Device memory full",
    ),
    "host_oom": (
        "The compiler was killed ({code}): host RAM ran out", "Killed without a word (exit {exit}) while {phase_words}; host RAM is the usual reason", "Killed without a word (exit {exit}); host RAM is the usual reason",
        "Host RAM ran out (status {status})", "Host RAM ran out while {phase_words}", "Host RAM ran out",
    ),
    "disk_full": ("Disk full: needs {need_gb_disk} GB, {free_gb_disk} GB were free", "Disk full while {phase_words}", "Disk full"),
    "no_device": ("No Neuron device is visible here",),
    "driver_mismatch": (
        "The runtime needs compatibility id {runtime_compat}; the installed driver supports {driver_compat}", "The runtime needs driver {want} or newer", "The driver ({have}) does not fit the runtime",
        "The runtime does not know operator code {op} of this graph", "Runtime and kernel driver do not fit each other",
    ),
    "cores_busy": (
        "Core {cores} is held by another process (pid {holder_pid})", "Core {cores} is held by another process", "The cores are held by another process (pid {holder_pid})", "The cores are held by another process",
    ),
    "core_count": (
        "This number of cores is no possible group on this chip: {supported} are", "{asked} cores are asked for, {available} exist", "{cores} is asked for, {available} cores exist",
        "Device {asked} is asked for, the last one is {last}", "The LNC setting or core choice is not possible on this chip ({code})", "More cores are needed than there are (status {status})",
        "The core setting is not one this host can give",
    ),
    "hw_error": (
        "Hardware fault on device {nd} (status {status})", "Hardware fault on device {nd}, core {nc}", "Hardware fault on device {nd}", "Hardware fault (status {status})", "Hardware fault, or a device left in a bad state",
    ),
    "index_oob": (
        "Index out of bounds on core {nc} (status {status}): a token or position id is too large", "Index out of bounds (status {status}): a token or position id is too large",
        "Index out of bounds ({code}): a token or position id is too large", "Index out of bounds: a token or position id is too large",
    ),
    "cache_lock_wait": ("Waiting {minutes} minutes for another process's compile of the same graph", "Waiting for another process's compile of the same graph"),
    "cache_failed_entry": (
        "The cache repeats a failure from an earlier run ({code}); nothing was compiled now", "The cache repeats a failure from an earlier run; nothing was compiled now",
    ),
    "cache_version_mismatch": (
        "The runtime refuses a NEFF of another release (features {features}, status {status})", "The runtime refuses a NEFF of another release (features {features})",
        "The runtime supports NEFF {supported}, this one is {received}", "The runtime refuses a NEFF of another release (status {status})", "A graph file is of another compiler, chip or runtime",
    ),
    "cache_miss": (
        "{misses} graphs were not in the cache (made by {cache_has}, this is {want}) and compile again", "{misses} graphs were not in the cache and compile again", "Expected graphs were not in the cache and compile again",
    ),
    "hub_gated": (
        "Access to {repo} is not granted ({status})", "Access to {repo} is not granted", "Access to this repository is not granted ({status})", "Access to this repository is not granted, or no token is set",
    ),
    "hub_not_found": (
        "{repo} has no file {file}", "{repo} does not exist or is private ({status})", "{repo} does not exist or is private", "The repository, revision or file does not exist ({status})",
        "The repository, revision or file does not exist",
    ),
    "hub_rate_limit": ("{status} from the Hub: too many requests, {ranks} ranks asked at once", "{status} from the Hub: too many requests", "The Hub limits the rate: too many requests"),
    "hub_network": ("The Hub cannot be reached, or is down ({status})", "The Hub cannot be reached from this host"),
    "hub_offline": ("Offline mode is on and {file} is not in the cache", "Offline mode is on and a file is not in the cache"),
    "hub_lock_wait": ("Waiting {minutes} minutes for another process's download lock", "A download moves no bytes, or waits for another process's lock"),
    "remote_code": (
"The checkpoint's own code imports {name}, which is not there", "The checkpoint needs its own Python code, which was not allowed to run",
    ),
    "tokenizer": ("The tokenizer or processor cannot be built ({name})", "The tokenizer or processor cannot be built"),
    "model_unknown": ("Transformers {transformers} does not know model type {model_type}", "This Transformers does not know model type {model_type}", "This Transformers does not know the architecture"),
    "sharding": ("Splitting over {ranks} ranks fails", "Splitting the model over cores fails"),
    "version_mismatch": (
        "Packages do not fit: {package} has no {name}", "Packages do not fit: {name} is missing or of another release", "Installed packages do not fit each other",
    ),
    "python_version": ("No {package} for this Python ({python})", "No {package} for this Python", "This Python ({python}) does not fit", "This Python does not fit the packages or the code"),
    "distributed_comm": (
        "Port {port} is taken, so the ranks cannot meet", "A rank lost its peer, and nothing says why the other ended", "The ranks cannot find or keep each other",
    ),
    "timeout_hang": (
        "{waiting_words} wait for {behind_words}, which still compiles; {minutes} min so far", "{waiting_words} wait for another rank; {minutes} min so far",
        "Ranks wait for one that is behind; {minutes} min so far", "Execution timed out on device {nd}, core {nc} after {timeout_s} s", "Execution timed out after {timeout_s} s",
        "The compiler has run for {elapsed} and uses no CPU", "The compiler prints nothing but dots, {dots} of them", "Nothing moved until somebody gave up waiting",
    ),
    "interrupted": ("Stopped while {phase_words}; {graphs_compiled} graphs were finished", "Stopped while {phase_words}", "Stopped by the user or the host"),
    "data_schema": ("Result files do not fit together: column {column}", "A result file is damaged, or files differ in columns or types"),
    "file_lock": ("A local file is locked by another process (pid {holder_pid})", "A local database or state file is locked by another process"),
    "empty": ("Failed without any error text", "There is no text"),
    "unknown": ("No known cause", ),
}  # fmt: skip
PHASE_WORDS: Final = {
    "prepare": "", "download": "downloading", "load": "loading the checkpoint", "compile": "compiling", "generate": "generating", "check": "checking", "done": "finishing",
}  # fmt: skip
# Classes whose line is better with the error's own words behind the template.
DETAILED: Final = frozenset({
    "compiler_failure", "unsupported_dtype", "unsupported_op", "graph_capture", "hw_error", "hub_network", "hub_not_found", "remote_code", "tokenizer", "sharding",
    "version_mismatch", "python_version", "data_schema", "core_count", "no_device", "numerical_mismatch", "timeout_hang", "distributed_comm", "unknown",
})  # fmt: skip
_LEAD = re.compile(
    r"^(?:\W{0,3}\[?rank ?\d+\]?:? ?|\[\d{1,3}\]: ?|\([^)]{1,40}\) |\d{4}-[\w-]{5,9}[T ][\d:.,Z]+:? *|\d+(?::\d+)? +|\[?(?:ERROR|INFO|WARNING|WARN|USER|CRITICAL)\b\]?:? ?|\[?\w+:\w+\]? {2,}|\[[\w.-]*neuron[\w.-]*\]:? ?|\w[\w.]*(?:Error|Exception|Unsupported): "
    r"|\[INTERNAL_ERROR\] ?|(?:NRT|TDRV|NMGR|NEFF|ENC|HAL|KMGR|NRTD|CCOM):\w+ |\[[EWIF]\d{4} [\d:.]+(?: \d+)? [\w./]+:\d+\] |[EWIF] [\w./]+\.(?:cc|cpp|h):\d+\] ?|\[c10d\] |<[^>]{1,80}> *|\[(?:NCC_)?[A-Z]{1,5}\d{3}\]:? *|\|\|\w+\|\|: ?|Unhandled exception with message: ?|- +)+"
)
_KIND = re.compile(r"(?:^|[\s.])([A-Z]\w*(?:Error|Exception)): ")  # worth saying where nothing else is known
_TRAIL = re.compile(
    r"\s*[-.]*\s*(?:Please open a support ticket.*|You may also be able.*|\(Triggered internally.*|For more information.*)$"
)


def fitting(text: str, most: int = MOST) -> str:
    """At most `most` characters, cut at a word."""
    if len(text) <= most:
        return text
    cut = text[: most - 1]
    space = cut.rfind(" ")
    return (cut[:space] if space > most * 2 // 3 else cut).rstrip(" ,;:(") + "…"


def keys(template: str) -> set[str]:
    return {name for _, name, _, _ in _PARSE.parse(template) if name}


def fill(templates: tuple[str, ...], facts: Mapping[str, Any]) -> str:
    """The first template whose facts are all there; one without facts stands last."""
    for template in templates:
        if all(facts.get(key) not in (None, "") for key in keys(template)):
            return singular(template.format(**{k: worded(k, facts[k]) for k in keys(template)}))
    return templates[-1]


def singular(text: str) -> str:
    """`1 graphs were` as one says it."""
    return re.sub(
        r"\b1 (graph|token|pass|rank|core)(?:e?s)\b( were)?", lambda m: f"1 {m[1]}{' was' if m[2] else ''}", text
    )


def worded(key: str, value: Any) -> str:
    if isinstance(value, int) and key in ("instructions", "limit", "size", "bytes"):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:.1f}".removesuffix(".0")
    return str(value)


def detail(line: str, at: str = "") -> str:
    """An error line without its stamps, prefixes and requests for a ticket; from `at` on, if that stands in it."""
    text = " ".join(line.replace("…", " ").split())
    if at and at in text:
        text = text[text.index(at) :]
        text = re.sub(r"^" + re.escape(at) + r"[\]:) -]*", "", text)
    return _TRAIL.sub("", re.sub(r"<[/!]?\w[^>]{0,80}>", " ", _LEAD.sub("", text))).strip(" -:*")


def summary(cls: str, facts: Mapping[str, Any], say: str = "", line: str = "") -> str:
    """The summary: at most 110 characters, every value in it out of the facts or the line."""
    own = bool(say) and all(facts.get(k) not in (None, "") for k in keys(say))
    base = fill((say,) if own else SUMMARIES[cls], facts)
    line = peel(line.strip()).body
    if (
        cls in DETAILED
        and line
        and not (own and cls == "unknown")
        and "waiting" not in facts
        and "elapsed" not in facts
    ):
        words = detail(line, str(facts.get("code", "")))
        if cls == "unknown" and words and (kind := _KIND.search(line)):
            words = f"{kind[1]}: {words}"
        room = MOST - len(base) - 2
        if room >= 24 and len(words) >= 6 and words.lower() not in base.lower():
            base = f"{base}: {fitting(words, room)}"
    return fitting(one_line(base))
