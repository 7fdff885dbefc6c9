"""A run's own words: which phase moves, what was checked, and the verdict."""

from __future__ import annotations

from trnui_runner.diagnosis.rules.builders import (
    CACHE_DOC,
    HUB,
    ISSUES,
    LINUX,
    NATIVE,
    OURS,
    TORCH,
    TRANSFORMERS,
    fault,
    moves,
    result,
)

RULES = (
    # -- verdicts
    result(
        "pass", "ok", ("PASS", "passed", "Passed"),
        r"\b(?:RESULT|VERDICT)\W{1,4}PASS(?:ED)?\b|^\W*(?:\[[^\]]{1,24}\]:? ?)*(?:[Rr]esult|[Vv]erdict|[Oo]utcome"
        r"|STATUS|[Ss]tatus|TEST|[Tt]est)\W{0,4}(?:is )?(?:PASS(?:ED)?|passed)\b"
        r'|^\W*(?:\[[^\]]{1,24}\]:? ?)*PASS(?:ED)?\b(?!\w| /)|\"result\": ?\"PASS|[Aa]ll checks passed',
        "The script says that its check passed", OURS, but=("Compiler status",),
    ),
    result(
        "fail", "", "FAIL",
        r"\b(?:RESULT|VERDICT)\W{1,4}FAIL(?:ED)?\b"
        r"|^\W*(?:\[[^\]]{1,24}\]:? ?)*(?:[Rr]esult|[Vv]erdict|[Oo]utcome|TEST)\W{0,4}FAIL(?:ED|URE)?\b"
        r"|^\W*(?:\[[^\]]{1,24}\]:? ?)*FAIL(?:ED)?\b *(?:[:(-]|$)",
        "The script says that its check failed; why, another line says", OURS,
    ),
    fault(
        "mismatch-count", "numerical_mismatch", ("match", "Match", "equal", "agree", "identical"),
        r"(?i:match\w*|equal|agree\w*|identical)(?: tokens?)?[^\d\n]{0,24}(?P<matched>\d+) ?(?:/|of"
        r"|out of) ?(?P<of>\d+)|(?P<matched2>\d+) ?(?:/|of|out of) ?(?P<of2>\d+) (?:new )?(?:tokens? )?(?i:match\w*"
        r"|equal|agree\w*|identical)",
        "The tokens differ from the CPU's", OURS, tier=3, key="less", but=("ismatch",),
    ),
    fault(
        "mismatch-said", "numerical_mismatch",
        (
            "mismatch", "ismatched elements", "cpu_match", "nglish", "udge", "abs diff", "absolute difference",
            "differ", "luent", "ibberish", "not close", "logit validation", "NaN", "nan", "inf", "Inf", "diverge",
            "the CPU run prefers", "tokens", "judged",
        ),
        r"(?i:tokens?|output|text|logits?)[^\n]{0,60}(?i:mismatch\w*|differs?|do not match|does not match"
        r"|diverge\w*)[^\n]{0,60}(?i:cpu|reference|expected|golden|token)"
        r"|(?i:mismatch)[^\n]{0,30}(?i:token|logit|cpu|reference)"
        r"|(?i:fluent\w*(?: english)?\s*[:=]\s*(?:no|false)|(?:not|isn't|non-?) ?fluent|gibberish)"
        r"|(?i:\bcpu_match|\benglish)\s*[:=]\s*(?i:no|false)\b"
        r"|^judge\b[^\n]{0,60}(?:= ?|: ?)(?i:no|false|fail\w*|gibberish)\b|Mismatched elements: \d+"
        r"|(?i:max\w* (?:abs\w* )?(?:diff\w*|error))[^\n]{0,40}(?:exceeds|> )|Tensor-likes are not (?:close|equal)"
        r"|\btoken (?P<at>\d+) is [^\n]{1,200}, not [^\n]{1,200}, which the CPU run prefers"
        r"|[Ff]ails logit validation|(?i:first difference at(?: token)?) (?P<first>\d+)"
        r"|(?i:logits?|probabilit\w+ tensor|output|hidden states?|activations?|loss)[^\n]{0,60}\b(?:NaN|nan|NAN)s?\b"
        r"|(?i:(?:device|neuron)\W{0,3}(?:tokens?|ids|output|text)\b[^\n]{0,300}!=[^\n]{0,20}\b(?:cpu|reference|expected|host)\b)"
        r"|\b(?:NaN|Inf)s? in (?:the )?(?:logits?|output|hidden|activations?|probabilit)"
        r"|(?i:\b(?:output|text|answer)\b[^\n]{0,30}(?:is |was |judged )?not (?:fluent|english))"
        r"|\bnan, nan|(?i:contains? (?:either `?)?(?:nan|inf)\b)|contains either `inf`, `nan`",
        "The check's own words for a wrong result", OURS, tier=3,
        but=(
            "no NaN", "no nan", "without NaN", "NaN check", "nan check", "0 NaN", "nan=0", "nan=False", "nan: False",
            "isnan", "o difference", "Not a failure", "allow_nan", "nan_to_num", "propagate_nan", "size mismatch",
            "NEFF version", "ersion mismatch", "equal_nan", "features and", "token count", "placeholder", "mage tokens",
            "ideo tokens", "udio tokens",
        ),
    ),
    fault(
        "placeholders", "unknown",
        ("tokens do not match", "token count", "placeholder", "mage tokens", "ideo tokens", "udio tokens"),
        r"(?i:(?:image|video|audio|vision|multimodal|speech)\w* features and (?:\w+ )?tokens do not match)"
        r"|(?i:mismatch in `?(?:image|video|audio)`? token count)"
        r"|(?i:(?:number|count) of (?:image|video|audio)\w*[\w ]{0,30}(?:tokens?|placeholders?)[^\n]{0,80}(?:not match|mismatch|!=|differ|not equal))"
        r"|(?i:(?:missing|no|not enough|too few|without) (?:image|video|audio) (?:tokens?|placeholders?))"
        r"|(?i:(?:image|video|audio) (?:tokens?|placeholders?)[^\n]{0,40}(?:missing|not found|not in))",
        "A prompt without its placeholders, or with too few: the input is wrong, no result was", TRANSFORMERS,
        say="The prompt's placeholder tokens do not match its images, videos or audio",
        hint="Build the prompt with the processor's chat template, the picture, video or sound inside the message; the device has no part in this.",
    ),
    # -- phases
    moves(
        "download", "download", ("%|", "Downloading", "Fetching"),
        r"(?:Fetching \d+ files|Downloading|\.safetensors|\.bin|\.json|\.model|\.txt|\.gguf|\.jinja"
        r"|snapshot)[^\n]{0,80}?:? +(?P<percent>\d+)%\||^\W*(?:\[[^\]]*\]:? ?)*Downloading\b|Fetching \d+ files",
        "Files arrive", HUB,
    ),
    moves(
        "load", "load",
        ("oading checkpoint", "oading weights", "oading shards", "Loading model", "oading pipeline", "aterializing"),
        r"Loading (?:checkpoint shards|weights|shards|model|checkpoint|pipeline|safetensors)|[Mm]aterializing",
        "Weights are read", TRANSFORMERS,
    ),
    moves(
        "compile-call", "compile",
        ("Call compiler with cmd", "neuronx-cc compile", "Compiling", "ompiling", "Start compilation"),
        r"Call compiler with cmd|neuronx-cc compile\b|[Cc]ompiling (?:IR|graph|module|model|the|prefill|decode|\d)"
        r"|Start(?:ing)? compilation|^\W*(?:\[[^\]]*\]:? ?)*Compiling\b",
        "A graph goes to the compiler", CACHE_DOC, onward=False,
    ),
    moves(
        "compile-pass", "compile", "Compiler status PASS",
        r"Compiler status PASS",
        "A graph is done", CACHE_DOC, counts="compiled",
    ),
    moves(
        "compile-done", "compile",
        (
            "ompilation Successfully Completed", "IR compilation complete",
            "Exiting with a successfully compiled graph",
        ),
        r"Compilation Successfully Completed|IR compilation complete|No candidate[^\n]*",
        "The same in other words", ISSUES, counts="compiled", but=("cached neff",),
    ),
    moves(
        "compile-stored", "compile", ("Stored to persistent cache", "Storing NEFF for key"),
        r"Stored to persistent cache|Storing NEFF for key",
        "The same in the native cache's words", NATIVE, counts="compiled",
    ),
    moves(
        "passes", "compile", ("Running ", "finished after"),
        r"^\S* ?Running [a-z]\w+$|[a-z]\w+ finished after [\d.]+ seconds",
        "The compiler's own passes", ISSUES, counts="passes", onward=False,
    ),
    moves(
        "dots", "compile", ("....", "****", "|----|"),
        r"^\W*(?:\[[^\]]*\]:? ?)*\.{4,}$|^\*{3,}|^\.{4,}|\|----\|",
        "Its sign of life", CACHE_DOC, onward=False,
    ),
    moves(
        "allocations", "compile", "llocations",
        r"Selecting \d+ allocations|Analyzing dependencies|Dependency reduction",
        "A long pass with a scale", ISSUES, onward=False,
    ),
    moves(
        "tokens", "generate", ("okens ", "token "),
        r"\b[Tt]okens? (?P<tokens_done>\d+) ?/ ?\d+|\b(?P<tokens_done2>\d+) new tokens",
        "Tokens are counted", OURS,
    ),
    moves(
        "rate", "generate", ("tok/s", "tokens/s"),
        r"\d ?tok(?:ens)?/s",
        "Tokens in time", OURS,
    ),
    moves(
        "generate", "generate", ("enerating", "enerated", "enerate:", "refill", "ecoding"),
        r"^\W*(?:\[[^\]]*\]:? ?)*(?:[Gg]enerating\b(?! HLO)|[Gg]enerated\b|[Dd]ecoding\b)"
        r"|[Gg]enerating (?:\d|text|tokens|with)|[Gg]enerate: +\d+%|[Pp]refill\b",
        "Tokens are made", OURS,
    ),
    moves(
        "serving", "generate",
        ("tartup complete", "Uvicorn running on", '- "GET /', '- "POST /', "generation throughput"),
        r"[Ss]tartup complete\b|Uvicorn running on|- \"(?:GET|POST) /[^\"\n]{0,200} HTTP/[\d.]+\" 2\d\d|generation throughput: [\d.]+",
        "A server answers", ISSUES,
        say="A server is up and answers; it prints no result of its own",
        hint="Nothing to do: a server runs until it is stopped.",
    ),
    moves(
        "check", "check", ("hecking", "omparing", "eference run", "udge"),
        r"^\W*(?:\[[^\]]*\]:? ?)*(?:[Cc]hecking|[Cc]omparing|[Jj]udge\b|[Jj]udging|CPU reference)",
        "The result is checked", OURS,
    ),
    moves(
        "world", "", ("world_size", "world size", "WORLD_SIZE", "nproc", "tp_size", "tp=", "tp_degree", "ranks"),
        r"(?:world[_ ]size|WORLD_SIZE|nproc[-_]per[-_]node|tp_size|tp_degree|\btp)[=: ]{1,2}(?P<ranks>\d+)"
        r"|\b(?P<ranks2>\d+) ranks\b",
        "How many ranks there are", TORCH, onward=False,
    ),
    moves(
        "python", "", "Python 3.",
        r"\bPython (?P<python>3\.\d+(?:\.\d+)?)",
        "Which Python runs", OURS, onward=False,
    ),
    # -- what the user asked the host in between
    moves(
        "exit-asked", "", "echo $?",
        r"echo \$\?",
        "The exit code of the command before", LINUX, asks="exit", onward=False,
    ),
    moves(
        "compilers-asked", "", ("pgrep", "pidof"),
        r"(?:pgrep|pidof)[^\n]*neuronx?-?cc",
        "How many compilers live", LINUX, asks="compilers_alive", onward=False,
    ),
    moves(
        "holder-shown", "", "GB",
        r"^\| *\d+ +\| *\d+ +\| *[\d.]+ ?GB *\|[^|]*\| *(?P<holder_pid>\d+) *\| *(?P<holder>\S[^|]*?) *\|",
        "neuron-ls: who holds the device", LINUX, onward=False,
    ),
    moves(
        "transformers", "", "transformers",
        r"\b[Tt]ransformers(?: version)?[ =:v]{1,4}(?P<transformers>\d+\.\d+[\w.]*)"
        r"|transformers-(?P<transformers2>\d+\.\d+[\w.]*?)(?:\.dist-info|-py)",
        "Which Transformers runs", TRANSFORMERS, onward=False,
    ),
    moves(
        "cache-listed", "", "neuronxcc-",
        r"^neuronxcc-(?P<cache_has>[\d.]+(?:\+\w+)?)/?$",
        "A listing of the cache: for whom it was filled", CACHE_DOC, onward=False,
    ),
    moves(
        "cache-used", "", "neuronxcc-",
        r"/neuronxcc-(?P<want>[\d.]+(?:\+\w+)?)/",
        "The compiler whose folder is used", CACHE_DOC, onward=False,
    ),
    moves(
        "offline-set", "", ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"),
        r"(?:HF_HUB|TRANSFORMERS)_OFFLINE=(?:1|true|yes|on)\b",
        "Offline mode is set; that alone is no fault", HUB, onward=False,
    ),
)  # fmt: skip
