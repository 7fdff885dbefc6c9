"""What to do next, here: the class's way out, then what this host and the catalog add to it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from trnui_runner.common import text
from trnui_runner.diagnosis.model import Facts
from trnui_runner.diagnosis.rules import RULES

HINTS: Final[dict[str, str]] = {
    "ok": "Nothing to do; compile time stands apart from generation time.",
    "in_progress": "Wait: output still moves. The phase and its elapsed time say more than silence does.",
    "excluded": "Not a failure: do not count it as one. A run of it is a run of something its maintainers left out.",
    "numerical_mismatch": "A wrong result, not a crash: keep both outputs, look at precision and at another compiler's row; sharded, look at heads, experts and tied embeddings first.",
    "eager_fallback": "Not verified: run again with the fallback off (TORCH_NEURONX_DISABLE_FALLBACK_EXECUTION=1), so that the compile error shows.",
    "compiler_failure": "A fault of the compiler, not of your code: try another compiler version or number of cores; keep its artifacts for a ticket; rule out host memory.",
    "unsupported_op": "Use model code without this operator, or a compiler version with which the model passes.",
    "unsupported_dtype": "Use a BF16 copy of the checkpoint (about twice the memory), or cast to a type this chip has.",
    "graph_capture": "The model's code needs a version without branches on data and with fixed shapes; fullgraph off works around it, slower.",
    "graph_too_large": "Spread it over more cores, or use a smaller batch or a shorter static length.",
    "hbm_oom_compile": "Use more cores, a smaller batch or a shorter static cache; nothing was loaded.",
    "hbm_oom": "Use more cores, a shorter static cache, or free the neighbour core that shares this memory (LNC=1).",
    "host_oom": "Fewer compiles or ranks at a time, a bigger host, or swap; `dmesg` names the victim of the kernel.",
    "disk_full": "Free space, or point HF_HOME (or the cache that filled) to a larger disk; remove .incomplete files first.",
    "no_device": "Check that this is a Trainium host with the driver loaded (neuron-ls); in a container pass --device=/dev/neuron0 and the others.",
    "driver_mismatch": "Bring driver and runtime to one release: update aws-neuronx-dkms, end every process that uses a device, reload the module.",
    "cores_busy": "Find the holder with neuron-ls; end a leftover run of yours, or choose free cores with NEURON_RT_VISIBLE_CORES.",
    "core_count": "Choose a number of cores and an LNC this host has; the row says which were tested.",
    "hw_error": "Stop using this device; reload the driver, else stop and start or replace the instance. Later failures on it are no new faults.",
    "index_oob": "Check prompt and static length against max_position_embeddings, and token ids against the vocabulary.",
    "cache_lock_wait": "If a compiler is alive, wait. If none is, the lock is left over from a killed compile and can be removed.",
    "cache_failed_entry": "Compile again with --retry_failed_compilation in NEURON_CC_FLAGS, or remove this one entry.",
    "cache_version_mismatch": "Build or fetch graphs with this stack's compiler (one cache folder a compiler version), or update the runtime.",
    "cache_miss": "Compare the cache folder's compiler version, chip and flags with this stack; fetch the matching folder before the run.",
    "hub_gated": "Ask for access on the model's page with the account of your token, and log in here (hf auth login); a fine-grained token also needs the right to read gated repositories.",
    "hub_not_found": "Check the name, revision and file; if it is private, a token is needed.",
    "hub_rate_limit": "Wait, then download once before the ranks start; a token raises the limit; or run offline from the cache.",
    "hub_network": "Check proxy, DNS and egress of this host; try again later; if the files are cached, run offline.",
    "hub_offline": "Fetch the file once with network (HF_HUB_OFFLINE=0), or copy the whole snapshot into the cache.",
    "hub_lock_wait": "See who holds the lock and whether the .incomplete file grows; a dead holder's lock can go.",
    "remote_code": "Read the code and its revision, then allow it with trust_remote_code; or use the Transformers of a row that passed.",
    "tokenizer": "Install what the message names (sentencepiece, tiktoken, protobuf, or a torchvision that fits this torch), or pass a chat template; the innermost message comes first.",
    "model_unknown": "Use the Transformers of a row that passed, in an environment of its own.",
    "sharding": "Use a number of cores that divides attention and key/value heads (experts for expert parallelism), or one core.",
    "version_mismatch": "Install one release as a whole; compare wanted and installed versions.",
    "python_version": "Use the Python of the row; this stack has no release for the one here.",
    "distributed_comm": "End the earlier run or choose another MASTER_PORT; if a peer ended, its own log says why.",
    "timeout_hang": "See which rank is behind and whether a compiler uses CPU; the table has this model's usual time.",
    "interrupted": "Finished graphs are kept; check that no worker, compiler or lock is left.",
    "data_schema": "Read by column name, fill what is absent, name the files that cannot be read, and fetch those again.",
    "file_lock": "End the other process, or open the file read-only; two sessions on one host are normal.",
    "empty": "The table holds no reason; a run here would show it.",
    "unknown": "No rule knows this; the last lines are shown as they are.",
}  # fmt: skip

RULE_HINTS: Final[dict[str, str]] = {rule.id: rule.hint for rule in RULES if rule.hint}


def hint(cls: str, found: Mapping[str, Any], facts: Facts, rule: str = "") -> str:
    """The class's hint, made concrete by what is known of host and catalog. A rule's own takes the place of the class's, and of
    what the host would add to that."""
    own = RULE_HINTS.get(rule, "")
    parts = [own or HINTS[cls]]
    extra = _HOST.get(cls)
    if extra and not own:
        parts.append(extra(found, facts))
    parts.append(_catalog(cls, found, facts))
    return " ".join(p for p in parts if p)


def _busy(_: Mapping[str, Any], f: Facts) -> str:
    words = []
    for holder in f.holders[:3]:
        age = f", since {text.seconds(holder.age_s)}" if holder.age_s is not None else ""
        cores = f" holds {', '.join(map(str, holder.cores))}" if holder.cores else ""
        words.append(
            f"pid {holder.pid} ({text.one_line(holder.command, 40) or 'unknown'}{', a leftover run of yours' if holder.ours else ''}{age}){cores}"
        )
    free = _free(f)
    return ("Here: " + "; ".join(words) + ". " if words else "") + free


def _free(f: Facts) -> str:
    if f.cores_total == 0:
        return "This host shows no Neuron device."
    if f.cores_free is None:
        return ""
    if not f.cores_free:
        return "No core is free here."
    return f"Free here: {', '.join(map(str, f.cores_free))}."


def _count(_: Mapping[str, Any], f: Facts) -> str:
    if f.cores_total is None:
        return ""
    if not f.cores_total:
        return "This host shows no Neuron device."
    asked = f", {f.cores_asked} are asked for" if f.cores_asked else ""
    return f"This host has {f.cores_total} cores{asked}."


def _hbm(_: Mapping[str, Any], f: Facts) -> str:
    if f.hbm_need and f.hbm_per_core:
        more = "more than" if f.hbm_need > f.hbm_per_core else "of"
        return f"It needs {text.size(f.hbm_need)} a core, {more} the {text.size(f.hbm_per_core)} a core has here."
    return f"A core has {text.size(f.hbm_per_core)} here." if f.hbm_per_core else ""


def _disk(_: Mapping[str, Any], f: Facts) -> str:
    if f.disk_free is None:
        return ""
    need = f", {text.size(f.disk_need)} are needed" if f.disk_need else ""
    return f"{text.size(f.disk_free)} are free here{need}."


def _ram(_: Mapping[str, Any], f: Facts) -> str:
    return f"This host has {text.size(f.ram_total)} of RAM." if f.ram_total else ""


def _token(_: Mapping[str, Any], f: Facts) -> str:
    return "" if f.token is None else "A token is set here." if f.token else "No token is set here."


def _offline(_: Mapping[str, Any], f: Facts) -> str:
    return "Offline mode is set in this environment." if f.offline else ""


def _versions(_: Mapping[str, Any], f: Facts) -> str:
    differ = [
        f"{name} {f.versions[name]} here, {want} in the row"
        for name, want in f.row_versions.items()
        if want and f.versions.get(name) and f.versions[name] != want
    ]
    return "; ".join(differ[:4]) + "." if differ else ""


def _lock(_: Mapping[str, Any], f: Facts) -> str:
    where = f" ({f.lock_path})" if f.lock_path else ""
    if f.compilers_alive is None:
        return ""
    return (
        f"No compiler is alive here: the lock{where} is left over."
        if f.compilers_alive == 0
        else f"{f.compilers_alive} compilers are alive here: wait."
    )


def _usual(_: Mapping[str, Any], f: Facts) -> str:
    words = [f"This model took {text.seconds(f.usual_s)} in the table."] if f.usual_s else []
    if f.compilers_alive is not None:
        words.append(
            f"{f.compilers_alive} compilers are alive here." if f.compilers_alive else "No compiler is alive here."
        )
    return " ".join(words)


_Extra = Callable[[Mapping[str, Any], Facts], str]
_HOST: Final[dict[str, _Extra]] = {
    "cores_busy": _busy, "core_count": _count, "hbm_oom": _hbm, "hbm_oom_compile": _hbm, "disk_full": _disk, "host_oom": _ram, "hub_gated": _token, "hub_not_found": _token, "hub_rate_limit": _token,
    "hub_offline": _offline, "hub_network": _offline, "version_mismatch": _versions, "model_unknown": _versions, "python_version": _versions, "remote_code": _versions, "driver_mismatch": _versions, "cache_version_mismatch": _versions,
    "cache_lock_wait": _lock, "timeout_hang": _usual, "in_progress": _usual, "no_device": _count,
}  # fmt: skip
_NOT_OF_THE_MODEL: Final = frozenset(
    [
        "ok",
        "in_progress",
        "excluded",
        "hub_gated",
        "hub_not_found",
        "hub_rate_limit",
        "hub_network",
        "hub_offline",
        "hub_lock_wait",
        "disk_full",
        "no_device",
        "cores_busy",
        "file_lock",
        "interrupted",
        "cache_lock_wait",
        "hw_error",
        "data_schema",
        "distributed_comm",
    ]
)


def _catalog(cls: str, found: Mapping[str, Any], f: Facts) -> str:
    if cls in _NOT_OF_THE_MODEL:
        return ""
    parts = []
    if f.same_code and found.get("code"):
        parts.append(f"{f.same_code} other {'row has' if f.same_code == 1 else 'rows have'} {found['code']}.")
    if f.passes_on:
        parts.append(f"This model passes on {text.one_line(f.passes_on, 60)}.")
    if f.siblings:
        parts.append(f"Siblings that pass: {', '.join(text.one_line(s, 40) for s in f.siblings[:3])}.")
    return " ".join(parts)
