"""The compile caches: locks, remembered failures, graphs of another compiler, graphs that are not there."""

from __future__ import annotations

from trnui_runner.diagnosis.rules.builders import CACHE_DOC, ISSUES, NATIVE, NEURON_DOC, fault, moves, waits, warns

RULES = (
    fault(
        "cached-failure", "cache_failed_entry",
        (
            "cached failed neff", "failed neff", "cached failure", "cached compilation failure", "skip compilation",
            "previously failed", "errored graph", "previous run", "earlier run", "previous compilation", "failed before",
            "known failure", "known to fail", "cached error", "failed earlier",
        ),
        r"[Gg]ot a cached failed neff(?: at (?P<entry>\S+?)\.? )?|[Cc]ached (?:compilation )?failure"
        r"|[Ww]ill skip compilation|previously failed (?:compilation|to compile)|[Rr]eturning (?:with )?the errored graph"
        r"|(?i:(?:compilation|compile|compiler|graph|neff)[^\n]{0,60}(?:error|fail\w*)[^\n]{0,60}(?:in|from|during|of) (?:the|a|an) (?:previous|earlier) (?:run|compilation|attempt))"
        r"|(?i:(?:graph|neff|module|entry)[^\n]{0,40}(?:is |was )?(?:known to fail|failed (?:before|earlier)))|(?i:cached (?:compil\w+ )?error)"
        r"|(?i:previous compilation (?:of \S+ )?(?:had )?failed)",
        "The cache keeps failures and repeats them; nothing is compiled until a retry is asked for", CACHE_DOC,
    ),
    fault(
        "neff-version", "cache_version_mismatch",
        (
            "NEFF version", "features: 0x", "incompatible model", "LEGACY_NEFF", "NEFF arch", "neff arch",
            "NEFF was compiled", "neff was compiled", "NEFF is compiled", "nsupported NEFF", "compiled for",
            "incompatible NEFF", "ncompatible neff", "NEFF uses features",
        ),
        r"NEFF version mismatch supported: (?P<supported>[\d.]+) received: (?P<received>[\d.]+)"
        r"|NEFF version:? [\d.]+, features:? (?P<features>0x[0-9a-f]+) are not supported"
        r"|NEFF uses features (?P<features3>0x[0-9a-f]+)[^\n]{0,60}not supported"
        r"|features: (?P<features2>0x[0-9a-f]+) are not supported|load an incompatible model"
        r"|NEURON_RT_ALLOW_LEGACY_NEFF|(?i:neff)[^\n]{0,40}\barch(?:itecture)?\b[^\n]{0,60}(?i:not supported"
        r"|mismatch|incompatible|does not match|differs|unsupported|refused)|(?i:neff|model|graph"
        r"|artifacts?)[^\n]{0,60}(?:was|were|is|been) compiled (?:for|with|by)[^\n]{0,80}(?i:but|not compatible"
        r"|incompatible|cannot|mismatch|expected|differs|does not)|[Uu]nsupported NEFF|(?i:incompatible neff)"
        r"|compiled for \w+[^\n]{0,40}(?:but|cannot|not) [^\n]{0,40}(?:trn|inf|running|run on)",
        "The graph file comes from another compiler, chip or runtime", NEURON_DOC, but=("NEFF version Dynamic",),
    ),
    waits(
        "lock", "cache_lock_wait",
        (
            "must be compiling", "been waiting for", "waiting for lock", "aiting for lock", "aiting on lock",
            "aiting for the lock", "Lock contention", "Waiting for compilation lock", "compilation lock",
            "waiting for another process",
        ),
        r"[Ww]aiting (?:for|on) (?:the )?lock[^\n]{0,120}(?:neuron-compile-cache|neff_cache|local_cache|/locks/)"
        r"|[Aa]nother process must be compiling(?: (?P<entry>\S+?))?,? ?(?:been waiting for:? (?P<minutes>[\d.]+) minutes?)?$"
        r"|[Aa]nother process must be compiling(?: (?P<entry2>\S+))?|been waiting for:? (?P<minutes2>[\d.]+) min"
        r"|Lock contention, retrying|[Ww]aiting for (?:the )?(?:compil\w+|cache) lock"
        r"|[Ww]aiting for another process[^\n]{0,30}compil",
        "Somebody else compiles the same graph, or died while doing so", ISSUES, but=("acquire lock on",),
        phase="compile",
    ),
    moves(
        "lock-broken", "compile", "breaking stale lock",
        r"breaking stale lock",
        "The wait is over: the lock was left over", NATIVE,
    ),
    warns(
        "miss-said", "cache_miss",
        (
            "will be recompiled", "recompil", "no cached", "No cached", "not found in", "not in cache",
            "not in the cache", "expected in cache", "cache is empty", "none match", "0 of",
        ),
        r"(?:model\.\w+|MODULE_\S+|graphs?|[Nn][Ee][Ff][Ff]s?) not found in \S*cache\S*"
        r"|not found in \S+cache\S*: the corresponding graph will be recompiled"
        r"|[Nn]o (?:prebuilt|precompiled|cached) (?:graph|neff|NEFF|artifact|entr|config|version|model)|(?:prebuilt"
        r"|precompiled|expected|synced|cached) (?:graphs?|[Nn][Ee][Ff][Ff]s?)[^\n]{0,60}(?:not found|missing|not in)"
        r"|\b0 of (?P<misses>\d+)[^\n]{0,40}(?:graphs?|cache)|cache[^\n]{0,30}is empty[^\n]{0,40}(?:expected|compil)",
        "Graphs that should have been there are not, so they are compiled", ISSUES, counts="misses", phase="compile",
    ),
    moves(
        "miss", "compile", ("Cache MISS", "ache miss", "No candidate found under"),
        r"Cache MISS for key|[Pp]ersistent cache miss|In-memory cache miss|No candidate found under",
        "One graph that is not cached; a first run has only these", NATIVE, counts="misses",
        but=("Generate", "[PRUNE", "MergedOperation"), onward=False,
    ),
    moves(
        "hit", "compile", ("Cache HIT", "sing a cached neff", "ersistent cache hit", "loaded from cache"),
        r"\[NEFF_CACHE\] Cache HIT|[Uu]sing a cached neff|[Pp]ersistent cache hit",
        "One graph from the cache", CACHE_DOC, counts="cached", but=("Generate", "[PRUNE", "MergedOperation"),
    ),
    moves(
        "synced", "", ("s3://", "neff_cache", "neuron-compile-cache", "NEFF cache", "neff cache"),
        r"(?:aws s3 (?:sync|cp)|download: s3://|^[^\n]{0,40}[Ss]ync(?:ed|ing)?)[^\n]*(?:cache|\.neff|neuronxcc)",
        "Graphs were fetched beforehand, so hits are expected", CACHE_DOC, counts="synced", onward=False,
    ),
)  # fmt: skip
