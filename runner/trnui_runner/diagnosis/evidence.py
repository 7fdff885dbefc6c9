"""Around a verdict: the facts of its entries and marks, the lines that are evidence, and values put in words for the summary."""

from __future__ import annotations

import re
from typing import Any, Final

from trnui_runner.diagnosis.classify import Verdict
from trnui_runner.diagnosis.model import Kind
from trnui_runner.diagnosis.observations import Hit, Observations
from trnui_runner.diagnosis.rules import RULES
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
_STAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")


def marks(seen: Observations, cls: str) -> list[Hit]:
    wanted = _MARKS.get(cls, ())
    return [h for name in wanted for h in seen.hits.values() if h.rule.id == name and not h.suspect]


def collected(seen: Observations, verdict: Verdict) -> dict[str, Any]:
    """The facts of the deciding entry; gaps filled from entries of the same class, from marks, from the run."""
    facts: dict[str, Any] = {}
    cls = verdict.cls
    for hit in (verdict.hit, *verdict.same, *marks(seen, cls)):
        if hit is not None:
            for key, value in hit.facts.items():
                facts.setdefault(key, value)
    for key in ("path", "holder") if cls not in ("cores_busy",) else ("path",):
        facts.pop(key, None)
    if verdict.hit is not None and verdict.hit.rule.kind in (Kind.FAULT, Kind.AFTER):
        ranks = sorted({r for h in (verdict.hit, *verdict.same) for r in h.ranks if h.cls == cls})
        if ranks:
            facts.setdefault("rank", min(verdict.hit.ranks) if verdict.hit.ranks else ranks[0])
            facts["ranks_failed"] = ranks
    counted = {key: graphs(seen, name) for name, key in _GRAPH_COUNTS.items()}
    if cls in ("ok", "in_progress", "interrupted", "eager_fallback", "cache_miss"):
        if counted["graphs_compiled"] or counted["graphs_cached"]:
            facts.setdefault("graphs_compiled", counted["graphs_compiled"])
        for key, number in counted.items():
            if number and (key != "misses" or cls == "cache_miss"):
                facts.setdefault(key, number)
    if "ranks" not in facts and (seen.facts.get("ranks") or len(seen.ranks) > 1):
        facts["ranks"] = seen.facts.get("ranks") or len(seen.ranks)
    if cls == "cache_failed_entry":
        for hit in marks(seen, cls):
            if stamp := _STAMP.search(hit.lines[0]):
                facts.setdefault("first_failed", stamp[0])
    if cls.startswith("cache_") and (
        module := re.search(r"MODULE_\w+\+\w+", verdict.hit.latest if verdict.hit else "")
    ):
        facts.setdefault("module", module[0])
    if cls == "disk_full":
        for key in ("need_mb", "free_mb"):
            if key in seen.facts:
                facts.setdefault(key, seen.facts[key])
        facts["phase"] = verdict.hit.phase if verdict.hit else seen.phase
    if cls.startswith("hub_") and verdict.hit is not None:
        for line in (*verdict.hit.lines, *verdict.hit.after, *verdict.hit.before):
            if url := _URL.search(line):
                facts.setdefault("repo", url["repo"])
                if url["file"] and (cls != "hub_not_found" or "Entry" in verdict.hit.lines[0]):
                    facts.setdefault("file", url["file"])
    if (
        cls in ("graph_capture", "remote_code", "sharding", "unsupported_op")
        and verdict.hit is not None
        and "file" not in facts
    ):
        place(facts, verdict.hit)
    if cls == "host_oom" and "exit" not in facts and verdict.hit is not None and "SIGKILL" in verdict.hit.lines[0]:
        facts["exit"] = -9
    if "tp" in seen.facts:
        facts.setdefault("tp", seen.facts["tp"])
    if verdict.hit is not None and verdict.hit.rule.id == "rx":
        waiting(facts, seen, verdict.hit)
    if cls == "sharding" and (shape := re.search(r"(\d+)$", str(facts.pop("shape", "")))):
        facts["head_dim"] = int(shape[1])
    return facts


def place(facts: dict[str, Any], hit: Hit) -> None:
    """File and line: of the frame that Dynamo names after its error, else of the last one before it."""
    user = next((n for n, line in enumerate(hit.after) if "from user code" in line), -1)
    lines = hit.after[user + 1 :] if user >= 0 else hit.before
    frames = [f for line in lines if (f := _FRAME.search(line))]
    if frames:
        frame = next((f for f in reversed(frames) if "/torch/" not in f["path"]), frames[-1])
        facts["file"], facts["line"] = frame["path"].rpartition("/")[2], int(frame["line"])


def waiting(facts: dict[str, Any], seen: Observations, hit: Hit) -> None:
    """Which ranks wait and which is behind: by their prefixes, else by the order of their processes."""
    waits, works = seen.pids.get("rx", set()), seen.pids.get("compile-call", set()) - seen.pids.get("rx", set())
    if hit.ranks:
        behind = sorted(seen.ranks - hit.ranks)
        facts["waiting"] = sorted(hit.ranks)
    elif waits and works and max(waits | works) - min(waits | works) < 64:
        base = min(waits | works)
        facts["waiting"], behind = sorted(p - base for p in waits), sorted(p - base for p in works)
    else:
        return
    if len(behind) == 1:
        facts["behind"] = behind[0]


def display(facts: dict[str, Any], seen: Observations, verdict: Verdict) -> dict[str, Any]:
    """What templates may use besides the facts: values in words and other units."""
    shown = dict(facts)
    phase = verdict.hit.phase if verdict.hit is not None and verdict.cls != "in_progress" else seen.phase
    shown["phase_words"] = PHASE_WORDS.get(phase, "")
    failed = facts.get("ranks_failed")
    if failed and facts.get("ranks", 1) > 1:
        shown["ranks_words"] = ranks_in_words(failed)
    if verdict.cls == "in_progress" and (doing := doing_words(seen, verdict)):
        shown["doing"] = doing
    if verdict.cls == "timeout_hang" and seen.dots >= 100:
        shown["dots"] = seen.dots
    if "ms" in facts:
        shown["timeout_s"] = facts["ms"] // 1000
    if "seconds" in facts and "minutes" not in facts:
        shown["minutes"] = round(facts["seconds"] / 60)
    if "need_mb" in facts:
        shown["need_gb_disk"] = round(facts["need_mb"] / 1000, 1)
        shown["free_gb_disk"] = round(facts.get("free_mb", 0) / 1000, 1)
    if "need_bytes" in facts and "have_bytes" in facts:
        shown["need_gb"], shown["have_gb"] = (
            round(facts["need_bytes"] / 2**30, 1),
            round(facts["have_bytes"] / 2**30, 1),
        )
    if verdict.cls in ("ok", "interrupted", "in_progress") and "graphs_compiled" in facts:
        shown.setdefault("graphs_cached", 0)
    for key in ("waiting", "behind"):
        if key in facts:
            shown[key + "_words"] = ranks_in_words(facts[key])
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
    """The lines on which it rests, the heaviest first, then those around the first; for what no rule knows, the last ones."""
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
    if not found or verdict.cls == "unknown":
        last = tuple(t for t in seen.tail if t.strip())[-6:] if verdict.cls != "empty" else ()
        end = verdict.hit.lines[0] if verdict.hit is not None and verdict.hit.rule.alone else ""
        return last if not end or any(end in t for t in last) else (end.strip(), *last)
    if verdict.hit is not None and verdict.hit.rule.kind >= Kind.AFTER:
        around = dict.fromkeys(line.rstrip() for line in (*verdict.hit.before, *verdict.hit.after))
        found += [line for line in around if not any(line.strip() in f for f in found)]
    return tuple(found)
