"""Around a verdict: the facts of its entries and marks, the lines that are evidence, and values put in words for the summary."""

from __future__ import annotations

import re
from typing import Any, Final

from trnui_runner.diagnosis.classify import Verdict
from trnui_runner.diagnosis.log_prefix import peel
from trnui_runner.diagnosis.model import LineWeight
from trnui_runner.diagnosis.observations import Hit, Observations
from trnui_runner.diagnosis.rules import RULES
from trnui_runner.diagnosis.rules.runtime import STATUS_WORDS
from trnui_runner.diagnosis.summaries import PHASE_WORDS

LINES: Final = 10  # of evidence, without those around the decisive one
_GRAPH_COUNTS: Final = {"compiled": "graphs_compiled", "cached": "graphs_cached", "misses": "misses"}


def graphs(seen: Observations, name: str) -> int:
    """Graphs compiled, cached or missed: several rules may count one graph in different words, so the largest counts."""
    return max((seen.counts.get(rule.id, 0) for rule in RULES if rule.counts == name), default=0)


# Facts that a mark elsewhere in the text may add, by class: the mark's rule, and whether its line is evidence too.
_MARKS: dict[str, tuple[str, ...]] = {
    "python_version": ("python",),
    "version_mismatch": ("transformers",),
    "model_unknown": ("transformers",),
    "remote_code": ("remote-frame", "transformers"),
    "disk_full": ("disk-warning",),
    "cores_busy": ("holder-shown",),
    "cache_lock_wait": ("compilers-asked",),
    "cache_miss": ("cache-listed", "cache-used", "synced"),
    "cache_failed_entry": ("old-code", "ncc-code", "ncc-code-other", "old-code-other"),
    "host_oom": ("exit-asked", "launcher", "compiler-end"),
    "compiler_failure": ("compiler-end", "launcher", "exit-asked"),
    "timeout_hang": ("idle-compiler",),
    "hub_offline": ("offline-set",),
    "ok": ("tokens", "generate", "check"),
}
_URL = re.compile(
    r"(?:huggingface\.co|hf\.co)/(?:api/(?:models|datasets)/)?(?P<repo>[\w.-]+/[\w.-]+?)(?:/(?:resolve|raw|blob)/[^/\s]+/(?P<file>[\w./-]+?)|/tree/\S+)?(?=[:.,'\")\s]*(?:\s|$|\())"
)
_FRAME = re.compile(r'File "(?P<path>[^"]+)", line (?P<line>\d+)')
_MODULE = re.compile(r"MODULE_\w+\+\w+")
_STAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")

_PROMPT = re.compile(r"(?:\([\w.-]+\) ?)?(?:\S+@\S+[: ]\S*|\[[^\]]+@[^\]]+\]|[\w./~-]*) ?[$#%>❯](?: echo \$\?)?$|\W*$")
_TELLING = re.compile(
    r"(?i)error|fail|fatal|exception|denied|refused|abort|panic|killed|cannot|can't|unable|invalid|not found|no such|missing|unsupported|unknown"
)


def marks(seen: Observations, cls: str) -> list[Hit]:
    wanted = _MARKS.get(cls, ())
    return [h for name in wanted for h in seen.hits.values() if h.rule.id == name and not h.suspect]


def collected(seen: Observations, verdict: Verdict) -> dict[str, Any]:
    """The facts of the deciding entry; gaps filled from entries of the same class, from marks, from the run."""
    facts: dict[str, Any] = {}
    for hit in (verdict.hit, *verdict.same, *marks(seen, verdict.cls)):
        if hit is not None:
            for key, value in hit.facts.items():
                facts.setdefault(key, value)
    for key in ("path",) if verdict.cls == "cores_busy" else ("path", "holder"):
        facts.pop(key, None)
    for more in (
        ranks_facts(seen, verdict, facts),
        graph_facts(seen, verdict),
        cache_facts(seen, verdict),
        disk_facts(seen, verdict),
        hub_facts(verdict),
        place_facts(verdict, facts),
        waiting_facts(seen, verdict),
        {"tp": seen.facts["tp"]} if "tp" in seen.facts else {},
    ):
        for key, value in more.items():
            facts.setdefault(key, value)
    return corrected(facts, verdict)


def corrected(facts: dict[str, Any], verdict: Verdict) -> dict[str, Any]:
    """Facts that mean something else for their class: a head's size out of a shape, a signal as an exit code."""
    if verdict.cls == "sharding" and (shape := re.search(r"(\d+)$", str(facts.pop("shape", "")))):
        facts["head_dim"] = int(shape[1])
    if verdict.cls == "host_oom":
        if facts.get("exit") == 0:  # of another command: nothing that was killed ends with 0
            del facts["exit"]
        if "exit" not in facts and verdict.hit is not None and "SIGKILL" in verdict.hit.lines[0]:
            facts["exit"] = -9
    return facts


def ranks_facts(seen: Observations, verdict: Verdict, known: dict[str, Any]) -> dict[str, Any]:
    """How many ranks there are, and which of them failed."""
    facts: dict[str, Any] = {}
    if verdict.hit is not None and verdict.hit.rule.kind in (LineWeight.FAULT, LineWeight.AFTER):
        failed = sorted({r for h in (verdict.hit, *verdict.same) for r in h.ranks if h.cls == verdict.cls})
        if failed:
            facts["rank"] = min(verdict.hit.ranks) if verdict.hit.ranks else failed[0]
            facts["ranks_failed"] = failed
    if "ranks" not in known and (seen.facts.get("ranks") or len(seen.ranks) > 1):
        facts["ranks"] = seen.facts.get("ranks") or len(seen.ranks)
    return facts


def graph_facts(seen: Observations, verdict: Verdict) -> dict[str, Any]:
    """Graphs compiled, cached and missed, for the classes that tell of work done."""
    if verdict.cls not in ("ok", "in_progress", "interrupted", "eager_fallback", "cache_miss"):
        return {}
    counted = {key: graphs(seen, name) for name, key in _GRAPH_COUNTS.items()}
    facts = {
        key: number for key, number in counted.items() if number and (key != "misses" or verdict.cls == "cache_miss")
    }
    if counted["graphs_cached"]:
        facts.setdefault("graphs_compiled", 0)
    return facts


def cache_facts(seen: Observations, verdict: Verdict) -> dict[str, Any]:
    """Since when a cache entry has failed, and which graph it is."""
    facts: dict[str, Any] = {}
    if verdict.cls == "cache_failed_entry":
        stamps = (_STAMP.search(hit.lines[0]) for hit in marks(seen, verdict.cls))
        if (first := next((stamp for stamp in stamps if stamp), None)) is not None:
            facts["first_failed"] = first[0]
    if verdict.cls.startswith("cache_") and verdict.hit is not None and (module := _MODULE.search(verdict.hit.latest)):
        facts["module"] = module[0]
    return facts


def disk_facts(seen: Observations, verdict: Verdict) -> dict[str, Any]:
    if verdict.cls != "disk_full":
        return {}
    facts = {key: seen.facts[key] for key in ("need_mb", "free_mb") if key in seen.facts}
    return facts | {"phase": verdict.hit.phase if verdict.hit else seen.phase}


def hub_facts(verdict: Verdict) -> dict[str, Any]:
    """The repository and the file out of the address that an error of the Hub names."""
    if not verdict.cls.startswith("hub_") or verdict.hit is None:
        return {}
    facts: dict[str, Any] = {}
    names_file = verdict.cls != "hub_not_found" or "Entry" in verdict.hit.lines[0]
    for line in (*verdict.hit.lines, *verdict.hit.after, *verdict.hit.before):
        if url := _URL.search(line):
            facts.setdefault("repo", url["repo"])
            if url["file"] and names_file:
                facts.setdefault("file", url["file"])
    return facts


def place_facts(verdict: Verdict, known: dict[str, Any]) -> dict[str, Any]:
    """File and line: of the frame that Dynamo names after its error, else of the last one before it."""
    hit = verdict.hit
    if (
        verdict.cls not in ("graph_capture", "remote_code", "sharding", "unsupported_op")
        or hit is None
        or "file" in known
    ):
        return {}
    user = next((n for n, line in enumerate(hit.after) if "from user code" in line), -1)
    lines = hit.after[user + 1 :] if user >= 0 else hit.before
    frames = [f for line in lines if (f := _FRAME.search(line))]
    if not frames:
        return {}
    frame = next((f for f in reversed(frames) if "/torch/" not in f["path"]), frames[-1])
    return {"file": frame["path"].rpartition("/")[2], "line": int(frame["line"])}


def waiting_facts(seen: Observations, verdict: Verdict) -> dict[str, Any]:
    """Which ranks wait and which is behind: by their prefixes, else by the order of their processes."""
    hit = verdict.hit
    if hit is None or hit.rule.id != "rx":
        return {}
    waits, works = seen.pids.get("rx", set()), seen.pids.get("compile-call", set()) - seen.pids.get("rx", set())
    if hit.ranks:
        waiting, behind = sorted(hit.ranks), sorted(seen.ranks - hit.ranks)
    elif waits and works and max(waits | works) - min(waits | works) < 64:
        base = min(waits | works)
        waiting, behind = sorted(p - base for p in waits), sorted(p - base for p in works)
    else:
        return {}
    return {"waiting": waiting} | ({"behind": behind[0]} if len(behind) == 1 else {})


def display(facts: dict[str, Any], seen: Observations, verdict: Verdict) -> dict[str, Any]:
    """What templates may use besides the facts: values in words and other units."""
    shown = facts | in_other_units(facts)
    phase = verdict.hit.phase if verdict.hit is not None and verdict.cls != "in_progress" else seen.phase
    shown["phase_words"] = PHASE_WORDS.get(phase, "")
    if facts.get("ranks_failed") and facts.get("ranks", 1) > 1:
        shown["ranks_words"] = ranks_in_words(facts["ranks_failed"])
    if verdict.cls == "in_progress" and (doing := doing_words(seen, verdict)):
        shown["doing"] = doing
    if verdict.cls == "timeout_hang" and seen.dots >= 100:
        shown["dots"] = seen.dots
    if verdict.cls in ("ok", "interrupted", "in_progress") and "graphs_compiled" in facts:
        shown.setdefault("graphs_cached", 0)
    for key in ("waiting", "behind"):
        if key in facts:
            shown[key + "_words"] = ranks_in_words(facts[key])
    if "status" in facts:
        shown["status_words"] = STATUS_WORDS.get(facts["status"], "not a documented one")
    return shown


def in_other_units(facts: dict[str, Any]) -> dict[str, Any]:
    """Seconds, minutes and GB out of what the lines had."""
    shown: dict[str, Any] = {}
    if "ms" in facts:
        shown["timeout_s"] = facts["ms"] // 1000
    if "seconds" in facts and "minutes" not in facts:
        shown["minutes"] = round(facts["seconds"] / 60)
    if "need_mb" in facts:
        shown["need_gb_disk"] = round(facts["need_mb"] / 1000, 1)
        shown["free_gb_disk"] = round(facts.get("free_mb", 0) / 1000, 1)
    if "need_bytes" in facts and "have_bytes" in facts:
        shown["need_gb"] = round(facts["need_bytes"] / 2**30, 1)
        shown["have_gb"] = round(facts["have_bytes"] / 2**30, 1)
    return shown


_BAR = re.compile(r"(?P<what>[\w .-]{0,40}):? +(?P<percent>\d+)%\|.{0,60}?\| *(?P<done>[\d.]+\w?)/(?P<all>[\d.]+\w?)")


def doing_words(seen: Observations, verdict: Verdict) -> str:
    """What a bar or the compiler's passes say of the step at hand."""
    latest = verdict.hit.latest if verdict.hit is not None else ""
    if bar := _BAR.search(latest):
        return f"{bar['percent']}%, {bar['done']} of {bar['all']}"
    passes = seen.counts.get("passes", 0)
    last = next((h for h in seen.hits.values() if h.rule.id == "passes"), None)
    if seen.phase == "compile" and last is not None and passes:
        done = seen.counts.get("passes-done", passes // 2)
        name = re.search(r"Running (\w+)", last.latest)
        return f"{done} passes finished" + (f", now {name[1]}" if name else "")
    return ""


def ranks_in_words(ranks: int | list[int]) -> str:
    if isinstance(ranks, int):
        return f"rank {ranks}"
    if len(ranks) == 1:
        return f"rank {ranks[0]}"
    if len(ranks) > 4:
        return f"{len(ranks)} ranks"
    return f"ranks {', '.join(map(str, ranks[:-1]))} and {ranks[-1]}"


def evidence(seen: Observations, verdict: Verdict) -> tuple[str, ...]:
    """The lines on which it rests, the heaviest first, then those around the first; for what no rule knows, the last that say
    something."""
    if verdict.cls == "unknown":
        return unknown_evidence(seen, verdict)
    lines: dict[str, None] = {}
    for hit in (verdict.hit, *verdict.same):
        if hit is not None:
            lines.update(dict.fromkeys((*hit.lines, hit.latest)))
    for hit in marks(seen, verdict.cls):
        lines[hit.lines[0]] = None
    if verdict.cls == "ok" and "generated_line" in seen.facts:
        lines[str(seen.facts["generated_line"])] = None
    found = [line.strip() for line in lines if line.strip()][:LINES]
    if verdict.cls in ("in_progress", "interrupted"):
        found += [t for t in list(seen.tail)[-4:] if t.strip() and t not in found]
    if not found:
        return last_lines(seen) if verdict.cls != "empty" else ()
    return tuple(found + surroundings(verdict, found))


def unknown_evidence(seen: Observations, verdict: Verdict) -> tuple[str, ...]:
    """The line that says most about an end that nobody knows, then the last ones."""
    last = last_lines(seen)
    hit = verdict.hit
    if hit is not None and (hit.rule.alone or hit.rule.say):
        end = (exception_below(hit) if hit.rule.id == "traceback" else "") or hit.lines[0]
        return (end.strip(), *(line for line in last if end.strip() not in line), *surroundings(verdict, [end, *last]))
    telling = next((line for line in reversed(last) if is_telling(line)), "")
    return (telling, *(line for line in last if line != telling)) if telling else last


def is_telling(line: str) -> bool:
    """Whether a line that no rule knows has a word of failure in it."""
    return _TELLING.search(line) is not None


def exception_below(hit: Hit) -> str:
    """The line with which a traceback ends: the first below it that is not indented."""
    bodies = ((line, peel(line).body) for line in hit.after)
    return next((line for line, body in bodies if body and not body[0].isspace() and body[0] not in "^~"), "")


def surroundings(verdict: Verdict, found: list[str]) -> list[str]:
    """The lines around the first of a failure, without those that are there already."""
    if verdict.hit is None or verdict.hit.rule.kind < LineWeight.AFTER:
        return []
    around = dict.fromkeys(line.rstrip() for line in (*verdict.hit.before, *verdict.hit.after))
    return [line for line in around if not any(line.strip() in f for f in found)]


def last_lines(seen: Observations) -> tuple[str, ...]:
    """The last lines that are no shell prompt and no bare ruler."""
    return tuple(line for line in seen.tail if line.strip() and not _PROMPT.match(line.strip()))[-6:]
